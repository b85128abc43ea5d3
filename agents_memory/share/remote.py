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
            raise StoreLocked(f"{path!r} is open in another process, which does not say how to reach it.", path=path)
        if found.address is None:
            raise StoreLocked(
                f"{path!r} is open in process {found.pid}, which shares it with nobody. Close it there, or open it "
                "there with share='auto'.",
                path=path,
                holder=found.pid,
            )
        self._path = path
        self._place = found
        self._lock = threading.Lock()
        self._free: list[socket.socket] = [self._connected()]

    def call(self, frame: bytes) -> Any:
        """Send a call and give its answer.

        Raises:
            wire.Broken: The owner went away, or did not answer in time.
        """
        connection = self._take()
        try:
            wire.send(connection, frame)
            answer = wire.decoded(wire.receive(connection, frame_wait_s=CALL_WAIT_S))
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._free.append(connection)
        return answer

    def close(self) -> None:
        """Let go of the connections that are not in use."""
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    def forget_after_fork(self) -> None:
        """Let go of the connections in a forked child; they are the parent's."""
        self._lock = threading.Lock()
        self.close()

    def _take(self) -> socket.socket:
        """A connection that nobody uses.

        Raises:
            wire.NotSent: The owner is not there.
        """
        while (kept := self._kept()) is not None:
            if _is_quiet(kept):
                return kept
            kept.close()
        try:
            return self._connected()
        except StoreLocked as error:
            raise wire.NotSent("the owner went away") from error

    def _kept(self) -> socket.socket | None:
        with self._lock:
            return self._free.pop() if self._free else None

    def _connected(self) -> socket.socket:
        try:
            connection = place.connect(self._place, wait_s=HELLO_WAIT_S)
        except OSError as error:
            raise StoreLocked(
                f"{self._path!r} is open in process {self._place.pid}, which does not answer.",
                path=self._path,
                holder=self._place.pid,
            ) from error
        try:
            self._greet(connection)
        except wire.Broken as error:
            connection.close()
            raise StoreLocked(
                f"{self._path!r} is open in process {self._place.pid}, which did not let this one in.",
                path=self._path,
                holder=self._place.pid,
            ) from error
        except BaseException:
            connection.close()
            raise
        connection.settimeout(CALL_WAIT_S)
        return connection

    def _greet(self, connection: socket.socket) -> None:
        mine = {"wire": wire.WIRE, "release": __version__, "secret": self._place.secret}
        wire.send(connection, wire.encoded(mine))
        hello = wire.decoded(wire.receive(connection, frame_wait_s=HELLO_WAIT_S))
        if not isinstance(hello, dict) or hello.get("wire") != wire.WIRE:
            other = hello.get("release", "unknown") if isinstance(hello, dict) else "unknown"
            raise OtherRelease(
                f"{self._path!r} is open in process {self._place.pid}, which runs release {other}; this one is "
                f"{__version__}, and the two cannot talk. Run the same release in both.",
                path=self._path,
                holder=self._place.pid,
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
