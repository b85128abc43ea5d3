"""The SQL views that people query: ids as shown everywhere, UTC times, NULL for an open end."""

import json
from typing import Any

import pytest

from agents_memory import Memory

VIEWS = (
    "session_items", "session_turns", "session_entities", "current_facts", "fact_history", "current_relations",
    "facts_written", "decisions",
)  # fmt: skip


def query(memory: Memory, sql: str) -> list[tuple[Any, ...]]:
    return memory._database._cursor().execute(sql).fetchall()


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_can_be_read_from_an_empty_memory(memory: Memory, view: str) -> None:
    assert query(memory, f'SELECT * FROM "{view}"') == []


def test_items_are_numbered_in_the_order_of_reading(memory: Memory) -> None:
    items = [
        {"role": "user", "content": "q1"},
        {"type": "function_call", "call_id": "c"},
        {"role": "user", "content": "q2"},
        {"type": "function_call_output", "call_id": "c", "output": "late"},
    ]
    memory.call("session_append", {"session_id": "s", "items": [json.dumps(item) for item in items]}, run_id="n3")

    rows = query(memory, "SELECT position, turn, item_id, type, text, run_id FROM session_items ORDER BY position")

    assert rows == [
        (1, 1, "i1", "message", "q1", "n3"),
        (2, 1, "i2", "function_call", None, "n3"),
        (3, 1, "i4", "function_call_output", "late", "n3"),
        (4, 2, "i3", "message", "q2", "n3"),
    ]


def test_what_is_current_and_what_was(memory: Memory) -> None:
    memory.remember(
        "Bo maintains ingest.",
        entities=["Bo", "ingest"],
        relate=[("Bo", "maintains", "ingest")],
        valid_from="2026-01-12",
    )
    memory.supersede(
        "f1",
        "Cy maintains ingest.",
        at="2026-03-01",
        relate=[("Cy", "maintains", "ingest")],
        unrelate=[("Bo", "maintains", "ingest")],
    )
    memory.remember("Far ahead.", valid_from="2999-01-01")

    current = query(
        memory, "SELECT fact_id, content, entities, valid_from::DATE::VARCHAR, valid_to, supersedes FROM current_facts"
    )
    history = query(
        memory,
        "SELECT fact_id, version, valid_to::DATE::VARCHAR, closed_as FROM fact_history ORDER BY tx_from, fact_id",
    )
    relations = query(memory, "SELECT source, predicate, target, valid_to, fact_id FROM current_relations")

    assert current == [("f2", "Cy maintains ingest.", ["Bo", "ingest"], "2026-03-01", None, "f1")]
    assert history == [
        ("f1", 1, None, "superseded"),
        ("f1", 2, "2026-03-01", None),
        ("f2", 1, None, None),
        ("f3", 1, None, None),
    ]
    assert relations == [("Cy", "maintains", "ingest", None, "f2")]


def test_a_question_across_conversation_and_knowledge_is_one_join(memory: Memory) -> None:
    [item_id] = memory.call(
        "session_append", {"session_id": "s", "items": [json.dumps({"role": "user", "content": "Cy took it over."})]}
    )
    memory.call("remember", {"content": "Cy maintains ingest."}, session_id="s", item_id=item_id)

    rows = query(
        memory,
        "SELECT f.fact_id, f.content, f.status, i.text FROM facts_written f JOIN session_items i USING (item_id)",
    )

    assert rows == [("f1", "Cy maintains ingest.", "current", "Cy took it over.")]


def say(memory: Memory, *items: Any, branch: str = "main", **more: Any) -> None:
    texts = [json.dumps(item) for item in items]
    memory.call("session_append", {"session_id": "s", "branch": branch, "items": texts, **more})


def branched(memory: Memory) -> None:
    """Two branches that share their first turn, with calls, names and usage."""
    usage = {"requests": 1, "input_tokens": 7, "output_tokens": 3, "total_tokens": 10, "cached_tokens": 5}
    call = {"type": "function_call", "call_id": "c", "name": "find", "namespace": "crm", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "Cy"}
    memory.remember("Cy is here.", entities=["Cyrus"])
    memory.add_alias("Cyrus", "Cy")
    say(memory, {"role": "user", "content": "where is Cy?"})
    say(memory, call, output, {"role": "assistant", "content": "CY is here"}, usage=usage)
    say(memory, {"role": "user", "content": "thanks"})
    memory.call("create_branch", {"session_id": "s", "turn": 2, "name": "b"})
    say(memory, {"role": "user", "content": "and on b?"}, branch="b", usage=usage)


def test_items_stand_in_each_branch_with_their_tool(memory: Memory) -> None:
    branched(memory)

    rows = query(
        memory,
        "SELECT branch, position, turn, item_id, type, role, tool, call_id FROM session_items "
        "ORDER BY branch, position",
    )

    shared = [
        (1, 1, "i1", "message", "user", None, None),
        (2, 1, "i2", "function_call", None, "crm.find", "c"),
        (3, 1, "i3", "function_call_output", None, None, "c"),
        (4, 1, "i4", "message", "assistant", None, None),
    ]
    assert rows == [
        *[("b", *row) for row in shared],
        ("b", 5, 2, "i6", "message", "user", None, None),
        *[("main", *row) for row in shared],
        ("main", 5, 2, "i5", "message", "user", None, None),
    ]


def test_turns_stand_in_each_branch_with_what_they_cost(memory: Memory) -> None:
    branched(memory)

    rows = query(
        memory,
        "SELECT branch, said_in, turn, item_id, said, items, tools, requests, input_tokens, output_tokens, "
        "total_tokens, cached_tokens, cache_write_tokens, reasoning_tokens FROM session_turns ORDER BY branch, turn",
    )
    (once,) = query(memory, "SELECT sum(total_tokens), count(*) FROM session_turns WHERE branch = said_in")
    (times,) = query(memory, "SELECT bool_and(started_at <= ended_at) FROM session_turns")

    spent, nothing = (1, 7, 3, 10, 5, 0, 0), (0,) * 7
    assert rows == [
        ("b", "main", 1, "i1", "where is Cy?", 4, ["crm.find"], *spent),
        ("b", "b", 2, "i6", "and on b?", 1, [], *spent),
        ("main", "main", 1, "i1", "where is Cy?", 4, ["crm.find"], *spent),
        ("main", "main", 2, "i5", "thanks", 1, [], *nothing),
    ]
    assert (once, times) == ((20, 3), (True,))


def test_entities_stand_once_for_each_message_that_names_them(memory: Memory) -> None:
    branched(memory)

    rows = query(memory, "SELECT namespace, session_id, entity_id, entity, item_id FROM session_entities ORDER BY ALL")
    (joined,) = query(
        memory,
        "SELECT count(DISTINCT f.fact_id) FROM session_entities e JOIN current_facts f "
        "ON f.namespace = e.namespace AND list_contains(f.entities, e.entity)",
    )

    assert rows == [("acme", "s", "e1", "Cyrus", "i1"), ("acme", "s", "e1", "Cyrus", "i4")]
    assert joined == (1,)


def test_what_was_taken_away_is_in_no_view(memory: Memory) -> None:
    branched(memory)
    memory.call("session_clear", {"session_id": "s"})

    for view in ("session_items", "session_turns", "session_entities"):
        assert query(memory, f'SELECT * FROM "{view}"') == []
