"""Effects: a model's call writes once, however often it is made, retried or resumed.

One transaction holds the write, its evidence, its audit row and the effect that names the call. A call that is made
again finds its effect and gets the stored receipt. Of a parked call the effect belongs to its approval request, which
also says with which arguments it may run; of any other call to (session, run, call id, verb, arguments). A write that
nobody was asked about can be listed for a look afterwards, in the same transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.approvals import preview, runs
from agents_memory.approvals.arguments import Perform, TryCall
from agents_memory.approvals.calls import Verb, Verbs, canonical, checked, dated, digest_of, given, readable
from agents_memory.approvals.moves import before_request
from agents_memory.approvals.rows import within
from agents_memory.errors import InvalidTransition, StaleRequest, WrongNamespace
from agents_memory.graph.rows import optional_id
from agents_memory.graph.scope import Scope
from agents_memory.sessions import items
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import Edit, Performed, Preview, RequestStatus, Trial


def try_call(verbs: Verbs, scope: Scope, arguments: TryCall) -> Trial:
    """What a model's call would do, or why it cannot work; also whether a reviewer has dealt with it already."""
    verb = preview.tool_verb(verbs, arguments.operation)
    digest = digest_of(canonical(arguments.arguments))
    if arguments.run_id is not None:
        run_id = to_number(IdKind.RUN, arguments.run_id)
        edited = scope.database.one_or_none(
            "edited_request",
            run_id=run_id,
            namespace=scope.namespace,
            operation=verb.name,
            arguments_digest=digest,
        )
        if edited is not None:
            kept = preview.from_json(edited["preview"], edited["preview_digest"])
            return Trial(preview=kept, handled_by=to_text(IdKind.REQUEST, edited["request_id"]))
    return preview.try_verb(scope, verb, arguments.arguments)


def perform(verbs: Verbs, scope: Scope, arguments: Perform) -> Performed:
    """Carry out a model's call, or return the receipt of the time when it was carried out.

    Raises:
        InvalidTransition: The call may not run: it was rejected, expired or withdrawn, or nobody approved it yet.
        LeaseLost: Somebody else claimed the run; nothing was written.
        StaleRequest: Memory changed so that the call would end other facts than those its reviewer saw.
        AgentsMemoryError: Whatever the verb says.
    """
    verb = preview.tool_verb(verbs, arguments.operation)
    with scope.database.transaction() as tx:
        call = _call_of(scope, tx, verb, arguments)
        request = _request_of(scope, tx, call)
        if request is None:
            return _perform_free(scope, tx, verb, call)
        return _perform_reviewed(scope, tx, verb, call, request)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A model's call with everything that tells it from another."""

    operation: str
    arguments: dict[str, Any]
    digest: str
    call_id: str
    session_id: str | None
    branch: str
    run_id: int | None
    fence: int | None
    approved: bool
    review: bool
    agent: str | None

    @property
    def key(self) -> str:
        """The name of the effect of a call that no request stands for."""
        what = [self.session_id, self.branch, self.run_id, self.call_id, self.operation, self.digest]
        return f"call:{digest_of(json.dumps(what))}"


def _call_of(scope: Scope, tx: Transaction, verb: Verb, arguments: Perform) -> _Call:
    run_id = None if arguments.run_id is None else to_number(IdKind.RUN, arguments.run_id)
    session_id, branch = arguments.session_id, arguments.branch
    if run_id is not None:
        run = runs.held(scope, tx, run_id, arguments.fence)
        if session_id in {None, run["session_id"]}:  # a session may have moved to another branch since it was parked
            session_id, branch = run["session_id"], run["branch"]
    return _Call(
        operation=verb.name,
        arguments=given(arguments.arguments),
        digest=digest_of(canonical(arguments.arguments)),
        call_id=arguments.call_id,
        session_id=session_id,
        branch=branch,
        run_id=run_id,
        fence=arguments.fence,
        approved=arguments.approved,
        review=arguments.review,
        agent=arguments.agent,
    )


def _request_of(scope: Scope, tx: Transaction, call: _Call) -> Row | None:
    what = {"call_id": call.call_id, "operation": call.operation, "arguments_digest": call.digest}
    if call.run_id is None:
        where = {"namespace": scope.namespace, "session_id": call.session_id, "branch": call.branch}
        return tx.one_or_none("request_of_call", **where, **what)
    request = tx.one_or_none("request_of_run_call", run_id=call.run_id, **what)
    if request is not None and request["namespace"] != scope.namespace:
        raise WrongNamespace(
            f"This call was reviewed for the namespace {request['namespace']!r}. Resume it with a "
            "tool that writes there.",
            namespace=request["namespace"],
        )
    return request or tx.one_or_none(
        "edited_request",
        run_id=call.run_id,
        namespace=scope.namespace,
        operation=call.operation,
        arguments_digest=call.digest,
    )


def _perform_reviewed(scope: Scope, tx: Transaction, verb: Verb, call: _Call, request: Row) -> Performed:
    request_id = to_text(IdKind.REQUEST, request["request_id"])
    key = f"request:{request['request_id']}"
    effect = tx.one_or_none("effect_of", effect_key=key)
    if effect is not None:
        return _performed(tx, verb, json.loads(effect["receipt"]), request=request, repeated=True)
    if request["status"] != RequestStatus.APPROVED:
        raise InvalidTransition(
            f"{request_id} is {request['status']}, not approved. Nothing was written.",
            request_id=request_id,
            status=request["status"],
        )
    _check_unchanged(tx, request)
    used = dated(verb, json.loads(request["final_arguments"] or request["arguments"]), request["requested_at"])
    result = verb.handler(_writer(scope, call, request["item_id"], request["request_id"]), checked(verb, used))
    _check_seen(request, result)
    _record(scope, tx, call, key, request["request_id"], verb.dump(result))
    tx.one(
        "move_requests",
        request_ids=[request["request_id"]],
        status=RequestStatus.DONE,
        allowed=before_request(RequestStatus.DONE),
    )
    return _performed(tx, verb, verb.dump(result), request=request, repeated=False)


