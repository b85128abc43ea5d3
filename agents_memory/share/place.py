"""Where the process that holds a file is reached: a note beside the file, which only its user can read.

On systems with Unix sockets it names one in a private folder with a short path, since a socket's path may not be longer
than about a hundred characters; elsewhere a port of this machine. A secret in the note keeps out who cannot read it.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import stat
import struct
import tempfile
from collections.abc import Iterator
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
        host: Its machine; another one cannot reach it.
        release: The release of this package that it runs.
        address: The path of its socket, or a port; None when it shares the file with nobody.
        secret: What a caller shows.
    """

    pid: int
    host: str
    release: str
    address: str | int | None
    secret: str

    @property
    def process(self) -> str:
        """Its process, as an error names it."""
        return f"process {self.pid}" + ("" if self.host == socket.gethostname() else f" on {self.host!r:.80}")


def note_of(path: str) -> Path:
    """The file beside a memory that says where its owner is."""
    return Path(f"{path}.owner")


def read(path: str) -> Place | None:
    """Where the owner of a file says it is; None when there is no note, or none of this user's."""
    try:
        with note_of(path).open(encoding="utf-8") as file:
            if not _is_mine(os.fstat(file.fileno())):
                return None
            return Place(**json.load(file))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def write(path: str, place: Place) -> None:
    """Say where the owner is, in one step.

    Raises:
        OSError: Nothing can be written there.
    """
    note = note_of(path)
    fresh = note.with_name(f"{note.name}.{place.pid}")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(place), file)
    fresh.replace(note)


def remove(path: str, place: Place) -> None:
    """Take the note back, if it is still this owner's."""
    if read(path) == place:
        with suppress(OSError):
            note_of(path).unlink(missing_ok=True)


def remove_stale(path: str) -> None:
    """Take away what an owner left that died, so that nobody is sent to it; only who holds the lock may."""
    left = read(path)
    with suppress(OSError):
        note_of(path).unlink(missing_ok=True)
    if left is not None and isinstance(left.address, str) and _is_socket_of_ours(Path(left.address)):
        with suppress(OSError):
            Path(left.address).unlink(missing_ok=True)


def is_found(path: str, place: Place) -> bool:
    """Whether callers still find an owner: a cleaner of temporary folders may have taken its socket away."""
    return read(path) == place and (not isinstance(place.address, str) or Path(place.address).exists())


def new_secret() -> str:
    """A secret that nobody guesses."""
    return secrets.token_hex(32)


def listen() -> tuple[socket.socket, str | int]:
    """A listening socket, and its address.

    Raises:
        OSError: None can be made.
    """
    if not HAS_UNIX_SOCKETS:
        listener = socket.create_server(("127.0.0.1", 0))
        return listener, int(listener.getsockname()[1])
    problem: OSError | None = None
    for base in _bases():
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            address = str(_private_folder(base) / f"{secrets.token_hex(8)}.sock")
            listener.bind(address)
            listener.listen(128)
        except OSError as error:  # not ours to write in, or a path too long for a socket
            listener.close()
            problem = error
        else:
            return listener, address
    assert problem is not None  # noqa: S101 - there is a base at least
    raise problem


def stop_listening(listener: socket.socket, address: str | int | None) -> None:
    """Close a listening socket, and take its name away."""
    with suppress(OSError):  # some systems refuse that of a listening socket, and wake the thread by closing it
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
    listener.close()
    if isinstance(address, str):
        with suppress(OSError):
            Path(address).unlink(missing_ok=True)


def connect(place: Place, *, wait_s: float) -> socket.socket:
    """A connection to an owner.

    Raises:
        OSError: Nobody is there, or another user.
    """
    if isinstance(place.address, int):
        return socket.create_connection(("127.0.0.1", place.address), timeout=wait_s)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(wait_s)
        connection.connect(str(place.address))
        if not is_same_user(connection):
            raise PermissionError("another user answers there")
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


def _bases() -> Iterator[str]:
    if given := os.environ.get("XDG_RUNTIME_DIR"):
        yield given
    yield tempfile.gettempdir()
    yield "/tmp"  # noqa: S108 - the folder made in it is private; the others may be missing or have long paths


def _private_folder(base: str) -> Path:
    """A folder that only this user can enter.

    Raises:
        OSError: There is one of that name which is somebody else's.
    """
    folder = Path(base) / f"agents-memory-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or not _is_mine(status) or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(f"{str(folder)!r} is not a private folder of this user")
    return folder


def _is_socket_of_ours(address: Path) -> bool:
    return address.parent.name == f"agents-memory-{os.geteuid()}" and address.is_socket()


def _is_mine(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
