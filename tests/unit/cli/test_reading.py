"""The commands that read memory."""

import json
from pathlib import Path

import pytest

from tests.support import run_command


def read(file: str, *arguments: str) -> tuple[int, str]:
    ran = run_command([*arguments, "-m", file, "-n", "acme/kestrel"])
    return ran.code, ran.out + ran.err


def test_recall_prints_what_it_found_and_how(file: str) -> None:
    code, printed = read(file, "recall", "who maintains ingest?")

    assert code == 0
    assert "f1" in printed
    assert "lexical" in printed


def test_recall_without_a_hit_says_why(file: str) -> None:
    code, printed = read(file, "recall", "chromodynamics")

    assert code == 0
    assert "matches" in printed


@pytest.mark.parametrize(
    "arguments", [["get", "f1"], ["history", "f1"], ["provenance", "f1"], ["about", "Bo"], ["recall", "ingest"]]
)
def test_each_command_prints_json_for_programs(file: str, arguments: list[str]) -> None:
    code, printed = read(file, *arguments, "--json")

    assert code == 0
    assert "Bo maintains the ingest service." in json.dumps(json.loads(printed))


@pytest.mark.parametrize("arguments", [["get", "f1"], ["history", "f1"], ["provenance", "f1"], ["about", "Bo"]])
def test_each_command_prints_a_table_for_people(file: str, arguments: list[str]) -> None:
    code, printed = read(file, *arguments)

    assert code == 0
    assert "Bo maintains the ingest service." in printed


def test_stored_text_cannot_steer_the_terminal(file: str) -> None:
    _, printed = read(file, "get", "f2")

    assert "\x1b" not in printed
    assert "\\u001b[31mred" in printed
    assert "[bold]tea[/bold]" in printed


def test_about_prints_the_relations(file: str) -> None:
    _, printed = read(file, "about", "ingest")

    assert "Bo → maintains → ingest" in printed


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["get", "f99"], 3, "not_found: "),
        (["get", "e1"], 2, "invalid_id: "),
        (["about", "Nobody"], 3, "not_found: "),
    ],
)
def test_an_error_is_one_line_and_an_exit_code_of_its_kind(
    file: str, arguments: list[str], code: int, said: str
) -> None:
    found, printed = read(file, *arguments)

    assert found == code
    assert printed.startswith(said)
    assert printed.count("\n") == 1


def test_a_file_that_is_no_memory_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be looked at " * 100)

    code, printed = read(str(tmp_path / "notes.txt"), "get", "f1")

    assert code == 5
    assert printed.startswith("store_unreadable: ")


def test_a_reading_command_makes_no_file(tmp_path: Path) -> None:
    code, printed = read(str(tmp_path / "typo.duckdb"), "get", "f1")

    assert code == 3
    assert not (tmp_path / "typo.duckdb").exists()
    assert "typo.duckdb" in printed


def test_no_file_named_is_a_usage_error() -> None:
    ran = run_command(["recall", "ingest"])

    assert ran.code == 2
    assert "--memory" in ran.err
