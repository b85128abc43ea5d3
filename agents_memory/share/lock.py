"""The lock that says which process owns a file: a file beside it, locked for as long as the process holds the memory.

It is taken before DuckDB opens the file and given back after DuckDB closed it, or by the kernel when the process dies.
The lock file stays, since removing it would let two processes lock two files of one name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Self

from agents_memory.errors import StoreUnreadable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class OwnerLock:
    """The right to open a file, held."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: str) -> Self | None:
        """The lock of a memory's file, or None while another process, or another opening in this one, has it.

        Raises:
            StoreUnreadable: The lock file cannot be written beside it.
        """
        try:
            descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            if not Path(path).parent.is_dir():
                problem = f"{path!r} is in a folder that does not exist. Make the folder first."
            else:
                problem = f"{path!r} cannot be a memory: no file can be written beside it ({error.strerror})."
            raise StoreUnreadable(problem, path=path) from error
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            return None
        return cls(descriptor)

    def release(self) -> None:
        """Give it back. Harmless twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def forget_after_fork(self) -> None:
        """Let go of it in a forked child: closing this copy leaves the parent's lock as it is, unlocking would not."""
        self.release()


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
