"""Claiming a parked run: at most one process resumes it, and one that died does not keep it.

A claim is a lease with a token that only grows (the fence). A claim after a lost or failed attempt first takes back
what that attempt added to the conversation, so that the next one writes it once.
"""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from agents_memory._ids import IdKind, to_text
from agents_memory.approvals.arguments import ClaimRun
from agents_memory.approvals.moves import before_run
from agents_memory.approvals.queue import expire_due
from agents_memory.approvals.rows import decisions_by_request, one_run, run_from_row
from agents_memory.approvals.rules import counting
from agents_memory.approvals.runs import last_item, take_back
from agents_memory.errors import InvalidTransition, Undecided
from agents_memory.graph.arguments import NoArguments
from agents_memory.graph.scope import Scope
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import Claim, ParkedRun, RequestStatus, RunStatus, Verdict

RETRY_WAITS_S: Final = (30, 120, 480)
"""Seconds after each failure in a row until a run is tried again; after one more failure it is a person's."""

_REJECTED: Final = "A reviewer rejected this call. Nothing was written."
_WITHDRAWN: Final = "This call was withdrawn. Nothing was written."
_EXPIRED: Final = "This call expired before anybody approved it. Nothing was written."


def runs_to_resume(scope: Scope, _arguments: NoArguments) -> tuple[ParkedRun, ...]:
    """The runs that it is time to resume, oldest first: ready, lost with their process, or failed and due again."""
    expire_due(scope)
    now = scope.database.now()
    begun = [RunStatus.READY, RunStatus.RESUMING, RunStatus.FAILED]
    rows = scope.database.rows("runs_of", namespace=scope.namespace, run_id=None, statuses=begun)
    return tuple(run_from_row(row) for row in rows if _is_due(row, now))


def claim_run(scope: Scope, arguments: ClaimRun) -> Claim:
    """Take a decided run for resuming, or one that is decided in part; at most one caller wins.

    Raises:
        InvalidTransition: Somebody holds it, or it is over.
        NotFound: There is no such run here or below.
        Undecided: Some of its requests still wait; of a partial claim, all of them do.
    """
    expire_due(scope)
    with scope.database.transaction() as tx:
        run = one_run(scope, arguments.run_id)
        requests = tx.rows("requests_of_revision", run_id=run["run_id"], revision=run["revision"])
        _check_decided(run, requests, partial=arguments.partial)
        uncertain = _check_claimable(tx, run, requests, owner=arguments.owner)
        if not uncertain:
            return _claimed(scope, tx, run, requests, arguments)
        tx.run("doubt_run", run_id=run["run_id"], allowed=before_run(RunStatus.UNCERTAIN), now=tx.now)
    raise InvalidTransition(
        f"{arguments.run_id} is uncertain: {', '.join(uncertain)} began in an attempt that was lost, and is no tool of "
        "this memory. Find out what it did; the run is not resumed by itself.",
        run_id=arguments.run_id,
        status=RunStatus.UNCERTAIN.value,
        tools=uncertain,
    )


def _check_decided(run: Row, requests: Sequence[Row], *, partial: bool) -> None:
    waiting = _ids(_waiting(requests))
    if not waiting or (partial and len(waiting) < len(requests)):
        return
    run_id = to_text(IdKind.RUN, run["run_id"])
    raise Undecided(f"{run_id} waits for {', '.join(waiting)}. Decide first.", run_id=run_id, requests=waiting)


def _check_claimable(tx: Transaction, run: Row, requests: Sequence[Row], *, owner: str) -> list[str]:
    """Refuse a run that cannot be resumed now; otherwise the tools of its calls whose outcome nobody knows.

    Who holds it may claim it again: another process did the first claim for them, and its answer was lost.
    """
    run_id, status = to_text(IdKind.RUN, run["run_id"]), RunStatus(run["status"])
    if status is RunStatus.RESUMING and run["lease_owner"] != owner and not _is_lost(run, tx.now):
        raise InvalidTransition(
            f"{run_id} is being resumed by {run['lease_owner']} until {run['lease_until']:%H:%M:%S} UTC. Wait for it.",
            run_id=run_id,
            status=status.value,
        )
    if status.value not in before_run(RunStatus.RESUMING):
        raise InvalidTransition(
            f"{run_id} is {status.value}; it cannot be resumed.", run_id=run_id, status=status.value
        )
    return [
        row["tool"] for row in requests if row["started_at"] is not None and row["status"] == RequestStatus.APPROVED
    ]


