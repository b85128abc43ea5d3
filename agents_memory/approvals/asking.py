"""Asking without a run: a write that an MCP client, an ingested text or a realtime agent asks for.

It waits in the same queue as the calls of a parked run. Nobody resumes anything, so what is approved is written in the
transaction of the decision: the decision, the write, its evidence, its effect and its audit rows, or none of them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.approvals import preview
from agents_memory.approvals.arguments import RequestApproval
from agents_memory.approvals.calls import Verb, Verbs, canonical, checked_whole, dated, digest_of, given, read, readable
from agents_memory.approvals.moves import before_request
from agents_memory.approvals.rows import one_request, requests_from, within
from agents_memory.approvals.rules import check_requester
from agents_memory.errors import InvalidTime, StaleRequest
from agents_memory.graph import audit, episodes
from agents_memory.graph.arguments import Arguments
from agents_memory.graph.rows import optional_id
from agents_memory.graph.scope import Scope
from agents_memory.sessions import items
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import ApprovalRequest, Preview, Receipt, RequestStatus, Status


def request_approval(gated: Verbs, scope: Scope, arguments: RequestApproval) -> ApprovalRequest:
    """Ask a person for a write. The very same that waits already is not asked a second time.

    Args:
        gated: The writes of the catalogue.
        scope: Who asks.
        arguments: What for.

    Raises:
        AgentsMemoryError: Whatever the write would raise; nobody is asked about what cannot work.
        InvalidInput: It is no write, or who asks may not decide and nobody says who asks.
        InvalidTime: It would have expired already.
    """
    verb = gated(arguments.operation)
    asked_by = arguments.by or scope.caller.writer
    check_requester([asked_by], not_by_requester=arguments.not_by_requester)
    wanted = _plain(checked_whole(verb, arguments.arguments))
    seen, moment = _looked_at(scope, verb, wanted)
    if arguments.expires_at is not None and arguments.expires_at <= moment:
        raise InvalidTime("expires_at lies in the past, so nobody could decide. Give a later one, or none.")
    with scope.database.transaction() as tx:
        scope.writing(tx)
        identity = {
            "namespace": scope.namespace,
            "operation": verb.name,
            "arguments_digest": digest_of(canonical(wanted)),
            "approvals": arguments.approvals,
            "not_by_requester": arguments.not_by_requester,
            "requested_by": asked_by,
            "session_id": arguments.session_id,
            "call_id": arguments.call_id,
            "words": arguments.words,
        }
        same = tx.one_or_none("same_asked", now=tx.now, **identity)
        request_id = tx.new_id(IdKind.REQUEST) if same is None else same["request_id"]
        if same is None:
            tx.run(
                "insert_asked",
                request_id=request_id,
                arguments=readable(wanted),
                preview=preview.to_json(seen),
                preview_digest=seen.digest,
                agent=arguments.agent,
                item_id=_said_in(scope, arguments),
                reason=arguments.reason,
                now=moment,
                expires_at=arguments.expires_at,
                **identity,
            )
            ids = [to_text(IdKind.REQUEST, request_id)]
            audit.record(tx, "request_approval", ids, namespace=scope.namespace, actor=asked_by)
    return requests_from(scope, [one_request(scope, to_text(IdKind.REQUEST, request_id))])[0]


def looked_at_again(verbs: Verbs, scope: Scope, request: Row, arguments: str) -> Preview:
    """What a write that was asked for would do, with these arguments; nothing when it could not be asked for any more.

    A fact that was superseded since it was asked, for one, could still be ended at the moment when it was asked, which
    is not what anybody meant.
    """
    verb = preview.tool_verb(verbs, request["operation"])
    used = read(arguments)
    at_its_moment = dated(verb, used, request["requested_at"])
    anew = preview.try_verb(scope, verb, used, checked_whole)
    if anew.error is not None or at_its_moment == used:
        return anew.preview
    return preview.try_verb(scope, verb, at_its_moment, checked_whole).preview


def carry_out(verbs: Verbs, scope: Scope, tx: Transaction, request: Row, arguments: str, planned: Preview) -> None:
    """Write what was asked for and approved, in the transaction of its decision.

    Raises:
        StaleRequest: It would do something else than what was decided on.
        AgentsMemoryError: Whatever the write raises.
    """
    verb = preview.tool_verb(verbs, request["operation"])
    inner = _writer(scope, request)
    parsed = checked_whole(verb, dated(verb, read(arguments), request["requested_at"]))
    result = _written(inner, tx, verb, parsed, request)
    _check_as_planned(request, preview.of_call(result), planned)
    tx.run(
        "insert_effect",
        effect_key=f"request:{request['request_id']}",
        namespace=request["namespace"],
        operation=verb.name,
        arguments_digest=request["arguments_digest"],
        request_id=request["request_id"],
        run_id=None,
        session_id=request["session_id"],
        call_id=request["call_id"],
        fence=None,
        receipt=json.dumps(verb.dump(result)),
        recorded_at=tx.now,
    )
    allowed = before_request(RequestStatus.DONE)
    tx.one("move_requests", request_ids=[request["request_id"]], status=RequestStatus.DONE, allowed=allowed)


def _plain(parsed: Arguments) -> dict[str, object]:
    """Checked arguments as JSON data, as they were given."""
    return given(parsed.model_dump(mode="json", exclude_unset=True))


def _looked_at(scope: Scope, verb: Verb, wanted: dict[str, object]) -> tuple[Preview, datetime]:
    """What a write would do, and the moment that "now" means in it from here on."""
    with scope.database.transaction(dry_run=True) as tx:
        result = verb.handler(scope, checked_whole(verb, dated(verb, wanted, tx.now)))
        return preview.of_call(result), tx.now


def _said_in(scope: Scope, arguments: RequestApproval) -> int | None:
    """The session item that holds the words, where they were not given as text."""
    if arguments.words is not None or arguments.session_id is None:
        return None
    latest = items.latest_user_item(within(scope, scope.namespace, arguments.session_id), arguments.session_id)
    return None if latest is None else latest[0]


def _writer(scope: Scope, request: Row) -> Scope:
    inner = within(scope, request["namespace"], request["session_id"])
    caller = replace(
        inner.caller,
        writer=request["requested_by"],
        item_id=optional_id(IdKind.ITEM, request["item_id"]),
        run_id=None,
        call_id=request["call_id"],
        request_id=to_text(IdKind.REQUEST, request["request_id"]),
    )
    return replace(inner, caller=caller)


def _written(scope: Scope, tx: Transaction, verb: Verb, parsed: Arguments, request: Row) -> object:
    """The result of the write, with the words that came with the request kept as the evidence of its fact."""
    if request["words"] is None:
        return verb.handler(scope, parsed)
    words = episodes.keep(scope, tx, request["words"], request["requested_by"], request["requested_at"])
    if getattr(parsed, "episode", words) is None:
        return verb.handler(scope, parsed.model_copy(update={"episode": words.id}))
    result = verb.handler(scope, parsed)
    if isinstance(result, Receipt) and result.id.startswith(IdKind.FACT.value) and result.status != Status.FORGOTTEN:
        tx.run(
            "insert_evidence",
            fact_id=to_number(IdKind.FACT, result.id),
            version=result.version,
            episode_id=to_number(IdKind.EPISODE, words.id),
            reinforces=result.status is Status.REINFORCED,
            recorded_at=tx.now,
            **scope.origin(),
        )
    return result


def _check_as_planned(request: Row, done: Preview, planned: Preview) -> None:
    if (done.changes, done.duplicates, done.conflicts) == (planned.changes, planned.duplicates, planned.conflicts):
        return
    request_id = to_text(IdKind.REQUEST, request["request_id"])
    raise StaleRequest(
        f"Memory changed while {request_id} was being decided. Nothing was written. Show it, and decide on that.",
        request_id=request_id,
    )
