"""The commands that list, show and decide."""

import json
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agents_memory import Memory
from agents_memory._clock import now
from tests.support import run_command
from tests.unit.cli.conftest import park


def approvals(file: str, *arguments: str) -> tuple[int, str]:
    ran = run_command(["approvals", *arguments, "-m", file])
    return ran.code, ran.out + ran.err


def park_until(file: str, expires_at: datetime) -> None:
    """One more request, which waits until then."""
    with Memory.open(file, namespace="acme/kestrel") as memory:
        park(memory, ("remember", {"content": "Bo likes mate."}, "c1"), expires_at=expires_at.isoformat())


def test_the_list_says_how_many_wait_and_since_when(file: str) -> None:
    code, printed = approvals(file, "list")

    assert code == 0
    assert printed.splitlines()[0].startswith("2 waiting, oldest ")
    assert [line.split()[0] for line in printed.splitlines()[2:]] == ["a1", "a2"]


def test_an_empty_queue_says_so(tmp_path: Path) -> None:
    Memory.open(tmp_path / "empty.duckdb").close()

    assert approvals(str(tmp_path / "empty.duckdb"), "list") == (0, "Nothing waits for a decision.\n")


def test_a_request_shows_its_change_and_its_words(file: str) -> None:
    _, printed = approvals(file, "show", "a1")

    assert "fact ended f1: Bo maintains the ingest service." in printed
    assert "fact added: Cy maintains ingest." in printed
    assert "Cy took over ingest." in printed


def test_the_list_of_another_namespace_is_empty(file: str) -> None:
    _, other = approvals(file, "list", "-n", "acme/osprey")
    _, above = approvals(file, "list", "-n", "acme")

    assert other == "Nothing waits for a decision.\n"
    assert above.startswith("2 waiting")


def test_an_approval_is_on_record_with_its_reviewer(file: str) -> None:
    code, printed = approvals(file, "approve", "a1", "--by", "eve", "--reason", "Checked.")

    assert (code, printed) == (0, "a1 is approved. Run n1 goes on when it is resumed.\n")
    assert "approve by eve" in approvals(file, "show", "a1")[1]


def test_a_request_can_be_withdrawn(file: str) -> None:
    code, printed = approvals(file, "withdraw", "a1", "--by", "eve", "--reason", "Asked twice.")

    assert (code, printed) == (0, "a1 is withdrawn. Run n1 goes on when it is resumed.\n")
    assert "withdraw by eve" in approvals(file, "show", "a1")[1]


def test_a_whole_run_can_be_withdrawn(file: str) -> None:
    code, printed = approvals(file, "withdraw", "n1", "--by", "eve")

    assert (code, printed) == (0, "n1 is withdrawn and does not go on.\n")
    assert approvals(file, "list")[1] == "Nothing waits for a decision.\n"
    assert approvals(file, "withdraw", "n1")[0] == 4


def test_a_withdrawn_run_is_json_when_json_was_asked_for(file: str) -> None:
    withdrawn = json.loads(approvals(file, "withdraw", "n1", "--by", "eve", "--json")[1])

    assert (withdrawn["id"], withdrawn["status"]) == ("n1", "withdrawn")


def test_a_second_reviewer_is_told_who_was_first(file: str) -> None:
    approvals(file, "reject", "a1", "--by", "eve")

    code, printed = approvals(file, "approve", "a1", "--by", "sam")

    assert code == 4
    assert printed.startswith("already_decided: ")
    assert "eve" in printed


def test_an_edit_changes_the_arguments_that_will_run(file: str) -> None:
    code, _ = approvals(file, "edit", "a2", "--set", "content=Ada likes decaf.", "--by", "eve")

    shown = json.loads(approvals(file, "show", "a2", "--json")[1])

    assert code == 0
    assert json.loads(shown["arguments"])["content"] == "Ada likes decaf."


def test_an_edit_that_cannot_work_leaves_the_request_waiting(file: str) -> None:
    code, printed = approvals(file, "edit", "a2", "--set", "colour=red", "--by", "eve")

    assert code == 2
    assert "colour" in printed
    assert json.loads(approvals(file, "show", "a2", "--json")[1])["status"] == "pending"


def test_an_edit_in_the_editor_is_shown_as_a_difference_and_asked(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text().replace('tea', 'mate'))"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {editor}")
    command = [sys.executable, "-m", "agents_memory.cli", "approvals", "edit", "a2", "--by", "eve", "-m", file]

    no = subprocess.run(command, input="n\n", capture_output=True, text=True, check=False)
    yes = subprocess.run(command, input="y\n", capture_output=True, text=True, check=False)

    assert '+  "content": "Ada likes mate."' in no.stdout
    assert no.returncode == 1
    assert yes.returncode == 0
    assert "a2 is approved" in yes.stdout


