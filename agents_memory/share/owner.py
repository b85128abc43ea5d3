"""The process that holds a file, as the others see it: it answers their calls, one thread a connection.

It adds nothing to what an operation does, and decides nothing. When it is stopped, whatever reached it whole is
answered, and whoever sends more is told at once that nobody takes it.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import socket
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from agents_memory import operations
from agents_memory._version import __version__
from agents_memory.errors import AgentsMemoryError, Closed, InvalidInput
from agents_memory.share import place, wire
from agents_memory.share.writes import Write, Writer
from agents_memory.store.database import Database

MAX_CALLERS: Final = 256
"""Connections at a time; each costs a thread. When there are more, the one that was quiet for longest is ended."""

FRAME_WAIT_S: Final = 30.0
"""How long a call may stand still once it began, and how long an answer may take to be taken."""

GRACE_S: Final = 10.0
"""How long a stopped owner lets callers take their answers; then they are cut off, and ask again."""

LOOK_EVERY_S: Final = 3.0
"""How often an owner that nobody calls looks whether it is still found."""

_log = logging.getLogger("agents_memory")


class Owner:
    """Answers for one file, from when it is made until it is stopped."""

    def __init__(self, database: Database, path: str) -> None:
        """Begin to answer.

        Raises:
            OSError: No socket can be made, or no note be left where it is.
        """
        self._database = database
        self._path = path
        self._listener, address = place.listen()
        self.place = place.Place(
            pid=os.getpid(),
            host=socket.gethostname(),
            release=__version__,
            address=address,
            secret=place.new_secret(),
        )
        try:
            place.write(path, self.place)
        except BaseException:
            place.stop_listening(self._listener, address)
            raise
        self._writer = Writer(database)
        self._lock = threading.Lock()
        self._none_left = threading.Condition(self._lock)
        self._serving: set[socket.socket] = set()
        self._quiet_first: dict[socket.socket, None] = {}
        self._stopping = threading.Event()
        threading.Thread(target=self._accept, name="agents-memory-owner", daemon=True).start()

    def stop(self) -> None:
        """Answer what was called, and nothing more; then nothing of it runs any more."""
        with self._lock:
            self._stopping.set()
            place.remove(self._path, self.place)
            place.stop_listening(self._listener, self.place.address)
            for connection in self._serving:
                _end(connection, socket.SHUT_RD)
            if not self._none_left.wait_for(lambda: not self._serving, GRACE_S):
                for connection in self._serving:
                    _end(connection, socket.SHUT_RDWR)
                self._none_left.wait_for(lambda: not self._serving, GRACE_S)
        self._writer.stop()

    def forget_after_fork(self) -> None:
        """Let go of the sockets in a forked child, without a word to those at their other ends."""
        for inherited in (self._listener, *self._serving):
            inherited.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                self._listener.settimeout(LOOK_EVERY_S)
                connection, _ = self._listener.accept()
            except TimeoutError:
                self._be_found()
            except OSError:
                self._stopping.wait(0.1)  # it is being stopped, or the process has no descriptor left just now
            else:
                self._welcome(connection)

    def _be_found(self) -> None:
        """Take another place when the socket or the note was taken away."""
        if place.is_found(self._path, self.place):
            return
        with self._lock:
            if self._stopping.is_set():
                return
            try:
                listener, address = place.listen()
            except OSError as error:
                _log.warning("the owner of a memory cannot listen any more (%s)", type(error).__name__)
                return
            place.stop_listening(self._listener, self.place.address)
            self._listener, self.place = listener, replace(self.place, address=address)
            with suppress(OSError):  # its folder may be gone; then it is tried again
                place.write(self._path, self.place)

    def _welcome(self, connection: socket.socket) -> None:
        with self._lock:
            if self._stopping.is_set():
                connection.close()
                return
            if len(self._quiet_first) >= MAX_CALLERS:
                quiet = next(iter(self._quiet_first))
                del self._quiet_first[quiet]
                _end(quiet, socket.SHUT_RD)
            self._quiet_first[connection] = None
            self._serving.add(connection)
        serving = threading.Thread(target=self._serve, args=(connection,), name="agents-memory-caller", daemon=True)
        try:
            serving.start()
        except RuntimeError:  # the system has no more threads
            self._let_go(connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(FRAME_WAIT_S)
            if self._greet(connection):
                while True:
                    self._answer_next(connection)
        except OSError:
            pass  # the caller went away, which it may at any time
        except Exception as error:  # noqa: BLE001 - the edge of the process: whatever a caller sent, the others go on
            _log.error("a caller was let go (%s)", type(error).__name__)
        finally:
            self._let_go(connection)

    def _let_go(self, connection: socket.socket) -> None:
        with self._lock:
            self._quiet_first.pop(connection, None)
            self._serving.discard(connection)
            self._none_left.notify_all()
        connection.close()

    def _greet(self, connection: socket.socket) -> bool:
        if not place.is_same_user(connection):
            return False
        hello = wire.decoded(wire.receive(connection, frame_wait_s=FRAME_WAIT_S, at_most=wire.MAX_HELLO_BYTES))
        shown = hello.get("secret") if isinstance(hello, dict) else None
        if not isinstance(shown, str) or not shown.isascii() or not hmac.compare_digest(shown, self.place.secret):
            return False
        wire.send(connection, wire.encoded({"wire": wire.WIRE, "release": __version__}))
        return bool(hello.get("wire") == wire.WIRE)

    def _answer_next(self, connection: socket.socket) -> None:
        connection.settimeout(None)
        frame = wire.receive(connection, frame_wait_s=FRAME_WAIT_S)
        answer = self._answer(wire.decoded(frame))
        with self._lock:
            if connection in self._quiet_first:  # now it was the last to speak
                self._quiet_first[connection] = self._quiet_first.pop(connection)
        connection.settimeout(FRAME_WAIT_S)
        wire.send(connection, answer)

    def _answer(self, asked: Any) -> bytes:
        try:
            answer = b'{"answer":' + self._done(asked).encode() + b"}"
            wire.check_length(answer)
        except Closed as error:  # not done here: whoever holds the file next does it
            raise wire.Broken("the file was let go of") from error
        except AgentsMemoryError as error:
            return _refusal(error)
        except Exception as error:  # noqa: BLE001 - the edge of the process: the caller is told, and it is logged
            _log.error("a call of another process failed (%s)", type(error).__name__)
            return _refusal(AgentsMemoryError(f"The process that holds the file failed ({type(error).__name__})."))
        return answer

    def _done(self, asked: Any) -> str:
        if not isinstance(asked, dict) or not isinstance(asked.get("arguments"), dict):
            raise InvalidInput("A call names an operation, its arguments and its caller.")
        operation = operations.operation_named(str(asked.get("operation")))
        caller, call_id = wire.caller_of(asked.get("caller")), asked.get("call_id")
        if call_id is None:
            result = operations.call(self._database, caller, operation.name, asked["arguments"])
            return json.dumps(operation.dump(result))
        return self._writer.answer(
            Write(
                call_id=str(call_id),
                caller=caller,
                operation=operation.name,
                arguments=asked["arguments"],
                again=bool(asked.get("again")),
            )
        )


def _refusal(error: AgentsMemoryError) -> bytes:
    return json.dumps({"error": error.to_dict()}, default=str).encode()


def _end(connection: socket.socket, how: int) -> None:
    """Take no more of a caller: what came whole is answered, and who sends more learns that nobody takes it."""
    with suppress(OSError):  # it went away by itself
        connection.shutdown(how)
