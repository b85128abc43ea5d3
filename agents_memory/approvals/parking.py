"""Parking: a stopped run and one request per call, in one transaction.

Nobody is asked about a call that cannot work: it is rejected at once, and the model is told why. A run that then waits
for nobody is ready.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.approvals import preview
from agents_memory.approvals.arguments import CallToReview, ParkRun, ReparkRun, StoppedRun
from agents_memory.approvals.calls import Verbs, arguments_digest, read, readable
from agents_memory.approvals.queue import decide_by_ourselves
from agents_memory.approvals.rows import one_run, run_from_row, within
from agents_memory.approvals.rules import check_requester
from agents_memory.approvals.runs import held, keep_state, settle_requests
from agents_memory.errors import InvalidInput, InvalidTransition, NotFound, WrongNamespace
from agents_memory.graph import audit
from agents_memory.graph.scope import Scope
from agents_memory.sessions import items
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import ParkedRun, Preview, RequestStatus, RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A call as it goes into the queue."""

    call: CallToReview
    namespace: str
    arguments: str
    digest: str
    preview: Preview


def park_run(verbs: Verbs, scope: Scope, arguments: ParkRun) -> ParkedRun:
    """Park a run. One whose very state waits already, in the same conversation, is not parked a second time.

    Raises:
        InvalidInput: The handle stands above every namespace; or who asks may not decide, and nobody says who asks.
        InvalidTransition: It is parked already, under other rules.
        WrongNamespace: A call would write outside of the handle's namespace and what is below it.
    """
    parked_by = arguments.by or scope.caller.writer
    check_requester([parked_by], not_by_requester=arguments.not_by_requester)
    asked = [_asked(verbs, scope, call, arguments.session_id) for call in arguments.calls]
    spoken_in = within(scope, scope.namespace, arguments.session_id, arguments.branch)
    words = _words(spoken_in, arguments.session_id) if arguments.session_is_ours else None
    with scope.database.transaction() as tx:
        scope.writing(tx)
        again = tx.one_or_none(
            "run_of_state",
            namespace=scope.namespace,
            session_id=arguments.session_id,
            branch=arguments.branch,
            digest=arguments.digest,
        )
        if again is not None:
            _check_same_rules(again, arguments)
            return run_from_row(one_run(scope, to_text(IdKind.RUN, again["run_id"])))
        run_id = tx.new_id(IdKind.RUN)
        tx.run(
            "insert_run",
            run_id=run_id,
            namespace=scope.namespace,
            session_id=arguments.session_id,
            branch=arguments.branch,
            session_is_ours=arguments.session_is_ours,
            starting_agent=arguments.starting_agent,
            current_agent=arguments.current_agent,
            status=_status(asked),
            approvals=arguments.approvals,
            not_by_requester=arguments.not_by_requester,
            parked_by=parked_by,
            now=tx.now,
        )
        run: Row = {"run_id": run_id, "revision": 1, "namespace": scope.namespace, "session_id": arguments.session_id}
        _ask(scope, tx, run, asked, arguments, words)
    return run_from_row(one_run(scope, to_text(IdKind.RUN, run_id)))


def repark_run(verbs: Verbs, scope: Scope, arguments: ReparkRun) -> ParkedRun:
    """Stop a resumed run again, at its next revision; the state before cannot be resumed any more.

    A request that the claim left undecided, and whose call waits still, goes along with whatever was decided meanwhile.

    Raises:
        LeaseLost: The claim was lost; nothing was written.
    """
    run_id = to_number(IdKind.RUN, arguments.run_id)
    before = one_run(scope, arguments.run_id)
    inner = within(scope, before["namespace"], branch=before["branch"])
    carried = _carried(scope, before, arguments)
    calls = [call for call in arguments.calls if _identity(call) not in carried]
    asked = [_asked(verbs, inner, call, before["session_id"]) for call in calls]
    words = _words(inner, before["session_id"]) if before["session_is_ours"] else None
    with scope.database.transaction() as tx:
        run = held(scope, tx, run_id, arguments.fence)
        waiting = tx.rows("carry_requests", request_ids=list(carried.values()), revision=run["revision"] + 1)
        settle_requests(tx, run)
        revision = tx.one(
            "repark_run",
            run_id=run_id,
            fence=arguments.fence,
            status=RunStatus.PARKED if any(row["is_pending"] for row in waiting) else _status(asked),
            current_agent=arguments.current_agent,
            now=tx.now,
        )["revision"]
        _ask(inner, tx, {**run, "revision": revision}, asked, arguments, words)
    return run_from_row(one_run(scope, arguments.run_id))


