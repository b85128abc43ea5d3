"""The end of a session is replaced at once, and only if it is still what was read."""

import json
from typing import Any

import pytest

from agents_memory import Memory
from agents_memory.errors import InvalidInput, LeaseLost
from agents_memory.graph.scope import Scope
from agents_memory.sessions import items
from agents_memory.sessions.live import Key
from agents_memory.testing.faults import Injected, failing_at
from tests.storage import dump
from tests.unit.sessions.test_items import add, answer, called, forget_process_state, outline, output, said


def suffix(memory: Memory, limit: int | None = None) -> list[list[str]]:
    return [list(row) for row in memory.call("session_suffix", {"session_id": "s", "limit": limit})]


def replace(memory: Memory, expected: Any, *new: Any, drop: Any = (), run_id: str | None = None, **more: Any) -> bool:
    texts = [json.dumps(item) for item in new]
    asked = {"session_id": "s", "expected": expected, "items": texts, "drop": list(drop), **more}
    replaced: bool = memory.call("session_replace_suffix", asked, run_id=run_id)
    return replaced


def test_the_end_is_read_with_its_ids(memory: Memory) -> None:
    add(memory, said("a"), said("b"))

    assert suffix(memory, 1) == [["i2", json.dumps(said("b"))]]
    assert [item_id for item_id, _ in suffix(memory)] == ["i1", "i2"]


@pytest.mark.parametrize("reloaded", [False, True], ids=["known", "read anew"])
def test_the_end_is_replaced_and_what_came_before_stays(memory: Memory, reloaded: bool) -> None:
    add(memory, said("a"), called("c"), output("c"), answer("b"))
    before = memory._database.now()
    if reloaded:
        forget_process_state(memory)

    assert replace(memory, suffix(memory, 3), answer("summary"))

    assert outline(memory) == ["a", "summary"]
    forget_process_state(memory)
    assert outline(memory) == ["a", "summary"]
    assert len(memory.as_of(known_at=before).read_session("s")) == 4


def test_an_end_beyond_what_the_process_keeps_is_replaced(memory: Memory) -> None:
    add(memory, *(said(str(n)) for n in range(300)))

    assert replace(memory, suffix(memory, 250), answer("summary"))

    assert outline(memory) == [*map(str, range(50)), "summary"]


@pytest.mark.parametrize("change", ["added", "popped", "replaced", "rewritten"])
def test_an_end_that_changed_meanwhile_is_refused(memory: Memory, change: str) -> None:
    add(memory, said("a"), said("b"))
    expected = suffix(memory, 1)
    if change == "added":
        add(memory, said("b"))
    elif change == "rewritten":
        memory._database._cursor().execute("UPDATE session_items_stored SET item_json = '{}' WHERE item_id = 2")
        forget_process_state(memory)
    else:
        memory.call("session_pop", {"session_id": "s"})
        if change == "replaced":
            add(memory, said("b"))
    before = dump(memory._database)

    assert not replace(memory, expected, answer("summary"))

    assert dump(memory._database) == before


def test_an_end_of_nothing_is_never_replaced(memory: Memory) -> None:
    assert not replace(memory, [], answer("summary"))
    assert outline(memory) == []


def test_the_end_can_be_taken_away_and_what_expired_with_it(memory: Memory) -> None:
    add(memory, said("expired"), said("kept"), said("end"))

    assert replace(memory, suffix(memory, 1), drop=["i1"])

    assert outline(memory) == ["kept"]


def test_an_item_that_is_no_json_changes_nothing(memory: Memory) -> None:
    add(memory, said("a"))
    asked = {"session_id": "s", "expected": suffix(memory), "items": ["{"]}

    with pytest.raises(InvalidInput, match=r"items\[0\]"):
        memory.call("session_replace_suffix", asked)

    assert outline(memory) == ["a"]


def test_a_resume_that_lost_its_claim_replaces_nothing(memory: Memory) -> None:
    add(memory, said("a"))

    with pytest.raises(LeaseLost):
        replace(memory, suffix(memory), answer("summary"), run_id="n7", fence=1)

    assert outline(memory) == ["a"]


def test_a_lost_attempt_that_is_taken_back_leaves_what_replaced_the_words_of_others(memory: Memory) -> None:
    add(memory, said("of others"))
    watermark = items.last_item_id(Scope(database=memory._database, caller=memory._caller), "s")
    add(memory, answer("of the attempt"), run_id="n4")
    replace(memory, suffix(memory), answer("summary of both"), run_id="n4")

    with memory._database.transaction() as tx:
        items.remove_after(tx, Key("acme", "s", "main"), run_id=4, watermark=watermark)

    assert outline(memory) == ["summary of both"]


def test_whatever_statement_fails_nothing_was_replaced(memory: Memory) -> None:
    add(memory, said("a"), said("b"))
    before, expected = dump(memory._database), suffix(memory, 1)

    for number in range(9):
        with failing_at(memory._database, number) as countdown:
            try:
                replace(memory, expected, answer("summary"))
            except Injected:
                assert dump(memory._database) == before
        if not countdown.fired:
            break

    assert number >= 4
    assert outline(memory) == ["a", "summary"]
