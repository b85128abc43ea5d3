"""Sessions as wholes: renamed, exported, deleted for good, and deleted when they are old."""

import base64
import json
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agents_memory import Memory, _clock, operations
from agents_memory.errors import Conflict, InvalidInput, NoSuchBranch, NotFound, SessionParked
from agents_memory.sessions.live import conversations
from tests.storage import Clock, Dump, broken_links, dump, run_python

TOKEN = "zyzzyva-9381"
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(START)
    monkeypatch.setattr(_clock, "now", clock)
    return clock


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "m.duckdb"


@pytest.fixture
def memory(clock: Clock, file: Path) -> Iterator[Memory]:
    with Memory.open(file, namespace="acme", writer="ada") as memory:
        yield memory


def say(memory: Memory, session_id: str, *texts: str, branch: str = "main", **more: Any) -> tuple[str, ...]:
    items = [json.dumps({"role": "user", "content": text}) for text in texts]
    asked = {"session_id": session_id, "branch": branch, "items": items, **more}
    ids: tuple[str, ...] = memory.call("session_append", asked)
    return ids


def texts(memory: Any, session_id: str, branch: str = "main") -> list[str | None]:
    return [item.text for item in memory.read_session(session_id, branch=branch)]


def park(memory: Memory, session_id: str, text: str, *, branch: str = "main") -> Any:
    """A parked run of a conversation with two calls, whose state holds a text."""
    arguments = {"content": f"{text} learnt", "entities": []}
    calls = [
        {
            "tool": "remember",
            "operation": "remember",
            "arguments": json.dumps(arguments),
            "call_id": "c1",
            "agent": "a",
        },
        {"tool": "send", "operation": None, "arguments": json.dumps({"to": text}), "call_id": "c2", "agent": "a"},
    ]
    state = zlib.compress(json.dumps({"said": text}).encode())
    return memory.call(
        "park_run",
        {
            "state": base64.b64encode(state).decode(),
            "digest": f"digest of {session_id} {branch}",
            "sdk_version": "0",
            "schema_version": "1",
            "tools": "{}",
            "calls": calls,
            "starting_agent": "a",
            "current_agent": "a",
            "session_id": session_id,
            "branch": branch,
            "session_is_ours": True,
        },
    )


def finish(memory: Memory, run: Any, text: str) -> None:
    """Decide a parked run, carry its memory call out, and finish it with a text."""
    approve, reject = run.requests
    shown = memory.call("show_request", {"request_id": approve})
    edited = {"content": f"{text} learnt otherwise", "entities": []}
    memory.call("decide", {"request_id": shown.id, "decision": "edit", "by": "eve", "arguments": edited})
    memory.call("decide", {"request_id": reject, "decision": "reject", "by": "eve"})
    claim = memory.call("claim_run", {"run_id": run.id, "owner": "host:1:x", "lease_s": 60})
    original = {"content": f"{text} learnt", "entities": []}
    performed = {"operation": "remember", "arguments": original, "call_id": "c1", "approved": True}
    memory.call("perform", {**performed, "session_id": run.session_id, "run_id": run.id, "fence": claim.fence})
    memory.call("finish_run", {"run_id": run.id, "fence": claim.fence, "result": f"{text} was the answer"})


def where(rows: Dump, token: str) -> dict[str, int]:
    """In how many rows of which tables a text stands, compressed states looked into."""
    found = {}
    for table, table_rows in rows.items():
        plain = [
            repr(
                [
                    zlib.decompress(value) if isinstance(value, bytes) and table == "run_states" else value
                    for value in row
                ]
            )
            for row in table_rows
        ]
        count = sum(token in row for row in plain)
        if count:
            found[table] = count
    return found


def without(rows: Dump, *tables: str) -> Dump:
    return {name: found for name, found in rows.items() if name not in tables}


@pytest.fixture
def lived(memory: Memory) -> Memory:
    """A conversation with branches, popped items, a finished run and a fact, all of which hold the token."""
    say(memory, "conv", f"one {TOKEN}", f"two {TOKEN}")
    memory.remember(f"{TOKEN} is a weevil", entities=[TOKEN])
    memory.call("create_branch", {"session_id": "conv", "turn": 2, "name": "b"})
    say(memory, "conv", f"on b {TOKEN}", branch="b")
    memory.call("session_pop", {"session_id": "conv", "branch": "b"})
    finish(memory, park(memory, "conv", TOKEN), TOKEN)
    return memory


