"""Items: stored as they come, read in one order, all or nothing."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from agents_memory import Memory
from agents_memory._ids import IdKind, to_number
from agents_memory.errors import InvalidInput, StorageError
from agents_memory.graph.scope import Scope
from agents_memory.sessions import items
from agents_memory.sessions.live import Key, conversations


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def called(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": f"of {call_id}"}


def add(memory: Memory, *added: Any, session_id: str = "s", **origin: Any) -> tuple[str, ...]:
    texts = [json.dumps(item) for item in added]
    ids: tuple[str, ...] = memory.call("session_append", {"session_id": session_id, "items": texts}, **origin)
    return ids


def read(memory: Memory, limit: int | None = None) -> list[Any]:
    return [json.loads(text) for text in memory.call("session_items", {"session_id": "s", "limit": limit})]


def outline(memory: Memory) -> list[str]:
    return [
        item.get("content") or f"{item['type'].removeprefix('function_')} {item['call_id']}" for item in read(memory)
    ]


def scope_of(memory: Memory) -> Scope:
    return Scope(database=memory._database, caller=memory._caller)


def forget_process_state(memory: Memory) -> None:
    memory._database.shared(conversations).reset()


@contextmanager
def rolled_back(memory: Memory) -> Iterator[None]:
    with suppress(Interrupted), memory._database.transaction():
        yield
        raise Interrupted


class Interrupted(Exception):
    pass


def test_a_batch_is_one_statement(memory: Memory) -> None:
    add(memory, said("first"))
    ran: list[str] = []
    memory._database.on_statement = ran.append

    add(memory, *(said(str(n)) for n in range(100)))
    read(memory, 50)

    assert ran == ["insert_session_items"]


def test_a_pop_is_one_statement_and_reads_nothing_anew(memory: Memory) -> None:
    add(memory, *(said(str(n)) for n in range(5)))
    ran: list[str] = []
    memory._database.on_statement = ran.append

    for _ in range(3):
        memory.call("session_pop", {"session_id": "s"})
    read(memory)

    assert ran == ["begin", "close_session_items", "commit"] * 3


@pytest.mark.parametrize("pops", range(1, 7))
def test_what_is_added_after_pops_stands_where_a_reader_of_the_file_would_put_it(memory: Memory, pops: int) -> None:
    add(memory, said("q1"), called("c1"), called("c2"))
    add(memory, said("q2"), answer("a2"), output("c1"))
    add(memory, answer("a1"))
    for _ in range(pops):
        memory.call("session_pop", {"session_id": "s"})

    add(memory, output("c1"), output("c2"), called("c3"), said("q3"), output("c3"))

    known = outline(memory), items.latest_user_item(scope_of(memory), "s"), items.last_item_id(scope_of(memory), "s")
    forget_process_state(memory)
    assert known == (
        outline(memory),
        items.latest_user_item(scope_of(memory), "s"),
        items.last_item_id(scope_of(memory), "s"),
    )


@pytest.mark.parametrize("bad", ["{", "", "{'a': 1}", "nothing"])
def test_a_text_that_is_no_json_is_refused_with_its_batch(memory: Memory, bad: str) -> None:
    with pytest.raises(InvalidInput, match=r"items\[1\] is no JSON"):
        memory.call("session_append", {"session_id": "s", "items": ["{}", bad]})

    assert read(memory) == []
    assert memory.sessions() == ()


def test_item_ids_grow_across_sessions(memory: Memory) -> None:
    ids = [*add(memory, said("a"), said("b")), *add(memory, said("c"), session_id="t"), *add(memory, said("d"))]

    numbers = [to_number(IdKind.ITEM, item_id) for item_id in ids]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("reloaded", [False, True], ids=["known", "read anew"])
class TestPlaces:
    """Where an output is read; whether the process knew the call or read it from the file makes no difference."""

    def after(self, memory: Memory, before: list[Any], *late: Any, reloaded: bool) -> list[str]:
        add(memory, *before)
        if reloaded:
            forget_process_state(memory)
        add(memory, *late)
        known = outline(memory)
        forget_process_state(memory)
        assert outline(memory) == known
        return known

    def test_an_output_after_a_later_user_item_stands_next_to_its_call(self, memory: Memory, reloaded: bool) -> None:
        before = [said("q1"), called("c1"), said("q2"), answer("a2")]

        found = self.after(memory, before, output("c1"), answer("a1"), reloaded=reloaded)

        assert found == ["q1", "call c1", "call_output c1", "q2", "a2", "a1"]

    def test_an_output_in_its_own_turn_stays_where_it_came(self, memory: Memory, reloaded: bool) -> None:
        found = self.after(memory, [said("q1"), called("c1"), answer("wait")], output("c1"), reloaded=reloaded)

        assert found == ["q1", "call c1", "wait", "call_output c1"]

    def test_an_output_after_another_run_spoke_stands_next_to_its_call(self, memory: Memory, reloaded: bool) -> None:
        add(memory, said("q1"), called("c1"), answer("said with the call"))

        found = self.after(memory, [answer("of another run")], output("c1"), reloaded=reloaded)

        assert found == ["q1", "call c1", "call_output c1", "said with the call", "of another run"]

    def test_a_reused_call_id_means_the_newest_call_that_waits(self, memory: Memory, reloaded: bool) -> None:
        before = [said("q1"), called("c"), said("q2"), called("c"), output("c"), said("q3")]

        found = self.after(memory, before, output("c"), reloaded=reloaded)

        assert found == ["q1", "call c", "call_output c", "q2", "call c", "call_output c", "q3"]

    def test_an_answered_call_takes_no_second_output(self, memory: Memory, reloaded: bool) -> None:
        before = [said("q1"), called("c"), output("c"), said("q2")]

        found = self.after(memory, before, output("c"), reloaded=reloaded)

        assert found == ["q1", "call c", "call_output c", "q2", "call_output c"]

    def test_an_output_without_a_call_closes_no_later_one(self, memory: Memory, reloaded: bool) -> None:
        before = [output("c"), said("q1"), called("c"), said("q2")]

        found = self.after(memory, before, output("c"), reloaded=reloaded)

        assert found == ["call_output c", "q1", "call c", "call_output c", "q2"]

    def test_call_turn_and_output_in_one_batch(self, memory: Memory, reloaded: bool) -> None:
        found = self.after(
            memory, [said("q0")], called("c1"), called("c2"), said("q1"), output("c2"), output("c1"), reloaded=reloaded
        )

        assert found == ["q0", "call c1", "call_output c1", "call c2", "call_output c2", "q1"]

    def test_an_output_later_than_what_the_process_keeps(self, memory: Memory, reloaded: bool) -> None:
        before = [said("q1"), called("c1"), *(said(str(n)) for n in range(150))]

        found = self.after(memory, before, output("c1"), answer("end"), reloaded=reloaded)

        assert found[:4] == ["q1", "call c1", "call_output c1", "0"]
        assert read(memory, 2) == [said("149"), answer("end")]


def test_popped_and_cleared_items_stay_readable_as_of_before(memory: Memory) -> None:
    add(memory, said("a"), said("b"))
    full = memory._database.now()
    memory.call("session_pop", {"session_id": "s"})
    popped = memory._database.now()
    memory.call("session_clear", {"session_id": "s"})

    assert read(memory) == []
    assert [item.text for item in memory.as_of(known_at=full).read_session("s")] == ["a", "b"]
    assert [item.text for item in memory.as_of(known_at=popped).read_session("s")] == ["a"]
    assert memory.as_of(known_at=full).call("session_items", {"session_id": "s"}) == tuple(
        json.dumps(said(text)) for text in "ab"
    )


def test_nothing_is_known_of_a_transaction_that_was_rolled_back(memory: Memory) -> None:
    add(memory, said("kept"), called("c1"))
    with rolled_back(memory):
        add(memory, said("lost"), output("c1"))
        assert outline(memory) == ["kept", "call c1", "call_output c1", "lost"]
        assert items.latest_user_item(scope_of(memory), "s") == (3, "lost")

    assert outline(memory) == ["kept", "call c1"]
    assert items.latest_user_item(scope_of(memory), "s") == (1, "kept")
    assert items.last_item_id(scope_of(memory), "s") == 2
    add(memory, said("next"), output("c1"))
    assert outline(memory) == ["kept", "call c1", "call_output c1", "next"]


def test_a_session_first_touched_in_a_failing_transaction_is_not_believed_to_exist(memory: Memory) -> None:
    with rolled_back(memory):
        add(memory, said("lost"))
        memory.call("session_pop", {"session_id": "s"})
        add(memory, said("lost too"))

    assert read(memory) == []
    add(memory, said("a"))
    assert [session.items for session in memory.sessions()] == [1]


def test_others_do_not_see_a_transaction_under_way(memory: Memory) -> None:
    add(memory, said("a"))
    seen: list[int] = []
    with memory._database.transaction():
        add(memory, said("b"))
        reader = threading.Thread(target=lambda: seen.append(len(read(memory))))
        reader.start()
        reader.join()
        assert len(read(memory)) == 2

    assert seen == [1]
    assert len(read(memory)) == 2


def test_a_preview_leaves_no_trace(memory: Memory) -> None:
    add(memory, said("a"))
    with memory._database.transaction(dry_run=True):
        add(memory, said("b"))

    assert outline(memory) == ["a"]


def test_a_lost_attempt_is_taken_back_and_nothing_else(memory: Memory) -> None:
    add(memory, said("q"), called("c1"))
    add(memory, output("c1"), answer("first revision"), run_id="n4")
    watermark = items.last_item_id(scope_of(memory), "s")
    add(memory, answer("lost"), answer("lost too"), run_id="n4")
    add(memory, said("someone else"))
    add(memory, answer("of another run"), run_id="n5")

    with memory._database.transaction() as tx:
        removed = items.remove_after(tx, Key("acme", "s", "main"), run_id=4, watermark=watermark)

    assert removed == 2
    assert outline(memory) == ["q", "call c1", "call_output c1", "first revision", "someone else", "of another run"]


def test_the_latest_user_item_is_the_one_that_is_left(memory: Memory) -> None:
    assert items.latest_user_item(scope_of(memory), "s") is None
    assert items.last_item_id(scope_of(memory), "s") == 0
    add(memory, said("a"), said("b"), answer("c"))

    memory.call("session_pop", {"session_id": "s"})
    memory.call("session_pop", {"session_id": "s"})

    assert items.latest_user_item(scope_of(memory), "s") == (1, "a")


def test_large_items_are_not_kept_in_the_process_beyond_the_last(memory: Memory) -> None:
    large = said("x" * 700_000)
    add(memory, large, large, large)

    known = memory._database.shared(conversations)._kept[Key("acme", "s", "main")]

    assert len(known.tail) == 1
    assert len(read(memory)) == len(read(memory, 3)) == 3


def test_sessions_not_touched_for_long_are_read_anew(memory: Memory) -> None:
    add(memory, said("a"))
    for n in range(300):
        memory.call("session_items", {"session_id": f"other {n}"})

    assert Key("acme", "s", "main") not in memory._database.shared(conversations)._kept
    assert outline(memory) == ["a"]
    add(memory, said("b"))
    assert [session.items for session in memory.sessions()] == [2]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("session_append", {"items": ['{"role": "user", "content": "new"}']}),
        ("session_pop", {}),
        ("session_clear", {}),
    ],
)
@pytest.mark.parametrize("session_id", ["s", "new"])
def test_whatever_statement_fails_nothing_has_changed(
    memory: Memory, name: str, arguments: dict[str, Any], session_id: str
) -> None:
    add(memory, said("q"), called("c"))
    arguments = {"session_id": session_id, **arguments}
    for failing in range(9):
        fail_at(memory, failing)
        with suppress(StorageError):
            memory.call(name, arguments)
            memory._database.on_statement = None
            break
        memory._database.on_statement = None
        assert outline(memory) == ["q", "call c"]
        assert [session.session_id for session in memory.sessions()] == ["s"]
    else:
        pytest.fail("it never succeeded")


def fail_at(memory: Memory, number: int) -> None:
    countdown = iter(range(number, -1, -1))

    def on_statement(_: str) -> None:
        if next(countdown, None) == 0:
            raise StorageError("injected")

    memory._database.on_statement = on_statement
