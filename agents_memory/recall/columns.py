"""Rows in numpy columns that grow at their end, and the visibility rule over them.

The rule is `holds` of the schema, written once more: a property test keeps the two equal. Times are whole microseconds
since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents_memory.store.values import FOREVER

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

INTERVALS: Final[Mapping[str, npt.DTypeLike]] = {
    "valid_from": np.int64,
    "valid_to": np.int64,
    "tx_from": np.int64,
    "tx_to": np.int64,
}
"""The columns that the visibility rule reads."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def micros(moment: datetime | None) -> int:
    """An aware time as the index keeps it; None is an open end."""
    return ((FOREVER if moment is None else moment) - _EPOCH) // _MICROSECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The point on both time axes that a recall asks about."""

    valid_at: int
    known_at: int


class Table:
    """Columns of equal length. Rows are appended, never removed; readers may keep what `column` gave them."""

    def __init__(self, columns: Mapping[str, npt.DTypeLike]) -> None:
        self._columns: dict[str, Array] = {name: np.empty(16, dtype) for name, dtype in columns.items()}
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def column(self, name: str) -> Array:
        """The rows there are now; `set` shows through, `append` does not."""
        return self._columns[name][: self._rows]

    def append(self, rows: Mapping[str, npt.ArrayLike]) -> None:
        """Add rows, given as one sequence a column."""
        given = {name: np.asarray(rows[name]) for name in self._columns}
        end = self._rows + len(next(iter(given.values())))
        for name, values in given.items():
            self._columns[name] = _with_room(self._columns[name], self._rows, end)
            self._columns[name][self._rows : end] = values
        self._rows = end

    def set(self, name: str, rows: int | Array, value: float) -> None:
        """Change the cells of one row, or of some."""
        self._columns[name][rows] = value

    def holds(self, moment: Moment) -> Mask:
        """Which rows hold at `moment`, as believed then."""
        return holds(*(self.column(name) for name in INTERVALS), moment=moment)


def holds(valid_from: Array, valid_to: Array, tx_from: Array, tx_to: Array, *, moment: Moment) -> Mask:
    """The visibility rule: half-open on both axes."""
    found: Mask = valid_from <= moment.valid_at
    found &= moment.valid_at < valid_to
    found &= tx_from <= moment.known_at
    found &= moment.known_at < tx_to
    return found


def seen(rows: Array, mask: Mask) -> Array:
    """The positions of the rows that the mask admits; rows appended after the mask was made are not among them."""
    known = np.flatnonzero(rows < len(mask))
    return known[mask[rows[known]]]


def _with_room(column: Array, used: int, wanted: int) -> Array:
    if wanted <= len(column):
        return column
    larger = np.empty(max(wanted, 2 * len(column)), column.dtype)
    larger[:used] = column[:used]
    return larger