def test_a_stale_preview_is_refused(file: str) -> None:
    digest = json.loads(approvals(file, "show", "a1", "--json")[1])["preview"]["digest"]
    with Memory.open(file, namespace="acme/kestrel") as memory:
        memory.correct("f1", "Bob maintains the ingest service.")

    code, printed = approvals(file, "approve", "a1", "--by", "eve", "--preview", digest)

    assert code == 4
    assert printed.startswith("stale_request: ")
    assert "STALE" in approvals(file, "show", "a1")[1]


def test_a_stale_request_says_what_it_was_and_what_it_is_now(file: str) -> None:
    fresh, unchanged = approvals(file, "show", "a1")[1], json.loads(approvals(file, "show", "a1", "--json")[1])
    with Memory.open(file, namespace="acme/kestrel") as memory:
        memory.correct("f1", "Bob maintains the ingest service.")

    printed = approvals(file, "show", "a1")[1].partition("STALE")[2].splitlines()
    shown = json.loads(approvals(file, "show", "a1", "--json")[1])

    assert ("it was:" in fresh, unchanged["seen"]) == (False, None)
    was, now_ = (next(line for line in printed if line.startswith(name)) for name in ("it was:", "it is now:"))
    assert "fact ended f1: Bo maintains the ingest service." in was
    assert "fact ended f1: Bob maintains the ingest service." in now_
    assert shown["seen"] == unchanged["preview"]


def test_no_command_of_the_queue_imports_the_sdk(file: str) -> None:
    code = (
        "import sys\n"
        "from agents_memory.cli import main\n"
        f"sys.argv = ['agents-memory', 'approvals', sys.argv[1], *sys.argv[2:], '-m', {file!r}]\n"
        "try:\n    main()\nfinally:\n    assert 'agents' not in sys.modules\n"
    )
    for arguments in (
        ["list"],
        ["show", "a1"],
        ["approve", "a1", "--by", "eve"],
        ["reject", "a2", "--by", "eve"],
        ["history", "a1"],
        ["expire"],
        ["list", "--check"],
        ["withdraw", "n1"],
    ):
        ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


def test_a_stale_request_is_marked_when_the_list_checks(file: str) -> None:
    with Memory.open(file, namespace="acme/kestrel") as memory:
        memory.correct("f1", "Bob maintains the ingest service.")

    unchecked, (code, checked) = approvals(file, "list")[1], approvals(file, "list", "--check")

    assert code == 0
    assert "STALE" not in unchecked
    assert checked.splitlines()[0].endswith(", 1 STALE")
    assert ["STALE" in line for line in checked.splitlines()[2:]] == [True, False]
    assert [one["stale"] for one in json.loads(approvals(file, "list", "--check", "--json")[1])] == [True, False]


def test_the_list_says_when_a_request_expires(file: str) -> None:
    park_until(file, now() + timedelta(hours=3, minutes=1))

    printed = approvals(file, "list")[1].splitlines()

    assert printed[1].split()[:3] == ["id", "age", "expires"]
    assert ["in 3 h" in line for line in printed[2:]] == [False, False, True]
    assert "UTC" in next(line for line in approvals(file, "show", "a3")[1].splitlines() if line.startswith("expires"))


def test_what_is_due_expires(file: str) -> None:
    park_until(file, now() - timedelta(seconds=1))

    assert approvals(file, "expire") == (0, "a3 is expired. Run n2 goes on when it is resumed.\n")
    assert approvals(file, "expire") == (0, "Nothing is due.\n")
    assert json.loads(approvals(file, "expire", "--json")[1]) == []


def test_a_request_or_a_run_can_be_expired_before_its_time(file: str) -> None:
    assert approvals(file, "expire", "a1", "--by", "eve") == (0, "a1 is expired. Run n1 goes on when it is resumed.\n")
    (expired,) = json.loads(approvals(file, "expire", "n1", "--by", "eve", "--json")[1])

    assert (expired["id"], expired["status"]) == ("a2", "expired")
    assert approvals(file, "expire", "a1")[0] == 4
    assert approvals(file, "expire", "n9")[0] == 3
    assert approvals(file, "expire", "f1")[0] == 2


def test_the_history_of_a_request_says_who_decided_what_and_why(file: str) -> None:
    assert approvals(file, "history", "a1") == (0, "Nothing was decided about a1 yet.\n")
    approvals(file, "reject", "a1", "--by", "eve", "--reason", "Not ours.")

    _, printed = approvals(file, "history", "a1")
    (decision,) = json.loads(approvals(file, "history", "a1", "--json")[1])

    assert printed.split()[:5] == ["when", "decision", "by", "reason", "arguments"]
    assert "reject" in printed
    assert "Not ours." in printed
    assert (decision["decided_by"], decision["decision"], decision["reason"]) == ("eve", "reject", "Not ours.")
    assert approvals(file, "history", "a9")[0] == 3


