"""What the approval queue has to do with a single request, as tests that anyone can run on theirs.

A subclass of `QueueRequestContract` says how a store is opened, as in `queue_conformance`. The cases are those of a
call of a run; `asked` are those of a write that no run asks for, which is written by the decision itself.
"""
# ruff: noqa: D102 - the name of a test is its sentence

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agents.testing import function_call

from agents_memory import RunStateStore
from agents_memory.errors import (
    AlreadyDecided,
    InvalidInput,
    InvalidTime,
    InvalidTransition,
    MayNotDecide,
    StaleRequest,
)
from agents_memory.testing.queue_conformance import (
    OpenStore,
    QueueFiles,
    claim,
    code_of,
    contents,
    decided,
    parked,
    remembering,
    resumed,
)
from agents_memory.types import ApprovalRequest

PAST = "2020-01-01T00:00:00Z"


def ask(store: RunStateStore, operation: str = "remember", **arguments: Any) -> ApprovalRequest:
    """A write that no run asks for."""
    return store.memory.request_approval(operation, arguments)


class QueueRequestContract(QueueFiles):
    """The cases of requests: decided once, by who may, and by who saw what would happen."""

    # -- once --------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("first", ["approve", "reject"])
    async def test_the_first_decision_stands_and_names_who_made_it(self, store: RunStateStore, first: Any) -> None:
        await parked(store, remembering("x"))
        await store.decide("a1", first, by="eve", reason="because")

        for late in (store.decide("a1", "approve", by="bob"), store.withdraw("a1", by="bob"), store.expire("a1")):
            with pytest.raises(AlreadyDecided) as caught:
                await late
            assert (caught.value.details["decided_by"], caught.value.details["decision"]) == ("eve", first)

        (decision,) = await store.history("a1")
        assert (decision.decision, decision.decided_by, decision.reason) == (first, "eve", "because")

    async def test_of_ten_deciders_at_once_one_decides(self, store: RunStateStore, open_store: OpenStore) -> None:
        await parked(store, remembering("x"))
        stores = [store, open_store()]

        decisions = [stores[number % 2].decide("a1", "approve", by=f"reviewer {number}") for number in range(10)]
        codes = await asyncio.gather(*map(code_of, decisions))

        assert sorted(map(str, codes)) == ["None", *["already_decided"] * 9]
        assert len(await store.history("a1")) == 1

    @pytest.mark.parametrize("end", ["reject", "withdraw", "expire"])
    async def test_what_is_not_approved_is_never_written_and_the_run_goes_on(
        self, store: RunStateStore, end: str
    ) -> None:
        run = await parked(store, remembering("x"))
        if end == "reject":
            await store.decide("a1", "reject", by="eve")
        else:
            await getattr(store, end)("a1", by="eve")

        assert (await resumed(store, run)).run.status == "finished"
        assert contents(store) == []

    async def test_what_is_due_stops_waiting(self, store: RunStateStore) -> None:
        run = await parked(store, remembering("x"), expires_at=PAST)

        assert await store.pending() == ()
        assert (await store.show("a1")).status == "expired"
        (verdict,) = (await claim(store, run)).verdicts
        assert not verdict.approved
        assert "expired" in verdict.message

    # -- edits -------------------------------------------------------------------------------------------------------

    async def test_an_edit_is_what_is_written(self, store: RunStateStore) -> None:
        run = await parked(store, remembering("Ada likes tea"))

        edited = await store.decide("a1", "edit", by="eve", arguments={"content": "Ada likes decaf"})
        await resumed(store, run)

        assert json.loads(edited.arguments) == {"content": "Ada likes decaf"}
        assert contents(store) == ["Ada likes decaf"]

    @pytest.mark.parametrize(
        "arguments", [None, {}, {"content": ""}, {"content": 3}, {"content": "x", "tool": "forget"}]
    )
    async def test_an_edit_that_does_not_fit_the_tool_leaves_it_waiting(
        self, store: RunStateStore, arguments: Any
    ) -> None:
        await parked(store, remembering("Ada likes tea"))

        with pytest.raises(InvalidInput):
            await store.decide("a1", "edit", by="eve", arguments=arguments)

        assert (await store.show("a1")).status == "pending"

    async def test_only_an_edit_takes_arguments(self, store: RunStateStore) -> None:
        await parked(store, remembering("Ada likes tea"))

        with pytest.raises(InvalidInput):
            await store.decide("a1", "approve", by="eve", arguments={"content": "x"})

    # -- what was decided is what was seen ---------------------------------------------------------------------------

    async def test_what_changed_since_it_was_asked_must_be_seen_first(self, store: RunStateStore) -> None:
        store.memory.remember("Bo owns ingest")
        await parked(store, function_call("forget", {"fact_id": "f1"}, call_id="c1"))
        store.memory.correct("f1", "Bob owns ingest")

        with pytest.raises(StaleRequest):
            await store.decide("a1", "approve", by="eve")

        shown = await store.show("a1")
        assert shown.stale
        assert (await store.decide("a1", "approve", by="eve", preview=shown.preview.digest)).status == "approved"

    async def test_a_preview_that_is_none_any_more_is_refused(self, store: RunStateStore) -> None:
        await parked(store, remembering("Bo owns ingest"))
        seen = (await store.show("a1")).preview.digest
        store.memory.remember("Bo owns ingest")

        with pytest.raises(StaleRequest):
            await store.decide("a1", "approve", by="eve", preview=seen)

    async def test_what_cannot_work_is_not_approved(self, store: RunStateStore) -> None:
        store.memory.remember("Bo owns ingest")
        await parked(store, function_call("forget", {"fact_id": "f1"}, call_id="c1"))
        store.memory.forget("f1")

        with pytest.raises(InvalidTransition):
            await store.decide("a1", "approve", by="eve")
        assert (await store.decide("a1", "reject", by="eve")).status == "rejected"

    async def test_looking_changes_nothing(self, store: RunStateStore) -> None:
        await parked(store, remembering("Bo owns ingest"))

        first, second = await store.show("a1"), await store.show("a1")

        assert first == second == (await store.pending())[0]
        assert contents(store) == []

    # -- who may -----------------------------------------------------------------------------------------------------

    async def test_two_people_must_approve_where_the_run_says_so(self, open_store: OpenStore) -> None:
        store, reviewer = open_store(approvals=2), open_store("")
        run = await parked(store, remembering("x"))

        assert (await reviewer.decide("a1", "approve", by="eve")).status == "pending"
        with pytest.raises(MayNotDecide):
            await reviewer.decide("a1", "approve", by=" EVE")
        assert (await store.get(run.id)).status == "parked"
        assert (await reviewer.decide("a1", "approve", by="sam")).status == "approved"

    async def test_who_asked_may_not_decide_where_the_run_says_so(self, open_store: OpenStore) -> None:
        store, reviewer = open_store(not_by_requester=True), open_store("")
        await parked(store, remembering("x"), by="bo")

        for decision in ("approve", "reject"):
            with pytest.raises(MayNotDecide):
                await reviewer.decide("a1", decision, by="Bo")
        assert (await reviewer.withdraw("a1", by="bo")).status == "withdrawn"

    # -- what was written without asking -----------------------------------------------------------------------------

    async def test_what_was_written_without_asking_is_acknowledged_once(self, store: RunStateStore) -> None:
        call = {"operation": "remember", "arguments": {"content": "x"}, "call_id": "c1", "approved": True}
        store.memory.call("perform", {**call, "review": True})

        assert [request.status for request in await store.written()] == ["written"]
        with pytest.raises(InvalidTransition):
            await store.decide("a1", "approve", by="eve")
        assert (await store.acknowledge("a1", by="eve")).status == "done"
        with pytest.raises(AlreadyDecided):
            await store.acknowledge("a1", by="bob")
        assert await store.written() == ()

    # -- asked without a run -----------------------------------------------------------------------------------------

    async def test_asked_it_waits_among_the_others_and_writes_nothing(self, store: RunStateStore) -> None:
        await parked(store, remembering("Ada likes tea"))
        ask(store, content="Cy owns ingest")

        assert [request.run_id for request in await store.pending()] == ["n1", None]
        assert contents(store) == []

    async def test_asked_and_approved_it_is_written_by_the_decision(self, store: RunStateStore) -> None:
        ask(store, content="Cy owns ingest")

        decision = await store.decide("a1", "approve", by="eve")

        assert (decision.status, decision.receipt and decision.receipt.id) == ("done", "f1")
        assert contents(store) == ["Cy owns ingest"]
        (source,) = store.memory.provenance("f1")
        assert (source.request_id, source.approved_by) == ("a1", "eve")

    async def test_asked_and_edited_the_edit_is_written(self, store: RunStateStore) -> None:
        ask(store, content="Ada likes tea")

        await store.decide("a1", "edit", by="eve", arguments={"content": "Ada likes decaf"})

        assert contents(store) == ["Ada likes decaf"]

    async def test_asked_of_ten_deciders_at_once_one_writes(self, store: RunStateStore, open_store: OpenStore) -> None:
        ask(store, content="Cy owns ingest")
        stores = [store, open_store("")]

        decisions = [stores[number % 2].decide("a1", "approve", by=f"reviewer {number}") for number in range(10)]
        codes = await asyncio.gather(*map(code_of, decisions))

        assert sorted(map(str, codes)) == ["None", *["already_decided"] * 9]
        assert len(store.memory.history("f1")) == len(store.memory.provenance("f1")) == 1
        assert len(await store.history("a1")) == 1

    @pytest.mark.parametrize("end", ["reject", "withdraw", "expire"])
    async def test_asked_and_not_approved_nothing_is_written(self, store: RunStateStore, end: str) -> None:
        ask(store, content="Cy owns ingest")
        if end == "reject":
            await store.decide("a1", "reject", by="eve")
        else:
            await getattr(store, end)("a1", by="eve")

        assert await store.pending() == ()
        assert contents(store) == []

    async def test_asked_for_what_cannot_work_nobody_is_asked(self, store: RunStateStore) -> None:
        for operation, arguments in {
            "forget": {"fact_id": "f9"},
            "remember": {"content": ""},
            "recall": {"query": "x"},
            "decide": {"request_id": "a1", "decision": "approve", "by": "eve"},
        }.items():
            assert await code_of(_asking(store, operation, arguments)) in {"not_found", "invalid_input"}
        with pytest.raises(InvalidTime):
            store.memory.request_approval("remember", {"content": "x"}, expires_at=PAST)

        assert await store.pending() == ()

    async def test_asked_and_changed_since_it_is_not_written_unseen(self, store: RunStateStore) -> None:
        store.memory.remember("Bo owns ingest")
        ask(store, "supersede", fact_id="f1", content="Cy owns ingest")
        store.memory.correct("f1", "Bob owns ingest")

        with pytest.raises(StaleRequest):
            await store.decide("a1", "approve", by="eve")
        assert contents(store) == ["Bob owns ingest"]

        await store.decide("a1", "approve", by="eve", preview=(await store.show("a1")).preview.digest)
        assert contents(store) == ["Cy owns ingest"]

    async def test_asked_twice_it_waits_once(self, store: RunStateStore) -> None:
        assert ask(store, content="Cy owns ingest") == ask(store, content="Cy owns ingest")
        assert len(await store.pending()) == 1

    async def test_asked_under_rules_they_hold(self, store: RunStateStore) -> None:
        store.memory.request_approval("remember", {"content": "x"}, by="bo", approvals=2, not_by_requester=True)

        assert await code_of(store.decide("a1", "approve", by="bo")) == "may_not_decide"
        await store.decide("a1", "approve", by="eve")
        assert contents(store) == []
        await store.decide("a1", "approve", by="sam")
        assert contents(store) == ["x"]

    async def test_asked_without_a_run_no_run_uses_it(self, store: RunStateStore) -> None:
        ask(store, content="x")
        run = await decided(store, remembering("x"), decision="reject")

        await resumed(store, run)

        assert contents(store) == []
        assert (await store.show("a1")).status == "pending"


async def _asking(store: RunStateStore, operation: str, arguments: dict[str, Any]) -> None:
    ask(store, operation, **arguments)
