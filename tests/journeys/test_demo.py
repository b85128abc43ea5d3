"""The whole job across three real processes, as `agents-memory demo` runs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agents_memory import Memory


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo printed, and the memory it left."""
    file = tmp_path_factory.mktemp("demo") / "demo.duckdb"
    command = [sys.executable, "-m", "agents_memory.cli", "demo", "--file", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout, file


def test_the_demo_has_seven_numbered_sections_in_order(demo: tuple[str, Path]) -> None:
    printed, _ = demo

    assert re.findall(r"^(\d)\. ", printed, re.MULTILINE) == list("1234567")


def test_the_reviewer_never_imports_the_sdk(demo: tuple[str, Path]) -> None:
    printed, _ = demo

    assert "SDK imported: no" in printed


def test_resuming_twice_repeats_and_adds_nothing(demo: tuple[str, Path]) -> None:
    printed, _ = demo

    assert "repeated: True; 2 facts and 10 items before, 2 facts and 10 items after" in printed


def test_the_approved_the_edited_and_not_the_rejected_call_wrote(demo: tuple[str, Path]) -> None:
    _, file = demo

    with Memory.open(file, namespace="acme/kestrel") as memory:
        written = {fact.content: fact.approved_by for fact in memory.facts_written("notes-march")}

    assert written == {
        "Cy maintains the ingest service.": "eve",
        "Staging is deployed every Thursday.": "eve",
    }


def test_both_time_axes_answer_after_the_run(demo: tuple[str, Path]) -> None:
    _, file = demo

    with Memory.open(file, namespace="acme/kestrel") as memory:
        first = memory.history("f1")[0].fact.tx_from
        february = memory.as_of(valid_at="2026-02-01").facts(entity="ingest")
        april = memory.as_of(valid_at="2026-04-01").facts(entity="ingest")
        then = memory.as_of(valid_at="2026-04-01", known_at=first).facts(entity="ingest service")

    assert [fact.content for fact in february] == ["Bo maintains the ingest service."]
    assert [fact.content for fact in april] == ["Cy maintains the ingest service."]
    assert [fact.content for fact in then] == ["Bo maintains the ingest service."]


def test_a_fact_leads_back_to_the_words_and_the_reviewer(demo: tuple[str, Path]) -> None:
    _, file = demo

    with Memory.open(file, namespace="acme/kestrel") as memory:
        [written, *_] = memory.facts_written("notes-march")
        newest = memory.provenance(written.fact_id)[0]

    assert newest.approved_by == "eve"
    assert "Cy took the ingest service over from Bo" in (newest.evidence[0].text or "")
