"""What model calls cost, counted as their items are added to a session.

The SDK's runner hands a session the context of the run, whose usage grows with each model call. What it grew by since
the run was seen last belongs to the batch that is added now. A run that is seen for the first time, such as one that
is resumed in another process, has spent nothing here yet. A token is counted once, whatever sessions share a run: an
agent that is a tool of another has a part in its usage, and where it has a session of its own, what was spent before it
began is owed to the session that was used until then.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agents import RunContextWrapper
from agents.usage import Usage

Place = tuple[str, str]
"""The namespace and id of a session."""


@dataclass(slots=True)
class _Run:
    """What is known of a run's usage: how far it was looked at, by whom last, and what sessions have not stored yet."""

    usage: weakref.ref[Usage]
    seen: Counter[str]
    last: Place
    owed: dict[Place, Counter[str]] = field(default_factory=dict)

    def look(self, now: Counter[str], owner: Place, by: Place) -> None:
        """Let what was spent since the last look be owed to a session."""
        self.owed[owner] = self.owed.get(owner, Counter()) + (now - self.seen)
        self.seen, self.last = now, by


class Meter:
    """How much of each run's usage was counted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[int, _Run] = {}

    def begin(self, wrapper: RunContextWrapper[Any] | None, place: Place) -> None:
        """Count with a session what is spent from here on."""
        if wrapper is not None:
            with self._lock:
                run, now = self._run_of(wrapper.usage, place)
                run.look(now, owner=run.last, by=place)

    @contextmanager
    def spent(self, wrapper: RunContextWrapper[Any] | None, place: Place) -> Iterator[dict[str, int] | None]:
        """What a session has to count now; None where that is nothing. It is given back when the block fails."""
        if wrapper is None:
            yield None
            return
        with self._lock:
            run, now = self._run_of(wrapper.usage, place)
            run.look(now, owner=place, by=place)
            taken = run.owed.pop(place)
        try:
            yield dict(taken) or None
        except BaseException:
            with self._lock:
                run.owed[place] = run.owed.get(place, Counter()) + taken
            raise

    @contextmanager
    def rest(self, wrapper: RunContextWrapper[Any], place: Place) -> Iterator[dict[str, int] | None]:
        """As `spent`, but for a run that may never have been seen: then it is all of its usage."""
        with self._lock:
            if id(wrapper.usage) not in self._runs:
                self._run_of(wrapper.usage, place)[0].seen = Counter()
        with self.spent(wrapper, place) as usage:
            yield usage

    def _run_of(self, usage: Usage, place: Place) -> tuple[_Run, Counter[str]]:
        """The run of a usage, begun now if it was never seen, and what it has spent; the caller holds the lock."""
        now, number = totals(usage), id(usage)
        if number not in self._runs:
            self._runs[number] = _Run(weakref.ref(usage, lambda _: self._runs.pop(number, None)), now, place)
        return self._runs[number], now


METER = Meter()
"""The one of this process."""


def totals(usage: Usage) -> Counter[str]:
    """The counts of the SDK's usage, as operations take them."""
    return Counter(
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cached_tokens=_detail(usage.input_tokens_details, "cached_tokens"),
        cache_write_tokens=_detail(usage.input_tokens_details, "cache_write_tokens"),
        reasoning_tokens=_detail(usage.output_tokens_details, "reasoning_tokens"),
    )


def _detail(details: object, name: str) -> int:
    return getattr(details, name, 0) or 0
