"""The only reader of the clock. Everything else asks here, or takes `at=`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime


def _system() -> datetime:
    return datetime.now(UTC)


_source: Callable[[], datetime] = _system


def now() -> datetime:
    """The present moment, aware, in UTC, to the microsecond."""
    return _source()


@contextmanager
def replaced_by(source: Callable[[], datetime]) -> Iterator[None]:
    """Let `source` be the clock of this process inside the block (for tests)."""
    global _source
    before, _source = _source, source
    try:
        yield
    finally:
        _source = before
