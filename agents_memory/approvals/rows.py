"""Rows of the queue as the data that callers see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pydantic import TypeAdapter

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.approvals import preview
from agents_memory.approvals.rules import counting
from agents_memory.errors import NotFound
from agents_memory.graph.rows import optional_id
from agents_memory.graph.scope import Scope
from agents_memory.store.values import Row
from agents_memory.types import (
    MAIN,
    ApprovalRequest,
    Decision,
    Episode,
    ParkedRun,
    Receipt,
    RequestStatus,
    RunStatus,
)

_CARRIED_OUT: Final = TypeAdapter[Receipt | Episode](Receipt | Episode)


def find_requests(
    scope: Scope,
    *,
    request_ids: Sequence[int] | None = None,
    run_id: int | None = None,
    status: RequestStatus | None = None,
    descendants: bool = True,
) -> list[Row]:
    """The requests of the handle's namespace and, unless told otherwise, below it, oldest first."""
    return scope.database.rows(
        "requests_of",
        namespace=scope.namespace,
        descendants=descendants,
        request_ids=request_ids,
        run_id=run_id,
        status=status,
    )


def one_request(scope: Scope, request_id: str) -> Row:
    """A request of the handle's namespace and below.

    Raises:
        NotFound: There is none of that id there.
    """
    rows = find_requests(scope, request_ids=[to_number(IdKind.REQUEST, request_id)])
    if not rows:
        raise NotFound(
            f"There is no approval request {request_id} in {scope.namespace!r} or below.", request_id=request_id
        )
    return rows[0]


def one_run(scope: Scope, run_id: str) -> Row:
    """A parked run of the handle's namespace and below.

    Raises:
        NotFound: There is none of that id there.
    """
    rows = scope.database.rows(
        "runs_of", namespace=scope.namespace, run_id=to_number(IdKind.RUN, run_id), statuses=None
    )
    if not rows:
        raise NotFound(f"There is no parked run {run_id} in {scope.namespace!r} or below.", run_id=run_id)
    return rows[0]


def is_without_run(row: Row) -> bool:
    """Whether a request was made of the memory itself, so that nobody resumes anything to carry it out."""
    return bool(row["origin"] == "memory")


def within(scope: Scope, namespace: str, session_id: str | None = None, branch: str = MAIN) -> Scope:
    """The scope as it is for what belongs to a namespace below, and to a conversation there."""
    caller = replace(scope.caller, namespace=namespace, session_id=session_id, branch=branch)
    return replace(scope, caller=caller)


def requests_from(scope: Scope, rows: Sequence[Row]) -> tuple[ApprovalRequest, ...]:
    """Requests with what was decided about them; costs one statement however many there are."""
    decided = decisions_by_request(scope.database.rows("decisions_of", request_ids=[row["request_id"] for row in rows]))
    return tuple(request_from_row(row, decided[row["request_id"]]) for row in rows)


def decisions_by_request(rows: Iterable[Row]) -> Mapping[int, list[Row]]:
    """Rows of decisions by their request, which has none where there is none."""
    found: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["request_id"]].append(row)
    return found


def request_from_row(row: Row, decisions: Sequence[Row], digest: str | None = None) -> ApprovalRequest:
    """A request with the preview that is kept with it.

    Args:
        row: The request.
        decisions: What was decided about it.
        digest: The preview for which approvals count; the kept one when left out.
    """
    counted = counting(decisions, digest or row["preview_digest"])
    return ApprovalRequest(
        id=to_text(IdKind.REQUEST, row["request_id"]),
        namespace=row["namespace"],
        status=RequestStatus(row["status"]),
        tool=row["tool"],
        operation=row["operation"],
        arguments=row["final_arguments"] or row["arguments"],
        preview=preview.from_json(row["preview"], row["preview_digest"]),
        agent=row["agent"],
        run_id=optional_id(IdKind.RUN, row["run_id"]),
        session_id=row["session_id"],
        call_id=row["call_id"],
        words=row["words"] or row["said"],
        requested_at=row["requested_at"],
        expires_at=row["expires_at"],
        decisions=tuple(map(decision_from_row, decisions)),
        approvals_needed=row["approvals_needed"],
        approved_by=tuple(one["decided_by"] for one in counted),
        requested_by=row["parked_by"] or row["requested_by"],
        reason=row["reason"],
        receipt=None if row["receipt"] is None else _CARRIED_OUT.validate_json(row["receipt"]),
    )


def decision_from_row(row: Row) -> Decision:
    """A decision as it was made."""
    return Decision(
        decision=row["decision"],
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
        reason=row["reason"],
        arguments=row["arguments"],
        always=row["always"],
    )


def run_from_row(row: Row) -> ParkedRun:
    """A parked run with the requests of its newest revision."""
    return ParkedRun(
        id=to_text(IdKind.RUN, row["run_id"]),
        namespace=row["namespace"],
        status=RunStatus(row["status"]),
        session_id=row["session_id"],
        branch=row["branch"],
        starting_agent=row["starting_agent"],
        current_agent=row["current_agent"],
        revision=row["revision"],
        attempt=row["attempt"],
        parked_at=row["parked_at"],
        requests=tuple(to_text(IdKind.REQUEST, number) for number in row["requests"] or ()),
        result=row["result"],
        error=row["error"],
        failures=row["failures"],
    )
