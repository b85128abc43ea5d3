"""From a key (a term, an entity) to the rows that hold it, growing at its end without being rebuilt at each write.

Old entries lie in sorted arrays; new ones in a dictionary that is folded into them when it has grown to an eighth of
their size, so that an append costs the same however much there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from agents_memory.recall.columns import Array

_LATE_AT_LEAST: Final = 4096


@dataclass(frozen=True, slots=True)
class _Folded:
    """Entries sorted by key, then row: those of `keys[i]` lie from `starts[i]` to `starts[i + 1]`."""

    keys: Array
    starts: Array
    rows: Array
    counts: Array

    def of(self, key: int) -> tuple[Array, Array]:
        at = int(np.searchsorted(self.keys, key))
        if at == len(self.keys) or self.keys[at] != key:
            return self.rows[:0], self.counts[:0]
        span = slice(self.starts[at], self.starts[at + 1])
        return self.rows[span], self.counts[span]

    def of_many(self, keys: Array) -> tuple[Array, Array]:
        if not len(self.keys):
            return self.rows[:0], self.rows[:0]
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        sizes = np.where(self.keys[at] == keys, np.diff(self.starts)[at], 0)
        positions = np.repeat(np.arange(len(keys)), sizes)
        within = np.arange(len(positions)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return positions, self.rows[self.starts[at][positions] + within]

    def entry_keys(self) -> Array:
        return np.repeat(self.keys, np.diff(self.starts))


class Postings:
    """Rows and counts by key. Rows must be given in ascending order; the arrays that `of` returns never change."""

    def __init__(self) -> None:
        nothing = np.empty(0, np.int64)
        self._folded = _Folded(nothing, np.zeros(1, np.int64), nothing, nothing)
        self._late: dict[int, tuple[list[int], list[int]]] = {}
        self._late_size = 0

    def of(self, key: int) -> tuple[Array, Array]:
        """The rows that hold `key`, ascending, and how often each does."""
        rows, counts = self._folded.of(key)
        late = self._late.get(key)
        if late is None:
            return rows, counts
        return np.concatenate([rows, late[0]]), np.concatenate([counts, late[1]])

    def of_many(self, keys: Sequence[int]) -> tuple[Array, Array]:
        """For each row that holds one of `keys`, the key's position among them, and the row."""
        positions, rows = self._folded.of_many(np.asarray(keys, np.int64))
        late = [(at, self._late[key][0]) for at, key in enumerate(keys) if key in self._late]
        if not late:
            return positions, rows
        late_positions = np.repeat([at for at, _ in late], [len(found) for _, found in late])
        return (
            np.concatenate([positions, late_positions]),
            np.concatenate([rows, *(found for _, found in late)]),
        )

    def append(self, row: int, counts: dict[int, int]) -> None:
        """Add one row with the keys it holds."""
        for key, count in counts.items():
            rows, times = self._late.setdefault(key, ([], []))
            rows.append(row)
            times.append(count)
        self._late_size += len(counts)
        if self._late_size > max(_LATE_AT_LEAST, len(self._folded.rows) // 8):
            self._fold()

    def load(self, keys: Array, rows: Array, counts: Array) -> None:
        """Add many rows at once: one entry a (key, row), rows ascending."""
        if self._late:
            self._fold()
        base = self._folded
        self._folded = _sorted(
            np.concatenate([base.entry_keys(), keys]),
            np.concatenate([base.rows, rows]),
            np.concatenate([base.counts, counts]),
        )

    def _fold(self) -> None:
        late, self._late, self._late_size = self._late, {}, 0
        self.load(
            np.repeat(np.fromiter(late, np.int64, len(late)), [len(rows) for rows, _ in late.values()]),
            np.concatenate([rows for rows, _ in late.values()]),
            np.concatenate([times for _, times in late.values()]),
        )


def _sorted(keys: Array, rows: Array, counts: Array) -> _Folded:
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    return _Folded(found, np.append(starts, len(keys)), rows[order], counts[order])
