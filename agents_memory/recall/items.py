"""Finding what was said: the words of messages and of what tools gave back, in one conversation or in all of them.

The words, the scores and the way they are counted are those of recall. A conversation belongs to one namespace and is
searched there alone. An item is found once, however many branches hold it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np

from agents_memory._ids import IdKind, to_number
from agents_memory.graph.scope import Scope
from agents_memory.recall import fusion
from agents_memory.recall.arguments import SearchItems
from agents_memory.recall.columns import Array, micros, seen
from agents_memory.recall.item_shard import ItemShard
from agents_memory.recall.lexical import MIN_COVERAGE, score_words
from agents_memory.recall.slots import Slots
from agents_memory.recall.types import ItemHit, SearchResult
from agents_memory.sessions.changes import ItemsAdded, ItemsClosed, ItemsInherited, SessionsRewritten
from agents_memory.sessions.reading import item_from_row
from agents_memory.sessions.types import SessionItem
from agents_memory.store.database import Database
from agents_memory.text.tokens import query_tokens

MAX_LOADED_ITEMS: Final = 1_000_000
"""Beyond this many, the namespaces that were asked longest ago are let go; about 0.5 KB an item of 30 words."""

_CHARS_A_ROW: Final = 1_000


class ItemLook:
    """What was said in a namespace and could be read at a moment; what is committed later does not show.

    Attributes:
        rows: How many items there are, readable or not.
        visible: Which of them could be read.
        held: How many these are.
        admitted: Which of these were said where and by whom it was asked for.
    """

    def __init__(self, shard: ItemShard, lock: threading.Lock, known_at: int, asked: SearchItems) -> None:
        self._shard = shard
        self._lock = lock
        self.visible = shard.readable(known_at)
        self.rows = len(self.visible)
        self.held = int(np.count_nonzero(self.visible))
        self.admitted = self.visible.copy()
        if asked.session_id is not None:
            self.admitted &= self.column("session") == shard.sessions.get(asked.session_id, -1)
        if asked.role is not None:
            self.admitted &= self.column("speaker") == shard.speakers.get(asked.role, -1)
        self._sessions = list(shard.sessions)

    def words(self, term: str) -> tuple[Array, Array]:
        """The visible rows that hold a term, and how often."""
        with self._lock:
            rows, counts = self._shard.words.of(term)
        visible = seen(rows, self.visible)
        return rows[visible], counts[visible]

    def column(self, name: str) -> Array:
        """A column of all the rows there were, readable or not."""
        return self._shard.items.column(name)[: self.rows]

    def sessions_of(self, rows: Array) -> list[str]:
        """The conversations that some rows belong to, each once."""
        return [self._sessions[code] for code in np.unique(self.column("session")[rows]).tolist()]


class ItemIndex(Slots[ItemShard]):
    """What was said in each namespace that was searched; get it by `database.shared(ItemIndex)`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, _read, follows=(ItemsAdded, ItemsInherited, ItemsClosed))

    def committed(self, changes: Sequence[object]) -> None:
        """Queue the changes of one transaction; where rows were rewritten, let go of what was read."""
        for change in changes:
            if isinstance(change, SessionsRewritten):
                self.evict(change.namespace)
        super().committed(changes)

    def weight(self, change: Any) -> int:
        """What a change that waits takes, in items of usual length."""
        if not isinstance(change, ItemsAdded):
            return 1
        return len(change.item_ids) + sum(len(text) // _CHARS_A_ROW for text in change.texts if text is not None)

    def look_at(self, namespace: str, known_at: int, asked: SearchItems) -> ItemLook:
        """What can be found in a namespace, as it was known at a moment."""
        look = self.look(namespace, lambda shard, lock: ItemLook(shard, lock, known_at, asked))
        self.let_go(keep=frozenset([namespace]), at_most=MAX_LOADED_ITEMS)
        return look


def search_items(scope: Scope, arguments: SearchItems) -> SearchResult:
    """What was said that holds the words of a question, best first; of equals the newest first."""
    _, known_at = scope.moments()
    look = scope.database.shared(ItemIndex).look_at(scope.namespace, micros(known_at), arguments)
    words = score_words(look, query_tokens(arguments.query))
    rows = np.flatnonzero(look.admitted & (words.coverage >= MIN_COVERAGE))
    ids = look.column("item_id")[rows]
    order = fusion.best(words.scores[rows], -ids, arguments.k)
    items = _hydrated(scope, look, rows[order], known_at)
    hits = [
        ItemHit(item=items[item_id], score=float(words.scores[row]), terms=words.terms_of(row))
        for row, item_id in zip(rows[order].tolist(), ids[order].tolist(), strict=True)
        if item_id in items
    ]
    return SearchResult(hits=tuple(hits), explanation=None if hits else _why_nothing(look, scope, arguments))


def _hydrated(scope: Scope, look: ItemLook, rows: Array, known_at: datetime) -> Mapping[int, SessionItem]:
    """The items of some rows, by id; one that was deleted meanwhile is missing."""
    if not len(rows):
        return {}
    found = scope.database.rows(
        "found_items",
        namespace=scope.namespace,
        session_ids=look.sessions_of(rows),
        item_ids=look.column("item_id")[rows].tolist(),
        known_at=known_at,
    )
    items = map(item_from_row, found)
    return {to_number(IdKind.ITEM, item.id): item for item in items}


def _why_nothing(look: ItemLook, scope: Scope, arguments: SearchItems) -> str:
    where = f"the namespace {scope.namespace!r}"
    if not look.rows:
        return f"No conversation of {where} holds a word."
    if not look.held:
        return f"Nothing of what was said in {where} can be read at that moment."
    if not np.any(look.admitted):
        return f"Nothing that can be read in {where} at that moment was said in that conversation, or by that role."
    if not query_tokens(arguments.query):
        return "The query holds no word to look for."
    return f"None of the {np.count_nonzero(look.admitted)} items that can be read matches the query."


def _read(database: Database, namespace: str) -> ItemShard:
    shard = ItemShard()
    shard.load(database.columns("index_items", namespace=namespace))
    return shard
