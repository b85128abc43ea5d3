"""The read index of what was said in one namespace: items with words, and in which branches each can be read when.

An item is one row however many branches hold it; each branch that holds it, or held it, is one stay. Canonical rows are
in the file; this is what was read from them, plus what was committed since. It holds ids, times and tokens, never text.
Not thread-safe by itself: `slots.py` sees to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agents_memory.recall.columns import Array, Mask, Table, micros
from agents_memory.recall.word_index import WordIndex
from agents_memory.sessions.changes import ItemsAdded, ItemsClosed, ItemsInherited

OPEN = micros(None)


class Codes(dict[Any, int]):
    """A number for each of some values, in the order in which they come."""

    def of(self, values: Sequence[Any]) -> list[int]:
        """The numbers of some values; a new value gets the next one."""
        return [self.setdefault(value, len(self)) for value in values]


class ItemShard:
    """What was said in one namespace, as arrays. Items lie in the order of their ids."""

    def __init__(self) -> None:
        self.items = Table({"item_id": np.int64, "session": np.int32, "speaker": np.int32, "length": np.int32})
        self.stays = Table({"row": np.int64, "branch": np.int32, "since": np.int64, "removed_at": np.int64})
        self.words = WordIndex()
        self.sessions = Codes()
        self.speakers = Codes()
        self._branches = Codes()

    @property
    def size(self) -> int:
        """The number of items."""
        return len(self.items)

    def readable(self, known_at: int) -> Mask:
        """Which items some branch held at a moment."""
        held = (self.stays.column("since") <= known_at) & (known_at < self.stays.column("removed_at"))
        return self._marked(self.stays.column("row")[held])

    def load(self, rows: Mapping[str, Array]) -> None:
        """Take in what was ever said, while nothing is there: items in the order of their ids, and every stay."""
        said = ~rows["inherited"].astype(np.bool_)
        names = {name: rows[name].tolist() for name in ("session_id", "speaker", "branch", "text")}
        own = int(np.count_nonzero(said))  # these come first
        self.items.append(
            {
                "item_id": rows["item_id"][said],
                "session": self.sessions.of(names["session_id"][:own]),
                "speaker": self.speakers.of(names["speaker"][:own]),
                "length": self.words.load(names["text"][:own]),
            }
        )
        self.stays.append(
            {
                "row": np.searchsorted(self.items.column("item_id"), rows["item_id"]),
                "branch": self._branches.of(names["branch"]),
                "since": rows["since"],
                "removed_at": rows["removed_at"],
            }
        )

    def apply(self, change: object) -> None:
        """Take in one committed change; one that was loaded already changes nothing."""
        match change:
            case ItemsAdded():
                self._add(change)
            case ItemsInherited():
                self._inherit(change)
            case ItemsClosed():
                self._close(change)

    def _add(self, change: ItemsAdded) -> None:
        newest = int(self.items.column("item_id")[-1]) if self.size else 0
        added = [
            (item_id, text, speaker)
            for item_id, text, speaker in zip(change.item_ids, change.texts, change.speakers, strict=True)
            if text is not None and item_id > newest
        ]
        first = self.size
        (session,) = self.sessions.of([change.session_id])
        self.items.append(
            {
                "item_id": [item_id for item_id, _, _ in added],
                "session": [session] * len(added),
                "speaker": self.speakers.of([speaker for _, _, speaker in added]),
                "length": [self.words.append(row, text) for row, (_, text, _) in enumerate(added, start=first)],
            }
        )
        self._let_in(np.arange(first, self.size), change.branch, micros(change.added_at))

    def _inherit(self, change: ItemsInherited) -> None:
        (branch,) = self._branches.of([change.branch])
        rows = self._rows_of(change.item_ids)
        there = self._marked(self.stays.column("row")[self.stays.column("branch") == branch])
        self._let_in(rows[~there[rows]], change.branch, micros(change.since))

    def _close(self, change: ItemsClosed) -> None:
        leaving = self._marked(self._rows_of(change.item_ids))[self.stays.column("row")]
        leaving &= self.stays.column("removed_at") == OPEN
        if change.branch is not None:
            leaving &= self.stays.column("branch") == self._branches.of([change.branch])[0]
        self.stays.set("removed_at", np.flatnonzero(leaving), micros(change.removed_at))

    def _let_in(self, rows: Array, branch: str, since: int) -> None:
        code = self._branches.of([branch])[0]
        columns = {"branch": code, "since": since, "removed_at": OPEN}
        self.stays.append({"row": rows, **{name: np.full(len(rows), value) for name, value in columns.items()}})

    def _rows_of(self, item_ids: Sequence[int]) -> Array:
        """The rows of some items; one without words has none."""
        known, ids = self.items.column("item_id"), np.asarray(item_ids, np.int64)
        at = np.searchsorted(known, ids)
        inside = at < len(known)
        at, ids = at[inside], ids[inside]
        found: Array = at[known[at] == ids]
        return found

    def _marked(self, rows: Array) -> Mask:
        marked = np.zeros(self.size, np.bool_)
        marked[rows] = True
        return marked
