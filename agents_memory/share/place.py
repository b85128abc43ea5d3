"""Where the process that holds a file is reached: a note beside the file, which only its user can read.

On systems with Unix sockets it names one in a private folder with a short path, since a socket's path may not be longer
than about a hundred characters; elsewhere a port of this machine. A secret in the note keeps out who cannot read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import stat
import struct
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

HAS_UNIX_SOCKETS: Final = hasattr(socket, "AF_UNIX")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an owner is.

    Attributes:
        pid: Its process.
        release: The release of this package that it runs.
        address: The path of its socket, or a port; None when it shares the file with nobody.
        secret: What a caller shows.
    """

    pid: int
    release: str
    address: str | int | None
    secret: str


def note_of(path: str) -> Path:
    """The file beside a memory that says where its owner is."""
    return Path(f"{path}.owner")


def read(path: str) -> Place | None:
    """Where the owner of a file says it is; None when no note can be read."""
    try:
        return Place(**json.loads(note_of(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write(path: str, place: Place) -> None:
    """Say where the owner is, in one step."""
    note = note_of(path)
    fresh = note.with_name(f"{note.name}.{place.pid}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(place), file)
    fresh.replace(note)


def remove(path: str, place: Place) -> None:
    """Take the note back, if it is still this owner's."""
    if read(path) == place:
        note_of(path).unlink(missing_ok=True)


def new_secret() -> str:
    """A secret that nobody guesses."""
    return secrets.token_hex(32)


def listen(path: str) -> tuple[socket.socket, str | int]:
    """A listening socket for a file, and its address."""
    if not HAS_UNIX_SOCKETS:
        listener = socket.create_server(("127.0.0.1", 0))
        return listener, int(listener.getsockname()[1])
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    address = _private_folder() / f"{name}.sock"
    fresh = address.with_name(f"{name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(fresh))
    fresh.chmod(0o600)
    listener.listen(128)
    fresh.replace(address)  # what a dead owner left there goes with it
    return listener, str(address)


def stop_listening(listener: socket.socket, address: str | int | None) -> None:
    """Close a listening socket, and take its name away; only who owns the file may."""
    with suppress(OSError):  # some systems refuse that of a listening socket, and wake the thread by closing it
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
    listener.close()
    if isinstance(address, str):
        Path(address).unlink(missing_ok=True)


def connect(place: Place, *, wait_s: float) -> socket.socket:
    """A connection to an owner.

    Raises:
        OSError: Nobody is there.
    """
    if isinstance(place.address, int):
        return socket.create_connection(("127.0.0.1", place.address), timeout=wait_s)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(wait_s)
        connection.connect(str(place.address))
    except BaseException:
        connection.close()
        raise
    return connection


def is_same_user(connection: socket.socket) -> bool:
    """Whether the process at the other end is this user's, where the system says; elsewhere the secret tells."""
    if not hasattr(socket, "SO_PEERCRED") or connection.family != socket.AF_UNIX:
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    _, uid, _ = struct.unpack("3i", credentials)  # pid, uid, gid
    return bool(uid == os.geteuid())


def _private_folder() -> Path:
    """A folder that only this user can enter.

    Raises:
        OSError: There is one of that name which is somebody else's.
    """
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(base) / f"agents-memory-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(f"{str(folder)!r} is not a private folder of this user")
    return folder
