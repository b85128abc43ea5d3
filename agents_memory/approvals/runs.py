"""Parked runs, and what the holder of a claim does with one: renew, keep a state, finish, fail, give back.

Whoever lost the claim cannot write any more: everything here checks that its token is still the newest.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.approvals.arguments import (
    CheckpointRun,
    FailRun,
    FinishRun,
    Held,
    ListRuns,
    OneRun,
    RenewLease,
    SavedState,
    StartCall,
)
from agents_memory.approvals.moves import before_request
from agents_memory.approvals.queue import decide_by_ourselves, expire_due
from agents_memory.approvals.rows import one_run, run_from_row, within
from agents_memory.errors import LeaseLost, NotFound
from agents_memory.graph import audit
from agents_memory.graph.scope import Scope
from agents_memory.sessions import items
from agents_memory.sessions.live import Key
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import ParkedRun, RequestStatus, RunStatus

_NOT_DONE: Final = "Its write could not be done when the run was resumed."
_LEFT: Final = "Its run went on without it."


def get_run(scope: Scope, arguments: OneRun) -> ParkedRun:
    """A parked run as it stands.

    Raises:
        NotFound: There is no such run here or below.
    """
    expire_due(scope)
    return run_from_row(one_run(scope, arguments.run_id))


def list_runs(scope: Scope, arguments: ListRuns) -> tuple[ParkedRun, ...]:
    """The runs of the handle's namespace and below, oldest first."""
    expire_due(scope)
    statuses = None if arguments.status is None else [arguments.status]
    rows = scope.database.rows("runs_of", namespace=scope.namespace, run_id=None, statuses=statuses)
    return tuple(map(run_from_row, rows))


def renew_lease(scope: Scope, arguments: RenewLease) -> float:
    """Hold a claim for longer, and return the seconds until it is lost.

    Raises:
        LeaseLost: It was lost already.
    """
    with scope.database.transaction() as tx:
        renewed = tx.one_or_none(
            "renew_lease",
            run_id=to_number(IdKind.RUN, arguments.run_id),
            fence=arguments.fence,
            namespace=scope.namespace,
            lease_until=tx.now + timedelta(seconds=arguments.lease_s),
            now=tx.now,
        )
        if renewed is None:
            raise _lost(arguments.run_id)
    return arguments.lease_s


def start_call(scope: Scope, arguments: StartCall) -> None:
    """Record that a call of a tool that is not ours begins: if this attempt is lost, nobody knows what it did.

    Raises:
        LeaseLost: The claim was lost; the call must not begin.
    """
    with scope.database.transaction() as tx:
        run = held_here(scope, tx, arguments)
        tx.run("start_calls", run_id=run["run_id"], call_id=arguments.call_id, now=tx.now)


def checkpoint_run(scope: Scope, arguments: CheckpointRun) -> None:
    """Keep a state on the way: a later attempt begins there, with the conversation as it is now.

    Raises:
        LeaseLost: The claim was lost; nothing was kept.
    """
    with scope.database.transaction() as tx:
        run = held_here(scope, tx, arguments)
        run_id = run["run_id"]
        keep_state(tx, run_id, run["revision"], arguments)
        tx.run("settle_effects", run_id=run_id, call_ids=list(arguments.settled))
        allowed = before_request(RequestStatus.DONE)
        tx.run("settle_foreign_calls", run_id=run_id, call_ids=list(arguments.settled), allowed=allowed)
        tx.run("mark_watermark", run_id=run_id, watermark=last_item(scope, run), now=tx.now)


def finish_run(scope: Scope, arguments: FinishRun) -> ParkedRun:
    """End a run with its final output.

    Raises:
        LeaseLost: The claim was lost; somebody else resumes the run.
    """
    with scope.database.transaction() as tx:
        run = held_here(scope, tx, arguments)
        settle_requests(tx, run)
        _leave(tx, run, RunStatus.FINISHED, result=arguments.result)
        audit.record(tx, "finish", [arguments.run_id], namespace=run["namespace"], actor=scope.caller.writer)
    return run_from_row(one_run(scope, arguments.run_id))


def fail_run(scope: Scope, arguments: FailRun) -> ParkedRun:
    """Say that resuming failed, and take back what the attempt added to the conversation. It can be resumed again.

    Raises:
        LeaseLost: The claim was lost; somebody else resumes the run.
    """
    with scope.database.transaction() as tx:
        run = held_here(scope, tx, arguments)
        take_back(tx, run)
        _leave(tx, run, RunStatus.FAILED, error=arguments.error)
    return run_from_row(one_run(scope, arguments.run_id))


