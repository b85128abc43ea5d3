"""Recall: from a question to the facts that answer it, each with why it is there.

Retrievers score the rows of a view, fusion orders them, and one statement reads the text of those returned. Nothing is
ever written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from agents_memory.errors import InvalidInput
from agents_memory.graph.rows import fact_from_row
from agents_memory.graph.scope import Scope
from agents_memory.recall import fusion
from agents_memory.recall.columns import Array, Moment, micros
from agents_memory.recall.index import ReadIndex
from agents_memory.recall.lexical import MIN_COVERAGE, WordScores, idf, score_words
from agents_memory.recall.shard import KINDS
from agents_memory.recall.view import View
from agents_memory.recall.walk import PathScores, score_paths, walk
from agents_memory.store.database import Database
from agents_memory.text.names import find_names
from agents_memory.text.tokens import name_words, query_tokens
from agents_memory.text.words import STOP_WORDS
from agents_memory.types import Caller, Fact, Hit, Kind, RecallResult

LEXICAL: Final = "lexical"
GRAPH: Final = "graph"

NAME_WEIGHT: Final = 0.5
"""What a name that question and fact share adds to BM25, times its inverse document frequency."""

GRAPH_WEIGHT: Final = 0.1
"""The graph's share beside the lexical score. Measured: up to 0.2 no rank measure is below words alone by more than
half a point and recall gains one to two; at 0.5 recall is below words alone, at 1 by twelve points."""

Fuse = Callable[["Signals"], Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What each retriever says about some rows of a view; 0 is "not found"."""

    words: Array
    names: Array
    paths: Array


def by_score(signals: Signals) -> Array:
    """Shared names add to the lexical score; the graph is weighted beside it."""
    base = signals.words + NAME_WEIGHT * signals.names
    return fusion.fuse_scores(base, [(signals.paths, GRAPH_WEIGHT)])


def by_rank(signals: Signals) -> Array:
    """Reciprocal rank fusion, to compare against."""
    return fusion.fuse_ranks([signals.words, signals.paths])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The candidates of one question, and what found them."""

    rows: Array
    signals: Signals
    words: WordScores
    paths: PathScores
    seeds: tuple[int, ...]


def recall(
    database: Database,
    caller: Caller,
    query: str,
    *,
    k: int,
    kinds: frozenset[Kind] | None = None,
    fuse: Fuse = by_score,
) -> RecallResult:
    """The facts that answer a question, best first.

    Args:
        database: The file.
        caller: Who asks; its namespace and that one's ancestors are searched, at its moments.
        query: Plain words, in any language.
        k: The most hits to return, of any size.
        kinds: Only facts of these kinds; None for all.
        fuse: How the retrievers' scores become one.

    Raises:
        InvalidInput: `k` is less than 1.
    """
    if k < 1:
        raise InvalidInput(f"k is {k!r}. Ask for at least one fact.", k=k)
    view, moments, moment = _seen(database, caller, kinds)
    found = _search(view, query, moment)
    order, scores = _ordered(view, found, k, moment, fuse)
    facts = _hydrated(database, view, found.rows[order], moments)
    hits = [
        _hit(view, found, at, float(scores[at]), facts[int(found.rows[at])])
        for at in order.tolist()
        if int(found.rows[at]) in facts
    ]
    return RecallResult(
        hits=tuple(hits),
        retrievers=(LEXICAL, GRAPH),
        seeds=_names(view, found.seeds),
        explanation=None if hits else _why_nothing(view, caller, query),
    )


def pinned_facts(database: Database, caller: Caller) -> tuple[Fact, ...]:
    """The facts that are always worth showing: the nearest namespace's first, then the most important, then by id."""
    view, moments, _ = _seen(database, caller, None)
    rows = np.flatnonzero(view.visible & view.column("pinned"))
    ranked = (view.column("fact_id")[rows], -view.column("importance")[rows], view.distance[rows])
    facts = _hydrated(database, view, rows, moments)
    return tuple(facts[row] for row in rows[np.lexsort(ranked)].tolist() if row in facts)


