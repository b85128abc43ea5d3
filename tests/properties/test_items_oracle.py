"""What a search of conversations finds, against SQL and a textbook BM25, after whatever was done, at every moment."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_memory import Memory, MemoryView, _clock
from agents_memory.errors import AgentsMemoryError
from agents_memory.recall.items import ItemIndex
from agents_memory.recall.lexical import K1, MIN_COVERAGE, B
from agents_memory.text.tokens import query_tokens, tokens
from tests.storage import Clock

WORDS = ["кофе", "tea", "10.0.0.1", "running", "咖啡豆", "user", "café"]
numbers = count(1)
call_ids = count(1)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
batches = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "none"]), texts), min_size=1, max_size=3)
ADDING = ["add", "branch", "pop", "pop", "replace"]
TAKING_APART = ["clear", "end", "rename", "delete", "old", "evict"]
steps = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(ADDING), st.sampled_from([*ADDING, *TAKING_APART])),
        st.integers(0, 7),
        batches,
        st.booleans(),
    ),
    min_size=6,
    max_size=14,
)
BEGUN: list[tuple[str, int, list[tuple[str, str]], bool]] = [
    ("add", 0, [("user", "tea кофе running"), ("tool", "tea 10.0.0.1")], False),
    ("add", 0, [("user", "咖啡豆 user")], False),
    ("branch", 0, [("user", "tea")], False),
]
"""So that there is a branch, whatever the steps are."""


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as opened:
        yield opened


def item_of(speaker: str, text: str) -> str:
    """An item as the SDK would give it; one of nobody holds no words."""
    call_id = f"call{next(call_ids)}"
    forms: dict[str, dict[str, Any]] = {
        "tool": {"type": "function_call_output", "call_id": call_id, "output": text},
        "none": {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"},
    }
    return json.dumps(forms.get(speaker, {"role": speaker, "content": text}))


def targets(memory: Memory) -> list[tuple[str, str]]:
    """Every branch there is, and main of two conversations that there may be."""
    there = [
        (session.session_id, branch.branch)
        for session in memory.sessions()
        for branch in memory.branches(session.session_id)
    ]
    return list(dict.fromkeys([("a", "main"), *there, ("b", "main")]))


def do(memory: Memory, verb: str, pick: int, batch: list[tuple[str, str]]) -> None:
    """One step; what is refused changes nothing."""
    branches = targets(memory)
    session_id, branch = branches[pick % len(branches)]
    one = {"session_id": session_id, "branch": branch}
    items = [item_of(*each) for each in batch]
    match verb:
        case "add":
            memory.call("session_append", {**one, "items": items})
        case "pop":
            for _ in batch:
                memory.call("session_pop", one)
        case "replace":
            end = memory.call("session_suffix", {**one, "limit": len(batch)})
            memory.call("session_replace_suffix", {**one, "expected": end, "items": items})
        case "clear":
            memory.call("session_clear", {"session_id": session_id})
        case "branch":
            memory.call("create_branch", {**one, "turn": 1 + len(batch)})
        case "end":
            memory.call("delete_branch", one)
        case "rename":
            memory.rename_session(session_id, f"renamed{next(numbers)}")
        case "delete":
            memory.delete_session(session_id)
        case "old":
            memory.delete_old_sessions(memory._database.now() - timedelta(seconds=4))
        case "evict":
            memory._database.shared(ItemIndex).evict(memory.namespace)


def readable(view: MemoryView, known_at: datetime) -> dict[int, dict[str, Any]]:
    """The items with words of each branch that could be read, each once, in the branch that is shown."""
    cursor = view._database._cursor()
    found = cursor.execute(
        "SELECT i.item_id, i.session_id, i.branch, i.text, i.turn, i.position,"
        " CASE WHEN i.type = 'function_call_output' THEN 'tool' ELSE i.role END AS speaker, s.branch AS said_in"
        " FROM session_items_at($1) i JOIN session_items_stored s USING (item_id)"
        " WHERE i.namespace = $2 AND i.text IS NOT NULL",
        [known_at.astimezone(UTC).replace(tzinfo=None), view.namespace],
    )
    names = [column[0] for column in found.description]
    rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    rows.sort(key=lambda row: (row["branch"] != "main", row["branch"] != row["said_in"], row["branch"]), reverse=True)
    return {row["item_id"]: row for row in rows}


def scores(items: dict[int, dict[str, Any]], terms: list[str]) -> dict[int, float]:
    """BM25 as a textbook has it, of the items that hold enough of the question."""
    counted = {item_id: Counter(tokens(row["text"])) for item_id, row in items.items()}
    average = sum(counts.total() for counts in counted.values()) / max(len(counted), 1)
    holding = {term: sum(term in counts for counts in counted.values()) for term in terms}
    idf = {term: math.log(1 + (len(counted) - some + 0.5) / (some + 0.5)) for term, some in holding.items()}
    found = {}
    for item_id, counts in counted.items():
        held = [term for term in terms if term in counts]
        damping = K1 * (1 - B + B * counts.total() / average)
        if held and sum(idf[term] for term in held) / sum(idf.values()) >= MIN_COVERAGE:
            found[item_id] = sum(idf[term] * counts[term] * (K1 + 1) / (counts[term] + damping) for term in held)
    return found


def check(view: MemoryView, known_at: datetime, question: str, *, filtered: bool) -> None:
    items = readable(view, known_at)
    session_id = next((row["session_id"] for row in items.values()), "nowhere") if filtered else None
    role = "tool" if filtered else None
    expected = {
        item_id: score
        for item_id, score in scores(items, query_tokens(question)).items()
        if session_id in (None, items[item_id]["session_id"]) and role in (None, items[item_id]["speaker"])
    }

    found = view.search_items(question, session_id=session_id, role=role, k=1000)
    best = view.search_items(question, session_id=session_id, role=role, k=2).hits

    assert {int(hit.item.id[1:]): hit.score for hit in found.hits} == pytest.approx(expected)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert best == found.hits[:2]
    for hit in found.hits:
        row = items[int(hit.item.id[1:])]
        shown = {name: getattr(hit.item, name) for name in ("session_id", "branch", "text", "turn", "position")}
        assert shown == {name: row[name] for name in shown}
        assert set(hit.terms) == set(query_tokens(question)) & set(tokens(row["text"]))
    assert (found.explanation is None) == bool(found.hits)


@settings(max_examples=40)
@given(script=steps, question=texts)
def test_a_search_finds_exactly_what_could_be_read_at_every_moment(memory, script, question):
    clock = Clock(memory._database.now() + timedelta(seconds=1))
    mine = memory.at_namespace(f"script{next(numbers)}")
    known = []
    with _clock.replaced_by(clock):
        mine.search_items(question)  # loaded here: what follows arrives as commits
        for verb, pick, batch, is_searched in [*BEGUN, *script]:
            clock.move(seconds=1)
            try:
                do(mine, verb, pick, batch)
            except AgentsMemoryError:
                continue
            known.append(memory._database.now())
            if is_searched:
                check(mine, known[-1], question, filtered=False)

        for known_at in known[-6:]:
            check(mine.as_of(known_at=known_at), known_at, question, filtered=True)
            check(mine.as_of(known_at=known_at), known_at, question, filtered=False)
