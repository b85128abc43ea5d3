"""What a process knows of one session without asking the file: its newest items, its open calls, its last user item.

Pure data and functions; a change gives a new `Conversation`. The rule it owns is the order of reading: items are read
by (place, item id). An item's place is its own id, except for an output that comes after the conversation went on:
then it is its call's, so that the two stand next to each other. A conversation goes on with a user item, and with a
message of a later batch than the call's, since a model says nothing more in a turn before it has the output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    def with_batch(
        self, items: Sequence[str], extracts: Sequence[Extract], first_id: int
    ) -> tuple[list[int], Conversation]:
        """Where the items of a new batch, numbered from `first_id` on, are read, and the session with them."""
        calls = Calls(self.open_calls, self.went_on_at)
        numbers = range(first_id, first_id + len(items))
        places = [calls.take(extract, number, first_id) for number, extract in zip(numbers, extracts, strict=True)]
        users = [number for number, extract in zip(numbers, extracts, strict=True) if extract.is_user]
        tail, is_whole = self._tail_with(places, numbers, items, extracts)
        return places, replace(
            self,
            tail=tail,
            is_whole=is_whole,
            open_calls=calls.open(),
            last_user=LastUser(users[-1], extracts[users[-1] - first_id].text) if users else self.last_user,
            last_item_id=max(self.last_item_id, numbers[-1]),
            went_on_at=calls.went_on_at,
        )

    def _tail_with(
        self, places: Sequence[int], numbers: range, items: Sequence[str], extracts: Sequence[Extract]
    ) -> tuple[tuple[Entry, ...], bool]:
        count = len(items)
        start = max(count - TAIL_ITEMS, 0)
        if any(place != number for place, number in zip(places[start:], numbers[start:], strict=True)):
            start = 0  # some of these are read further up, so that earlier ones may belong to the tail
        batch = [Entry(places[at], numbers[at], items[at], extracts[at].is_user) for at in range(start, count)]
        first = self.tail[0] if self.tail and not self.is_whole else None
        kept = newest(sorted((*self.tail, *(entry for entry in batch if first is None or entry > first))))
        return kept, self.is_whole and len(kept) == len(self.tail) + count


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


def newest(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The end of `entries` that is worth keeping in the process: bounded in items and characters, never empty."""
    kept: list[Entry] = []
    chars = 0
    for entry in reversed(entries):
        chars += len(entry.item_json)
        if kept and (len(kept) == TAIL_ITEMS or chars > TAIL_CHARS):
            break
        kept.append(entry)
    return tuple(reversed(kept))