def _perform_free(scope: Scope, tx: Transaction, verb: Verb, call: _Call) -> Performed:
    effect = tx.one_or_none("effect_of", effect_key=call.key) or _adopted(tx, call)
    if effect is not None:
        tx.run("hold_effect", effect_key=effect["effect_key"], fence=call.fence)
        return Performed(operation=verb.name, result=json.loads(effect["receipt"]), repeated=True)
    if not call.approved:
        raise InvalidTransition(f"This {verb.name} needs approval first. Nothing was written.")
    item_id = _latest_words(scope, call)
    request_id = tx.new_id(IdKind.REQUEST) if call.review else None
    result = verb.handler(_writer(scope, call, item_id, request_id), checked(verb, call.arguments))
    _record(scope, tx, call, call.key, request_id, verb.dump(result))
    if request_id is not None:
        _list_for_review(scope, tx, call, request_id, item_id, preview.of_done(result))
    return Performed(
        operation=verb.name,
        result=verb.dump(result),
        repeated=False,
        request_id=optional_id(IdKind.REQUEST, request_id),
    )


def _list_for_review(
    scope: Scope, tx: Transaction, call: _Call, request_id: int, item_id: int | None, done: Preview
) -> None:
    tx.run(
        "insert_written",
        request_id=request_id,
        namespace=scope.namespace,
        run_id=call.run_id,
        call_id=call.call_id,
        session_id=call.session_id,
        agent=call.agent,
        operation=call.operation,
        arguments=readable(call.arguments),
        arguments_digest=call.digest,
        preview=preview.to_json(done),
        preview_digest=done.digest,
        item_id=item_id,
        requested_by=scope.caller.writer,
        now=tx.now,
    )


def _adopted(tx: Transaction, call: _Call) -> Row | None:
    """What a lost attempt of the same run did, whose model gave the same call another id."""
    if call.run_id is None:
        return None
    return tx.one_or_none(
        "unsettled_effect",
        run_id=call.run_id,
        operation=call.operation,
        arguments_digest=call.digest,
        fence=call.fence,
    )


def _check_unchanged(tx: Transaction, request: Row) -> None:
    """Refuse to end or correct a fact that somebody changed after it was approved; the run's own writes are no news."""
    seen = preview.touched(preview.from_json(request["preview"], request["preview_digest"]).changes)
    fact_ids = [to_number(IdKind.FACT, one) for _, one, _ in seen if one is not None and one[0] == IdKind.FACT.value]
    approvals = tx.rows("decisions_of", request_ids=[request["request_id"]]) if fact_ids else []
    if approvals and tx.rows(
        "facts_changed_since", fact_ids=fact_ids, since=approvals[-1]["decided_at"], run_id=request["run_id"]
    ):
        raise _changed_since(request)


def _check_seen(request: Row, result: object) -> None:
    seen = preview.touched(preview.from_json(request["preview"], request["preview_digest"]).changes)
    if preview.touched(preview.changes_of(result)) != seen:
        raise _changed_since(request)


def _changed_since(request: Row) -> StaleRequest:
    request_id = to_text(IdKind.REQUEST, request["request_id"])
    return StaleRequest(
        f"Memory changed since {request_id} was approved: it would now end other facts than its reviewer saw. "
        "Nothing was written; read memory again and make the call anew if it is still right.",
        request_id=request_id,
    )


def _record(scope: Scope, tx: Transaction, call: _Call, key: str, request_id: int | None, result: Any) -> None:
    tx.run(
        "insert_effect",
        effect_key=key,
        namespace=scope.namespace,
        operation=call.operation,
        arguments_digest=call.digest,
        request_id=request_id,
        run_id=call.run_id,
        session_id=call.session_id,
        call_id=call.call_id,
        fence=call.fence,
        receipt=json.dumps(result),
        recorded_at=tx.now,
    )


def _performed(tx: Transaction, verb: Verb, result: Any, *, request: Row, repeated: bool) -> Performed:
    decisions = tx.rows("decisions_of", request_ids=[request["request_id"]])
    return Performed(
        operation=verb.name,
        result=result,
        repeated=repeated,
        request_id=to_text(IdKind.REQUEST, request["request_id"]),
        reviewed_by=decisions[-1]["decided_by"] if decisions else None,
        reason=decisions[-1]["reason"] if decisions else None,
        edits=_edits(request),
    )


def _edits(request: Row) -> tuple[Edit, ...]:
    if request["final_arguments"] is None:
        return ()
    asked, used = json.loads(request["arguments"]), json.loads(request["final_arguments"])
    return tuple(
        Edit(argument=name, asked=asked.get(name), used=used.get(name))
        for name in dict.fromkeys((*asked, *used))
        if asked.get(name) != used.get(name)
    )


def _writer(scope: Scope, call: _Call, item_id: int | None, request_id: int | None) -> Scope:
    caller = replace(
        scope.caller,
        session_id=call.session_id,
        branch=call.branch,
        item_id=optional_id(IdKind.ITEM, item_id),
        run_id=optional_id(IdKind.RUN, call.run_id),
        call_id=call.call_id,
        request_id=optional_id(IdKind.REQUEST, request_id),
    )
    return replace(scope, caller=caller)


def _latest_words(scope: Scope, call: _Call) -> int | None:
    if call.session_id is None:
        return None
    latest = items.latest_user_item(within(scope, scope.namespace, call.session_id, call.branch), call.session_id)
    return None if latest is None else latest[0]
