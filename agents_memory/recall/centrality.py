"""Which of some sentences say most of what the others say: LexRank, over the tokens of recall. Pure functions.

Sentences are alike as far as they share words, rare ones more; a sentence is central when many others, themselves
central, are like it. Words that most sentences hold weigh little, so that no language needs a list of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np

from agents_memory.recall.columns import Array
from agents_memory.recall.lexical import idf

DAMPING: Final = 0.15  # Erkan & Radev, "LexRank", JAIR 22, 2004: 0.1 to 0.2
ALIKE: Final = 0.5
"""A sentence that is this much like one that was chosen (cosine) says nothing new; that of MEAD's reranker."""

_ROUNDS: Final = 60  # 0.85 ** 60 is below a ten thousandth
_DIGITS: Final = 9


def central(sentences: Sequence[Sequence[str]], count: int) -> list[int]:
    """The positions of the most central sentences, unlike each other, in ascending order.

    Args:
        sentences: The words of each, each word once.
        count: How many at most.
    """
    words = _Words(sentences)
    scores = np.round(words.lexrank(), _DIGITS)  # equal ones in the order of reading, whatever the last digit says
    open_to = np.ones(len(sentences), np.bool_)
    chosen: list[int] = []
    while len(chosen) < count and open_to.any():
        best = int(np.argmax(np.where(open_to, scores, -1.0)))
        chosen.append(best)
        open_to &= words.likeness(best) < ALIKE
        open_to[best] = False
    return sorted(chosen)


class _Words:
    """Sentences as unit vectors of word weights, kept as one entry a word that a sentence holds."""

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        self._count = len(sentences)
        sizes = [len(words) for words in sentences]
        terms: dict[str, int] = {}
        self._term = np.fromiter((terms.setdefault(word, len(terms)) for word in chain(*sentences)), np.int64)
        self._of = np.repeat(np.arange(self._count), sizes)
        self._terms = len(terms)
        holding = np.bincount(self._term, minlength=self._terms)
        weights = np.array([idf(self._count, int(number)) for number in holding])[self._term]
        lengths = np.sqrt(np.bincount(self._of, weights**2, minlength=self._count))
        self._weight = weights / lengths[self._of]

    def lexrank(self) -> Array:
        """How central each sentence is; all of them together 1."""
        degree = self._alike(np.ones(self._count))
        scores = np.full(self._count, 1 / self._count)
        for _ in range(_ROUNDS):
            scores = DAMPING / self._count + (1 - DAMPING) * self._alike(scores / degree)
        return scores

    def likeness(self, sentence: int) -> Array:
        """How much each sentence is like one of them, 0 to 1."""
        alone = np.zeros(self._count)
        alone[sentence] = 1
        return self._alike(alone)

    def _alike(self, weights: Array) -> Array:
        """For each sentence the sum of the others' weights, and its own, by how much they are like it."""
        in_words = np.bincount(self._term, self._weight * weights[self._of], minlength=self._terms)
        return np.bincount(self._of, self._weight * in_words[self._term], minlength=self._count)
