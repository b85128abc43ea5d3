"""Branches: items are shared and not copied, and what is done in one branch does not disturb another."""

import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agents_memory import Memory, _clock
from agents_memory._ids import IdKind, to_number
from agents_memory.errors import InvalidInput, NoSuchBranch, SessionParked
from agents_memory.sessions import items
from agents_memory.sessions.live import Key, conversations
from tests.storage import dump, run_python


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def called(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": f"of {call_id}"}


def add(memory: Memory, branch: str, *added: Any, **origin: Any) -> list[int]:
    texts = [json.dumps(item) for item in added]
    ids = memory.call("session_append", {"session_id": "s", "branch": branch, "items": texts}, **origin)
    return [to_number(IdKind.ITEM, item_id) for item_id in ids]


def begin(memory: Memory, name: str, *, turn: int, of: str = "main") -> None:
    memory.call("create_branch", {"session_id": "s", "branch": of, "turn": turn, "name": name})


def pop(memory: Memory, branch: str) -> None:
    memory.call("session_pop", {"session_id": "s", "branch": branch})


def line(text: str) -> str:
    item = json.loads(text)
    return item.get("content") or f"{item['type'].removeprefix('function_')} {item['call_id']}"


def read(memory: Any, branch: str = "main") -> list[str]:
    """A branch, as the process knows it and as the file says, which are the same."""
    known = [line(text) for text in memory.call("session_items", {"session_id": "s", "branch": branch})]
    memory._database.shared(conversations).reset()
    anew = [line(text) for text in memory.call("session_items", {"session_id": "s", "branch": branch})]
    assert known == anew == [line(item.item_json) for item in memory.read_session("s", branch=branch)]
    return known


@pytest.fixture
def two(memory: Memory) -> Memory:
    """Two branches of three turns, of which the first two are shared."""
    add(memory, "main", said("q1"), answer("a1"), said("q2"), answer("a2"), said("q3"), answer("a3"))
    begin(memory, "b", turn=3)
    add(memory, "b", said("q3b"), answer("a3b"))
    return memory


def test_a_branch_begins_with_what_was_said_before_the_turn(two: Memory) -> None:
    assert read(two) == ["q1", "a1", "q2", "a2", "q3", "a3"]
    assert read(two, "b") == ["q1", "a1", "q2", "a2", "q3b", "a3b"]


def test_shared_items_are_not_copied_and_keep_their_ids(two: Memory) -> None:
    main, b = two.read_session("s"), two.read_session("s", branch="b")

    assert len(dump(two._database)["session_items_stored"]) == 8
    assert [item.id for item in main[:4]] == [item.id for item in b[:4]]
    assert not {item.id for item in main[4:]} & {item.id for item in b[4:]}
    assert [(item.branch, item.turn, item.position) for item in b] == [
        ("b", turn, position) for position, turn in enumerate([1, 1, 2, 2, 3, 3], start=1)
    ]


@pytest.mark.parametrize("popping", ["main", "b"])
def test_what_is_popped_in_one_branch_stays_in_the_other(two: Memory, popping: str) -> None:
    other = "b" if popping == "main" else "main"
    before = read(two, other)
    for _ in range(4):
        pop(two, popping)
    add(two, popping, said("new"))

    assert read(two, popping) == ["q1", "a1", "new"]
    assert read(two, other) == before


def test_a_branch_of_a_branch_keeps_what_its_parents_lose(two: Memory) -> None:
    begin(two, "c", turn=3, of="b")
    begin(two, "d", turn=2, of="c")
    add(two, "c", said("q3c"))
    add(two, "d", said("q2d"))
    for branch in ("main", "b"):
        for _ in range(6):
            pop(two, branch)

    assert (read(two), read(two, "b")) == ([], [])
    assert read(two, "c") == ["q1", "a1", "q2", "a2", "q3c"]
    assert read(two, "d") == ["q1", "a1", "q2d"]

    two.call("delete_branch", {"session_id": "s", "branch": "c"})
    assert read(two, "d") == ["q1", "a1", "q2d"]


def test_deleting_a_branch_says_how_many_items_were_said_in_it_alone(two: Memory) -> None:
    gone = two.call("delete_branch", {"session_id": "s", "branch": "b"})

    assert gone == 2
    assert read(two) == ["q1", "a1", "q2", "a2", "q3", "a3"]
    assert [branch.branch for branch in two.branches("s")] == ["main"]


def test_clearing_empties_every_branch_and_leaves_them(two: Memory) -> None:
    gone = two.call("session_clear", {"session_id": "s"})

    assert gone == 8
    assert [(branch.branch, branch.items) for branch in two.branches("s")] == [("main", 0), ("b", 0)]
    add(two, "b", said("anew"))
    assert (read(two), read(two, "b")) == ([], ["anew"])


@pytest.mark.parametrize(
    "use",
    [
        lambda memory: add(memory, "b", said("late")),
        lambda memory: pop(memory, "b"),
        lambda memory: read(memory, "b"),
        lambda memory: begin(memory, "c", turn=1, of="b"),
        lambda memory: memory.call("delete_branch", {"session_id": "s", "branch": "b"}),
        lambda memory: memory.call("session_suffix", {"session_id": "s", "branch": "b"}),
        lambda memory: memory.call("add_usage", {"session_id": "s", "branch": "b", "usage": {"requests": 1}}),
        lambda memory: memory.read_session("s", branch="b"),
        lambda memory: memory.session_turns("s", branch="b"),
    ],
)
def test_a_deleted_branch_is_not_there_for_any_use(two: Memory, use: Any) -> None:
    two.call("delete_branch", {"session_id": "s", "branch": "b"})
    before = dump(two._database)

    with pytest.raises(NoSuchBranch):
        use(two)

    assert dump(two._database) == before


def test_the_name_of_a_deleted_branch_stays_taken(two: Memory) -> None:
    two.call("delete_branch", {"session_id": "s", "branch": "b"})

    with pytest.raises(InvalidInput, match="used in this session before"):
        begin(two, "b", turn=1)


def test_names_are_made_where_none_is_given(two: Memory) -> None:
    names = [two.call("create_branch", {"session_id": "s", "turn": 2}) for _ in range(3)]

    assert names == ["turn-2", "turn-2-2", "turn-2-3"]


def test_a_branch_lists_where_it_left_and_what_it_holds(two: Memory) -> None:
    begin(two, "c", turn=2, of="b")

    found = [(one.branch, one.parent, one.from_turn, one.items, one.turns) for one in two.branches("s")]

    assert found == [("main", None, None, 6, 3), ("b", "main", 3, 6, 3), ("c", "b", 2, 2, 1)]


def test_branches_of_other_sessions_and_namespaces_are_others(two: Memory) -> None:
    text = json.dumps(said("elsewhere"))
    other = two.at_namespace("acme/kestrel")
    for memory, session_id in ((two, "t"), (other, "s")):
        memory.call("session_append", {"session_id": session_id, "items": [text]})
        memory.call("create_branch", {"session_id": session_id, "turn": 1, "name": "b"})
        memory.call("session_append", {"session_id": session_id, "branch": "b", "items": [text]})
        memory.call("session_clear", {"session_id": session_id})

    assert read(two, "b") == ["q1", "a1", "q2", "a2", "q3b", "a3b"]


# -- as of an earlier moment ---------------------------------------------------------------------------------------


def test_branches_are_read_as_of_any_moment(two: Memory) -> None:
    both = two._database.now()
    pop(two, "b")
    popped = two._database.now()
    two.call("delete_branch", {"session_id": "s", "branch": "b"})
    deleted = two._database.now()
    pop(two, "main")

    def then(moment: Any, branch: str) -> list[str]:
        view = two.as_of(known_at=moment)
        texts = view.call("session_items", {"session_id": "s", "branch": branch})
        assert [line(item.item_json) for item in view.read_session("s", branch=branch)] == [*map(line, texts)]
        return [line(text) for text in texts]

    assert then(both, "b") == ["q1", "a1", "q2", "a2", "q3b", "a3b"]
    assert then(popped, "b") == ["q1", "a1", "q2", "a2", "q3b"]
    assert then(deleted, "b") == []
    assert then(deleted, "main") == ["q1", "a1", "q2", "a2", "q3", "a3"]
    assert [one.branch for one in two.as_of(known_at=popped).branches("s")] == ["main", "b"]
    assert [one.branch for one in two.as_of(known_at=deleted).branches("s")] == ["main"]


def test_a_branch_was_not_there_before_it_began(memory: Memory) -> None:
    add(memory, "main", said("q1"), answer("a1"), said("q2"))
    before = memory._database.now()
    begin(memory, "b", turn=2)

    assert memory.as_of(known_at=before).read_session("s", branch="b") == ()
    assert [one.branch for one in memory.as_of(known_at=before).branches("s")] == ["main"]


# -- late outputs, and what replaces the end ------------------------------------------------------------------------


def test_a_late_output_stands_next_to_its_call_in_its_branch_alone(memory: Memory) -> None:
    add(memory, "main", said("q1"), called("c1"), said("q2"))
    begin(memory, "b", turn=2)
    add(memory, "b", said("q2b"))

    add(memory, "main", output("c1"), answer("done"))

    assert read(memory) == ["q1", "call c1", "call_output c1", "q2", "done"]
    assert read(memory, "b") == ["q1", "call c1", "q2b"]

    add(memory, "b", output("c1"))
    assert read(memory, "b") == ["q1", "call c1", "call_output c1", "q2b"]
    assert read(memory) == ["q1", "call c1", "call_output c1", "q2", "done"]


def test_a_branch_begins_with_the_late_outputs_of_its_turns(memory: Memory) -> None:
    add(memory, "main", said("q1"), called("c1"), said("q2"), answer("a2"))
    add(memory, "main", output("c1"))
    begin(memory, "b", turn=2)
    add(memory, "b", output("c1"))

    assert read(memory, "b") == ["q1", "call c1", "call_output c1", "call_output c1"]


def test_a_call_that_was_popped_comes_back_in_its_own_branch(memory: Memory) -> None:
    add(memory, "main", said("q1"), answer("a1"), said("q2"))
    begin(memory, "b", turn=2)
    add(memory, "b", said("q2b"), called("c1"))
    pop(memory, "b")

    add(memory, "b", output("c1"), run_id="n1")

    assert read(memory, "b") == ["q1", "a1", "q2b", "call c1", "call_output c1"]
    assert read(memory) == ["q1", "a1", "q2"]


def test_a_shared_call_that_was_popped_comes_back_where_it_was_popped(memory: Memory) -> None:
    add(memory, "main", said("q1"), called("c1"), said("q2"))
    begin(memory, "b", turn=2)
    pop(memory, "b")

    add(memory, "b", output("c1"), run_id="n1")

    assert read(memory, "b") == ["q1", "call c1", "call_output c1"]
    assert read(memory) == ["q1", "call c1", "q2"]


@pytest.mark.parametrize("compacted", ["main", "b"])
def test_replacing_the_end_of_one_branch_leaves_the_others(two: Memory, compacted: str) -> None:
    other = "b" if compacted == "main" else "main"
    before = read(two, other)
    suffix = two.call("session_suffix", {"session_id": "s", "branch": compacted, "limit": 5})

    replaced = two.call(
        "session_replace_suffix",
        {"session_id": "s", "branch": compacted, "expected": suffix, "items": [json.dumps(answer("in short"))]},
    )

    assert replaced
    assert read(two, compacted) == ["q1", "in short"]
    assert read(two, other) == before


def test_the_end_of_another_branch_is_not_the_one_expected(two: Memory) -> None:
    suffix = two.call("session_suffix", {"session_id": "s", "branch": "main", "limit": 2})
    asked = {"session_id": "s", "branch": "b", "expected": suffix, "items": []}

    assert not two.call("session_replace_suffix", asked)
    assert read(two, "b") == ["q1", "a1", "q2", "a2", "q3b", "a3b"]


def test_a_lost_attempt_is_taken_back_in_its_branch_alone(two: Memory) -> None:
    for branch in ("main", "b"):
        add(two, branch, answer(f"lost in {branch}"), run_id="n1")

    with two._database.transaction() as tx:
        removed = items.remove_after(tx, Key("acme", "s", "b"), run_id=1, watermark=0)

    assert removed == 1
    assert read(two)[-1] == "lost in main"
    assert read(two, "b")[-1] == "a3b"


# -- several readers ------------------------------------------------------------------------------------------------


def test_a_reader_meanwhile_does_not_keep_what_clearing_or_renaming_left(two: Memory) -> None:
    def from_another_thread() -> None:
        reader = threading.Thread(target=lambda: two.call("session_items", {"session_id": "s", "branch": "b"}))
        reader.start()
        reader.join()

    two._database.shared(conversations).reset()
    with two._database.transaction():
        two.call("session_clear", {"session_id": "s"})
        from_another_thread()
    assert read(two, "b") == []

    add(two, "b", said("more"))
    with two._database.transaction():
        two.rename_session("s", "t")
        from_another_thread()
    with pytest.raises(NoSuchBranch):
        two.call("session_items", {"session_id": "s", "branch": "b"})


def test_a_branch_seen_only_in_a_transaction_that_failed_is_not_remembered(two: Memory) -> None:
    class Undone(Exception):
        pass

    def clear_and_fail() -> None:
        with two._database.transaction():
            two.call("session_clear", {"session_id": "s"})
            assert two.call("session_items", {"session_id": "s", "branch": "b"}) == ()
            raise Undone

    two._database.shared(conversations).reset()
    with pytest.raises(Undone):
        clear_and_fail()

    assert two.call("session_items", {"session_id": "s", "branch": "b"}) != ()
    assert read(two, "b") == ["q1", "a1", "q2", "a2", "q3b", "a3b"]


GO_ON = """
import json, sys
from agents_memory import Memory
with Memory.open(sys.argv[1], namespace="acme") as memory:
    item = json.dumps({"role": "user", "content": "from another process"})
    memory.call("session_append", {"session_id": "s", "branch": "b", "items": [item]})
    memory.call("create_branch", {"session_id": "s", "branch": "b", "turn": 2, "name": "c"})
    memory.call("session_pop", {"session_id": "s"})
"""


def test_another_process_goes_on_with_every_branch(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.duckdb", namespace="acme") as memory:
        add(memory, "main", said("q1"), answer("a1"), said("q2"))
        begin(memory, "b", turn=2)

    went_on = run_python(GO_ON, tmp_path / "m.duckdb")

    assert went_on.returncode == 0, went_on.stderr
    with Memory.open(tmp_path / "m.duckdb", namespace="acme") as memory:
        assert read(memory) == ["q1", "a1"]
        assert read(memory, "b") == ["q1", "a1", "from another process"]
        assert read(memory, "c") == ["q1", "a1"]
        with pytest.raises(InvalidInput):
            begin(memory, "c", turn=1)


def test_moments_go_on_after_a_branch_whatever_the_clock_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = _clock.now()
    with Memory.open(tmp_path / "m.duckdb") as memory:
        add(memory, "main", said("q1"))
        monkeypatch.setattr(_clock, "now", lambda: now + timedelta(hours=2))
        begin(memory, "b", turn=1)
    monkeypatch.setattr(_clock, "now", lambda: now + timedelta(hours=1))

    with Memory.open(tmp_path / "m.duckdb") as memory:
        assert memory._database.now() >= memory.branches("s")[1].created_at


def test_a_run_that_waits_keeps_its_branch(two: Memory) -> None:
    cursor = two._database._cursor()
    cursor.execute(
        "INSERT INTO parked_runs BY NAME SELECT 1 AS run_id, 'acme' AS namespace, 's' AS session_id, 'b' AS branch, "
        "true AS session_is_ours, 'x' AS starting_agent, 'x' AS current_agent, 'parked' AS status, 1 AS revision, "
        "0 AS attempt, 0 AS failures, 1 AS approvals, false AS not_by_requester, 0 AS fence, "
        "now()::TIMESTAMP AS parked_at, now()::TIMESTAMP AS updated_at"
    )
    begin(two, "c", turn=1)
    before = dump(two._database)

    with pytest.raises(SessionParked, match="n1 waits"):
        two.call("delete_branch", {"session_id": "s", "branch": "b"})

    assert dump(two._database) == before
    two.call("delete_branch", {"session_id": "s", "branch": "c"})