# -- deleting --------------------------------------------------------------------------------------------------------


def test_after_deleting_only_what_memory_learnt_is_left(lived: Memory) -> None:
    before = where(dump(lived._database), TOKEN)
    assert before["session_items_stored"] == 3
    assert {"run_states", "parked_runs", "approval_requests"} <= before.keys()

    receipt = lived.delete_session("conv")

    left = where(dump(lived._database), TOKEN)
    assert (receipt.sessions, receipt.items, receipt.run_states) == (("conv",), 3, 1)
    assert left.keys() <= {
        "entities",
        "entity_aliases",
        "fact_versions",
        "effects",
        "approval_requests",
        "decisions_made",
    }
    assert left["approval_requests"] == 1
    (learnt,) = [row for row in lived.call("list_runs") if row.session_id == "conv"]
    shown = [lived.call("show_request", {"request_id": request_id}) for request_id in learnt.requests]
    assert [(one.status, TOKEN in one.arguments) for one in shown] == [("done", True), ("rejected", False)]
    assert "otherwise" in shown[0].arguments
    assert [one.decisions[0].decided_by for one in shown] == ["eve", "eve"]
    assert [row for row in dump(lived._database)["approval_requests"] if f'{TOKEN} learnt"' in repr(row)] == []


def test_facts_of_a_deleted_session_stay_and_answer(lived: Memory) -> None:
    (fact_id,) = [fact.fact_id for fact in lived.facts_written("conv")]

    lived.delete_session("conv")

    assert lived.get(fact_id).content == f"{TOKEN} learnt otherwise"
    assert [(one.session_id, one.text) for one in lived.sessions_behind(fact_id)] == [("conv", None)]
    assert lived.entities_mentioned("conv") == ()
    assert [fact.fact_id for fact in lived.facts_written("conv")] == [fact_id]
    assert broken_links(lived._database) == []


def test_a_deleted_session_is_not_there(lived: Memory) -> None:
    lived.delete_session("conv")

    assert lived.sessions() == ()
    assert (texts(lived, "conv"), lived.branches("conv")) == ([], ())
    for use in (lived.delete_session, lived.export_session):
        with pytest.raises(NotFound):
            use("conv")
    with pytest.raises(NotFound):
        lived.get_item("i1")
    with pytest.raises(NoSuchBranch):
        say(lived, "conv", "late", branch="b")


def test_a_session_that_begins_anew_knows_nothing_of_the_deleted_one(lived: Memory) -> None:
    lived.delete_session("conv")

    say(lived, "conv", "anew")
    lived.call("create_branch", {"session_id": "conv", "turn": 1, "name": "b"})

    assert texts(lived, "conv") == ["anew"]
    assert texts(lived, "conv", "b") == []
    assert lived.session_usage("conv").usage.requests == 0


def test_ids_are_never_given_again(file: Path, clock: Clock) -> None:
    with Memory.open(file, namespace="acme") as memory:
        say(memory, "other", "one")
        given = {*say(memory, "conv", "two", "three")}
        memory.delete_session("conv")
        given |= {*say(memory, "conv", "four")}
        memory.delete_session("conv")
    for _ in range(2):
        with Memory.open(file, namespace="acme") as memory:
            new = {*say(memory, "conv", "five")}
            assert not new & given
            given |= new
            memory.call("session_pop", {"session_id": "conv"})
            clock.move(days=1)
            memory.delete_old_sessions(clock.moment)
    assert given == {f"i{number}" for number in range(2, 7)}


@pytest.mark.parametrize("verb", ["rename", "delete"])
def test_a_conversation_with_a_run_that_waits_is_left_alone(memory: Memory, verb: str) -> None:
    say(memory, "conv", "one")
    run = park(memory, "conv", "x")
    before = dump(memory._database)

    def act() -> None:
        if verb == "rename":
            memory.rename_session("conv", "new")
        else:
            memory.delete_session("conv")

    with pytest.raises(SessionParked) as refused:
        act()

    assert refused.value.details == {"session_id": "conv", "run_id": run.id}
    assert dump(memory._database) == before
    memory.call("withdraw", {"id": run.id, "by": "eve"})
    act()
    assert [one.session_id for one in memory.sessions()] == (["new"] if verb == "rename" else [])


