"""What a process keeps of namespaces: read when first asked for, told of every commit, let go when there is too much.

A slot is registered before it is read, and commits queue up at it from then on, so that a commit that falls into the
reading is neither missed nor taken twice: applying what was read already changes nothing. A commit only queues; the
next reader does the work. What a slot loses costs time, never truth.
"""

from __future__ import annotations

import contextvars
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from agents_memory.store.database import Database

MAX_WAITING: Final = 10_000
"""More changes than this, and more than what is loaded, do not wait for a reader: reading anew is no dearer then."""


class Shard(Protocol):
    """What is kept of one namespace."""

    @property
    def size(self) -> int:
        """How many rows are loaded."""

    def apply(self, change: Any) -> None:
        """Take in one committed change; one that was loaded already changes nothing."""


S = TypeVar("S", bound=Shard)
T = TypeVar("T")


class Slots(Generic[S]):
    """The shards of a file that are loaded, one a namespace. Safe to use from any thread."""

    def __init__(self, database: Database, load: Callable[[Database, str], S], *, follows: tuple[type, ...]) -> None:
        """Follow a file from now on.

        Args:
            database: The file.
            load: Reads the shard of a namespace from what is committed.
            follows: The kinds of changes that the shards take in; each names its `namespace`.
        """
        self._database = database
        self._load = load
        self._follows = follows
        self._slots: OrderedDict[str, _Slot[S]] = OrderedDict()
        self._lock = threading.Lock()
        database.subscribe(self)

    def look(self, namespace: str, take: Callable[[S, threading.Lock], T]) -> T:
        """What `take` makes of a namespace's shard, loaded and caught up, while its lock is held."""
        slot = self._slot(namespace)
        with slot.lock:
            return take(slot.current(lambda: self._loaded(namespace)), slot.lock)

    def evict(self, namespace: str) -> None:
        """Let go of a namespace's shard; it is read anew when next asked for."""
        with self._lock:
            self._slots.pop(namespace, None)

    def let_go(self, *, keep: frozenset[str], at_most: int) -> None:
        """Let go of the shards that were asked longest ago, until no more than `at_most` rows are loaded."""
        with self._lock:
            excess = sum(slot.size for slot in self._slots.values()) - at_most
            for namespace in [name for name in self._slots if name not in keep]:
                if excess <= 0:
                    return
                excess -= self._slots.pop(namespace).size

    def committed(self, changes: Sequence[object]) -> None:
        """Queue the changes of one transaction at the shards they concern."""
        concerned: dict[str, list[Any]] = {}
        for change in changes:
            if isinstance(change, self._follows):
                concerned.setdefault(getattr(change, "namespace", ""), []).append(change)
        with self._lock:
            for namespace, news in concerned.items():
                slot = self._slots.get(namespace)
                if slot is not None and not slot.tell(news, sum(map(self.weight, news))):
                    del self._slots[namespace]

    def reset(self) -> None:
        """Let go of every shard."""
        with self._lock:
            self._slots.clear()

    def weight(self, change: Any) -> int:  # noqa: ARG002 - those whose changes differ in size say so
        """What a change that waits takes, in rows."""
        return 1

    def _slot(self, namespace: str) -> _Slot[S]:
        with self._lock:
            slot = self._slots.setdefault(namespace, _Slot())
            self._slots.move_to_end(namespace)
            return slot

    def _loaded(self, namespace: str) -> S:
        """A shard read from what is committed, whatever transaction the caller has open."""
        return contextvars.Context().run(self._load, self._database, namespace)


class _Slot(Generic[S]):
    """A shard, and the transactions that it has yet to take in, each whole."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._news: deque[Sequence[Any]] = deque()
        self._waiting = 0
        self._shard: S | None = None

    @property
    def size(self) -> int:
        """The number of rows that are loaded."""
        return 0 if self._shard is None else self._shard.size

    def tell(self, changes: Sequence[Any], weight: int) -> bool:
        """Queue the changes of one transaction, and say whether it pays to go on; never waits for a reader."""
        self._news.append(changes)
        self._waiting += weight
        return self._waiting <= max(MAX_WAITING, self.size)

    def current(self, load: Callable[[], S]) -> S:
        """The shard, loaded and caught up; the lock is held."""
        shard = self._shard
        if shard is None:
            shard = load()
        self._shard = None  # what fails on the way is read anew by the next call
        while self._news:
            for change in self._news.popleft():
                shard.apply(change)
        self._waiting = 0  # a change that is told right now may go uncounted, which costs nothing but memory
        self._shard = shard
        return shard