def _seen(
    database: Database, caller: Caller, kinds: frozenset[Kind] | None
) -> tuple[View, tuple[datetime, datetime], Moment]:
    """What a caller sees, and the moments at which it looks."""
    scope = Scope(database=database, caller=caller)
    valid_at, known_at = scope.moments()
    moment = Moment(valid_at=micros(valid_at), known_at=micros(known_at))
    return database.shared(ReadIndex).view(scope.visible, moment, kinds), (valid_at, known_at), moment


def _search(view: View, query: str, moment: Moment) -> _Found:
    terms = query_tokens(query)
    named = find_names(query, lambda key: view.names(key, moment.known_at))
    words = score_words(view, terms)
    only_names = named.words.union(STOP_WORDS).issuperset(word.key for word in name_words(query))
    paths = score_paths(view, walk(view, named.entity_ids, terms), hubs=only_names)
    names = _shared_names(view, named.entity_ids)
    rows = np.flatnonzero(view.admitted & ((words.coverage >= MIN_COVERAGE) | (paths.scores > 0)))
    asked = fusion.scaled(words.scores[rows])
    signals = Signals(words=words.scores[rows], names=names[rows], paths=paths.scores[rows] * (0.5 + 0.5 * asked))
    return _Found(rows=rows, signals=signals, words=words, paths=paths, seeds=named.entity_ids)


def _shared_names(view: View, entity_ids: tuple[int, ...]) -> Array:
    """For each row the weight of the question's entities that it names."""
    at, rows = view.about(entity_ids)
    weights = np.array([idf(view.held, int(facts)) for facts in np.bincount(at, minlength=len(entity_ids))])
    return np.bincount(rows, weights=weights[at], minlength=view.rows)


def _ordered(view: View, found: _Found, k: int, moment: Moment, fuse: Fuse) -> tuple[Array, Array]:
    """The positions of the best `k` candidates, best first, and the scores of all."""
    scores = fuse(found.signals)
    ids = view.column("fact_id")[found.rows]
    window = fusion.best(scores, ids, fusion.WINDOW * k)
    rows = found.rows[window]
    scores[window] *= fusion.multipliers(
        importance=view.column("importance")[rows].astype(np.float64),
        kinds=[KINDS[code] for code in view.column("kind")[rows].tolist()],
        age_us=moment.valid_at - view.column("valid_from")[rows],
        distance=view.distance[rows],
    )
    return window[fusion.best(scores[window], ids[window], k)], scores


def _hydrated(database: Database, view: View, rows: Array, moments: tuple[datetime, datetime]) -> dict[int, Fact]:
    """The facts of some rows, by row; one that was erased meanwhile is missing."""
    if not len(rows):
        return {}
    ids = view.column("fact_id")[rows].tolist()
    versions = view.column("version")[rows].tolist()
    found = database.rows("recalled_facts", fact_ids=ids, versions=sorted(set(versions)))
    facts = {
        (row["fact_id"], row["version"]): fact_from_row({**row, "entities": _names(view, row["entity_ids"])}, *moments)
        for row in found
    }
    keys = zip(ids, versions, strict=True)
    return {row: facts[key] for row, key in zip(rows.tolist(), keys, strict=True) if key in facts}


def _hit(view: View, found: _Found, at: int, score: float, fact: Fact) -> Hit:
    row = int(found.rows[at])
    terms = found.words.terms_of(row)
    path = found.paths.path_of(row)
    retrievers = [name for name, ran in ((LEXICAL, terms), (GRAPH, path)) if ran]
    return Hit(fact=fact, score=score, retrievers=tuple(retrievers), terms=terms, path=_names(view, path))


def _names(view: View, entity_ids: Sequence[int]) -> tuple[str, ...]:
    names = (view.own_name(entity_id) for entity_id in entity_ids)
    return tuple(name for name in names if name is not None)


def _why_nothing(view: View, caller: Caller, query: str) -> str:
    if not view.rows:
        return f"Nothing is stored in the namespace {caller.namespace!r}, nor above it."
    if not view.held:
        return f"Nothing that is stored in the namespace {caller.namespace!r} or above it holds at that moment."
    if not np.any(view.admitted):
        return "No fact that can be seen at that moment is of a kind that was asked for."
    if not query_tokens(query):
        return "The question holds no word to look for."
    return f"None of the {np.count_nonzero(view.admitted)} facts that can be seen matches the question."