def test_other_conversations_and_namespaces_stay_as_they_are(lived: Memory) -> None:
    others = {
        "acme": lived,
        "acme/kestrel": lived.at_namespace("acme/kestrel"),
        "other": lived.at_namespace("other"),
    }
    for namespace, handle in others.items():
        session_id = "neighbour" if namespace == "acme" else "conv"
        say(handle, session_id, "kept one", "kept two")
        handle.call("create_branch", {"session_id": session_id, "turn": 2, "name": "b"})
        finish(handle, park(handle, session_id, "kept"), "kept")
        handle.call("session_pop", {"session_id": session_id})

    def kept(rows: Dump) -> Dump:
        return {
            name: [row for row in found if TOKEN not in repr(row) and not {"acme", "conv"} <= {*map(str, row)}]
            for name, found in without(
                rows, "audit", "ids_given", "run_states", "approval_requests", "parked_runs"
            ).items()
        }

    before = kept(dump(lived._database))
    states = len(dump(lived._database)["run_states"])
    lived.delete_session("conv")

    assert kept(dump(lived._database)) == before
    assert len(dump(lived._database)["run_states"]) == states - 1
    for namespace, handle in others.items():
        session_id = "neighbour" if namespace == "acme" else "conv"
        assert texts(handle, session_id) == ["kept one"]
        assert texts(handle, session_id, "b") == ["kept one"]


def test_a_session_that_continued_a_deleted_one_begins_by_itself_and_goes_on(memory: Memory) -> None:
    say(memory, "one", "first")
    say(memory, "two", "second", continues="one")
    memory.delete_session("one")

    say(memory, "two", "third", continues="one")

    assert [item.text for item in memory.thread("two")] == ["second", "third"]
    say(memory, "one", "somebody else")
    with pytest.raises(InvalidInput, match="began without continuing"):
        say(memory, "two", "fourth", continues="one")


# -- retention -------------------------------------------------------------------------------------------------------


@pytest.fixture
def aged(memory: Memory, clock: Clock) -> Memory:
    """An old conversation, an old one that waits, and one that goes on, each with something taken away long ago."""
    for session_id in ("old", "waiting", "lively"):
        say(memory, session_id, "first", "second")
        memory.call("create_branch", {"session_id": session_id, "turn": 2, "name": "b"})
        say(memory, session_id, "on b", branch="b")
        memory.call("session_pop", {"session_id": session_id})
        memory.call("session_pop", {"session_id": session_id})
        memory.call("session_pop", {"session_id": session_id, "branch": "b"})
    park(memory, "waiting", "x")
    clock.move(days=30)
    say(memory, "lively", "third")
    return memory


def test_old_conversations_go_and_what_waits_is_named(aged: Memory, clock: Clock) -> None:
    foreseen = aged.delete_old_sessions(START + timedelta(days=1), dry_run=True)
    assert len(aged.sessions()) == 3

    receipt = aged.delete_old_sessions(START + timedelta(days=1))

    assert (receipt.sessions, receipt.waiting) == (("old",), ("waiting",))
    assert (foreseen.sessions, foreseen.items, foreseen.waiting) == (receipt.sessions, receipt.items, receipt.waiting)
    assert (foreseen.is_dry_run, receipt.is_dry_run) == (True, False)
    assert [one.session_id for one in aged.sessions()] == ["waiting", "lively"]
    assert broken_links(aged._database) == []


def test_what_was_taken_away_goes_but_what_a_branch_still_holds_and_what_a_run_may_need(aged: Memory) -> None:
    def stored(session_id: str) -> list[str]:
        cursor = aged._database._cursor()
        rows = cursor.execute(
            "SELECT text FROM session_items_stored WHERE session_id = ? ORDER BY item_id", [session_id]
        )
        return [row[0] for row in rows.fetchall()]

    receipt = aged.delete_old_sessions(START + timedelta(days=1))

    assert stored("lively") == ["first", "third"]  # branch b holds the first one; the second and that on b are gone
    assert stored("waiting") == ["first", "second", "on b"]
    assert receipt.items == 3 + 2
    assert texts(aged, "lively", "b") == ["first"]
    assert texts(aged, "waiting", "b") == ["first"]


def test_retention_done_again_finds_nothing_and_writes_nothing(aged: Memory) -> None:
    aged.delete_old_sessions(START + timedelta(days=1))
    before = without(dump(aged._database), "ids_given")

    again = aged.delete_old_sessions(START + timedelta(days=1))

    assert (again.sessions, again.items, again.run_states) == ((), 0, 0)
    assert without(dump(aged._database), "ids_given") == before


