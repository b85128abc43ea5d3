"""The lock that says which process owns a file: a file beside it, locked for as long as the process holds the memory.

It is taken before DuckDB opens the file and given back after DuckDB closed it, or by the kernel when the process dies.
The lock file stays, since removing it would let two processes lock two files of one name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Self
from weakref import WeakSet

from agents_memory.errors import StoreUnreadable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class OwnerLock:
    """The right to open a file, or the attempt to get it."""

    def __init__(self, path: str) -> None:
        """Open the lock file.

        Raises:
            OSError: It cannot be written.
        """
        self._descriptor: int | None = None
        _all.add(self)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(f"{path}.lock", flags, 0o666)  # who may write the file may lock it

    @classmethod
    def take(cls, path: str) -> Self | None:
        """The lock of a memory's file, or None while another process, or another opening in this one, has it.

        Raises:
            StoreUnreadable: The lock file cannot be written beside it.
        """
        try:
            lock = cls(path)
        except OSError as error:
            if not Path(path).parent.is_dir():
                problem = f"{path!r} is in a folder that does not exist. Make the folder first."
            else:
                problem = f"{path!r} cannot be a memory: its lock cannot be written beside it ({error.strerror})."
            raise StoreUnreadable(problem, path=path) from error
        if lock._is_taken():
            return lock
        lock.release()
        return None

    def release(self) -> None:
        """Give it back. Harmless twice. In a forked child this leaves the parent's as it is; unlocking would not."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _is_taken(self) -> bool:
        if self._descriptor is None:
            return False
        try:
            _lock(self._descriptor)
        except OSError:
            return False
        return True


_all: WeakSet[OwnerLock] = WeakSet()


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _after_fork_in_child() -> None:
    """A descriptor that a child keeps keeps the lock, even of an opening that was under way in another thread."""
    for lock in list(_all):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
