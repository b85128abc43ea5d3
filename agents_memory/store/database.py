"""One DuckDB instance per file and process, and the only place where statements run.

The rules it owns: a cursor per call; one writer at a time; a transaction is all or nothing, belongs to the task and
thread that opened it, and carries one moment for everything it writes; moments only ever grow within a file; DuckDB's
exceptions become ours here and nowhere else.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar, cast

import duckdb
import numpy as np

from agents_memory import _clock
from agents_memory._ids import IdKind
from agents_memory.errors import (
    Closed,
    NotFound,
    TransactionDoomed,
    TransactionElsewhere,
)
from agents_memory.store.queries import statements
from agents_memory.store.translation import translated
from agents_memory.store.values import Row, from_duckdb, to_columns, to_duckdb

_log = logging.getLogger("agents_memory")
_TICK = timedelta(microseconds=1)
T = TypeVar("T")


class Subscriber(Protocol):
    """Something in the process that follows what is committed, such as a read index."""

    def committed(self, changes: Sequence[object]) -> None:
        """Take in the changes of one transaction, after its commit and before the next write."""

    def reset(self) -> None:
        """Forget everything and read it anew when next asked; called when `committed` failed."""


class _Runner:
    """Runs named statements; what a database and a transaction have in common."""

    def _execute(self, name: str, parameters: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        raise NotImplementedError

    def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a named statement and return its rows as dictionaries."""
        with translated():
            return from_duckdb(self._execute(name, parameters))

    def one_or_none(self, name: str, /, **parameters: Any) -> Row | None:
        """The first row of a named statement, or None when there is none."""
        found = self.rows(name, **parameters)
        return found[0] if found else None

    def one(self, name: str, /, **parameters: Any) -> Row:
        """The first row of a named statement that always has one."""
        found = self.one_or_none(name, **parameters)
        if found is None:
            raise NotFound(f"Statement {name!r} found no row where there must be one.")
        return found

    def columns(self, name: str, /, **parameters: Any) -> Mapping[str, np.ndarray[Any, Any]]:
        """The result as one numpy array a column: for loading many rows at once."""
        with translated():
            return cast("Mapping[str, np.ndarray[Any, Any]]", self._execute(name, parameters).fetchnumpy())


