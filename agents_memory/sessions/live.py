"""The conversations that this process has touched, kept in step with the file.

A state is read by one statement when a session is first touched, and replaced after each commit that changes it. Inside
a transaction its own changes are seen at once and by nobody else; when it is rolled back nothing has changed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

from agents_memory.sessions.conversation import TAIL_ITEMS, Calls, Conversation, Entry, LastUser, newest
from agents_memory.sessions.extract import Extract
from agents_memory.store.database import Database, Transaction
from agents_memory.store.values import Row

MAX_KEPT = 256  # sessions a process keeps the state of; the least recently touched one goes first


class Key(NamedTuple):
    """What names a branch of a session within a file."""

    namespace: str
    session_id: str
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanged:
    """A session's items changed. `conversation` is what it is now; None says to read it anew."""

    key: Key
    conversation: Conversation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryBranchChanged:
    """The rows of a session changed in whatever branches it has: to be read anew."""

    namespace: str
    session_id: str


@dataclass(slots=True)
class _Pending:
    """What an open transaction has changed; None says to read it anew."""

    states: dict[Key, Conversation | None] = field(default_factory=dict)
    sessions: set[tuple[str, str]] = field(default_factory=set)

    def knows(self, key: Key) -> bool:
        return key in self.states or key[:2] in self.sessions


class Conversations:
    """The states of sessions, one object a file and process; see `conversations`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Conversation] = OrderedDict()
        self._commits = 0
        self._pending: WeakKeyDictionary[Transaction, _Pending] = WeakKeyDictionary()

    def get(self, key: Key) -> Conversation:
        """A session as the caller sees it: the committed state, or that of the caller's own transaction."""
        return self._state(key, tail_is_enough=False)

    def tail_of(self, key: Key) -> Conversation:
        """A session as the caller sees it, of which only `exists`, `tail` and `is_whole` may be known."""
        return self._state(key, tail_is_enough=True)

    def _state(self, key: Key, *, tail_is_enough: bool) -> Conversation:
        pending = self._pending_of_caller()
        if pending is not None and pending.knows(key):
            mine = pending.states.get(key)
            if mine is None or (mine.is_tail_only and not tail_is_enough):
                mine = pending.states[key] = self._load(key)
            return mine
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and (tail_is_enough or not kept.is_tail_only):
                self._kept.move_to_end(key)
                return kept
            commits = self._commits
        loaded = self._load(key)
        with self._lock:
            if commits == self._commits:  # else a commit came between, whose state is newer than this one
                self._keep(key, loaded)
        return loaded

    def change(self, tx: Transaction, key: Key, conversation: Conversation | None) -> None:
        """Let `conversation` be the session's state: for `tx` now, for everybody once it commits.

        None says that it has to be read anew. Code that changes rows by itself calls this before it does so.
        """
        with self._lock:
            self._pending.setdefault(tx, _Pending()).states[key] = conversation
        tx.publish(SessionChanged(key=key, conversation=conversation))

    def change_all(self, tx: Transaction, namespace: str, session_id: str) -> None:
        """Have every branch of a session read anew; call it before the rows are changed."""
        with self._lock:
            pending = self._pending.setdefault(tx, _Pending())
            pending.sessions.add((namespace, session_id))
            for key in [key for key in pending.states if key[:2] == (namespace, session_id)]:
                del pending.states[key]
        tx.publish(EveryBranchChanged(namespace=namespace, session_id=session_id))

    def committed(self, changes: Sequence[object]) -> None:
        """Take in the states of a transaction that was committed."""
        with self._lock:
            for change in changes:
                match change:
                    case SessionChanged(key=key, conversation=None):
                        self._forget(key)
                    case SessionChanged(key=key, conversation=known) if known is not None:
                        self._commits += 1
                        self._keep(key, known)
                    case EveryBranchChanged(namespace=namespace, session_id=session_id):
                        self._forget(*[key for key in self._kept if key[:2] == (namespace, session_id)])

    def reset(self) -> None:
        """Forget every state; each is read again when next touched."""
        with self._lock:
            self._commits += 1
            self._kept.clear()

    def _pending_of_caller(self) -> _Pending | None:
        tx = self._database.current_transaction()
        if tx is None:
            return None
        with self._lock:
            return self._pending.get(tx)

    def _forget(self, *keys: Key) -> None:
        self._commits += 1
        for key in keys:
            self._kept.pop(key, None)

    def _keep(self, key: Key, conversation: Conversation) -> None:
        self._kept[key] = conversation
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)

    def _load(self, key: Key) -> Conversation:
        return _from_rows(self._database.rows("load_session", **key._asdict(), tail=TAIL_ITEMS))


def conversations(database: Database) -> Conversations:
    """The states of the file's sessions in this process; ask `database.shared(conversations)` for the one."""
    made = Conversations(database)
    database.subscribe(made)
    return made


def _from_rows(rows: Sequence[Row]) -> Conversation:
    parts: dict[str, list[Row]] = {"tail": [], "user": [], "call": [], "last": [], "said": [], "session": []}
    for row in rows:
        parts[row["part"]].append(row)
    calls = Calls()
    for row in parts["call"]:
        found = Extract(type=row["type"], role=None, call_id=row["call_id"], text=None)
        calls.take(found, row["item_id"], first_id=row["item_id"])
    read = [Entry(row["place"], row["item_id"], row["item_json"], row["role"] == "user") for row in parts["tail"]]
    tail = newest(read)
    return Conversation(
        exists=bool(parts["session"]),
        continues=next((row["text"] for row in parts["session"]), None),
        tail=tail,
        is_whole=len(tail) == len(read),
        open_calls=calls.open(),
        last_user=next((LastUser(row["item_id"], row["text"]) for row in parts["user"]), None),
        last_item_id=next((row["item_id"] for row in parts["last"]), 0),
        went_on_at=max((row["item_id"] for row in (*parts["user"], *parts["said"])), default=0),
    )
