"""A file as this process reaches it: held by it, or through the process that holds it; whichever it is at the moment.

When the owner goes away, whoever calls next takes the file over. A call that was under way is made again where that is
safe: it reads, or it is known by an id that the owner stored with what it did.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal
from weakref import WeakSet

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from agents_memory import operations
from agents_memory._version import __version__
from agents_memory.errors import AnswerLost, Closed, InvalidInput, StoreLocked, error_of
from agents_memory.operations import Operation, Risk
from agents_memory.share import place, wire
from agents_memory.share.lock import OwnerLock
from agents_memory.share.owner import Owner
from agents_memory.share.remote import Remote
from agents_memory.store.database import Database
from agents_memory.store.files import MEMORY, checked_path, checked_wait, identity_of, open_database, release
from agents_memory.types import Caller

Share = Literal["auto", "never", "require"]

TAKE_OVER_WAIT_S: Final = 30.0
"""How long a call waits for somebody to hold the file again; opening replays what was not checkpointed."""

_registry = threading.Lock()
_open: dict[object, Access] = {}
_opening: dict[str, threading.Lock] = {}
_all: WeakSet[Access] = WeakSet()


class Access:
    """One file of this process, however many handles there are on it."""

    def __init__(self, path: str, *, share: Share, wait_s: float) -> None:
        self.path = path
        self._share = share
        self._wait_s = wait_s
        self._switching = threading.Lock()
        self._role: _Held | Remote | None = None
        self.handles = 0
        self.is_closed = False
        _all.add(self)

    @property
    def database(self) -> Database:
        """The file's database, when this process holds it.

        Raises:
            Closed: It does not.
        """
        if not isinstance(self._role, _Held):
            raise Closed(f"{self.path!r} is not held by this process.")
        return self._role.database

    def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do an operation, wherever the file is held.

        Raises:
            AnswerLost: The owner went away, and whether the call was done is not known.
            AgentsMemoryError: Whatever the operation says.
        """
        role = self._reached()
        if isinstance(role, _Held):
            return operations.call(role.database, caller, name, arguments)
        operation = operations.operation_named(name)
        return operation.load(self._ask(role, operation, caller, arguments))

    def reach(self) -> None:
        """Hold the file, or reach who does.

        Raises:
            StoreLocked: Neither was possible in time.
        """
        self._reached(self._wait_s)

    def close(self) -> None:
        """Let go of the file."""
        with self._switching:
            role, self._role, self.is_closed = self._role, None, True
        if role is not None:
            role.close()

    def forget_after_fork(self) -> None:
        """Become a caller of the parent in a forked child."""
        role, self._role = self._role, None
        self._switching = threading.Lock()
        if role is not None:
            role.forget_after_fork()

    def _ask(self, role: Remote, operation: Operation, caller: Caller, arguments: Mapping[str, Any]) -> Any:
        call_id = None if operation.risk is Risk.READ or operation.tries_out else uuid.uuid4().hex
        call: dict[str, Any] = {
            "operation": operation.name,
            "arguments": dict(arguments),
            "caller": wire.caller_as_data(caller),
            "call_id": call_id,
        }
        again = False
        while True:
            try:
                return _result(role.call(wire.encoded({**call, "again": again})))
            except wire.NotSent:
                self._lost(role)
            except wire.Broken as error:
                self._lost(role)
                if isinstance(error, wire.Silent) or (call_id is None and operation.risk is not Risk.READ):
                    raise AnswerLost(
                        f"The process that holds {self.path!r} went away or fell silent during {operation.name}. Look "
                        "whether it was done, and call again if it was not.",
                        path=self.path,
                        operation=operation.name,
                    ) from error
                again = True
            found = self._reached()
            if isinstance(found, _Held):
                return found.answer_again(call, caller)
            role = found

    def _reached(self, wait_s: float = TAKE_OVER_WAIT_S) -> _Held | Remote:
        role = self._role
        if role is not None:
            return role
        with self._switching:
            if self.is_closed:
                raise Closed("This memory was closed. Open it again.")
            if self._role is None:
                self._role = _waiting(wait_s)(_attached, self.path, self._share)
            return self._role

    def _lost(self, role: Remote) -> None:
        with self._switching:
            if self._role is role:
                self._role = None
        role.close()


