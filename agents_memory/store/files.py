"""Opening and closing files: one `Database` per file and process, whatever the path's spelling.

A file is known by its device and inode, since a hard link would otherwise open a second DuckDB instance on the same
bytes. After `fork()` the child refuses what it inherited and never destroys it: a destroyed copy of the handle
deletes the parent's write-ahead log (`docs/explanation/files.md`).
"""

from __future__ import annotations

import ctypes
import os
import re
import stat
import threading
from pathlib import Path
from weakref import WeakKeyDictionary

import duckdb
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from agents_memory.config import DUCKDB_CONFIG
from agents_memory.errors import InvalidInput, StorageError, StoreLocked, StoreUnreadable
from agents_memory.store.database import Database
from agents_memory.store.migrations import migrate

MEMORY = ":memory:"
_HOLDER = re.compile(r"\(PID (\d+)\)")
_UNUSABLE = re.compile("[\\x00\ud800-\udfff]")  # in a path that DuckDB is to open

_Identity = tuple[int, int]
_lock = threading.Lock()
_open: dict[_Identity, Database] = {}
_handles: WeakKeyDictionary[Database, int] = WeakKeyDictionary()
_inherited: set[_Identity] = set()


def open_database(path: str | os.PathLike[str], *, wait_s: float) -> Database:
    """The `Database` of a file, opened and migrated, or the one this process has already.

    Args:
        path: A file, which is created with its schema when absent (its folder must exist), or `":memory:"` for a
            memory of its own that ends with the process.
        wait_s: Seconds to wait while another process holds the file.

    Raises:
        StoreLocked: Another process still holds the file after `wait_s`.
        StoreUnreadable: The path is no file that can be a memory.
        NewerStore: A newer release wrote the file.
    """
    checked = checked_path(path)
    _refuse_inherited(checked)
    waiting = Retrying(
        retry=retry_if_exception_type(StoreLocked),
        stop=stop_after_delay(checked_wait(wait_s)),
        wait=wait_random_exponential(multiplier=0.02, max=0.25),
        reraise=True,
    )
    return waiting(_opened, checked)


def release(database: Database) -> None:
    """Give back one handle; the last one closes the file."""
    with _lock:
        left = _handles.get(database, 1) - 1
        if left > 0:
            _handles[database] = left
            return
        database.close()
        _handles.pop(database, None)
        for identity in [key for key, value in _open.items() if value is database]:
            del _open[identity]


def checked_path(path: object) -> str:
    """The one spelling of a path by which a process knows a file; `":memory:"` is itself.

    Raises:
        InvalidInput: It is no path.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text.strip() or _UNUSABLE.search(text):
        raise InvalidInput("A memory needs the path of a file, or ':memory:'.")
    return text if text == MEMORY else os.path.realpath(text)


def checked_wait(seconds: object) -> float:
    """A number of seconds to wait.

    Raises:
        InvalidInput: It is none, or not bounded.
    """
    if not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        raise InvalidInput("wait_s is a number of seconds, 0 or more.")
    return float(seconds)


def identity_of(path: str) -> _Identity | None:
    """What tells a file from every other, whatever its names; None where there is no file yet.

    Raises:
        StoreUnreadable: It is no ordinary file, or has several names.
    """
    if path == MEMORY:
        return None
    try:
        status = Path(path).stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise StoreUnreadable(f"{path!r} is no ordinary file. Name one.", path=path)
    if status.st_nlink > 1 and not Path(path).is_dir():
        raise StoreUnreadable(
            f"{path!r} has {status.st_nlink} hard links. Two names for one file would be opened as two memories: "
            "remove the other names, or copy the file.",
            path=path,
        )
    return status.st_dev, status.st_ino


def _refuse_inherited(path: str) -> None:
    """Refuse what DuckDB would open as the copy of the parent's instance that came along with the fork."""
    if identity_of(path) in _inherited:
        raise StoreLocked(
            f"{path!r} was open in the process from which this one was forked, so this one can only go through another "
            "that holds it, and there is none. Let a process hold it that was started afresh, such as "
            "`agents-memory serve`, or open it after forking only.",
            path=path,
            holder=None,
        )


def _opened(path: str) -> Database:
    with _lock:  # given back between two attempts, so that waiting for one file holds up no other
        identity = identity_of(path)
        known = _open.get(identity) if identity else None
        if known is None:
            known = _first(path)
            found = identity_of(path)
            if found is not None:
                _open[found] = known
        _handles[known] = _handles.get(known, 0) + 1
        return known


def _first(path: str) -> Database:
    database = Database(path, _connect(path))
    try:
        migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _connect(path: str) -> duckdb.DuckDBPyConnection:
    try:
        root = duckdb.connect(path, config=DUCKDB_CONFIG)
        root.execute("SET GLOBAL TimeZone = 'UTC'")
    except duckdb.Error as error:
        raise _refusal(path, str(error)) from error
    return root


def _refusal(path: str, said: str) -> StorageError:
    holder = _HOLDER.search(said)
    if holder is not None:
        return StoreLocked(
            f"{path!r} is open in process {holder.group(1)}, and DuckDB lets one process hold a file. "
            "Close it there, or wait until that process ends.",
            path=path,
            holder=int(holder.group(1)),
        )
    if not Path(path).parent.is_dir():
        return StoreUnreadable(f"{path!r} is in a folder that does not exist. Make the folder first.", path=path)
    if Path(path).is_dir():
        return StoreUnreadable(f"{path!r} is a folder. Name a file in it.", path=path)
    return StoreUnreadable(
        f"{path!r} cannot be opened as a memory. It may be no DuckDB file, damaged, or not yours to write.", path=path
    )


def _after_fork_in_child() -> None:
    global _lock
    for database in _handles:
        for handle in database.forget_after_fork():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(handle))
    _inherited.update(_open)
    _open.clear()
    _handles.clear()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