def release_run(scope: Scope, arguments: Held) -> ParkedRun:
    """Give a claim back unused: the run is ready again, or waits as before for what is not decided.

    Raises:
        LeaseLost: The claim was lost already.
    """
    with scope.database.transaction() as tx:
        run = held_here(scope, tx, arguments)
        rows = tx.rows("requests_of_revision", run_id=run["run_id"], revision=run["revision"])
        waits = any(row["status"] == RequestStatus.PENDING for row in rows)
        _leave(tx, run, RunStatus.PARKED if waits else RunStatus.READY)
    return run_from_row(one_run(scope, arguments.run_id))


def held_here(scope: Scope, tx: Transaction, arguments: Held) -> Row:
    """The run that a claim is about, for what is done to the run itself.

    Raises:
        LeaseLost: The claim is not the newest.
        NotFound: There is no such run here or below.
    """
    run = one_run(scope, arguments.run_id)
    return held(scope, tx, run["run_id"], arguments.fence)


def held(scope: Scope, tx: Transaction, run_id: int, fence: int | None) -> Row:
    """The run, when `fence` is the newest token of its claim.

    Raises:
        LeaseLost: It is not.
        NotFound: The run belongs to a namespace beside the caller's.
    """
    run = tx.one_or_none("held_run", run_id=run_id, fence=fence, namespace=scope.namespace)
    if run is None:
        raise _lost(to_text(IdKind.RUN, run_id))
    if not run["is_in_line"]:
        raise NotFound(f"There is no run {to_text(IdKind.RUN, run_id)} that {scope.namespace!r} has to do with.")
    return run


def keep_state(tx: Transaction, run_id: int, revision: int, saved: SavedState) -> None:
    """Keep a state of a revision."""
    tx.run(
        "insert_run_state",
        run_id=run_id,
        revision=revision,
        state=saved.state,
        digest=saved.digest,
        signature=saved.signature,
        sdk_version=saved.sdk_version,
        schema_version=saved.schema_version,
        tools=saved.tools,
        saved_at=tx.now,
    )


def settle_requests(tx: Transaction, run: Row) -> None:
    """Close the requests of a revision that is over: a foreign tool has run; a write of ours that failed will not.

    One that still waits, because the run went on without it, is withdrawn.
    """
    rows = tx.rows("requests_of_revision", run_id=run["run_id"], revision=run["revision"])
    open_rows = [row for row in rows if row["status"] == RequestStatus.APPROVED]
    foreign = [row["request_id"] for row in open_rows if row["operation"] is None]
    failed = [row for row in open_rows if row["operation"] is not None]
    if foreign:
        allowed = before_request(RequestStatus.DONE)
        tx.rows("move_requests", request_ids=foreign, status=RequestStatus.DONE, allowed=allowed)
    left = [row for row in rows if row["status"] == RequestStatus.PENDING]
    reasons = [*[_NOT_DONE] * len(failed), *[_LEFT] * len(left)]
    decide_by_ourselves(tx, [*failed, *left], RequestStatus.WITHDRAWN, "withdraw", reasons)
    tx.run("settle_effects", run_id=run["run_id"], call_ids=None)


def take_back(tx: Transaction, run: Row) -> None:
    """Take out of the conversation what the attempt added to it since its revision was claimed, or its checkpoint."""
    if run["session_is_ours"] and run["watermark"] is not None:
        key = Key(run["namespace"], run["session_id"], run["branch"])
        items.remove_after(tx, key, run_id=run["run_id"], watermark=run["watermark"])


def last_item(scope: Scope, run: Row) -> int:
    """The newest item of the run's conversation; 0 when it is not kept here."""
    if not run["session_is_ours"]:
        return 0
    return items.last_item_id(within(scope, run["namespace"], branch=run["branch"]), run["session_id"])


def _leave(tx: Transaction, run: Row, status: RunStatus, **outcome: Any) -> None:
    tx.one(
        "leave_run",
        run_id=run["run_id"],
        fence=run["fence"],
        status=status,
        now=tx.now,
        **{"result": None, "error": None, **outcome},
    )


def _lost(run_id: str) -> LeaseLost:
    return LeaseLost(
        f"The claim on {run_id} was lost: somebody else resumes it, or has. Nothing was written.", run_id=run_id
    )
