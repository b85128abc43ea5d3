"""Withdrawing: taking a request, or a whole run, out of the queue. The way out of `uncertain`, for a person.

A withdrawn request is told to the model when its run goes on. A withdrawn run never goes on, so its conversation is
made whole here: each of its calls that has no output gets one that says what became of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from agents_memory._ids import IdKind, to_text
from agents_memory.approvals.arguments import Withdraw
from agents_memory.approvals.moves import before_request, before_run
from agents_memory.approvals.queue import check_open, close_requests, expire_due
from agents_memory.approvals.rows import one_request, one_run, requests_from, run_from_row, within
from agents_memory.approvals.runs import take_back
from agents_memory.errors import InvalidTransition
from agents_memory.graph import audit
from agents_memory.graph.scope import Scope
from agents_memory.sessions.unanswered import answer_calls
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import ApprovalRequest, ParkedRun, RequestStatus, RunStatus

_UNKNOWN: Final = "This call began, and nobody knows what it did. Its run was withdrawn and does not go on."
_DONE: Final = "This call was carried out. Its run was withdrawn afterwards and does not go on."
_NOT_RUN: Final = "This call was withdrawn before it ran. Nothing was written."
_SIBLING: Final = "This call was withdrawn together with its run."


def withdraw(scope: Scope, arguments: Withdraw) -> ApprovalRequest | ParkedRun:
    """Take a request that waits, or a run that nobody is resuming, out of the queue.

    Raises:
        AlreadyDecided: The request was decided before; the error says who, what and when.
        InvalidTransition: The run is being resumed, or is over.
        NotFound: There is no such request or run here or below.
    """
    expire_due(scope)
    if arguments.id.startswith(IdKind.REQUEST.value):
        return _withdraw_request(scope, arguments)
    return _withdraw_run(scope, arguments)


def _withdraw_request(scope: Scope, arguments: Withdraw) -> ApprovalRequest:
    with scope.database.transaction() as tx:
        row = one_request(scope, arguments.id)
        check_open(scope, row)
        _close(tx, [row], arguments)
        if row["run_id"] is not None:
            tx.run("decided_runs", run_ids=[row["run_id"]], now=tx.now)
    return requests_from(scope, [one_request(scope, arguments.id)])[0]


def _withdraw_run(scope: Scope, arguments: Withdraw) -> ParkedRun:
    with scope.database.transaction() as tx:
        run = one_run(scope, arguments.id)
        allowed = before_run(RunStatus.WITHDRAWN)
        if tx.one_or_none("withdraw_run", run_id=run["run_id"], allowed=allowed, now=tx.now) is None:
            raise _not_now(run)
        requests = tx.rows("requests_of_revision", run_id=run["run_id"], revision=run["revision"])
        _make_whole(scope, tx, run, requests, arguments.reason)
        _close(tx, [row for row in requests if row["status"] in before_request(RequestStatus.WITHDRAWN)], arguments)
        audit.record(tx, "withdraw", [arguments.id], namespace=run["namespace"], actor=arguments.by)
    return run_from_row(one_run(scope, arguments.id))


def _close(tx: Transaction, rows: list[Row], arguments: Withdraw) -> None:
    reasons = [arguments.reason] * len(rows)
    close_requests(tx, rows, RequestStatus.WITHDRAWN, "withdraw", reasons, by=arguments.by)


def _not_now(run: Row) -> InvalidTransition:
    run_id, status = to_text(IdKind.RUN, run["run_id"]), run["status"]
    advice = "it cannot be withdrawn any more."
    if status == RunStatus.RESUMING:
        advice = f"withdraw it once {run['lease_owner']} is done, or try to resume it when that process is gone."
    return InvalidTransition(f"{run_id} is {status}; {advice}", run_id=run_id, status=status)


def _make_whole(scope: Scope, tx: Transaction, run: Row, requests: list[Row], reason: str | None) -> None:
    """Answer the run's open calls. A conversation that is kept elsewhere is its owner's to mend."""
    if not run["session_is_ours"]:
        return
    take_back(tx, run)
    answer_calls(
        within(scope, run["namespace"], run["session_id"], run["branch"]),
        run["session_id"],
        run_id=to_text(IdKind.RUN, run["run_id"]),
        asked_for=[row["call_id"] for row in requests],
        until=max((row["requested_at"] for row in requests), default=run["updated_at"]),
        say=_saying({row["call_id"]: row for row in requests}, reason),
    )


def _saying(requests: Mapping[str, Row], reason: str | None) -> Callable[[str], str]:
    def say(call_id: str) -> str:
        became = _became(requests.get(call_id))
        return became if reason is None else f"{became} Reason: {reason}"

    return say


def _became(request: Row | None) -> str:
    if request is None:
        return _SIBLING
    if request["status"] == RequestStatus.DONE:
        return _DONE
    if request["started_at"] is not None:
        return _UNKNOWN
    return _NOT_RUN
