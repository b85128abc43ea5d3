"""A file as this process reaches it: held by it, or through the process that holds it; whichever it is at the moment.

When the owner goes away, whoever calls next takes the file over. A call that was under way is made again where that is
safe: it reads, doing it twice does nothing more, or it is known by an id that the owner stored with what it did.
"""

from __future__ import annotations

import atexit
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final
from weakref import WeakSet

from pydantic import ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from agents_memory import operations
from agents_memory.errors import (
    AgentsMemoryError,
    AnswerLost,
    Closed,
    InvalidInput,
    StoreLocked,
    StoreUnreadable,
    error_of,
)
from agents_memory.operations import Operation, Risk
from agents_memory.share import place, wire
from agents_memory.share.held import Held, Share, held
from agents_memory.share.lock import OwnerLock
from agents_memory.share.remote import Remote
from agents_memory.store.database import Database
from agents_memory.store.files import MEMORY, checked_path, checked_wait, identity_of, open_database, release
from agents_memory.types import Caller

TAKE_OVER_WAIT_S: Final = 30.0
"""How long a call waits for somebody to hold the file again; opening replays what was not checkpointed."""

MAX_TRIES: Final = 5
"""How many owners in a row a call may lose; a call that ends them should not end many."""

LOOK_EVERY_S: Final = 0.2
"""How often who wants to hold a file looks whether its owner is still there."""

_registry = threading.Lock()
_open: dict[object, Access] = {}
_turns: dict[str, threading.Lock] = {}
_all: WeakSet[Access] = WeakSet()


