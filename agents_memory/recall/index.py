"""The read index of the facts of a file: one shard a namespace (`slots.py` keeps them), seen as views."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Final

import numpy as np

from agents_memory.graph.changes import FactClosed, FactWritten, NameGiven, RelationClosed, RelationWritten
from agents_memory.recall.columns import Array, Mask, Moment
from agents_memory.recall.shard import KIND_CODES, Shard
from agents_memory.recall.slots import Slots
from agents_memory.recall.view import Look, View
from agents_memory.store.database import Database
from agents_memory.types import Kind

MAX_LOADED_VERSIONS: Final = 2_000_000
"""Beyond this many, the shards that were asked longest ago are let go; about 0.3 KB a version of usual length."""


class ReadIndex(Slots[Shard]):
    """The shards of a file that are loaded; get it by `database.shared(ReadIndex)`. Safe to use from any thread."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, _read, follows=(FactWritten, FactClosed, RelationWritten, RelationClosed, NameGiven))

    def view(self, namespaces: Sequence[str], moment: Moment, kinds: frozenset[Kind] | None) -> View:
        """What can be seen in some namespaces, nearest first, at a moment."""
        looks = [self._look(namespace, moment, kinds) for namespace in namespaces]
        self.let_go(keep=frozenset(namespaces), at_most=MAX_LOADED_VERSIONS)
        return View(looks)

    def _look(self, namespace: str, moment: Moment, kinds: frozenset[Kind] | None) -> Look:
        def take(shard: Shard, lock: Lock) -> Look:
            visible = shard.facts.holds(moment)
            return Look(
                namespace=namespace,
                shard=shard,
                lock=lock,
                visible=visible,
                admitted=visible if kinds is None else visible & _of_kinds(shard.facts.column("kind"), kinds),
                tied=shard.relations.holds(moment),
            )

        return self.look(namespace, take)


def _of_kinds(codes: Array, kinds: frozenset[Kind]) -> Mask:
    wanted = np.zeros(len(KIND_CODES), np.bool_)
    wanted[[KIND_CODES[kind.value] for kind in kinds]] = True
    return wanted[codes]


def _read(database: Database, namespace: str) -> Shard:
    shard = Shard()
    shard.load_names(database.columns("index_names", namespace=namespace))
    shard.load_facts(database.columns("index_facts", namespace=namespace))
    shard.load_relations(database.columns("index_relations", namespace=namespace))
    return shard
