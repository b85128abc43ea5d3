"""Which rows hold which words, and how often: the inverted index that facts and conversations are searched by.

It holds tokens and row numbers, never text. Nothing is rebuilt when a row is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from agents_memory.recall.columns import Array
from agents_memory.recall.postings import Postings
from agents_memory.text.tokens import written_tokens


class WordIndex:
    """The words of rows that are numbered from 0 on."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._postings = Postings()

    def load(self, texts: Iterable[str]) -> list[int]:
        """Take in the first rows, and return how many words each holds."""
        keys: list[int] = []
        counts: list[int] = []
        terms: list[int] = []
        lengths: list[int] = []
        for text in texts:
            found = self._counted(text)
            keys.extend(found)
            counts.extend(found.values())
            terms.append(len(found))
            lengths.append(sum(found.values()))
        rows = np.repeat(np.arange(len(terms)), terms)
        self._postings.load(np.array(keys, np.int64), rows, np.array(counts, np.int64))
        return lengths

    def append(self, row: int, text: str) -> int:
        """Take in the next row, and return how many words it holds."""
        found = self._counted(text)
        self._postings.append(row, found)
        return sum(found.values())

    def of(self, term: str) -> tuple[Array, Array]:
        """The rows that hold a word, ascending, and how often each does."""
        return self._postings.of(self._terms.get(term, -1))

    def _counted(self, text: str) -> dict[int, int]:
        counts = Counter(written_tokens(text))
        return {self._terms.setdefault(term, len(self._terms)): count for term, count in counts.items()}
