"""Calling the process that holds a file."""

from __future__ import annotations

import socket
import threading
from typing import Any, Final

from agents_memory._version import __version__
from agents_memory.errors import OtherRelease, StoreLocked
from agents_memory.share import place, wire

CALL_WAIT_S: Final = 120.0
"""How long an answer may take: the longest recall of a cold file of 100,000 facts takes ten seconds."""

HELLO_WAIT_S: Final = 5.0

MAX_FREE: Final = 4
"""Connections kept for the next calls; each costs the owner a thread."""


class Remote:
    """A file that another process holds. Any number of threads may use one; each call has a connection to itself."""

    def __init__(self, path: str) -> None:
        """Reach the owner.

        Raises:
            OtherRelease: It cannot be talked to.
            StoreLocked: It cannot be reached, or shares the file with nobody.
        """
        found = place.read(path)
        if found is None:
            raise StoreLocked(
                f"{path!r} is open in another process, which does not say how to reach it: it opens or closes the file "
                "just now, or another user runs it.",
                path=path,
                holder=None,
            )
        if found.address is None:
            raise StoreLocked(
                f"{path!r} is open in {found.process}, which shares it with nobody. Close it there, or open it there "
                "with share='auto'.",
                path=path,
                holder=found.pid,
            )
        self._path = path
        self._place = found
        self._lock = threading.Lock()
        self._is_closed = False
        self._all: set[socket.socket] = set()
        self._free: list[socket.socket] = [self._connected()]

    def call(self, frame: bytes) -> Any:
        """Send a call and give its answer.

        Raises:
            wire.NotSent: The owner did not get it.
            wire.Broken: The owner went away, or did not answer in time.
        """
        connection = self._take()
        try:
            wire.send(connection, frame)
            connection.settimeout(CALL_WAIT_S)
            answer = wire.decoded(wire.receive(connection, frame_wait_s=CALL_WAIT_S))
        except BaseException:
            self._drop(connection)
            raise
        self._give_back(connection)
        return answer

    def is_there(self) -> bool:
        """Whether the owner still takes calls."""
        try:
            self._give_back(self._take())
        except wire.NotSent:
            return False
        return True

    def close(self) -> None:
        """Let go of the connections that are not in use, and of the others when their calls are answered."""
        with self._lock:
            self._is_closed = True
            free, self._free = self._free, []
        for connection in free:
            self._drop(connection)

    def forget_after_fork(self) -> None:
        """Let go of the connections in a forked child; they are the parent's."""
        self._lock = threading.Lock()
        self._is_closed = True
        self._free = []
        for connection in self._all:
            connection.close()
        self._all = set()

    def _take(self) -> socket.socket:
        """A connection that nobody uses.

        Raises:
            wire.NotSent: The owner is not there.
        """
        while (kept := self._kept()) is not None:
            if _is_quiet(kept):
                return kept
            self._drop(kept)
        try:
            return self._connected()
        except StoreLocked as error:
            raise wire.NotSent("the owner went away") from error

    def _kept(self) -> socket.socket | None:
        with self._lock:
            return self._free.pop() if self._free else None

    def _give_back(self, connection: socket.socket) -> None:
        with self._lock:
            is_kept = not self._is_closed and len(self._free) < MAX_FREE
            if is_kept:
                self._free.append(connection)
        if not is_kept:
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        with self._lock:
            self._all.discard(connection)
        connection.close()

    def _connected(self) -> socket.socket:
        try:
            connection = place.connect(self._place, wait_s=HELLO_WAIT_S)
        except OSError as error:
            raise self._not_reached("does not answer") from error
        try:
            self._greet(connection)
        except wire.Broken as error:
            connection.close()
            raise self._not_reached("did not let this one in") from error
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._all.add(connection)
        return connection

    def _not_reached(self, what: str) -> StoreLocked:
        return StoreLocked(
            f"{self._path!r} is open in {self._place.process}, which {what}. Try again, or end it when it is stuck.",
            path=self._path,
            holder=self._place.pid,
        )

    def _greet(self, connection: socket.socket) -> None:
        mine = {"wire": wire.WIRE, "release": __version__, "secret": self._place.secret}
        wire.send(connection, wire.encoded(mine))
        hello = wire.decoded(wire.receive(connection, frame_wait_s=HELLO_WAIT_S, at_most=wire.MAX_HELLO_BYTES))
        if not isinstance(hello, dict) or hello.get("wire") != wire.WIRE:
            raise self.other_release()

    def other_release(self) -> OtherRelease:
        """That the owner says something which this release does not understand."""
        return OtherRelease(
            f"{self._path!r} is open in {self._place.process}, which runs release {self._place.release}; this one is "
            f"{__version__}, and the two cannot talk. Run the same release in both.",
            path=self._path,
            holder=self._place.pid,
            theirs=self._place.release,
            ours=__version__,
        )


def _is_quiet(connection: socket.socket) -> bool:
    """Whether nothing waits to be read, which between two calls could only be the connection's end."""
    connection.settimeout(0)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        connection.settimeout(CALL_WAIT_S)
        return True
    except OSError:
        pass
    return False
