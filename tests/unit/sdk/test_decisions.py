"""What a store's decisions do to a run: the rules it parks with, and approvals for always."""

import pytest

from agents_memory.errors import InvalidInput, MayNotDecide, Undecided
from agents_memory.sdk.run_states import RunStateStore
from tests.unit.sdk.conftest import agent, call, facts, run

STEP = [call("remember", content="Cy owns ingest")]


async def test_a_stores_rules_hold_for_every_store(memory, session) -> None:
    strict, plain = RunStateStore(memory, approvals=2, not_by_requester=True), RunStateStore(memory)
    result = await run(agent(memory, STEP), "hello", session=session)
    parked = await strict.park(result, session=session, by="bo")

    with pytest.raises(MayNotDecide):
        await plain.decide("a1", "approve", by="bo")
    first = await plain.decide("a1", "approve", by="eve")
    with pytest.raises(Undecided):
        await plain.resume(parked.id, agent(memory, "done"))
    await plain.decide("a1", "approve", by="sam")
    await plain.resume(parked.id, agent(memory, "done"))

    assert (first.status, first.approved_by) == ("pending", ("eve",))
    assert facts(memory) == ["Cy owns ingest"]


async def test_a_store_whose_rules_cannot_be_is_refused_when_it_parks(memory, session) -> None:
    result = await run(agent(memory, STEP), "hello", session=session)

    with pytest.raises(InvalidInput):
        await RunStateStore(memory, approvals=0).park(result, session=session)


def later(tool="remember", **arguments):
    return [call(tool, "c2", **(arguments or {"content": "Ada likes tea"}))]


async def approved_always(memory, session, store, *steps):
    parked = await store.park(await run(agent(memory, STEP), "hello", session=session), session=session)
    await store.decide(parked.requests[0], "approve", by="eve", always=True)
    return await store.resume(parked.id, agent(memory, *steps), session=session)


async def test_an_approval_for_always_covers_later_calls_of_the_tool_in_the_run(memory, session, store) -> None:
    done = await approved_always(memory, session, store, later(), "done")

    assert done.run.status == "finished"
    assert facts(memory) == ["Cy owns ingest", "Ada likes tea"]
    assert (await store.show("a1")).decisions[0].always


async def test_an_approval_without_always_covers_its_call_only(memory, session, store) -> None:
    parked = await store.park(await run(agent(memory, STEP), "hello", session=session), session=session)
    await store.decide(parked.requests[0], "approve", by="eve")

    done = await store.resume(parked.id, agent(memory, later()), session=session)

    assert done.run.status == "parked"
    assert facts(memory) == ["Cy owns ingest"]


async def test_another_tool_of_the_run_asks_as_before(memory, session, store) -> None:
    memory.remember("Bo owns ingest")

    done = await approved_always(memory, session, store, later("forget", fact_id="f1"))

    assert done.run.status == "parked"
    assert facts(memory) == ["Bo owns ingest", "Cy owns ingest"]


async def test_always_lasts_while_the_run_is_parked_again_and_ends_with_it(memory, session, store) -> None:
    memory.remember("Bo owns ingest")
    again = await approved_always(memory, session, store, later("forget", fact_id="f1"))
    await store.decide(again.run.requests[0], "reject", by="eve")
    third = [call("remember", "c3", content="Ada likes tea")]

    done = await store.resume(again.run.id, agent(memory, third, "done"), session=session)
    fresh = await run(agent(memory, [call("remember", "c4", content="Dan likes mate")]), "next", session=session)

    assert done.run.status == "finished"
    assert facts(memory) == ["Bo owns ingest", "Cy owns ingest", "Ada likes tea"]
    assert [item.call_id for item in fresh.interruptions] == ["c4"]


async def test_always_does_not_overrule_a_rejection_of_its_sibling(memory, session, store) -> None:
    step = [*STEP, *later()]
    parked = await store.park(await run(agent(memory, step), "hello", session=session), session=session)
    await store.decide(parked.requests[0], "approve", by="eve", always=True)
    await store.decide(parked.requests[1], "reject", by="eve")

    await store.resume(parked.id, agent(memory, "done"), session=session)

    assert facts(memory) == ["Cy owns ingest"]
