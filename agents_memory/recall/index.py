"""The read index of a file: one shard a namespace, loaded when first asked for, told of every commit.

A shard is registered before it is read, and commits queue up at it from then on, so that a commit that falls into the
reading is neither missed nor taken twice: applying what was read already changes nothing. A commit only queues; the
next reader does the work. What an index loses costs time, never truth.
"""

from __future__ import annotations

import contextvars
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Final

import numpy as np

from agents_memory.recall.columns import Array, Mask, Moment
from agents_memory.recall.shard import KIND_CODES, Shard
from agents_memory.recall.view import Look, View
from agents_memory.store.database import Database
from agents_memory.types import Kind

MAX_LOADED_VERSIONS: Final = 2_000_000
"""Beyond this many, the shards that were asked longest ago are let go; about 0.3 KB a version of usual length."""


class ReadIndex:
    """The shards of a file that are loaded; get it by `database.shared(ReadIndex)`. Safe to use from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._lock = threading.Lock()
        database.subscribe(self)

    def view(self, namespaces: Sequence[str], moment: Moment, kinds: frozenset[Kind] | None) -> View:
        """What can be seen in some namespaces, nearest first, at a moment."""
        looks = [self._slot(namespace).look(self._database, namespace, moment, kinds) for namespace in namespaces]
        self._let_go(keep=frozenset(namespaces))
        return View(looks)

    def evict(self, namespace: str) -> None:
        """Let go of a namespace's shard; it is read anew when next asked for."""
        with self._lock:
            self._slots.pop(namespace, None)

    def committed(self, changes: Sequence[object]) -> None:
        """Queue the changes of one transaction at the shards they concern."""
        concerned: dict[str, list[object]] = {}
        for change in changes:
            concerned.setdefault(getattr(change, "namespace", ""), []).append(change)
        with self._lock:
            for namespace, news in concerned.items():
                if namespace in self._slots:
                    self._slots[namespace].tell(news)

    def reset(self) -> None:
        """Let go of every shard."""
        with self._lock:
            self._slots.clear()

    def _slot(self, namespace: str) -> _Slot:
        with self._lock:
            slot = self._slots.setdefault(namespace, _Slot())
            self._slots.move_to_end(namespace)
            return slot

    def _let_go(self, keep: frozenset[str]) -> None:
        with self._lock:
            excess = sum(slot.size for slot in self._slots.values()) - MAX_LOADED_VERSIONS
            for namespace in [name for name in self._slots if name not in keep]:
                if excess <= 0:
                    return
                excess -= self._slots.pop(namespace).size


class _Slot:
    """A shard, and the transactions that it has yet to take in, each whole."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._news: deque[Sequence[object]] = deque()
        self._shard: Shard | None = None

    @property
    def size(self) -> int:
        """The number of versions that are loaded."""
        return 0 if self._shard is None else len(self._shard.facts)

    def tell(self, changes: Sequence[object]) -> None:
        """Queue the changes of one transaction; never waits for a reader."""
        self._news.append(changes)

    def look(self, database: Database, namespace: str, moment: Moment, kinds: frozenset[Kind] | None) -> Look:
        """The shard as it is at `moment`, loaded and caught up."""
        with self._lock:
            shard = self._current(database, namespace)
            visible = shard.facts.holds(moment)
            return Look(
                namespace=namespace,
                shard=shard,
                lock=self._lock,
                visible=visible,
                admitted=visible if kinds is None else visible & _of_kinds(shard.facts.column("kind"), kinds),
                tied=shard.relations.holds(moment),
            )

    def _current(self, database: Database, namespace: str) -> Shard:
        shard = self._shard
        if shard is None:
            shard = _loaded(database, namespace)
        self._shard = None  # what fails on the way is read anew by the next call
        while self._news:
            for change in self._news.popleft():
                shard.apply(change)
        self._shard = shard
        return shard


def _of_kinds(codes: Array, kinds: frozenset[Kind]) -> Mask:
    wanted = np.zeros(len(KIND_CODES), np.bool_)
    wanted[[KIND_CODES[kind.value] for kind in kinds]] = True
    return wanted[codes]


def _loaded(database: Database, namespace: str) -> Shard:
    """A shard read from what is committed, whatever transaction the caller has open."""
    return contextvars.Context().run(_read, database, namespace)


def _read(database: Database, namespace: str) -> Shard:
    shard = Shard()
    shard.load_names(database.columns("index_names", namespace=namespace))
    shard.load_facts(database.columns("index_facts", namespace=namespace))
    shard.load_relations(database.columns("index_relations", namespace=namespace))
    return shard
