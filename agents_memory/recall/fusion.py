"""From the scores of several retrievers to one order. Pure functions over arrays: no database, no clock.

The base is the lexical score, and each further retriever adds its own, brought to the same range and weighted. Equal
weight by rank was measured two to five points worse once the lexical side is good; it stays to compare against.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from agents_memory.recall.columns import Array
from agents_memory.types import Kind

RRF_K: Final = 60  # Cormack, Clarke & Buettcher, SIGIR 2009
WINDOW: Final = 3
"""The multipliers may reorder the best `WINDOW * k` only: they break near ties, they do not find."""

HALF_LIFE_DAYS: Final[dict[Kind, float]] = {Kind.TASK: 30.0, Kind.EVENT: 180.0, Kind.INSIGHT: 365.0}
"""How fast a kind ages; the others do not."""

_IMPORTANCE: Final = 0.1
_AGE: Final = 0.1
_DISTANCE: Final = 0.05
_FARTHEST: Final = 3
_DAY: Final = 86_400_000_000


def fuse_scores(base: Array, others: Sequence[tuple[Array, float]]) -> Array:
    """The base and the other scores, each min-max scaled to 0..1 and weighted; 0 stands for "not found".

    Args:
        base: The scores of the leading retriever.
        others: Further scores of the same rows, each with its weight.
    """
    fused = scaled(base)
    for scores, weight in others:
        fused = fused + weight * scaled(scores)
    return fused


def fuse_ranks(rankings: Sequence[Array]) -> Array:
    """Reciprocal rank fusion of scores of the same rows; what a retriever did not find (0) gets nothing from it."""
    gains = [np.where(scores > 0, 1 / (RRF_K + _ranks(scores)), 0.0) for scores in rankings]
    return np.asarray(np.sum(gains, axis=0))


def multipliers(*, importance: Array, kinds: Sequence[Kind], age_us: Array, distance: Array) -> Array:
    """Bounded factors: importance 0.9 to 1.1, age by kind 0.9 to 1, namespace distance 0.85 to 1."""
    half_lives = np.array([HALF_LIFE_DAYS.get(kind, np.inf) for kind in kinds])
    freshness = np.exp2(-np.maximum(age_us, 0) / _DAY / half_lives)
    return np.asarray(
        (1 + _IMPORTANCE * (2 * importance - 1))
        * (1 - _AGE + _AGE * freshness)
        * (1 - _DISTANCE * np.minimum(distance, _FARTHEST))
    )


def best(scores: Array, ids: Array, count: int) -> Array:
    """The positions of the `count` highest scores, highest first; equal scores in the order of their ids."""
    able = np.arange(len(scores))
    if count < len(scores):
        able = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    return able[np.lexsort((ids[able], -scores[able]))][:count]


def scaled(scores: Array) -> Array:
    """Scores brought to 0..1; 0 stays 0, which is "not found"."""
    top = scores.max(initial=0.0)
    return np.asarray(scores / top) if top > 0 else np.zeros(len(scores))


def _ranks(scores: Array) -> Array:
    """1 for the highest; equal scores share the better rank."""
    return 1 + np.searchsorted(np.sort(-scores), -scores)