def _claimed(scope: Scope, tx: Transaction, run: Row, requests: Sequence[Row], arguments: ClaimRun) -> Claim:
    verdicts, waiting = _verdicts(tx, requests), _waiting(requests)
    _check_always(run, verdicts, waiting)
    if run["watermark"] is not None:
        take_back(tx, run)
    taken = tx.one_or_none(
        "claim_run",
        run_id=run["run_id"],
        fence=run["fence"],
        allowed=before_run(RunStatus.RESUMING),
        owner=arguments.owner,
        lease_until=tx.now + timedelta(seconds=arguments.lease_s),
        watermark=None if run["watermark"] is not None else last_item(scope, run),
        now=tx.now,
    )
    if taken is None:
        raise InvalidTransition(f"{arguments.run_id} was claimed by somebody else.", run_id=arguments.run_id)
    state = tx.one("last_run_state", run_id=run["run_id"], revision=run["revision"])
    return Claim(
        run=run_from_row(one_run(scope, arguments.run_id)),
        fence=taken["fence"],
        lease_s=arguments.lease_s,
        state=base64.b64encode(state["state"]).decode("ascii"),
        digest=state["digest"],
        signature=state["signature"],
        sdk_version=state["sdk_version"],
        schema_version=state["schema_version"],
        tools=state["tools"],
        session_is_ours=run["session_is_ours"],
        verdicts=verdicts,
        waiting=tuple(_ids(waiting)),
    )


def _waiting(requests: Sequence[Row]) -> list[Row]:
    return [row for row in requests if row["status"] == RequestStatus.PENDING]


def _ids(requests: Sequence[Row]) -> list[str]:
    return [to_text(IdKind.REQUEST, row["request_id"]) for row in requests]


def _check_always(run: Row, verdicts: Sequence[Verdict], waiting: Sequence[Row]) -> None:
    """Refuse to let an approval for always decide what a person was asked about and has not decided."""
    covered = {(verdict.tool, verdict.agent) for verdict in verdicts if verdict.always}
    caught = _ids([row for row in waiting if (row["tool"], row["agent"]) in covered])
    if caught:
        run_id = to_text(IdKind.RUN, run["run_id"])
        raise Undecided(
            f"An approval for always would decide {', '.join(caught)}, which call the same tool. Decide them first.",
            run_id=run_id,
            requests=caught,
        )


def _verdicts(tx: Transaction, requests: Sequence[Row]) -> tuple[Verdict, ...]:
    decided = decisions_by_request(tx.rows("decisions_of", request_ids=[row["request_id"] for row in requests]))
    return tuple(
        _verdict(row, decided[row["request_id"]]) for row in requests if row["status"] != RequestStatus.PENDING
    )


def _verdict(row: Row, decisions: Sequence[Row]) -> Verdict:
    reason = decisions[-1]["reason"] if decisions else None
    approvals = counting(decisions, row["preview_digest"])
    status = RequestStatus(row["status"])
    approved = status in {RequestStatus.APPROVED, RequestStatus.DONE}
    withdrawn = status is RequestStatus.WITHDRAWN
    message = _EXPIRED if status is RequestStatus.EXPIRED else reason or (_WITHDRAWN if withdrawn else _REJECTED)
    return Verdict(
        request_id=to_text(IdKind.REQUEST, row["request_id"]),
        call_id=row["call_id"],
        tool=row["tool"],
        agent=row["agent"],
        arguments_digest=row["arguments_digest"],
        approved=approved,
        message=None if approved else message,
        is_ours=row["operation"] is not None,
        always=approved and bool(approvals) and all(one["always"] for one in approvals),
    )


def _is_due(run: Row, now: datetime) -> bool:
    if run["is_waiting"]:  # it was resumed with a part of the decisions, and that was lost or failed
        return False
    if run["status"] == RunStatus.READY:
        return True
    if run["status"] == RunStatus.RESUMING:
        return _is_lost(run, now)
    failures: int = run["failures"]
    return failures <= len(RETRY_WAITS_S) and run["updated_at"] + timedelta(seconds=RETRY_WAITS_S[failures - 1]) <= now


def _is_lost(run: Row, now: datetime) -> bool:
    if run["lease_until"] <= now:
        return True
    host, pid, _ = (run["lease_owner"] or "").rsplit(":", 2)
    return host == socket.gethostname() and not _is_alive(int(pid))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
