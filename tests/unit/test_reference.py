"""The reference pages name exactly what the package has."""

import re
from pathlib import Path

import agents_memory
from agents_memory import errors
from agents_memory.errors import AgentsMemoryError

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def first_column(page: str) -> set[str]:
    """The code-marked words in the first column of a page's tables."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def test_the_reference_lists_every_public_name_and_no_other() -> None:
    assert first_column("names.md") == set(agents_memory.__all__)


def test_the_reference_lists_every_policy_and_no_other() -> None:
    assert first_column("policies.md") == set(agents_memory.policies.__all__)


def test_every_public_name_can_be_imported() -> None:
    for name in agents_memory.__all__:
        assert getattr(agents_memory, name) is not None


def test_the_reference_lists_every_error_code_and_no_other() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AgentsMemoryError)]

    assert first_column("errors.md") == {kind.code for kind in kinds}
    assert len({kind.code for kind in kinds}) == len(kinds)