def test_json_is_the_operations_result(file: str) -> None:
    listed = json.loads(approvals(file, "list", "--json")[1])

    assert [(request["id"], request["tool"], request["status"]) for request in listed] == [
        ("a1", "supersede", "pending"),
        ("a2", "remember", "pending"),
    ]


def test_an_error_is_json_when_json_was_asked_for(file: str) -> None:
    code, printed = approvals(file, "show", "a99", "--json")

    assert code == 3
    assert json.loads(printed)["error"]["code"] == "not_found"


def test_an_editor_that_cannot_be_run_is_said_so(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor-anywhere")

    code, printed = approvals(file, "edit", "a2", "--by", "eve")

    assert code == 2
    assert printed.startswith("invalid_input: The editor could not be run.")


def test_a_request_shows_what_memory_says_already(file: str) -> None:
    with Memory.open(file, namespace="acme/kestrel") as memory:
        memory.remember("Dan maintains ingest.", entities=["Dan", "ingest"])
        memory.remember("Ada likes tea")

    conflicting, repeating = approvals(file, "show", "a1")[1], approvals(file, "show", "a2")[1]

    assert "may contradict f3: Dan maintains ingest. (the name differs)" in " ".join(conflicting.split())
    assert "duplicate of" not in conflicting
    assert "duplicate of f4" in " ".join(repeating.split())
    assert "fact reinforced f4: Ada likes tea" in repeating
    assert "may contradict" not in repeating


def test_what_was_written_without_asking_is_listed_and_acknowledged(file: str) -> None:
    with Memory.open(file, namespace="acme/kestrel") as memory:
        arguments = {"content": "Bo maintains the billing service.", "entities": ["Bo", "billing"]}
        call = {"operation": "remember", "arguments": arguments, "call_id": "c9", "approved": True, "review": True}
        memory.call("perform", call)

    listed = approvals(file, "list", "--written")[1].splitlines()
    shown = approvals(file, "show", "a3")[1]

    assert listed[0].startswith("1 waiting, oldest ")
    assert listed[2].startswith("a3 ")
    assert "changed " in shown
    assert "fact added f3: Bo maintains the billing service." in shown
    assert approvals(file, "acknowledge", "a3", "--by", "eve") == (0, "a3 is done.\n")
    assert approvals(file, "list", "--written") == (0, "Nothing waits for a look.\n")
    assert approvals(file, "list", "--written", "--check")[0] == 2
    assert approvals(file, "acknowledge", "a3", "--by", "bob")[0] == 4


def test_a_request_that_two_people_must_approve_says_how_many_have(tmp_path: Path) -> None:
    path = str(tmp_path / "two.duckdb")
    with Memory.open(path, writer="bot") as memory:
        saved = {"state": "YQ==", "digest": "d", "sdk_version": "0", "schema_version": "0", "tools": "{}"}
        asked = {"tool": "remember", "operation": "remember", "arguments": '{"content": "x"}', "call_id": "c1"}
        agents = {"starting_agent": "a", "current_agent": "a"}
        memory.call("park_run", {**saved, **agents, "calls": [asked], "approvals": 2})

    assert "0 of 2 approved" in approvals(path, "list")[1]
    assert approvals(path, "approve", "a1", "--by", "eve", "--always") == (0, "a1 waits on: 1 of 2 approved.\n")
    assert approvals(path, "approve", "a1", "--by", "eve")[0] == 4
    shown = approvals(path, "show", "a1")[1]
    assert "a1 · pending · 1 of 2 approved" in shown
    assert "approve, always in this run, by eve" in shown
    assert approvals(path, "approve", "a1", "--by", "sam")[1].startswith("a1 is approved.")


def test_what_was_asked_without_a_run_is_reviewed_the_same_way_and_written_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "asked.duckdb")
    with Memory.open(path, writer="mail-reader") as memory:
        memory.remember("Bo owns ingest.")
        memory.request_approval("supersede", {"fact_id": "f1", "content": "Cy owns ingest."}, reason="A mail said so")
        memory.request_approval("forget", {"fact_id": "f1"})
        memory.request_approval("add_episode", {"text": "Cy: mine"})

    assert "a1  " in approvals(path, "list", "--check")[1]
    shown = approvals(path, "show", "a1")[1]
    assert "supersede, asked for by mail-reader, in session none" in shown
    assert "A mail said so" in shown
    assert "fact ended f1: Bo owns ingest." in shown
    assert approvals(path, "approve", "a1", "--by", "eve") == (0, "a1 is done. It was written: superseded f2.\n")
    assert "written " in approvals(path, "show", "a1")[1]
    assert approvals(path, "reject", "a2", "--by", "eve") == (0, "a2 is rejected. Nothing was written.\n")
    assert approvals(path, "approve", "a3", "--by", "eve") == (0, "a3 is done. It was written: p1.\n")
    assert approvals(path, "approve", "a3", "--by", "bob")[0] == 4
