"""The read index against SQL: what is visible, how words score and what is recalled, at any point of both times."""

import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_memory import Memory, _clock
from agents_memory.errors import AgentsMemoryError
from agents_memory.graph.changes import FactClosed, FactWritten
from agents_memory.recall.columns import Moment, micros
from agents_memory.recall.index import ReadIndex
from agents_memory.recall.lexical import K1, B, score_words
from agents_memory.store.database import Database
from agents_memory.text.tokens import query_tokens, tokens
from agents_memory.types import Kind
from tests.storage import Clock

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ["кофе", "tea", "10.0.0.1", "running", "咖啡豆", "user", "café"]
numbers = count(1)

days = st.integers(0, 6)
intervals = st.tuples(days, days).map(lambda ends: (min(ends), max(ends) + 1))
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
versions = st.fixed_dictionaries(
    {
        "below": st.booleans(),
        "content": texts,
        "kind": st.sampled_from([Kind.FACT, Kind.TASK]),
        "valid": intervals,
        "believed": intervals,
    }
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as opened:
        yield opened


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def written(version: dict[str, Any], namespace: str) -> FactWritten:
    """A version as the graph would publish it."""
    return FactWritten(
        namespace=f"{namespace}/below" if version["below"] else namespace,
        fact_id=next(numbers),
        version=1,
        content=version["content"],
        kind=version["kind"].value,
        importance=0.5,
        pinned=False,
        entity_ids=(),
        valid_from=day(version["valid"][0]),
        valid_to=day(version["valid"][1]),
        tx_from=day(version["believed"][0]),
    )


def store(database: Database, facts: list[FactWritten], ends: list[datetime]) -> None:
    """Write versions as one transaction that opens and closes each."""
    rows = ", ".join(
        f"({fact.fact_id}, 1, '{fact.namespace}', '{fact.content}', '{fact.kind}', 0.5, 1, false, [],"
        f" '{fact.valid_from:%Y-%m-%d}', '{fact.valid_to:%Y-%m-%d}', '{fact.tx_from:%Y-%m-%d}', '{end:%Y-%m-%d}',"
        " 'created')"
        for fact, end in zip(facts, ends, strict=True)
    )
    with database.transaction() as tx:
        if rows:
            tx.script(
                "INSERT INTO fact_versions (fact_id, version, namespace, content, kind, importance, confidence, pinned,"
                f" entity_ids, valid_from, valid_to, tx_from, tx_to, change) VALUES {rows}"
            )
        for fact, end in zip(facts, ends, strict=True):
            tx.publish(fact)
            tx.publish(FactClosed(namespace=fact.namespace, fact_id=fact.fact_id, version=1, tx_to=end))


def visible_by_sql(
    database: Database, namespaces: list[str], valid_at: datetime, known_at: datetime
) -> dict[int, tuple[str, str]]:
    found = database._cursor().execute(
        "SELECT fact_id, content, kind FROM facts_at($1, $2, $3)",
        [namespaces, valid_at.replace(tzinfo=None), known_at.replace(tzinfo=None)],
    )
    return {fact_id: (content, kind) for fact_id, content, kind in found.fetchall()}


def bm25(facts: dict[int, str], terms: list[str]) -> dict[int, float]:
    """BM25 as a textbook has it, over nothing but these facts."""
    counted = {fact_id: Counter(tokens(content)) for fact_id, content in facts.items()}
    average = sum(counts.total() for counts in counted.values()) / max(len(counted), 1)
    scores = dict.fromkeys(facts, 0.0)
    for term in terms:
        holding = [fact_id for fact_id, counts in counted.items() if term in counts]
        idf = math.log(1 + (len(facts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for fact_id in holding:
            times = counted[fact_id][term]
            length = counted[fact_id].total() / average
            scores[fact_id] += idf * times * (K1 + 1) / (times + K1 * (1 - B + B * length))
    return {fact_id: score for fact_id, score in scores.items() if score > 0}


@settings(max_examples=60)
@given(
    early=st.lists(versions, max_size=12),
    late=st.lists(versions, max_size=12),
    question=texts,
    points=st.lists(st.tuples(days, days), min_size=1, max_size=4),
)
def test_visibility_and_word_scores_equal_sql_and_a_textbook_bm25(memory, early, late, question, points):
    database, index = memory._database, memory._database.shared(ReadIndex)
    namespace = f"example{next(numbers)}"
    namespaces = [f"{namespace}/below", namespace]
    store(database, [written(version, namespace) for version in early], [day(v["believed"][1]) for v in early])
    index.view(namespaces, Moment(valid_at=0, known_at=0), None)  # loaded here: what is late arrives as commits
    store(database, [written(version, namespace) for version in late], [day(v["believed"][1]) for v in late])
    terms = query_tokens(question)

    for valid_at, known_at in [(day(valid), day(known)) for valid, known in points]:
        moment = Moment(valid_at=micros(valid_at), known_at=micros(known_at))
        view = index.view(namespaces, moment, frozenset({Kind.TASK}))
        scored = score_words(view, terms)
        ids = view.column("fact_id")
        expected = visible_by_sql(database, namespaces, valid_at, known_at)

        assert view.rows == len(early) + len(late)
        assert set(ids[view.visible].tolist()) == set(expected)
        assert set(ids[view.admitted].tolist()) == {key for key, (_, kind) in expected.items() if kind == "task"}
        oracle = bm25({key: content for key, (content, _) in expected.items()}, terms)
        found = np.flatnonzero(scored.scores)
        assert dict(zip(ids[found].tolist(), scored.scores[found].tolist(), strict=True)) == pytest.approx(oracle)


verbs = st.lists(
    st.tuples(
        st.sampled_from(["remember", "remember", "supersede", "correct", "forget", "recall"]),
        st.integers(0, 5),
        texts,
        days,
    ),
    min_size=1,
    max_size=14,
)


def apply(memory: Memory, facts: list[str], verb: str, pick: int, text: str, at: int) -> None:
    """Do one verb to one of the facts there are; what it refuses changes nothing."""
    said = f"note {next(numbers)} {text}"
    if verb == "recall":
        memory.recall(text)
    elif verb == "remember" or not facts:
        facts.append(memory.remember(said, valid_from=day(at)).id)
    elif verb == "supersede":
        facts.append(memory.supersede(facts[pick % len(facts)], said, at=day(at)).id)
    elif verb == "correct":
        memory.correct(facts[pick % len(facts)], said)
    else:
        memory.forget(facts[pick % len(facts)])


@settings(max_examples=40)
@given(script=verbs)
def test_recall_finds_exactly_what_holds_at_every_point_of_both_times(memory, script):
    clock = Clock(memory._database.now() + timedelta(seconds=1))
    mine = memory.at_namespace(f"script{next(numbers)}")
    facts: list[str] = []
    known = []
    with _clock.replaced_by(clock):
        for verb, pick, text, at in script:
            clock.move(seconds=1)
            try:
                apply(mine, facts, verb, pick, text, at)
            except AgentsMemoryError:
                continue
            known.append(memory._database.now())

        for known_at in known:
            for valid_at in (day(number) for number in range(-1, 7)):
                hits = mine.as_of(valid_at=valid_at, known_at=known_at).recall("note", k=1000).hits
                expected = visible_by_sql(memory._database, [mine.namespace], valid_at, known_at)
                assert {int(hit.fact.id[1:]): hit.fact.content for hit in hits} == {
                    key: content for key, (content, _) in expected.items()
                }