def test_nothing_is_old_before_it_was_said(aged: Memory, clock: Clock) -> None:
    before = without(dump(aged._database), "ids_given")

    receipt = aged.delete_old_sessions(START)

    assert (receipt.sessions, receipt.items) == ((), 0)
    assert without(dump(aged._database), "ids_given") == before


# -- renaming --------------------------------------------------------------------------------------------------------


def test_a_renamed_session_is_the_same_one_wherever_the_file_names_it(lived: Memory) -> None:
    say(lived, "next", "goes on", continues="conv")
    before = dump(lived._database)

    lived.rename_session("conv", "renamed")

    assert named(dump(lived._database)) == named(before, {"conv": "renamed"})
    assert [item.text for item in lived.thread("next")][-1] == "goes on"
    assert [fact.content for fact in lived.facts_written("renamed")] == [f"{TOKEN} learnt otherwise"]
    assert texts(lived, "renamed", "b") == [f"one {TOKEN}"]
    assert texts(lived, "conv") == []


def named(rows: Dump, names: dict[str, str] | None = None) -> Dump:
    """Every row but the audit's, with some texts put in the place of others."""
    return {
        name: sorted(
            [
                tuple((names or {}).get(value, value) if isinstance(value, str) else value for value in row)
                for row in found
            ],
            key=repr,
        )
        for name, found in without(rows, "audit").items()
    }


def test_a_renamed_session_is_found_by_every_handle(lived: Memory) -> None:
    other = lived.at_namespace("acme")
    assert len(texts(other, "conv")) == 2

    lived.rename_session("conv", "renamed")
    say(other, "renamed", "more", branch="b")
    say(other, "conv", "another conversation")

    assert texts(lived, "renamed", "b") == [f"one {TOKEN}", "more"]
    assert texts(lived, "conv") == ["another conversation"]
    with pytest.raises(NoSuchBranch):
        say(other, "conv", "lost", branch="b")


def test_a_name_that_is_taken_or_blank_is_refused(lived: Memory) -> None:
    say(lived, "taken", "x")
    before = dump(lived._database)

    for to, error in (("taken", Conflict), ("conv", Conflict), (" ", InvalidInput), ("", InvalidInput)):
        with pytest.raises(error):
            lived.rename_session("conv", to)
    with pytest.raises(NotFound):
        lived.rename_session("unknown", "new")

    assert dump(lived._database) == before


# -- exporting -------------------------------------------------------------------------------------------------------


def test_an_export_holds_the_conversation_and_travels_as_json(lived: Memory) -> None:
    export = lived.export_session("conv")

    assert (export.namespace, export.session.session_id, export.session.turns) == ("acme", "conv", 2)
    assert [(item.branch, item.text) for item in export.items] == [
        ("main", f"one {TOKEN}"),
        ("main", f"two {TOKEN}"),
        ("b", f"one {TOKEN}"),
    ]
    assert [branch.branch for branch in export.branches] == ["main", "b"]
    assert [(turn.branch, turn.turn) for turn in export.turns] == [("main", 1), ("main", 2), ("b", 1)]
    assert [fact.content for fact in export.facts_written] == [f"{TOKEN} learnt otherwise"]
    text = operations.call_json(lived._database, lived._caller, "export_session", '{"session_id": "conv"}')
    assert operations.operation_named("export_session").load(json.loads(text)) == export


def test_an_export_as_of_before_is_what_it_was(lived: Memory, clock: Clock) -> None:
    before = lived._database.now()
    export = lived.as_of(known_at=before).export_session("conv")
    clock.move(hours=1)
    say(lived, "conv", "later")
    lived.call("delete_branch", {"session_id": "conv", "branch": "b"})

    assert lived.as_of(known_at=before).export_session("conv") == export
    assert lived.export_session("conv") != export
    with pytest.raises(NotFound):
        lived.as_of(known_at="2025-01-01").export_session("conv")


DELETE = """
import sys
from agents_memory import Memory
with Memory.open(sys.argv[1], namespace="acme") as memory:
    print(memory.delete_session("conv").items)
"""


def test_another_process_deletes_what_this_one_wrote(file: Path) -> None:
    with Memory.open(file, namespace="acme") as memory:
        say(memory, "conv", TOKEN)

    done = run_python(DELETE, file)

    assert done.stdout == "1\n", done.stderr
    with Memory.open(file, namespace="acme") as memory:
        assert where(dump(memory._database), TOKEN) == {}
        memory._database.shared(conversations).reset()
        assert memory.sessions() == ()
