"""Every error this package raises on purpose: one tree, a stable code each, and what to do next in the message.

No message holds memory text; it may quote the beginning of an id or name that was passed. Facts about the failure are
attributes. DuckDB's own exceptions
never reach a caller: `store.database` translates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class AgentsMemoryError(Exception):
    """The root of every error of this package.

    Attributes:
        code: A stable, machine-readable name of the kind of failure.
        retryable: Whether doing the same call again may succeed without changing anything else.
        details: JSON-able facts about the failure, such as ids and numbers.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details: dict[str, Any] = details

    def to_dict(self) -> dict[str, Any]:
        """The error as JSON-able data, for a model, a command line or another process."""
        return {"code": self.code, "message": str(self), "retryable": self.retryable, "details": self.details}


class InvalidInput(AgentsMemoryError, ValueError):
    """An argument cannot be used as it is; nothing was written."""

    code = "invalid_input"


class InvalidId(InvalidInput):
    """A text is not an id of the kind asked for."""

    code = "invalid_id"


class InvalidTime(InvalidInput):
    """A time is naive, unreadable, or an interval would be empty."""

    code = "invalid_time"


class NotJson(InvalidInput, TypeError):
    """A session item holds something that JSON has no form for; nothing was written."""

    code = "not_json"


class NotFound(AgentsMemoryError, LookupError):
    """Nothing visible from this namespace has that id or name."""

    code = "not_found"


class NoSuchBranch(NotFound, InvalidInput):
    """The conversation has no such branch, or no such turn in it; nothing was written."""

    code = "no_such_branch"


class Conflict(AgentsMemoryError):
    """Memory is not in the state that the call needs."""

    code = "conflict"


class StaleVersion(Conflict):
    """The fact or relation changed, or ended, before this change; read it again and decide anew."""

    code = "stale_version"


class WrongNamespace(Conflict):
    """The thing is visible here but belongs to another namespace, which alone may change it."""

    code = "wrong_namespace"


class InvalidTransition(Conflict):
    """A request or run cannot move to the state asked for from the one it is in."""

    code = "invalid_transition"


class AlreadyDecided(InvalidTransition):
    """Somebody else decided the request first."""

    code = "already_decided"


class MayNotDecide(Conflict):
    """The rules of the run want somebody else to decide: not who asked, or a second person."""

    code = "may_not_decide"


class StaleRequest(Conflict):
    """Memory changed since the request was last shown; look at it again before deciding."""

    code = "stale_request"


class Undecided(Conflict):
    """A run cannot be resumed while some of its requests wait for a decision."""

    code = "undecided"


class LeaseLost(Conflict):
    """The run was claimed by somebody else meanwhile; this resume must not write."""

    code = "lease_lost"


class SessionParked(Conflict):
    """A run of the conversation waits for a person, and the session begins no new turn meanwhile."""

    code = "session_parked"


class CannotResume(AgentsMemoryError):
    """A parked run cannot be resumed with the agent, session or SDK at hand; nothing was lost."""

    code = "cannot_resume"


class CannotPark(AgentsMemoryError):
    """A result cannot be parked, since nothing in it waits for a decision."""

    code = "cannot_park"


class Closed(AgentsMemoryError):
    """The handle was closed; open a new one."""

    code = "closed"


class StorageError(AgentsMemoryError):
    """The file or DuckDB failed; the transaction was rolled back."""

    code = "storage_error"


class StoreLocked(StorageError):
    """Another process holds the file."""

    code = "store_locked"
    retryable = True


class AnswerLost(StorageError):
    """The process that holds the file went away in a call; look whether it was done before you call again."""

    code = "answer_lost"


class OtherRelease(StorageError):
    """The process that holds the file runs a release that this one cannot talk to."""

    code = "other_release"


class StoreUnreadable(StorageError):
    """The path is not a memory that this process can open."""

    code = "store_unreadable"


class NewerStore(StorageError):
    """The file was written by a newer release of this package."""

    code = "newer_store"


class WriteConflict(StorageError):
    """Two transactions changed the same row; nothing was written by this one."""

    code = "write_conflict"
    retryable = True


class TransactionDoomed(StorageError):
    """An inner block of the transaction failed, so that the whole of it was rolled back."""

    code = "transaction_doomed"


class TransactionElsewhere(StorageError):
    """Another task or thread has the transaction open that this call was made inside."""

    code = "transaction_elsewhere"


def error_of(data: Mapping[str, Any]) -> AgentsMemoryError:
    """An error again, of what `to_dict` gave in another process; the root where this release knows no such code."""
    found = _by_code().get(data["code"], AgentsMemoryError)
    return found(data["message"], **data["details"])


def _by_code() -> dict[str, type[AgentsMemoryError]]:
    found: dict[str, type[AgentsMemoryError]] = {}
    waiting = [AgentsMemoryError]
    while waiting:
        one = waiting.pop()
        found.setdefault(one.code, one)
        waiting.extend(one.__subclasses__())
    return found
