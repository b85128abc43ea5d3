"""The names of entities in what is said: found when a message is stored, in the process, without a statement.

The names given in a namespace are read once and kept in step with the file. What was said before a name was given is
looked through when it is given (`graph/mentions.py`).
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Sequence

from agents_memory.graph.changes import NameGiven
from agents_memory.graph.scope import Scope
from agents_memory.sessions.extract import Extract
from agents_memory.store.database import Database
from agents_memory.text.names import KnownNames


def names_in(scope: Scope, extracts: Sequence[Extract]) -> list[list[str] | None]:
    """The folded names that each message of a batch holds, of those that can be seen from its namespace."""
    kept = scope.database.shared(NameBooks)
    books = [book for namespace in scope.visible if (book := kept.of(namespace))]
    if given := _given_just_now(scope):
        books.append(given)
    if not books:
        return [None] * len(extracts)
    return [_names(one, books) for one in extracts]


def _given_just_now(scope: Scope) -> KnownNames:
    """The names given earlier in the caller's own transaction, in which several writes may be made together."""
    tx = scope.database.current_transaction()
    changes = () if tx is None else tx.published
    names = [one for one in changes if isinstance(one, NameGiven) and one.namespace in scope.visible]
    return KnownNames((one.name, one.key) for one in names)


def _names(one: Extract, books: Sequence[KnownNames]) -> list[str] | None:
    if one.role is None or one.text is None:
        return None
    found = dict.fromkeys(key for book in books for key in book.found_in(one.text))
    return list(found) or None


class NameBooks:
    """The names given in each namespace, one object a file and process. Ask it inside a transaction that writes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._books: dict[str, KnownNames] = {}
        database.subscribe(self)

    def of(self, namespace: str) -> KnownNames:
        """The names given in a namespace; nobody else can give one while the caller's transaction is open."""
        with self._lock:
            book = self._books.get(namespace)
        if book is None:
            book = contextvars.Context().run(self._read, namespace)  # as committed, whatever the caller has written
            with self._lock:
                self._books[namespace] = book
        return book

    def committed(self, changes: Sequence[object]) -> None:
        """Take in new names."""
        with self._lock:
            for change in changes:
                if isinstance(change, NameGiven) and change.namespace in self._books:
                    self._books[change.namespace].add(change.name, change.key)

    def reset(self) -> None:
        """Forget all; they are read again when next asked for."""
        with self._lock:
            self._books.clear()

    def _read(self, namespace: str) -> KnownNames:
        rows = self._database.rows("known_names", namespace=namespace)
        return KnownNames((row["alias"], row["alias_key"]) for row in rows)
