"""The lexical retriever: exact BM25 over the facts, or what was said, that hold at the moment asked about.

Its statistics (how many rows, how long, how many hold a word) are taken over those alone, so a question to the past
scores as it did then, and nothing in another namespace moves a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from agents_memory.recall.columns import Array, Mask

K1: Final = 0.9
B: Final = 0.4
"""Both measured best on long conversations: facts are short, and a word that comes twice says little more."""

MIN_COVERAGE: Final = 0.03
"""Words that carry less of the question than this do not make a hit: nearly every row holds them."""


class Rows(Protocol):
    """Rows that words lead to, as they are at one moment."""

    @property
    def rows(self) -> int:
        """How many rows there are, visible or not."""

    @property
    def visible(self) -> Mask:
        """Which of them hold at the moment; the statistics of words are taken over these."""

    @property
    def held(self) -> int:
        """How many these are."""

    def words(self, term: str) -> tuple[Array, Array]:
        """The visible rows that hold a term, and how often."""

    def column(self, name: str) -> Array:
        """A column of all rows; `length` is how many words each holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordScores:
    """What the question's words say about each row of a view.

    Attributes:
        scores: BM25; 0 where no word matches.
        coverage: The share of the question's weight (inverse document frequency) that a row's words carry, 0 to 1.
        weights: The weight of each term of the question.
        rows: The rows that hold each term.
    """

    scores: Array
    coverage: Array
    weights: dict[str, float]
    rows: dict[str, Array]

    def terms_of(self, row: int) -> tuple[str, ...]:
        """The terms of the question that a row holds."""
        return tuple(term for term, rows in self.rows.items() if _holds(rows, row))


def score_words(view: Rows, terms: Sequence[str]) -> WordScores:
    """Score every visible row by the terms of a question."""
    scores = np.zeros(view.rows)
    coverage = np.zeros(view.rows)
    found = {term: view.words(term) for term in terms}
    weights = {term: idf(view.held, len(rows)) for term, (rows, _) in found.items()}
    lengths = view.column("length")
    average = float(lengths[view.visible].mean()) if view.held else 1.0
    for term, (rows, counts) in found.items():
        damping = K1 * (1 - B + B * lengths[rows] / max(average, 1.0))
        scores[rows] += weights[term] * counts * (K1 + 1) / (counts + damping)
        coverage[rows] += weights[term]
    coverage /= sum(weights.values()) or 1.0
    rows_of = {term: rows for term, (rows, _) in found.items()}
    return WordScores(scores=scores, coverage=coverage, weights=weights, rows=rows_of)


def idf(held: int, holding: int) -> float:
    """How much a word (or a name) tells that `holding` of `held` rows hold; never negative."""
    return float(np.log1p((held - holding + 0.5) / (holding + 0.5)))


def _holds(rows: Array, row: int) -> bool:
    at = int(np.searchsorted(rows, row))
    return at < len(rows) and bool(rows[at] == row)
