"""A resume that is killed anywhere and done again: one fact, one output a call, and the final message once."""

import json
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from tests.storage import ROOT

SCENARIOS: dict[str, dict[str, Any]] = {
    "plain": {
        "facts": ["Cy owns ingest"],
        "relations": 0,
        "items": ["user", "function_call", "function_call_output", "message"],
    },
    "siblings": {
        "facts": ["Ada likes tea", "Cy owns ingest"],
        "relations": 0,
        "items": ["user", *["function_call"] * 2, *["function_call_output"] * 2, "message"],
    },
    "second_turn": {
        "facts": ["Cy owns ingest"],
        "relations": 1,
        "items": ["user", *["function_call", "function_call_output"] * 2, "message"],
    },
    "nested": {
        "facts": ["Cy owns ingest"],
        "relations": 0,
        "items": ["user", "function_call", "function_call_output", "message"],
    },
}


def outcomes(folder: Path, scenario: str, points: str) -> list[dict[str, Any]]:
    """What `resuming` found."""
    command = [sys.executable, "-m", "tests.faults.resuming", str(folder), scenario, points]
    with Popen(command, cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True) as process:
        out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    found: list[dict[str, Any]] = json.loads(out)
    return found


def check(scenario: str, found: list[dict[str, Any]], codes: list[int]) -> None:
    whole = {**SCENARIOS[scenario], "status": "finished", "codes": codes}
    for outcome in found:
        assert {name: outcome[name] for name in whole} == whole, outcome


def test_a_resume_killed_around_any_commit_is_done_once(tmp_path: Path) -> None:
    found = outcomes(tmp_path, "second_turn", "commits")

    assert len(found) > 10
    check("second_turn", found, [9, 0])


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_resume_killed_at_any_statement_is_done_once(tmp_path: Path, scenario: str) -> None:
    found = outcomes(tmp_path, scenario, "all")

    assert len(found) > 40
    check(scenario, found, [9, 0])


def test_two_processes_that_resume_at_once_do_it_once(tmp_path: Path) -> None:
    [outcome] = outcomes(tmp_path, "plain", "race")

    assert 0 in outcome["codes"]
    assert set(outcome["codes"]) <= {0, 5}  # the other found it finished, or was told who has it
    check("plain", [outcome], outcome["codes"])
