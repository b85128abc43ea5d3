"""Half-open intervals of valid time, `(from, to)` with None for an open end: pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

Interval = tuple[datetime, datetime | None]


def overlap(one: Interval, other: Interval) -> bool:
    """Whether some moment lies in both."""
    return (one[1] is None or other[0] < one[1]) and (other[1] is None or one[0] < other[1])


def uncovered(asked: Interval, known: Iterable[Interval], now: datetime) -> list[Interval]:
    """The parts of `asked` that none of `known` covers, earliest first.

    An asked interval without an end is covered by one that still holds at `now`: what is known to end later is not made
    endless by saying it again.
    """
    start, end = asked
    parts: list[Interval] = []
    for known_from, known_to in sorted(known, key=lambda interval: interval[0]):
        if start < known_from:
            parts.append((start, known_from))
        if known_to is None or (end is None and known_to > now):
            return parts
        start = max(start, known_to)
        if end is not None and end <= start:
            return parts
    return [*parts, (start, end)]


def outside(whole: Interval, cut: Interval) -> list[Interval]:
    """The parts of `whole` that lie outside of `cut`, earliest first."""
    before: list[Interval] = [(whole[0], cut[0])] if whole[0] < cut[0] else []
    goes_on = cut[1] is not None and (whole[1] is None or cut[1] < whole[1])
    return [*before, (cut[1], whole[1])] if goes_on and cut[1] is not None else before
