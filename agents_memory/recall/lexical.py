"""The lexical retriever: exact BM25 over the facts that hold at the moment asked about.

Its statistics (how many facts, how long, how many hold a word) are taken over those facts alone, so a recall of the
past scores as it did then, and nothing in another namespace moves a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from agents_memory.recall.columns import Array
from agents_memory.recall.view import View

K1: Final = 0.9
B: Final = 0.4
"""Both measured best on long conversations: facts are short, and a word that comes twice says little more."""


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


def score_words(view: View, terms: Sequence[str]) -> WordScores:
    """Score every visible row of a view by the terms of a question."""
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
    """How much a word (or a name) tells that `holding` of `held` facts hold; never negative."""
    return float(np.log1p((held - holding + 0.5) / (holding + 0.5)))


def _holds(rows: Array, row: int) -> bool:
    at = int(np.searchsorted(rows, row))
    return at < len(rows) and bool(rows[at] == row)
