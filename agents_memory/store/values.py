"""Values on their way into DuckDB and out of it.

In the file times are naive UTC and an open end is a finite far date; in Python they are aware and an open end is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import duckdb
import numpy as np

Row = dict[str, Any]

FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
"""An open end in the file: `forever()` in SQL. Infinity is not used: `epoch_us('infinity')` is NULL in DuckDB."""


def to_duckdb(value: Any) -> Any:
    """A Python value as DuckDB takes it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | range):
        return list(value)
    return value


def to_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Columns of Python values as DuckDB reads a table from them, ten times as fast as parameters."""
    return {name: _array(values) for name, values in columns.items()}


def _array(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    if isinstance(values, range):
        return np.arange(values.start, values.stop, dtype=np.int64)
    if values and all(type(value) is int for value in values):
        return np.array(values, np.int64)
    cells = np.empty(len(values), dtype=object)  # np.array would make a list of lists a table
    cells[:] = values
    return cells


def from_duckdb(cursor: duckdb.DuckDBPyConnection) -> list[Row]:
    """The rows of an executed statement as dictionaries, times aware and open ends None."""
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, _read(values), strict=True)) for values in cursor.fetchall()]


def _read(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        yield _moment(value) if isinstance(value, datetime) else value


def _moment(value: datetime) -> datetime | None:
    aware = value.replace(tzinfo=UTC)
    return None if aware >= FOREVER else aware
