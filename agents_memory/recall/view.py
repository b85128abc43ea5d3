"""What can be seen from one namespace at one moment: the rows of a few shards, numbered through.

Every retriever reads through a view, so the filter by namespace, time and kind acts inside each of them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from agents_memory.recall.columns import Array, Mask, seen
from agents_memory.recall.shard import Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One shard at one moment; what is committed later does not show.

    Attributes:
        namespace: The shard's namespace.
        shard: The shard, shared with writers.
        lock: Held while the shard's postings are read.
        visible: Which versions hold at the moment.
        admitted: Which of these are of a kind that was asked for.
        tied: Which relations hold at the moment.
    """

    namespace: str
    shard: Shard
    lock: threading.Lock
    visible: Mask
    admitted: Mask
    tied: Mask

    def words(self, term: str) -> tuple[Array, Array]:
        """The visible rows that hold a term, and how often."""
        with self.lock:
            rows, counts = self.shard.words.of(term)
        at = seen(rows, self.visible)
        return rows[at], counts[at]

    def about(self, entity_ids: Sequence[int]) -> tuple[Array, Array]:
        """For each visible row that names one of some entities: the entity's position among them, and the row."""
        with self.lock:
            at, rows = self.shard.about.of_many(entity_ids)
        visible = seen(rows, self.visible)
        return at[visible], rows[visible]

    def ties(self, entity_ids: Sequence[int]) -> tuple[Array, Array, Array]:
        """For each relation of some entities: the entity's position, the entity at the other end, the predicate."""
        with self.lock:
            at, rows = self.shard.ties.of_many(entity_ids)
            tied = seen(rows, self.tied)
            at, rows = at[tied], rows[tied]
            source = self.shard.relations.column("source")[rows]
            target = self.shard.relations.column("target")[rows]
            predicate = self.shard.relations.column("predicate")[rows]
        return at, np.where(source == np.asarray(entity_ids)[at], target, source), predicate

    def column(self, name: str) -> Array:
        """A column of all the rows there were, visible or not."""
        return self.shard.facts.column(name)[: len(self.visible)]


class View:
    """The shards that one caller sees, nearest namespace first, with their rows numbered through."""

    def __init__(self, looks: Sequence[Look]) -> None:
        self.looks = tuple(looks)
        sizes = [len(look.visible) for look in self.looks]
        self._offsets = [sum(sizes[:at]) for at in range(len(sizes))]
        self.rows = sum(sizes)

    @cached_property
    def visible(self) -> Mask:
        """Which rows hold at the moment; what the statistics of words are taken over."""
        return _joined([look.visible for look in self.looks])

    @cached_property
    def admitted(self) -> Mask:
        """Which rows may be found: the visible ones of a kind that was asked for."""
        return _joined([look.admitted for look in self.looks])

    @cached_property
    def distance(self) -> Array:
        """How many namespaces above the caller's each row lies."""
        return np.repeat(np.arange(len(self.looks)), [len(look.visible) for look in self.looks])

    @cached_property
    def held(self) -> int:
        """How many facts hold at the moment, of whatever kind."""
        return int(np.count_nonzero(self.visible))

    def column(self, name: str) -> Array:
        """A column of the facts, visible or not."""
        return _joined([look.column(name) for look in self.looks])

    def words(self, term: str) -> tuple[Array, Array]:
        """The visible rows that hold a term, and how often."""
        found = [look.words(term) for look in self.looks]
        rows = _joined([rows + offset for (rows, _), offset in zip(found, self._offsets, strict=True)])
        return rows, _joined([counts for _, counts in found])

    def about(self, entity_ids: Sequence[int]) -> tuple[Array, Array]:
        """For each visible row that names one of some entities: the entity's position among them, and the row."""
        found = [look.about(entity_ids) for look in self.looks]
        rows = _joined([rows + offset for (_, rows), offset in zip(found, self._offsets, strict=True)])
        return _joined([at for at, _ in found]), rows

    def names(self, key: str, known_at: int) -> list[int]:
        """The entities that a name meant at a moment: those of the nearest namespace that gives it a meaning."""
        meanings = (look.shard.names.meaning(key, known_at) for look in self.looks)
        return list(dict.fromkeys(next(filter(None, meanings), ())))

    def own_name(self, entity_id: int) -> str | None:
        """The name an entity was created with."""
        names = (look.shard.names.own_name(entity_id) for look in reversed(self.looks))
        return next((name for name in names if name is not None), None)


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
