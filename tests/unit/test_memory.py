"""The handle: what it is, what it passes on, and what its views see."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from agents_memory import Memory, MemoryView
from agents_memory.errors import Closed, InvalidInput, NotFound
from agents_memory.types import Status


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "team.duckdb"


def test_a_handle_says_what_it_is(path: Path) -> None:
    with Memory.open(path, namespace="acme/kestrel") as memory:
        assert repr(memory) == f"Memory({str(path)!r}, namespace='acme/kestrel')"
        assert memory.namespace == "acme/kestrel"
        assert memory.at_namespace("acme").namespace == "acme"


def test_leaving_the_block_closes_the_handle_also_after_an_error(path: Path) -> None:
    with pytest.raises(ValueError, match="on purpose"), Memory.open(path) as memory:
        raise ValueError("on purpose")

    with pytest.raises(Closed):
        memory.remember("Too late")


def test_a_typed_verb_is_the_call_of_its_operation(path: Path) -> None:
    with Memory.open(path) as memory:
        typed = memory.remember("Cy maintains ingest", entities=["Cy"])
        called = memory.call("remember", {"content": "Bo maintains billing", "entities": ["Bo"]})

        assert memory.get(typed.id) == memory.call("get_fact", {"fact_id": typed.id})
        assert memory.get(called.id).content == "Bo maintains billing"


def test_the_writer_is_recorded_and_handed_down(path: Path) -> None:
    with Memory.open(path, writer="ada") as memory:
        writers = [
            handle.provenance(handle.remember("Cy maintains ingest").id)[0].writer
            for handle in (memory, memory.at_namespace("a"), memory.at_namespace("b", writer="bo"))
        ]

    assert writers == ["ada", "ada", "bo"]


def test_a_view_has_every_verb_that_reads_and_none_that_writes() -> None:
    writes = {"remember", "supersede", "correct", "forget", "relate", "unrelate", "add_alias", "add_episode"}
    reads = {"get", "history", "provenance", "about", "entity", "recall"}

    assert {name for name in writes | reads if hasattr(MemoryView, name)} == reads


@pytest.mark.parametrize(
    "moment", [date(2026, 3, 1), "2026-03-01", datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01T02:00+02:00"]
)
def test_a_view_takes_a_moment_in_every_form(path: Path, moment: Any) -> None:
    with Memory.open(path) as memory:
        fact = memory.remember("Cy maintains ingest", valid_from="2026-03-01")

        assert memory.as_of(valid_at=moment).get(fact.id).is_current
        assert not memory.as_of(valid_at="2026-02-28").get(fact.id).is_current


def test_a_view_of_a_view_is_not_offered_and_namespaces_stay(path: Path) -> None:
    with Memory.open(path, namespace="acme") as memory:
        view = memory.as_of(valid_at="2026-03-01")

        assert view.namespace == "acme"
        assert not isinstance(view, Memory)


def test_an_argument_that_is_none_counts_as_left_out(path: Path) -> None:
    with Memory.open(path) as memory:
        receipt = memory.remember("Cy maintains ingest", kind=None, importance=None, valid_from=None, evidence=None)

        assert receipt.status is Status.CREATED
        assert memory.get(receipt.id).importance == 0.5


def test_an_empty_list_of_entities_is_no_entity_and_none_keeps_them(path: Path) -> None:
    with Memory.open(path) as memory:
        fact = memory.remember("Cy maintains ingest", entities=["Cy"])

        kept = memory.supersede(fact.id, "Cy leads ingest", entities=None)
        dropped = memory.supersede(kept.id, "Somebody leads ingest", entities=[])

        assert memory.get(kept.id).entities == ("Cy",)
        assert memory.get(dropped.id).entities == ()


def test_a_handle_above_every_namespace_reads_no_facts(path: Path) -> None:
    with Memory.open(path) as memory, Memory.open(path, namespace="") as above:
        fact = memory.remember("Cy maintains ingest")

        with pytest.raises(NotFound):
            above.get(fact.id)
        with pytest.raises(InvalidInput, match="above every namespace"):
            above.remember("Nowhere")


def test_a_script_that_never_closes_loses_nothing(path: Path) -> None:
    from tests.storage import run_python

    ran = run_python(
        "import sys\nfrom agents_memory import Memory\nmemory = Memory.open(sys.argv[1])\n"
        "for number in range(5):\n    print(memory.remember(f'Fact {number}').id)",
        path,
    )

    assert ran.returncode == 0, ran.stderr
    with Memory.open(path) as memory:
        assert [memory.get(fact).content for fact in ran.stdout.split()] == [f"Fact {number}" for number in range(5)]
