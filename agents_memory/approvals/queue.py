"""The queue as its reviewers see it: what waits, what it would do, and the decision.

A decision is a row that is never changed. Deciding is compare-and-set: the second decider is told who was first, unless
the rules of the request want a second one. It does not run anything: when the last request of a run is decided, the run
becomes ready for whoever resumes it. Only what was asked for without a run is written at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agents_memory._ids import IdKind, to_text
from agents_memory.approvals import asking, preview
from agents_memory.approvals.arguments import Acknowledge, Decide, ListPending, OneRequest
from agents_memory.approvals.calls import Verbs, checked, checked_whole, read, readable
from agents_memory.approvals.moves import before_request
from agents_memory.approvals.rows import (
    decisions_by_request,
    find_requests,
    is_without_run,
    one_request,
    request_from_row,
    requests_from,
    within,
)
from agents_memory.approvals.rules import check_decider, check_second, counting
from agents_memory.errors import AlreadyDecided, InvalidInput, InvalidTransition, StaleRequest
from agents_memory.graph import audit
from agents_memory.graph.arguments import NoArguments
from agents_memory.graph.scope import Scope
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import ApprovalRequest, Choice, Decision, Preview, RequestStatus

OURSELVES: Final = "agents_memory"
"""Who decides when nobody had to be asked."""


def pending(scope: Scope, arguments: ListPending) -> tuple[ApprovalRequest, ...]:
    """The requests that wait, oldest first."""
    expire_due(scope)
    rows = find_requests(scope, status=RequestStatus.PENDING, descendants=arguments.descendants)
    return requests_from(scope, rows)


def check_pending(verbs: Verbs, scope: Scope, _arguments: NoArguments) -> tuple[ApprovalRequest, ...]:
    """The requests that wait, each with what it would do now; each is tried, which costs several statements."""
    expire_due(scope)
    rows = find_requests(scope, status=RequestStatus.PENDING)
    decided = decisions_by_request(scope.database.rows("decisions_of", request_ids=[row["request_id"] for row in rows]))
    return tuple(_tried_now(verbs, scope, row, decided[row["request_id"]]) for row in rows)


def written(scope: Scope, _arguments: NoArguments) -> tuple[ApprovalRequest, ...]:
    """The writes that nobody was asked about, and that nobody has acknowledged yet, oldest first."""
    return requests_from(scope, find_requests(scope, status=RequestStatus.WRITTEN))


def acknowledge(scope: Scope, arguments: Acknowledge) -> ApprovalRequest:
    """Say that a write was looked at, once. To undo what it wrote, forget or correct that as usual.

    Raises:
        AlreadyDecided: Somebody was first.
        InvalidTransition: It is no write that was made without asking.
        NotFound: There is no such request here or below.
    """
    with scope.database.transaction() as tx:
        row = one_request(scope, arguments.request_id)
        if row["origin"] != "written":
            raise InvalidTransition(
                f"{arguments.request_id} was asked about, so there is nothing to acknowledge. Decide it instead.",
                request_id=arguments.request_id,
                status=row["status"],
            )
        if row["status"] != RequestStatus.WRITTEN:
            check_open(scope, row)
        close_requests(tx, [row], RequestStatus.DONE, "acknowledge", [arguments.reason], by=arguments.by)
    return requests_from(scope, [one_request(scope, arguments.request_id)])[0]


def show_request(verbs: Verbs, scope: Scope, arguments: OneRequest) -> ApprovalRequest:
    """A request as it stands, with what it would do now, and whether that differs from when it was asked.

    Raises:
        NotFound: There is no such request here or below.
    """
    expire_due(scope)
    row = one_request(scope, arguments.request_id)
    decisions = scope.database.rows("decisions_of", request_ids=[row["request_id"]])
    if row["status"] != RequestStatus.PENDING:
        return request_from_row(row, decisions)
    return _tried_now(verbs, scope, row, decisions)


def request_history(scope: Scope, arguments: OneRequest) -> tuple[Decision, ...]:
    """What was decided about a request, oldest first.

    Raises:
        NotFound: There is no such request here or below.
    """
    expire_due(scope)
    return requests_from(scope, [one_request(scope, arguments.request_id)])[0].decisions


def decide(verbs: Verbs, scope: Scope, arguments: Decide) -> ApprovalRequest:
    """Decide a request, once; where several must approve, each of them once.

    Raises:
        AlreadyDecided: Somebody was first; the error says who, what and when.
        InvalidInput: The edit does not fit the verb, or nothing can be edited.
        InvalidTransition: The call cannot work as it is; edit or reject it.
        MayNotDecide: The rules of the request want somebody else.
        NotFound: There is no such request here or below.
        StaleRequest: Memory changed since the preview that was decided on.
    """
    expire_due(scope)
    row = one_request(scope, arguments.request_id)
    check_open(scope, row)
    check_decider(row, arguments.by)
    if arguments.always and arguments.decision is not Choice.APPROVE:
        raise InvalidInput("Only an approval can be for always.")
    if arguments.always and row["run_id"] is None:
        raise InvalidInput(f"{arguments.request_id} belongs to no run that an approval for always could cover.")
    final = _final_arguments(verbs, row, arguments)
    seen = _preview_now(verbs, scope, row)
    planned = seen if final is None else _preview_now(verbs, scope, {**row, "final_arguments": final})
    try:
        _check_works(arguments, planned)
        _check_seen(row, arguments, seen)
    except (InvalidTransition, StaleRequest):
        check_open(scope, one_request(scope, arguments.request_id))  # what changed memory may be that it was approved
        raise
    with scope.database.transaction() as tx:
        _settle(verbs, scope, tx, row, arguments, final, planned)
    return requests_from(scope, [one_request(scope, arguments.request_id)])[0]


def _check_works(arguments: Decide, planned: Preview) -> None:
    if arguments.decision is not Choice.REJECT and planned.problem is not None:
        raise InvalidTransition(
            f"{arguments.request_id} cannot work: {planned.problem} Edit or reject it.",
            request_id=arguments.request_id,
        )


def _check_seen(row: Row, arguments: Decide, seen: Preview) -> None:
    """Without a digest a reviewer has seen what was parked, with one what that digest stands for."""
    if arguments.decision is Choice.REJECT and arguments.preview is None:
        return
    was_edited = row["final_arguments"] is not None and arguments.preview is None
    if seen.digest == (arguments.preview or row["preview_digest"]) and not was_edited:
        return
    what = "Another reviewer edited it" if was_edited else "Memory changed"
    raise StaleRequest(
        f"{what} since {arguments.request_id} was {'shown' if arguments.preview else 'asked'}. "
        "Show it, and decide with the digest of the preview that you saw.",
        request_id=arguments.request_id,
    )


def expire_due(scope: Scope) -> list[Row]:
    """Let the requests whose time is over expire, and return them; one statement when there are none."""
    if not scope.database.rows("due_requests", now=scope.database.now()):
        return []
    with scope.database.transaction() as tx:
        due = tx.rows("due_requests", now=tx.now)
        decide_by_ourselves(tx, due, RequestStatus.EXPIRED, "expire", ["It expired before anybody decided."] * len(due))
        tx.run("decided_runs", run_ids=[row["run_id"] for row in due if row["run_id"] is not None], now=tx.now)
    return due


def decide_by_ourselves(
    tx: Transaction, rows: Sequence[Row], status: RequestStatus, decision: str, reasons: Sequence[str]
) -> None:
    """Decide requests for which nobody has to be asked, with a decision and an audit row as for any other."""
    close_requests(tx, rows, status, decision, reasons, by=OURSELVES)


def close_requests(
    tx: Transaction,
    rows: Sequence[Row],
    status: RequestStatus,
    decision: str,
    reasons: Sequence[str | None],
    *,
    by: str,
) -> None:
    """Decide several requests in the same way, each with its reason."""
    if not rows:
        return
    numbers = [row["request_id"] for row in rows]
    tx.rows("move_requests", request_ids=numbers, status=status, allowed=before_request(status))
    tx.run(
        "insert_decisions",
        request_ids=numbers,
        decision=decision,
        decided_by=by,
        reasons=list(reasons),
        arguments=None,
        preview_digest=None,
        always=False,
        now=tx.now,
    )
    for namespace in dict.fromkeys(row["namespace"] for row in rows):
        ids = [to_text(IdKind.REQUEST, row["request_id"]) for row in rows if row["namespace"] == namespace]
        audit.record(tx, decision, ids, namespace=namespace, actor=by)


def check_open(scope: Scope, row: Row) -> None:
    """Refuse a request that was decided before.

    Raises:
        AlreadyDecided: The error says who, what and when.
        InvalidTransition: Nobody was asked, so there is nothing to decide.
    """
    if row["status"] == RequestStatus.PENDING:
        return
    request_id = to_text(IdKind.REQUEST, row["request_id"])
    if row["status"] == RequestStatus.WRITTEN:
        raise InvalidTransition(
            f"{request_id} was written at once, so there is nothing to decide. Acknowledge it; to undo it, forget or "
            "correct what it wrote.",
            request_id=request_id,
            status=row["status"],
        )
    decisions = scope.database.rows("decisions_of", request_ids=[row["request_id"]])
    if not decisions:
        raise AlreadyDecided(f"{request_id} is {row['status']} already.", request_id=request_id, status=row["status"])
    first = decisions[0]
    raise AlreadyDecided(
        f"{request_id} was decided first by {first['decided_by']!r}: {first['decision']}, "
        f"at {first['decided_at']:%Y-%m-%d %H:%M:%S} UTC.",
        request_id=request_id,
        decision=first["decision"],
        decided_by=first["decided_by"],
        decided_at=first["decided_at"].isoformat(),
    )


def _final_arguments(verbs: Verbs, row: Row, arguments: Decide) -> str | None:
    request_id = arguments.request_id
    if arguments.decision is not Choice.EDIT:
        if arguments.arguments is not None:
            raise InvalidInput("Only an edit takes arguments. Decide 'edit' to change them.")
        return None
    if arguments.arguments is None:
        raise InvalidInput("An edit needs the arguments as they shall be, all of them.")
    if row["operation"] is None:
        raise InvalidInput(
            f"{request_id} calls a tool of the app, whose arguments cannot be edited. Reject it instead."
        )
    check = checked_whole if is_without_run(row) else checked
    check(preview.tool_verb(verbs, row["operation"]), arguments.arguments)
    return readable(arguments.arguments)


def _tried_now(verbs: Verbs, scope: Scope, row: Row, decisions: Sequence[Row]) -> ApprovalRequest:
    fresh = _preview_now(verbs, scope, row)
    request = request_from_row(row, decisions, fresh.digest)
    stale = fresh.digest != row["preview_digest"]
    return replace(request, preview=fresh, stale=stale, seen=request.preview if stale else None)


def _preview_now(verbs: Verbs, scope: Scope, row: Row) -> Preview:
    if row["operation"] is None:
        return preview.FOREIGN
    inner = within(scope, row["namespace"], row["session_id"])
    edited = row["final_arguments"]
    if is_without_run(row):
        seen = asking.looked_at_again(verbs, inner, row, edited or row["arguments"])
    else:
        seen = preview.preview_of(verbs, inner, row["operation"], read(edited or row["arguments"]))
    return seen if edited is None else preview.with_arguments(seen, edited)


def _outcome(row: Row, arguments: Decide, earlier: Sequence[Row]) -> RequestStatus:
    """Where a request goes: it waits on while more people must approve what it is now."""
    if arguments.decision is Choice.REJECT:
        return RequestStatus.REJECTED
    if arguments.decision is Choice.EDIT:
        earlier = ()
    check_second(row, earlier, arguments.by)
    is_enough = len(earlier) + 1 >= row["approvals_needed"]
    return RequestStatus.APPROVED if is_enough else RequestStatus.PENDING


def _settle(
    verbs: Verbs, scope: Scope, tx: Transaction, row: Row, arguments: Decide, final: str | None, planned: Preview
) -> None:
    decisions = tx.rows("decisions_of", request_ids=[row["request_id"]])
    status = _outcome(row, arguments, counting(decisions, planned.digest))
    moved = tx.one_or_none(
        "move_request",
        request_id=row["request_id"],
        status=status,
        allowed=[RequestStatus.PENDING.value],
        seen_arguments=row["final_arguments"],
        final_arguments=final,
        preview=preview.to_json(planned),
        preview_digest=planned.digest,
    )
    if moved is None:
        check_open(scope, tx.one("request_by_id", request_id=row["request_id"]))
        raise StaleRequest(f"Another reviewer edited {arguments.request_id} just now. Show it, and decide on that.")
    tx.run(
        "insert_decisions",
        request_ids=[row["request_id"]],
        decision=arguments.decision,
        decided_by=arguments.by,
        reasons=[arguments.reason],
        arguments=final,
        preview_digest=planned.digest,
        always=arguments.always,
        now=tx.now,
    )
    audit.record(tx, arguments.decision.value, [arguments.request_id], namespace=row["namespace"], actor=arguments.by)
    if row["run_id"] is not None:
        tx.run("decided_runs", run_ids=[row["run_id"]], now=tx.now)
    if is_without_run(row) and status is RequestStatus.APPROVED:
        asking.carry_out(verbs, scope, tx, row, final or row["final_arguments"] or row["arguments"], planned)
