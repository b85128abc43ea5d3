"""Making one statement fail, to see that everything around it is all or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agents_memory.store.database import Database


class Injected(Exception):
    """The failure that was asked for."""


class Countdown:
    """Counts statements, and fails at one of them.

    Attributes:
        seen: The names of the statements so far, `begin` and `commit` included.
        fired: Whether the failure happened.
    """

    def __init__(self, fail_at: int | None) -> None:
        self.seen: list[str] = []
        self.fired = False
        self._fail_at = fail_at

    def __call__(self, name: str) -> None:
        """Take note of a statement, or fail in its place."""
        self.seen.append(name)
        if len(self.seen) - 1 == self._fail_at:
            self.fired = True
            raise Injected(name)


@contextmanager
def failing_at(database: Database, number: int | None) -> Iterator[Countdown]:
    """Let the statement of that number fail, counted from 0 inside the block; None only counts.

    Yields:
        What was seen.
    """
    before, countdown = database.on_statement, Countdown(number)
    database.on_statement = countdown
    try:
        yield countdown
    finally:
        database.on_statement = before
