"""What a process knows of one session without asking the file: its newest items, its open calls, its last user item.

Pure data and functions; a change gives a new `Conversation`. The rule it owns is the order of reading: items are read
by (place, item id). An item's place is its own id, except for an output that comes after the conversation went on:
then it is its call's, so that the two stand next to each other. A conversation goes on with a user item, and with a
message of a later batch than the call's, since a model says nothing more in a turn before it has the output.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from agents_memory.sessions.extract import Extract

TAIL_ITEMS = 100
TAIL_CHARS = 1_000_000


class Entry(NamedTuple):
    """A stored item in the order of reading."""

    place: int
    item_id: int
    item_json: str
    is_user: bool


class LastUser(NamedTuple):
    """The newest user item and the words in it."""

    item_id: int
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A session at one moment.

    Attributes:
        exists: Whether the session and the branch are there.
        continues: The session that it goes on with.
        tail: Its last items in the order of reading; at least one when it has any.
        is_whole: Whether the tail is all of it.
        open_calls: The ids of the items whose call has no output yet, by call id, oldest first.
        last_user: Its newest user item.
        last_item_id: Its newest item; 0 for none.
        went_on_at: The item where it last went on, so that an output for a call before it is late; 0 for none.
        is_tail_only: Whether nothing is known but `exists`, `tail` and `is_whole`.
    """

    exists: bool = False
    continues: str | None = None
    tail: tuple[Entry, ...] = ()
    is_whole: bool = True
    open_calls: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    last_user: LastUser | None = None
    last_item_id: int = 0
    went_on_at: int = 0
    is_tail_only: bool = False

    def without_last(self, count: int) -> Conversation | None:
        """The session without its last items, as far as its tail tells; None when that is not far enough."""
        tail = self.tail[: len(self.tail) - count]
        if not tail:
            return self.emptied() if self.is_whole else None
        return replace(self.emptied(), tail=tail, is_whole=self.is_whole, is_tail_only=True)

    def emptied(self) -> Conversation:
        """The session with nothing in it."""
        return Conversation(exists=self.exists, continues=self.continues)

    def last(self, limit: int | None) -> tuple[Entry, ...] | None:
        """Its last items, all when `limit` is None; None when its tail does not hold as many."""
        if self.is_whole or (limit is not None and limit <= len(self.tail)):
            return self.tail if limit is None else self.tail[max(len(self.tail) - limit, 0) :]
        return None

    def last_turns(self, count: int) -> tuple[Entry, ...] | None:
        """The items of its last turns; None when its tail does not reach as far."""
        starts = [at for at, entry in enumerate(self.tail) if entry.is_user]
        if count <= len(starts):
            return self.tail[starts[-count] :] if count else ()
        return self.tail if self.is_whole else None

    def places(self, extracts: Sequence[Extract], first_id: int) -> list[int]:
        """Where the items of a new batch, numbered from `first_id` on, are read."""
        calls = Calls(self.open_calls, self.went_on_at)
        return [calls.take(extract, item_id, first_id) for item_id, extract in enumerate(extracts, start=first_id)]

    def with_items(self, entries: Sequence[Entry], extracts: Sequence[Extract]) -> Conversation:
        """The session with a new batch at its end, and late outputs at their calls."""
        calls = Calls(self.open_calls, self.went_on_at)
        last_user = self.last_user
        for entry, extract in zip(entries, extracts, strict=True):
            calls.take(extract, entry.item_id, entries[0].item_id)
            if extract.is_user:
                last_user = LastUser(entry.item_id, extract.text)
        tail = list(self.tail)
        for entry in entries:
            if self.is_whole or not tail or entry > tail[0]:
                insort(tail, entry)
        kept = newest(tail)
        return replace(
            self,
            exists=True,
            tail=kept,
            is_whole=self.is_whole and len(kept) == len(tail),
            open_calls=calls.open(),
            last_user=last_user,
            last_item_id=max(self.last_item_id, *(entry.item_id for entry in entries)),
            went_on_at=calls.went_on_at,
        )


class Calls:
    """Which calls wait for an output, and where the conversation went on, as items come in."""

    def __init__(self, open_calls: Mapping[str, tuple[int, ...]] | None = None, went_on_at: int = 0) -> None:
        self._open = dict(open_calls or {})
        self.went_on_at = went_on_at

    def take(self, item: Extract, item_id: int, first_id: int) -> int:
        """Take in the next item, of the batch that begins with `first_id`, and return its place."""
        if item.is_user:
            self.went_on_at = item_id
        elif item.role is not None:
            self.went_on_at = max(self.went_on_at, first_id)
        if item.call_id is None:
            return item_id
        waiting = self._open.pop(item.call_id, ())
        if item.is_call:
            self._open[item.call_id] = (*waiting, item_id)
            return item_id
        if waiting[:-1]:
            self._open[item.call_id] = waiting[:-1]
        return waiting[-1] if waiting and self.went_on_at > waiting[-1] else item_id

    def open(self) -> Mapping[str, tuple[int, ...]]:
        """The calls that wait now."""
        return MappingProxyType(self._open)


def newest(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The end of `entries` that is worth keeping in the process: bounded in items and characters, never empty."""
    kept: list[Entry] = []
    chars = 0
    for entry in reversed(list(entries)):
        chars += len(entry.item_json)
        if kept and (len(kept) == TAIL_ITEMS or chars > TAIL_CHARS):
            break
        kept.append(entry)
    return tuple(reversed(kept))