class _Held:
    """A file that this process holds."""

    def __init__(self, lock: OwnerLock, database: Database, owner: Owner | None, path: str) -> None:
        self.database = database
        self._lock = lock
        self._owner = owner
        self._path = path

    def answer_again(self, call: dict[str, Any], caller: Caller) -> Any:
        """The answer that an owner before this one stored, or else the call done now."""
        if call["call_id"] is not None:
            found = self.database.one_or_none("answer_of", call_id=call["call_id"])
            if found is not None:
                return wire.decoded(found["answer"].encode())
        operation = operations.operation_named(call["operation"])
        return operation.dump(operations.call(self.database, caller, operation.name, call["arguments"]))

    def close(self) -> None:
        """Answer no more, let go of the file, then of the right to it."""
        if self._owner is not None:
            self._owner.stop()
        else:
            unshared = place.read(self._path)
            if unshared is not None and unshared.pid == os.getpid():
                place.remove(self._path, unshared)
        release(self.database)
        self._lock.release()

    def forget_after_fork(self) -> None:
        """Let go of the descriptors in a forked child; the database was let go of by the module that opened it."""
        self._lock.forget_after_fork()
        if self._owner is not None:
            self._owner.forget_after_fork()


def open_access(path: str | os.PathLike[str], *, share: Share, wait_s: float) -> Access:
    """The access of this process to a file; give it back with `release_access`.

    Raises:
        InvalidInput: The path, `share` or `wait_s` cannot be used.
        StoreLocked: Another process holds it and cannot be reached, or another program holds it.
        StoreUnreadable: The path is no file that can be a memory.
    """
    checked, wait_s = checked_path(path), checked_wait(wait_s)
    if share not in ("auto", "never", "require"):
        raise InvalidInput(f"share is 'auto', 'never' or 'require', not {share!r:.80}.")
    if checked == MEMORY:
        if share == "require":
            raise InvalidInput("A memory that ends with its process cannot be shared. Name a file.")
        return _counted(_InMemory())
    with _registry:
        opening = _opening.setdefault(checked, threading.Lock())
    with opening:  # two openings at once would take the second for another process
        known = _known(checked)
        if known is None:
            known = Access(checked, share=share, wait_s=wait_s)
            known.reach()
            with _registry:
                _open[identity_of(checked)] = known
        return _counted(known)


def release_access(access: Access) -> None:
    """Give one handle back; the last one lets go of the file."""
    with _registry:
        access.handles -= 1
        if access.handles:
            return
        for key in [key for key, value in _open.items() if value is access]:
            del _open[key]
    access.close()


class _InMemory(Access):
    def __init__(self) -> None:
        super().__init__(MEMORY, share="never", wait_s=0)
        self._held = open_database(MEMORY, wait_s=0)

    @property
    def database(self) -> Database:
        return self._held

    def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
        return operations.call(self._held, caller, name, arguments)

    def close(self) -> None:
        release(self._held)


def _counted(access: Access) -> Access:
    with _registry:
        access.handles += 1
    return access


def _known(path: str) -> Access | None:
    identity = identity_of(path)
    with _registry:
        return None if identity is None else _open.get(identity)


def _waiting(wait_s: float) -> Callable[..., Any]:
    return Retrying(
        retry=retry_if_exception_type(StoreLocked),
        stop=stop_after_delay(wait_s),
        wait=wait_random_exponential(multiplier=0.01, max=0.2),
        reraise=True,
    )


def _attached(path: str, share: Share) -> _Held | Remote:
    lock = OwnerLock.take(path)
    if lock is None:
        return _as_caller(path, share)
    try:
        database = open_database(path, wait_s=0)
    except BaseException:
        lock.release()
        raise
    try:
        owner = None if share == "never" else Owner(database, path)
    except OSError:
        if share == "require":
            release(database)
            lock.release()
            raise
        owner = None
    except BaseException:
        release(database)
        lock.release()
        raise
    if owner is None:
        place.write(path, place.Place(pid=os.getpid(), release=__version__, address=None, secret=""))
    return _Held(lock, database, owner, path)


def _as_caller(path: str, share: Share) -> Remote:
    if share == "never":
        found = place.read(path)
        holder = None if found is None else found.pid
        raise StoreLocked(
            f"{path!r} is open in process {holder or 'unknown'}, and share='never' does not go through it. Close it "
            "there, or open it with share='auto'.",
            path=path,
            holder=holder,
        )
    return Remote(path)


def _result(answer: Any) -> Any:
    if not isinstance(answer, dict) or ("answer" not in answer and "error" not in answer):
        raise wire.Broken("an answer is none")
    if "error" in answer:
        raise error_of(answer["error"])
    return answer["answer"]


def _after_fork_in_child() -> None:
    global _registry
    _registry = threading.Lock()
    _opening.clear()
    for access in list(_all):
        access.forget_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