class Access:
    """One file of this process, however many handles there are on it."""

    def __init__(self, path: str, *, share: Share, wait_s: float) -> None:
        self.path = path
        self._share = share
        self._wait_s = wait_s
        self._switching = threading.Lock()
        self._role: Held | Remote | None = None
        self.handles = 0
        self.is_closed = False
        _all.add(self)

    @property
    def database(self) -> Database:
        """The file's database, when this process holds it.

        Raises:
            Closed: It does not.
        """
        if not isinstance(self._role, Held):
            raise Closed(f"{self.path!r} is not held by this process.")
        return self._role.database

    def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do an operation, wherever the file is held.

        Raises:
            AnswerLost: The owner went away, and whether the call was done is not known.
            AgentsMemoryError: Whatever the operation says.
        """
        role = self._reached()
        if isinstance(role, Held):
            return operations.call(role.database, caller, name, arguments)
        operation, _ = operations.checked(caller, name, arguments)  # refused here as it would be there
        return self._ask(role, operation, caller, arguments)

    def reach(self) -> None:
        """Hold the file, or reach who does.

        Raises:
            StoreLocked: Neither was possible in time.
        """
        self._reached(self._wait_s)

    def hold(self, until: threading.Event) -> str | int | None:
        """Hold the file as soon as nobody else does.

        Args:
            until: Set it to give up.

        Returns:
            Where others reach it; None when it was given up.

        Raises:
            StoreLocked: Another program holds it, or one of ours that shares it with nobody.
        """
        while not until.is_set():
            role = self._reached()
            if isinstance(role, Held):
                return role.address
            while role.is_there() and not until.wait(LOOK_EVERY_S):
                pass
            self._lost(role)
        return None

    def check_share(self, share: Share) -> None:
        """Refuse a further handle whose wish about sharing is not how the file is reached.

        Raises:
            StoreLocked: It was to be held alone, and is shared.
            StoreUnreadable: It was to be shared, and is held alone.
        """
        role = self._reached()
        if share == "never" and isinstance(role, Remote):
            raise _not_alone(self.path)
        is_alone = isinstance(role, Held) and not role.is_shared
        if share == "never" and not is_alone:
            raise StoreLocked(
                f"{self.path!r} is open in this process already, and shared. Close it first, or open it with "
                "share='auto'.",
                path=self.path,
                holder=os.getpid(),
            )
        if share == "require" and is_alone:
            raise StoreUnreadable(
                f"{self.path!r} is open in this process already, and shared with nobody. Close it first.",
                path=self.path,
            )

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

    def stop_at_exit(self) -> None:
        """Answer the calls of others that are under way in a process that ends; its threads would end in the midst."""
        if isinstance(self._role, Held):
            self._role.stop_at_exit()

    def _ask(self, role: Remote, operation: Operation, caller: Caller, arguments: Mapping[str, Any]) -> Any:
        is_read = operation.risk is Risk.READ
        call_id = None if is_read or operation.stands_alone else uuid.uuid4().hex
        call: dict[str, Any] = {
            "operation": operation.name,
            "arguments": wire.arguments_as_data(arguments),
            "caller": wire.caller_as_data(caller),
            "call_id": call_id,
            "again": False,
        }
        for _ in range(MAX_TRIES):
            try:
                return _result(role, operation, role.call(wire.encoded(call)))
            except wire.NotSent:
                self._lost(role)
            except wire.Broken as error:
                self._lost(role)
                if isinstance(error, wire.Silent) or not (is_read or operation.may_repeat or call_id):
                    raise self._answer_lost(operation) from error
                call["again"] = True
            found = self._reached_again(operation, may_be_done=call["again"] and not is_read)
            if isinstance(found, Held):
                return found.answer_again(operation, caller, arguments, call_id)
            role = found
        raise self._answer_lost(operation)

    def _answer_lost(self, operation: Operation) -> AnswerLost:
        return AnswerLost(
            f"The process that holds {self.path!r} went away or fell silent during {operation.name}. "
            + ("Call again." if operation.risk is Risk.READ else "Look whether it was done, and call again if not."),
            path=self.path,
            operation=operation.name,
        )

    def _reached_again(self, operation: Operation, *, may_be_done: bool) -> Held | Remote:
        try:
            return self._reached()
        except AgentsMemoryError as error:
            if may_be_done:
                raise self._answer_lost(operation) from error
            raise

    def _reached(self, wait_s: float | None = None) -> Held | Remote:
        role = self._role
        if role is not None:
            return role
        with self._switching:
            if self.is_closed:
                raise Closed("This memory was closed. Open it again.")
            if self._role is None:
                self._role = _waiting(TAKE_OVER_WAIT_S if wait_s is None else wait_s)(_attached, self.path, self._share)
            return self._role

    def _lost(self, role: Remote) -> None:
        with self._switching:
            if self._role is role:
                self._role = None
        role.close()


def open_access(path: str | os.PathLike[str], *, share: Share, wait_s: float) -> Access:
    """The access of this process to a file; give it back with `release_access`.

    Raises:
        InvalidInput: The path, `share` or `wait_s` cannot be used.
        StoreLocked: Another process holds it and cannot be reached, or another program holds it.
        StoreUnreadable: The path is no file that can be a memory, or it cannot be shared and has to be.
    """
    checked, wait_s = checked_path(path), checked_wait(wait_s)
    if share not in ("auto", "never", "require"):
        raise InvalidInput(f"share is 'auto', 'never' or 'require', not {share!r:.80}.")
    if checked == MEMORY:
        if share == "require":
            raise InvalidInput("A memory that ends with its process cannot be shared. Name a file.")
        return _counted(_InMemory())
    with _turn(checked):  # to another opening or closing in this process, one under way would seem another process
        known = _known(checked)
        if known is not None:
            known.check_share(share)
            return _counted(known)
        access = Access(checked, share=share, wait_s=wait_s)
        access.reach()
        with _registry:
            _open[identity_of(checked)] = access
        return _counted(access)


def release_access(access: Access) -> None:
    """Give one handle back; the last one lets go of the file."""
    with _turn(access.path):
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


def _turn(path: str) -> threading.Lock:
    with _registry:
        return _turns.setdefault(path, threading.Lock())


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


def _attached(path: str, share: Share) -> Held | Remote:
    lock = OwnerLock.take(path)
    if lock is None:
        return _as_caller(path, share)
    try:
        return held(lock, path, share)
    except StoreLocked as error:
        lock.release()
        owner = place.read(path)
        if owner is not None and owner.pid == error.details["holder"]:  # its lock file was removed
            return _as_caller(path, share)
        raise
    except BaseException:
        lock.release()
        raise


def _as_caller(path: str, share: Share) -> Remote:
    if share == "never":
        raise _not_alone(path)
    return Remote(path)


def _not_alone(path: str) -> StoreLocked:
    found = place.read(path)
    return StoreLocked(
        f"{path!r} is open in {'another process' if found is None else found.process}, and share='never' does not go "
        "through it. Close it there, or open it with share='auto'.",
        path=path,
        holder=None if found is None else found.pid,
    )


def _result(role: Remote, operation: Operation, answer: Any) -> Any:
    if isinstance(answer, dict) and "error" in answer:
        raise error_of(answer["error"])
    if not isinstance(answer, dict) or "answer" not in answer:
        raise role.other_release()
    try:
        return operation.load(answer["answer"])
    except ValidationError as error:
        raise role.other_release() from error


def _after_fork_in_child() -> None:
    global _registry
    _registry = threading.Lock()
    _turns.clear()
    for access in list(_all):
        access.forget_after_fork()


def _at_exit() -> None:
    for access in list(_all):
        access.stop_at_exit()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