class Transaction(_Runner):
    """An open transaction; everything it writes carries the same moment. DuckDB hears of it with its first statement.

    Attributes:
        database: The file it writes to.
        now: Its moment.
        is_open: Whether its block is still running.
        is_begun: Whether DuckDB knows of it.
        is_commit_sent: Whether its outcome is up to DuckDB.
    """

    def __init__(self, database: Database, cursor: duckdb.DuckDBPyConnection, now: datetime, *, dry_run: bool) -> None:
        self.database = database
        self.now = now
        self._inner_blocks = 0
        self._dry_run = dry_run
        self._cursor = cursor
        self._owner = _caller()
        self._changes: list[object] = []
        self._doomed: BaseException | None = None
        self._last_ids: dict[str, int] | None = None
        self.is_open = True
        self.is_begun = False
        self.is_commit_sent = False

    def _execute(self, name: str, parameters: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        self.check_owner()
        self._begin()
        return self.database.run_statement(self._cursor, name, parameters)

    def _begin(self) -> None:
        if not self.is_begun:
            self.database.run_control(self._cursor, "begin")
            self.is_begun = True

    def run(self, name: str, /, **parameters: Any) -> None:
        """Run a named statement for its effect."""
        self._execute(name, parameters)

    def insert_last(self, name: str, rows: Mapping[str, Sequence[Any]], /, **parameters: Any) -> None:
        """Insert rows from columns as the last thing that the transaction does.

        When it is the only thing as well, DuckDB commits it by itself, which saves two statements.

        Args:
            name: A statement that reads its rows `FROM incoming`.
            rows: The columns, all of one length.
            **parameters: Its parameters.
        """
        self.check_owner()
        if self.is_begun or self._inner_blocks or self._dry_run:
            self._begin()
        else:
            self.is_commit_sent = True
        self.database.run_statement(self._cursor, name, parameters, rows=rows)

    def new_ids(self, kind: IdKind, count: int = 1) -> range:
        """The next `count` ids of a kind. Ids are given without gaps: those of a rolled-back transaction come again."""
        if self._last_ids is None:
            self._last_ids = dict(self.database.last_ids or _ids_of(self.rows("last_ids")))
        last = self._last_ids[kind]
        self._last_ids[kind] = last + count
        return range(last + 1, last + count + 1)

    def new_id(self, kind: IdKind) -> int:
        """The next id of a kind."""
        return self.new_ids(kind)[0]

    def script(self, sql: str) -> None:
        """Run the statements of a migration."""
        self.check_owner()
        self._begin()
        self.database.run_script(self._cursor, sql)

    def advance(self) -> None:
        """Go on at a later moment, so that what one member of a group of writes did is told from what the next does."""
        self.now += _TICK

    def publish(self, change: object) -> None:
        """Tell the database's subscribers of `change` once this transaction is committed."""
        self._changes.append(change)

    @property
    def published(self) -> Sequence[object]:
        """What subscribers will be told."""
        return self._changes

    def check_owner(self) -> None:
        """Refuse a call after its end, and one from another task or thread than the one that opened it."""
        if not self.is_open or self.is_commit_sent:
            raise TransactionElsewhere("This transaction has ended. Open another.")
        if self._owner != _caller():
            raise TransactionElsewhere(
                "This transaction belongs to the task and thread that opened it. Call there, or after it ended."
            )


_open_transactions: ContextVar[tuple[Transaction, ...]] = ContextVar("agents_memory_transactions", default=())


class Database(_Runner):
    """The one instance of a file in this process. Opened by `store.files.open_database`, never directly.

    Attributes:
        path: The file's absolute path, or `":memory:"`.
        on_statement: Called with each statement's name before it runs, `"begin"` and `"commit"` included; what it
            raises takes the place of the statement. For fault injection (`agents_memory.testing.faults`).
        last_ids: The last id of each kind that was committed, once a transaction has asked for one.
    """

    def __init__(self, path: str, root: duckdb.DuckDBPyConnection) -> None:
        self.path = path
        self.last_ids: dict[str, int] | None = None
        self.on_statement: Callable[[str], None] | None = None
        self._root: duckdb.DuckDBPyConnection | None = root
        self._closed_because = "it was closed"
        self._cursors: dict[int, duckdb.DuckDBPyConnection] = {}
        self._write_lock = threading.Lock()
        self._writing_thread: int | None = None
        self._shared: dict[Callable[[Database], Any], Any] = {}
        self._shared_lock = threading.RLock()
        self._subscribers: list[Subscriber] = []
        self._writing_at: datetime | None = None
        self._last_moment = datetime.min.replace(tzinfo=UTC)

    # -- reading -------------------------------------------------------------------------------------------------

    def now(self) -> datetime:
        """The present for reads: never before the last commit, whatever the machine's clock did.

        Inside a transaction it is the transaction's moment, so that it sees what it wrote. While another task or thread
        writes it stands just before that write, so that what was known at a moment never changes afterwards.
        """
        mine = self.current_transaction()
        if mine is not None:
            return mine.now
        present, writing_at = max(_clock.now(), self._last_moment), self._writing_at
        return present if writing_at is None else min(present, writing_at - _TICK)

    def _execute(self, name: str, parameters: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        mine = self.current_transaction()
        if mine is not None:
            return self.run_statement(mine._cursor, name, parameters)
        return self.run_statement(self._cursor(), name, parameters)

    def run_statement(
        self,
        cursor: duckdb.DuckDBPyConnection,
        name: str,
        parameters: dict[str, Any],
        *,
        rows: Mapping[str, Sequence[Any]] | None = None,
    ) -> duckdb.DuckDBPyConnection:
        """Run one named statement on `cursor` and return it, ready to fetch.

        Args:
            cursor: Where to run it.
            name: The statement.
            parameters: Its parameters.
            rows: The columns of the rows that it reads `FROM incoming`.
        """
        statement = statements()[name]
        if statement.parameters != parameters.keys():
            raise TypeError(f"statement {name!r} takes {sorted(statement.parameters)}, not {sorted(parameters)}")
        self._usable_root()
        if self.on_statement is not None:
            self.on_statement(name)
        with translated():
            if rows is not None:
                incoming = to_columns(rows)  # noqa: F841 - DuckDB finds it by this name
            return cursor.execute(statement.sql, {key: to_duckdb(value) for key, value in parameters.items()})

    def run_script(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
        """Run the statements of a migration on `cursor`."""
        if self.on_statement is not None:
            self.on_statement("script")
        with translated():
            cursor.execute(sql)

    # -- writing -------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self, *, dry_run: bool = False) -> Iterator[Transaction]:
        """Write, all or nothing.

        Inside an open transaction of the same task and thread the block joins it. A block that fails dooms the whole.

        Args:
            dry_run: Roll back at the end instead of committing, and tell nobody: what would happen, without happening.

        Yields:
            The transaction.

        Raises:
            TransactionDoomed: An inner block failed and its error was swallowed; nothing was written.
            TransactionElsewhere: Another task or thread holds the transaction this call was made inside, or a dry run
                was asked for inside an open one.
            WriteConflict: DuckDB refused a change; nothing was written.
        """
        mine = self.current_transaction()
        if mine is not None and dry_run:
            raise TransactionElsewhere("A dry run needs a transaction of its own. Make it outside of this one.")
        if mine is None:
            with self._outermost(dry_run=dry_run) as outermost:
                yield outermost
            return
        mine._inner_blocks += 1
        try:
            yield mine
        except BaseException as error:
            mine._doomed = mine._doomed or error
            raise
        finally:
            mine._inner_blocks -= 1

    @contextmanager
    def _outermost(self, *, dry_run: bool) -> Iterator[Transaction]:
        with self._sole_writer():
            moment = max(_clock.now(), self._last_moment + _TICK)
            cursor = self._cursor()
            self._cursors[id(cursor)] = cursor
            transaction = Transaction(self, cursor, moment, dry_run=dry_run)
            self._writing_at = moment
            token = _open_transactions.set((*_open_transactions.get(), transaction))
            try:
                with self._begun(cursor, transaction, dry_run=dry_run):
                    yield transaction
                transaction.is_open = False
                if not dry_run:
                    self._follow(transaction)
            except BaseException:
                if transaction.is_commit_sent:
                    self._lose_track(transaction.now)
                raise
            finally:
                transaction.is_open = False
                self._writing_at = None
                _open_transactions.reset(token)
                self._cursors.pop(id(cursor), None)

    def _follow(self, transaction: Transaction) -> None:
        """Let the process know what was committed."""
        self._last_moment = transaction.now
        self.last_ids = transaction._last_ids or self.last_ids
        self._tell(transaction._changes)

    def _lose_track(self, moment: datetime) -> None:
        """Read everything anew: an error, such as an interrupt, came between a commit and knowing its outcome."""
        self._last_moment = max(self._last_moment, moment)
        self.last_ids = None
        for subscriber in self._subscribers:
            subscriber.reset()

    @contextmanager
    def _begun(self, cursor: duckdb.DuckDBPyConnection, transaction: Transaction, *, dry_run: bool) -> Iterator[None]:
        try:
            yield
            if transaction._doomed is not None:
                raise TransactionDoomed(
                    "A part of this transaction failed, so all of it was rolled back. Let the error leave the block."
                ) from transaction._doomed
            if dry_run:
                self._roll_back(cursor, transaction)
            elif transaction.is_begun:
                transaction.is_commit_sent = True
                self.run_control(cursor, "commit")
        except BaseException:
            self._roll_back(cursor, transaction)
            raise

    def _roll_back(self, cursor: duckdb.DuckDBPyConnection, transaction: Transaction) -> None:
        # there is no root here only in a forked child, where the transaction is not ours to end
        if self._root is not None and transaction.is_begun:
            _roll_back(cursor)

    def run_control(self, cursor: duckdb.DuckDBPyConnection, word: str) -> None:
        """Begin or commit on `cursor`."""
        self._usable_root()
        if self.on_statement is not None:
            self.on_statement(word)
        with translated():
            cursor.execute(word)

    @contextmanager
    def _sole_writer(self) -> Iterator[None]:
        me = threading.get_ident()
        if self._writing_thread == me:
            raise TransactionElsewhere(
                "Another task of this thread has a transaction open and is suspended inside it. "
                "Do not await inside a transaction."
            )
        with self._write_lock:  # taken and given back by `with` alone, so that a signal cannot come between
            try:
                self._writing_thread = me
                yield
            finally:
                self._writing_thread = None

    def current_transaction(self) -> Transaction | None:
        """The open transaction of the calling task and thread, if there is one.

        Raises:
            TransactionElsewhere: The call was made inside one that another task or thread opened.
        """
        for transaction in _open_transactions.get():
            if transaction.database is self and transaction.is_open:
                transaction.check_owner()
                return transaction
        return None

    def _tell(self, changes: Sequence[object]) -> None:
        if not changes:
            return
        for subscriber in self._subscribers:
            try:
                subscriber.committed(changes)
            except Exception as error:  # noqa: BLE001 - the commit stands; the subscriber reads everything anew
                _log.error("a read index could not follow a commit (%s) and is read anew", type(error).__name__)
                subscriber.reset()

    # -- what follows the file within the process -----------------------------------------------------------------

    def shared(self, factory: Callable[[Database], T]) -> T:
        """The one `factory(database)` of this file and process, made when first asked for."""
        with self._shared_lock:
            if factory not in self._shared:
                self._shared[factory] = factory(self)
            return cast("T", self._shared[factory])

    def subscribe(self, subscriber: Subscriber) -> None:
        """Let `subscriber` follow every commit from now on."""
        self._subscribers.append(subscriber)

    # -- life ----------------------------------------------------------------------------------------------------

    def start_at(self, moment: datetime | None) -> None:
        """Make every later transaction's moment later than `moment`."""
        if moment is not None:
            self._last_moment = max(self._last_moment, moment)

    def checkpoint(self) -> None:
        """Write the log into the file, so that nothing is left to replay."""
        with self._sole_writer(), translated():
            self._cursor().execute("checkpoint")

    def close(self) -> None:
        """Checkpoint and let go of the file. Waits for a write under way; harmless when repeated."""
        with self._sole_writer():
            root, self._root = self._root, None
            self._subscribers.clear()
            self._shared.clear()
            if root is not None:
                with translated():
                    root.close()

    def forget_after_fork(self) -> list[object]:
        """Stop using the handles that a forked child inherited, and return them: they must never be destroyed."""
        handles: list[object] = [*self._cursors.values(), self._root]
        self._root = None
        self._closed_because = "this process was forked from the one that opened it"
        self._write_lock = threading.Lock()  # whoever holds the old one may be a thread that the child does not have
        self._shared_lock = threading.RLock()
        return handles

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with translated():
            cursor = self._usable_root().cursor()
        return cursor

    def _usable_root(self) -> duckdb.DuckDBPyConnection:
        root = self._root
        if root is None:
            raise Closed(f"The memory {self.path!r} cannot be used: {self._closed_because}. Open it again.")
        return root


def _ids_of(rows: list[Row]) -> dict[str, int]:
    return {row["kind"]: row["last_id"] for row in rows}


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    try:
        cursor.execute("rollback")
    except duckdb.Error:
        # DuckDB has already ended a transaction whose statement or commit failed; there is nothing left to undo.
        _log.debug("nothing to roll back")


def _caller() -> tuple[int, object]:
    return threading.get_ident(), _current_task()


def _current_task() -> object:
    import asyncio

    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
