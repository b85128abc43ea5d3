"""A file that this process holds: lock, database, and whoever answers the others."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from agents_memory import operations
from agents_memory._version import __version__
from agents_memory.errors import StoreUnreadable
from agents_memory.operations import Operation
from agents_memory.share import place, wire
from agents_memory.share.lock import OwnerLock
from agents_memory.share.owner import Owner
from agents_memory.store.database import Database
from agents_memory.store.files import open_database, release
from agents_memory.types import Caller

Share = Literal["auto", "never", "require"]

_log = logging.getLogger("agents_memory")


class Held:
    """A file that this process holds."""

    def __init__(self, lock: OwnerLock, database: Database, owner: Owner | None, path: str) -> None:
        self.database = database
        self._lock = lock
        self._owner = owner
        self._path = path

    @property
    def is_shared(self) -> bool:
        """Whether other processes reach it here."""
        return self._owner is not None

    @property
    def address(self) -> str | int | None:
        """Where they reach it; None when they do not."""
        return None if self._owner is None else self._owner.place.address

    def answer_again(
        self, operation: Operation, caller: Caller, arguments: Mapping[str, Any], call_id: str | None
    ) -> Any:
        """The answer that an owner before this one stored, or else the call done now."""
        found = None if call_id is None else self.database.one_or_none("answer_of", call_id=call_id)
        if found is not None:
            return operation.load(wire.decoded(found["answer"].encode()))
        return operations.call(self.database, caller, operation.name, arguments)

    def close(self) -> None:
        """Answer no more, let go of the file, then of the right to it; whatever comes between."""
        try:
            if self._owner is not None:
                self._owner.stop()
            else:
                place.remove_stale(self._path)
        finally:
            try:
                release(self.database)
            finally:
                self._lock.release()

    def stop_at_exit(self) -> None:
        """Answer no more, after what is under way."""
        if self._owner is not None:
            self._owner.stop()

    def forget_after_fork(self) -> None:
        """Let go of the sockets in a forked child; lock and database were let go of by the modules that opened them."""
        if self._owner is not None:
            self._owner.forget_after_fork()


def held(lock: OwnerLock, path: str, share: Share) -> Held:
    """A file of which this process has the lock, opened, and shared as wished.

    Raises:
        StoreLocked: Another program holds it.
        StoreUnreadable: It is no memory, or cannot be shared and has to be.
    """
    database = open_database(path, wait_s=0)
    try:
        place.remove_stale(path)
        return Held(lock, database, _owner_of(database, path, share), path)
    except BaseException:
        release(database)
        raise


def _owner_of(database: Database, path: str, share: Share) -> Owner | None:
    """Who answers the other processes; None, and a word to them, when the file is not shared."""
    try:
        if share != "never":
            return Owner(database, path)
    except OSError as error:
        problem = f"{path!r} cannot be shared with other processes: no socket can be made, or no note be left beside it"
        if share == "require":
            raise StoreUnreadable(f"{problem} ({error}).", path=path) from error
        _log.warning("%s (%s); it is held alone", problem, type(error).__name__)
    with suppress(OSError):
        alone = place.Place(pid=os.getpid(), host=socket.gethostname(), release=__version__, address=None, secret="")
        place.write(path, alone)
    return None
