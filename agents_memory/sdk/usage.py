"""What model calls cost, counted as their items are added to a session.

The SDK's runner hands a session the context of the run, whose usage grows with each model call. What it grew by since
the run was seen last belongs to the batch that is added now. A run that is seen for the first time, such as one that
is resumed in another process, has spent nothing here yet. A token is counted once, whatever sessions share a run.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agents import RunContextWrapper
from agents.usage import Usage

_Totals = dict[str, int]


class Meter:
    """How much of each run's usage was counted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted: dict[int, tuple[weakref.ref[Usage], _Totals]] = {}

    def see(self, wrapper: RunContextWrapper[Any] | None) -> None:
        """Count from here on what a run spends, if it was not seen before."""
        if wrapper is not None:
            self._counted_of(wrapper.usage)

    @contextmanager
    def spent(self, wrapper: RunContextWrapper[Any] | None) -> Iterator[_Totals | None]:
        """What a run spent since it was counted last; counted when the block succeeds. None where nothing was."""
        if wrapper is None:
            yield None
            return
        before, now = self._counted_of(wrapper.usage), totals(wrapper.usage)
        grown = {name: max(count - before[name], 0) for name, count in now.items()}
        yield grown if any(grown.values()) else None
        self._count(wrapper.usage, now)

    @contextmanager
    def rest(self, wrapper: RunContextWrapper[Any]) -> Iterator[_Totals | None]:
        """As `spent`, but for a run that may never have been seen: then it is all of its usage."""
        with self._lock:
            is_known = id(wrapper.usage) in self._counted
        if not is_known:
            self._count(wrapper.usage, dict.fromkeys(totals(wrapper.usage), 0))
        with self.spent(wrapper) as usage:
            yield usage

    def _counted_of(self, usage: Usage) -> _Totals:
        with self._lock:
            known = self._counted.get(id(usage))
        return self._count(usage, totals(usage)) if known is None else known[1]

    def _count(self, usage: Usage, counted: _Totals) -> _Totals:
        number = id(usage)
        with self._lock:
            self._counted[number] = (weakref.ref(usage, lambda _: self._counted.pop(number, None)), counted)
        return counted


METER = Meter()
"""The one of this process."""


def totals(usage: Usage) -> _Totals:
    """The counts of the SDK's usage, as operations take them."""
    return {
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "cached_tokens": _detail(usage.input_tokens_details, "cached_tokens"),
        "cache_write_tokens": _detail(usage.input_tokens_details, "cache_write_tokens"),
        "reasoning_tokens": _detail(usage.output_tokens_details, "reasoning_tokens"),
    }


def _detail(details: object, name: str) -> int:
    return getattr(details, name, 0) or 0
