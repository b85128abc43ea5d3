"""Reading conversations a page at a time, around an item, and together with those that they continue."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_memory import Memory
from agents_memory.errors import InvalidId, InvalidInput, NoSuchBranch, NotFound


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def add(memory: Memory, session_id: str, *items: Any, branch: str = "main", **more: Any) -> tuple[str, ...]:
    asked = {"session_id": session_id, "branch": branch, "items": [json.dumps(item) for item in items], **more}
    ids: tuple[str, ...] = memory.call("session_append", asked)
    return ids


def say(memory: Memory, session_id: str, *texts: str, **more: Any) -> tuple[str, ...]:
    return add(memory, session_id, *map(said, texts), **more)


def pages(memory: Any, size: int, **more: Any) -> list[str]:
    """Every item's id, read forwards a page at a time."""
    found: list[str] = []
    while page := memory.read_session("s", limit=size, after=found[-1] if found else None, **more):
        assert len(page) <= size
        found += [item.id for item in page]
    return found


def pages_back(memory: Any, size: int, **more: Any) -> list[str]:
    """Every item's id, read backwards a page at a time from the newest."""
    found: list[str] = [item.id for item in memory.read_session("s", **more)[-1:]]
    while found and (page := memory.read_session("s", limit=size, before=found[0], **more)):
        found = [item.id for item in page] + found
    return found


