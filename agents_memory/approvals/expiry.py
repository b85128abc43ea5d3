"""Expiring: requests that nobody decided in time stop waiting, and so, before their time, do those that a person names.

An expired request is a refusal that the model is told when its run goes on, so that the conversation stays whole. What
is due is also noticed by everything else that looks at the queue (`queue.expire_due`); this is the ability to ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agents_memory._ids import IdKind
from agents_memory.approvals.arguments import Expire
from agents_memory.approvals.queue import OURSELVES, check_open, close_requests, expire_due
from agents_memory.approvals.rows import find_requests, one_request, one_run, requests_from
from agents_memory.errors import InvalidTransition
from agents_memory.graph.scope import Scope
from agents_memory.store.values import Row
from agents_memory.types import ApprovalRequest, RequestStatus

_BEFORE_ITS_TIME: Final = "It was expired before anybody decided."


def expire(scope: Scope, arguments: Expire) -> tuple[ApprovalRequest, ...]:
    """Expire what is due, or what is named; gives the requests that expired, of this namespace and below.

    Raises:
        AlreadyDecided: The request was decided before; the error says who, what and when.
        InvalidTransition: Nothing of the run waits.
        NotFound: There is no such request or run here or below.
    """
    due = expire_due(scope)
    if arguments.id is None:
        return _as_they_stand(scope, due)
    with scope.database.transaction() as tx:
        waiting = _waiting(scope, arguments.id, due)
        early = [row for row in waiting if row["status"] == RequestStatus.PENDING]
        reasons = [_BEFORE_ITS_TIME] * len(early)
        close_requests(tx, early, RequestStatus.EXPIRED, "expire", reasons, by=arguments.by or OURSELVES)
        tx.run("decided_runs", run_ids=[row["run_id"] for row in early if row["run_id"] is not None], now=tx.now)
    return _as_they_stand(scope, waiting)


def _waiting(scope: Scope, named: str, due: Sequence[Row]) -> list[Row]:
    """What of the named request or run waits, or waited until this very call."""
    just_now = {row["request_id"] for row in due}
    if named.startswith(IdKind.REQUEST.value):
        request = one_request(scope, named)
        if request["request_id"] not in just_now:
            check_open(scope, request)
        return [request]
    run = one_run(scope, named)
    requests = scope.database.rows("requests_of_revision", run_id=run["run_id"], revision=run["revision"])
    waiting = [row for row in requests if row["status"] == RequestStatus.PENDING or row["request_id"] in just_now]
    if not waiting:
        raise InvalidTransition(f"{named} is {run['status']}; nothing of it waits.", run_id=named, status=run["status"])
    return waiting


def _as_they_stand(scope: Scope, rows: Sequence[Row]) -> tuple[ApprovalRequest, ...]:
    if not rows:
        return ()
    return requests_from(scope, find_requests(scope, request_ids=[row["request_id"] for row in rows]))
