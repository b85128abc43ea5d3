"""The SQL views that people query: ids as shown everywhere, UTC times, NULL for an open end."""

import json
from typing import Any

import pytest

from agents_memory import Memory

VIEWS = ("session_items", "current_facts", "fact_history", "current_relations", "facts_written", "decisions")


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
