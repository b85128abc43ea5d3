"""The process that holds a file, as the others see it: it answers their calls, one thread a connection.

It adds nothing to what an operation does, and decides nothing.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import socket
import threading
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from agents_memory import operations
from agents_memory._version import __version__
from agents_memory.errors import AgentsMemoryError, InvalidInput
from agents_memory.share import place, wire
from agents_memory.share.writes import Write, Writer
from agents_memory.store.database import Database

MAX_CALLERS: Final = 256
"""Connections at a time; each costs a thread."""

FRAME_WAIT_S: Final = 30.0
"""How long a call may take to arrive, once it began, and an answer to be taken."""

ANSWERS_KEPT: Final = timedelta(hours=1)
"""How long an answer can be asked for again; a caller gives up after minutes."""

_log = logging.getLogger("agents_memory")


class Owner:
    """Answers for one file, from when it is made until it is stopped."""

    def __init__(self, database: Database, path: str) -> None:
        """Begin to answer.

        Raises:
            OSError: No socket can be made.
        """
        self._database = database
        self._path = path
        self._listener, address = place.listen(path)
        self.place = place.Place(pid=os.getpid(), release=__version__, address=address, secret=place.new_secret())
        with database.transaction() as tx:
            tx.run("forget_answers", before=tx.now - ANSWERS_KEPT)
        self._writer = Writer(database)
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._busy: set[socket.socket] = set()
        self._idle = threading.Condition(self._lock)
        self._is_stopping = False
        threading.Thread(target=self._accept, name="agents-memory-owner", daemon=True).start()
        place.write(path, self.place)

    def stop(self) -> None:
        """Finish the calls under way, and answer no more."""
        place.remove(self._path, self.place)
        with self._lock:
            self._is_stopping = True
            place.stop_listening(self._listener, self.place.address)
            for connection in self._connections - self._busy:
                _close(connection)
            while self._busy:
                self._idle.wait(FRAME_WAIT_S)
        self._writer.stop()

    def forget_after_fork(self) -> None:
        """Let go of the sockets in a forked child, without a word to those at their other ends."""
        for inherited in (self._listener, *self._connections):
            inherited.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                welcome = not self._is_stopping and len(self._connections) < MAX_CALLERS
                if welcome:
                    self._connections.add(connection)
            if welcome:
                threading.Thread(
                    target=self._serve, args=(connection,), name="agents-memory-caller", daemon=True
                ).start()
            else:
                _close(connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(FRAME_WAIT_S)
            if self._greet(connection):
                connection.settimeout(None)
                while self._answer_next(connection):
                    connection.settimeout(None)
        except wire.Broken:
            pass  # the caller went away, which it may at any time
        finally:
            with self._lock:
                self._connections.discard(connection)
            _close(connection)

    def _greet(self, connection: socket.socket) -> bool:
        hello = wire.decoded(wire.receive(connection, frame_wait_s=FRAME_WAIT_S))
        shown = hello.get("secret") if isinstance(hello, dict) else None
        if not place.is_same_user(connection) or not isinstance(shown, str):
            return False
        if not hmac.compare_digest(shown.encode(), self.place.secret.encode()):
            return False
        wire.send(connection, wire.encoded({"wire": wire.WIRE, "release": __version__}))
        return bool(hello.get("wire") == wire.WIRE)

    def _answer_next(self, connection: socket.socket) -> bool:
        frame = wire.receive(connection, frame_wait_s=FRAME_WAIT_S)
        with self._lock:
            if self._is_stopping:
                return False
            self._busy.add(connection)
        try:
            connection.settimeout(FRAME_WAIT_S)
            wire.send(connection, self._answer(wire.decoded(frame)))
        finally:
            with self._lock:
                self._busy.discard(connection)
                self._idle.notify_all()
        return not self._is_stopping

    def _answer(self, asked: Any) -> bytes:
        try:
            return b'{"answer":' + self._done(asked).encode() + b"}"
        except AgentsMemoryError as error:
            return wire.encoded({"error": error.to_dict()})
        except wire.Broken:
            raise
        except Exception as error:  # noqa: BLE001 - the edge of the process: the caller is told, and it is logged
            _log.error("a call of another process failed (%s)", type(error).__name__)
            problem = AgentsMemoryError(f"The process that holds the file failed ({type(error).__name__}).")
            return wire.encoded({"error": problem.to_dict()})

    def _done(self, asked: Any) -> str:
        if not isinstance(asked, dict) or not isinstance(asked.get("arguments"), dict):
            raise InvalidInput("A call names an operation, its arguments and its caller.")
        operation = operations.operation_named(str(asked.get("operation")))
        caller, call_id = wire.caller_of(asked.get("caller")), asked.get("call_id")
        if call_id is None:
            result = operations.call(self._database, caller, operation.name, asked["arguments"])
            return json.dumps(operation.dump(result))
        if asked.get("again"):
            found = self._database.one_or_none("answer_of", call_id=call_id)
            if found is not None:
                return str(found["answer"])
        write = Write(call_id=call_id, caller=caller, operation=operation.name, arguments=asked["arguments"])
        return self._writer.answer(write)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in it
    connection.close()