@pytest.fixture
def long(memory: Memory) -> Memory:
    """A conversation of ten items, with a late output next to its call, and a branch."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    add(memory, "s", said("0"), call, *map(said, "123456"))
    add(memory, "s", {"type": "function_call_output", "call_id": "c", "output": "late"}, said("7"))
    memory.call("create_branch", {"session_id": "s", "turn": 5, "name": "b"})
    say(memory, "s", "8", branch="b")
    say(memory, "s", "9")
    return memory


@pytest.mark.parametrize("size", [1, 2, 3, 10, 11, 12, 100])
@pytest.mark.parametrize("branch", ["main", "b"])
def test_pages_put_together_are_the_whole(long: Memory, size: int, branch: str) -> None:
    whole = [item.id for item in long.read_session("s", branch=branch)]

    assert pages(long, size, branch=branch) == whole
    assert pages_back(long, size, branch=branch) == whole


def test_a_page_names_the_same_turns_and_positions_as_the_whole(long: Memory) -> None:
    whole = long.read_session("s")

    assert long.read_session("s", limit=3, after=whole[3].id) == whole[4:7]
    assert long.read_session("s", limit=3, before=whole[6].id) == whole[3:6]
    assert long.read_session("s", after=whole[2].id, before=whole[6].id) == whole[3:6]
    assert long.read_session("s", after=whole[2].id, before=whole[6].id, limit=2) == whole[3:5]
    assert long.read_session("s", after=whole[-1].id) == ()
    assert long.read_session("s", before=whole[0].id, limit=5) == ()


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(1, 4), st.lists(st.booleans(), max_size=6))
def test_pages_are_the_whole_of_what_is_left_when_items_are_popped_between(
    size: int, page: int, pops: list[bool]
) -> None:
    with Memory.open(":memory:") as memory:
        ids = say(memory, "s", *map(str, range(size)))
        found: list[str] = []
        left = list(ids)
        for popping in [*pops, *[False] * size]:
            if popping:
                memory.call("session_pop", {"session_id": "s"})
                left = left[:-1]
                continue
            found += [item.id for item in memory.read_session("s", limit=page, after=found[-1] if found else None)]

        assert found[: len(left)] == left  # what was read before it was popped may follow
        assert found == list(ids[: len(found)])


def test_a_page_goes_on_after_an_item_that_was_taken_out(memory: Memory) -> None:
    ids = say(memory, "s", *"abcd")
    memory.call("session_pop", {"session_id": "s"})
    memory.call("session_pop", {"session_id": "s"})
    (new,) = say(memory, "s", "e")

    assert [item.id for item in memory.read_session("s", after=ids[2])] == [new]
    assert [item.id for item in memory.read_session("s", before=ids[3], limit=1)] == [ids[1]]


def test_a_page_by_what_was_never_there_is_no_end(long: Memory) -> None:
    (elsewhere,) = say(long, "t", "x")
    on_b = long.read_session("s", branch="b")[-1].id

    for asked in ({"after": elsewhere}, {"before": elsewhere}, {"after": on_b}, {"after": "i999"}):
        with pytest.raises(NotFound, match="never in the branch"):
            long.read_session("s", **asked)  # type: ignore[arg-type]
    with pytest.raises(NoSuchBranch):
        long.read_session("s", branch="unknown", after=on_b)
    for wrong in ({"after": "f1"}, {"before": "12"}):
        with pytest.raises(InvalidId):
            long.read_session("s", **wrong)  # type: ignore[arg-type]
    for limit in (0, -1, True, "2"):
        with pytest.raises(InvalidInput):
            long.read_session("s", limit=limit)  # type: ignore[arg-type]


def test_pages_as_of_before(long: Memory) -> None:
    then = long._database.now()
    whole = [item.id for item in long.read_session("s")]
    for _ in range(4):
        long.call("session_pop", {"session_id": "s"})

    assert pages(long.as_of(known_at=then), 3) == whole


# -- lists of sessions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_of_sessions_put_together_are_all(memory: Memory, size: int) -> None:
    names = [f"s{number}" for number in (3, 1, 2, 10, 5)]
    for name in names:
        say(memory, name, "x")
    found: list[str] = []
    while page := memory.sessions(limit=size, after=found[-1] if found else None):
        found += [one.session_id for one in page]
        memory.call("session_clear", {"session_id": found[0]})

    assert found == names
    assert memory.sessions(limit=size) == memory.sessions()[:size]


def test_a_list_after_a_session_that_is_gone_is_no_end(memory: Memory) -> None:
    for name in ("a", "b", "c"):
        say(memory, name, "x")
    memory.delete_session("b")

    with pytest.raises(NotFound, match="'b'"):
        memory.sessions(after="b")
    assert memory.sessions(after="c") == ()
    assert [one.session_id for one in memory.sessions(after="a")] == ["c"]


# -- around an item --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("around", [0, 1, 3, 50])
def test_an_item_is_read_with_its_neighbours(long: Memory, around: int) -> None:
    whole = long.read_session("s")
    for at, item in enumerate(whole):
        found = long.get_item(item.id, around=around)

        assert found.item == item
        assert found.before == whole[max(at - around, 0) : at]
        assert found.after == whole[at + 1 : at + 1 + around]


def test_an_item_has_neighbours_in_the_branch_asked_for(long: Memory) -> None:
    shared = long.read_session("s", branch="b")[-2]
    own = long.read_session("s", branch="b")[-1]

    assert [item.text for item in long.get_item(shared.id, around=1, branch="b").after] == ["8"]
    assert [item.text for item in long.get_item(shared.id, around=1).after] != ["8"]
    assert long.get_item(own.id).item == own
    with pytest.raises(NotFound):
        long.get_item(own.id, branch="main")


def test_an_item_that_was_taken_out_is_found_as_of_before(memory: Memory) -> None:
    first, last = say(memory, "s", "a", "b")
    then = memory._database.now()
    memory.call("session_pop", {"session_id": "s"})

    with pytest.raises(NotFound, match="taken out"):
        memory.get_item(last)
    found = memory.as_of(known_at=then).get_item(last, around=1)
    assert (found.item.text, [item.id for item in found.before]) == ("b", [first])
    with pytest.raises(NotFound):
        memory.at_namespace("acme/kestrel").get_item(first)
    with pytest.raises(InvalidId):
        memory.get_item("f1")


# -- conversations that continue others --------------------------------------------------------------------------------


def test_a_thread_is_read_from_its_first_conversation_on(memory: Memory) -> None:
    say(memory, "monday", "a", "b")
    say(memory, "tuesday", "c", continues="monday")
    say(memory, "beside", "x", continues="monday")
    say(memory, "wednesday", "d", continues="tuesday")
    say(memory, "monday", "late")

    assert [item.text for item in memory.thread("wednesday")] == ["a", "b", "late", "c", "d"]
    assert [item.text for item in memory.thread("monday")] == ["a", "b", "late"]
    assert memory.thread("unknown") == ()
    assert [(one.session_id, one.continues) for one in memory.sessions()] == [
        ("monday", None),
        ("tuesday", "monday"),
        ("beside", "monday"),
        ("wednesday", "tuesday"),
    ]


def test_a_conversation_continues_one_that_is_there_and_the_same_for_ever(memory: Memory) -> None:
    say(memory, "one", "a")
    say(memory, "two", "b", continues="one")
    say(memory, "three", "c")

    say(memory, "two", "again", continues="one")
    say(memory, "two", "and again")
    for session_id, continues in (("two", "three"), ("three", "one"), ("one", "two")):
        with pytest.raises(InvalidInput, match="began without continuing"):
            say(memory, session_id, "lost", continues=continues)
    for session_id, continues in (("new", "unknown"), ("new", "new")):
        with pytest.raises(NotFound):
            say(memory, session_id, "lost", continues=continues)
    below = memory.at_namespace("acme/kestrel")
    with pytest.raises(NotFound):
        say(below, "new", "lost", continues="one")

    assert [item.text for item in memory.thread("two")] == ["a", "b", "again", "and again"]
    assert [one.session_id for one in memory.sessions()] == ["one", "two", "three"]


def test_an_item_that_only_another_branch_still_holds_is_read_there(memory: Memory) -> None:
    say(memory, "s", "one", "two")
    memory.call("create_branch", {"session_id": "s", "turn": 2, "name": "try"})
    for _ in range(2):
        memory.call("session_pop", {"session_id": "s"})

    found = memory.get_item("i1")

    assert (found.item.text, found.item.branch) == ("one", "try")