def _check_same_rules(again: Row, arguments: ParkRun) -> None:
    if (again["approvals"], again["not_by_requester"]) == (arguments.approvals, arguments.not_by_requester):
        return
    run_id = to_text(IdKind.RUN, again["run_id"])
    raise InvalidTransition(
        f"{run_id} is parked already, under other rules about who decides. Withdraw it, or park it under the same.",
        run_id=run_id,
    )


def _identity(call: CallToReview) -> tuple[str, str, str | None, str]:
    return call.call_id, call.tool, call.agent, arguments_digest(call.arguments)


def _carried(scope: Scope, run: Row, arguments: ReparkRun) -> dict[tuple[str, str, str | None, str], int]:
    """The requests that go along to the next revision, by their calls."""
    undecided = {to_number(IdKind.REQUEST, request_id) for request_id in arguments.waiting}
    if not undecided:
        return {}
    wanted = {_identity(call) for call in arguments.calls}
    rows = scope.database.rows("requests_of_revision", run_id=run["run_id"], revision=run["revision"])
    found = {
        (row["call_id"], row["tool"], row["agent"], row["arguments_digest"]): row["request_id"]
        for row in rows
        if row["request_id"] in undecided
    }
    return {identity: number for identity, number in found.items() if identity in wanted}


def _asked(verbs: Verbs, scope: Scope, call: CallToReview, session_id: str | None) -> _Asked:
    namespace = call.namespace or scope.namespace
    if namespace != scope.namespace and not namespace.startswith(f"{scope.namespace}/"):
        raise WrongNamespace(
            f"The tool {call.tool!r} writes in {namespace!r}, which is not within {scope.namespace!r}. "
            "Park the run through a memory of the namespace that its tools write in.",
            namespace=namespace,
        )
    try:
        arguments = read(call.arguments)
        readable_text = readable(arguments)
        readable_text.encode()
        seen = preview.preview_of(verbs, within(scope, namespace, session_id), call.operation, arguments)
    except (InvalidInput, NotFound) as error:
        readable_text, seen = call.arguments, preview.impossible(str(error))
    except UnicodeEncodeError:
        readable_text, seen = call.arguments, preview.impossible("The arguments hold a lone surrogate; remove it.")
    return _Asked(
        call=call,
        namespace=namespace,
        arguments=readable_text,
        digest=arguments_digest(call.arguments),
        preview=seen,
    )


def _ask(scope: Scope, tx: Transaction, run: Row, asked: list[_Asked], stopped: StoppedRun, words: int | None) -> None:
    keep_state(tx, run["run_id"], run["revision"], stopped)
    if not asked:
        return
    numbers = tx.new_ids(IdKind.REQUEST, len(asked))
    tx.run(
        "insert_requests",
        request_ids=numbers,
        namespaces=[one.namespace for one in asked],
        run_id=run["run_id"],
        revision=run["revision"],
        call_ids=[one.call.call_id for one in asked],
        session_id=run["session_id"],
        agents=[one.call.agent for one in asked],
        tools=[one.call.tool for one in asked],
        operations=[one.call.operation for one in asked],
        arguments=[one.arguments for one in asked],
        digests=[one.digest for one in asked],
        previews=[preview.to_json(one.preview) for one in asked],
        preview_digests=[one.preview.digest for one in asked],
        item_id=words,
        statuses=[RequestStatus.PENDING.value] * len(asked),
        requested_by=scope.caller.writer,
        now=tx.now,
        expires_at=stopped.expires_at,
    )
    ids = [to_text(IdKind.RUN, run["run_id"]), *(to_text(IdKind.REQUEST, number) for number in numbers)]
    audit.record(tx, "park", ids, namespace=run["namespace"], actor=scope.caller.writer)
    impossible = [
        ({"request_id": number, "namespace": one.namespace}, one.preview.problem)
        for number, one in zip(numbers, asked, strict=True)
        if one.preview.problem is not None
    ]
    rows, problems = [row for row, _ in impossible], [problem for _, problem in impossible]
    decide_by_ourselves(tx, rows, RequestStatus.REJECTED, "reject", problems)


def _status(asked: list[_Asked]) -> RunStatus:
    waits = any(one.preview.problem is None for one in asked)
    return RunStatus.PARKED if waits else RunStatus.READY


def _words(scope: Scope, session_id: str | None) -> int | None:
    latest = None if session_id is None else items.latest_user_item(scope, session_id)
    return None if latest is None else latest[0]
