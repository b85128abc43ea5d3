"""The frames that two processes exchange: four bytes that say how long, then JSON.

A conversation begins with one hello each way, which names the wire's version, the release and a secret. Then each call
is a frame and each answer is one. What is called, and with what, is the catalogue's business (`operations.py`).
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime
from enum import Enum
from typing import Any, Final

from pydantic import TypeAdapter

from agents_memory.errors import InvalidInput
from agents_memory.types import Caller

WIRE: Final = 1
"""Counts up with each change that an older release would misread."""

MAX_FRAME_BYTES: Final = 256 * 1024 * 1024
"""A longer frame is refused: the longest fact is 50 million characters, in JSON some more bytes."""

MAX_HELLO_BYTES: Final = 4096
"""Of who has not shown the secret yet, no more is taken."""

_LENGTH: Final = struct.Struct(">I")
_CALLER: Final = TypeAdapter(Caller)


class Broken(ConnectionError):
    """The other side went away, stood still for too long, or sent what is no frame."""


class NotSent(Broken):
    """The other side does not have it: there was nobody, or it went away before the frame was whole."""


class Silent(Broken):
    """The other side took it, is still there, and says nothing."""


def send(connection: socket.socket, frame: bytes) -> None:
    """Send a frame.

    Raises:
        NotSent: The other side did not take it, or only a part, which it never acts on.
        InvalidInput: It is too long.
    """
    check_length(frame)
    try:
        connection.sendall(_LENGTH.pack(len(frame)) + frame)
    except OSError as error:
        raise NotSent("the connection was lost") from error


def check_length(frame: bytes) -> None:
    """Refuse a frame that the other side would not take.

    Raises:
        InvalidInput: It is too long.
    """
    if len(frame) > MAX_FRAME_BYTES:
        raise InvalidInput(
            f"What goes between two processes is at most {MAX_FRAME_BYTES} bytes long. Write, or ask, in smaller parts."
        )


def receive(connection: socket.socket, *, frame_wait_s: float, at_most: int = MAX_FRAME_BYTES) -> bytes:
    """The next frame.

    Args:
        connection: Where it comes from. Its timeout says how long to wait for the frame to begin.
        frame_wait_s: How long the rest may stand still once it began.
        at_most: How many bytes are taken.

    Raises:
        Broken: There is none, in time or at all.
    """
    length = _LENGTH.unpack(_exactly(connection, _LENGTH.size))[0]
    if length > at_most:
        raise Broken("a frame is too long")
    connection.settimeout(frame_wait_s)
    return _exactly(connection, length)


def encoded(data: Any) -> bytes:
    """Data as a frame holds it.

    Raises:
        InvalidInput: It is no JSON data.
    """
    try:
        return json.dumps(data).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The arguments must be JSON data: {error}. Write a time as an ISO 8601 string.") from None


def decoded(frame: bytes) -> Any:
    """The data in a frame.

    Raises:
        Broken: It is no JSON.
    """
    try:
        return json.loads(frame)
    except (ValueError, RecursionError) as error:
        raise Broken("a frame is no JSON") from error


def arguments_as_data(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as data: what they can be in Python besides, such as a moment, becomes text or a list."""
    return {name: _plain(value) for name, value in arguments.items()}


def caller_as_data(caller: Caller) -> dict[str, Any]:
    """A caller as data, without what is not said."""
    return {name: _plain(value) for name, value in asdict(caller).items() if value is not None}


def caller_of(data: Any) -> Caller:
    """A caller again.

    Raises:
        InvalidInput: The data is none.
    """
    try:
        return _CALLER.validate_python(data)
    except ValueError:
        raise InvalidInput("A call names no caller.") from None


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        try:
            part = connection.recv(min(count - len(parts), 1 << 20))
        except TimeoutError as error:
            raise Silent("there was no answer in time") from error
        except OSError as error:
            raise Broken("the connection was lost") from error
        if not part:
            raise Broken("the connection was closed")
        parts += part
    return bytes(parts)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return dict(value)
    return value
