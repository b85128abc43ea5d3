"""What decisions do to a run: the rules of its store, approvals for always, and resuming with a part of them."""

import pytest

from agents_memory.errors import CannotResume, InvalidInput, MayNotDecide, Undecided
from agents_memory.sdk.run_states import RunStateStore
from tests.unit.sdk.conftest import agent, call, conversation, facts, run

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


async def two_parked(memory, session, store):
    step = [*STEP, *later()]
    return await store.park(await run(agent(memory, step), "hello", session=session), session=session)


async def test_what_is_decided_is_done_and_the_run_waits_with_the_rest(memory, session, store) -> None:
    parked = await two_parked(memory, session, store)
    await store.decide("a1", "approve", by="eve")

    part = await store.resume(parked.id, agent(memory), session=session, partial=True)

    assert (part.run.status, part.run.revision, part.run.requests) == ("parked", 2, ("a2",))
    assert facts(memory) == ["Cy owns ingest"]
    assert [request.id for request in await store.pending()] == ["a2"]
    with pytest.raises(Undecided):
        await store.resume(parked.id, agent(memory), session=session, partial=True)


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_the_rest_is_done_later_and_each_output_is_kept_once(memory, session, store, decision) -> None:
    parked = await two_parked(memory, session, store)
    await store.decide("a1", decision, by="eve")
    await store.resume(parked.id, agent(memory), session=session, partial=True)
    await store.decide("a2", "approve", by="sam")

    done = await store.resume(parked.id, agent(memory, "done"), session=session)

    assert done.run.status == "finished"
    assert facts(memory) == (["Cy owns ingest"] if decision == "approve" else []) + ["Ada likes tea"]
    lines = await conversation(session)
    assert sorted(lines) == sorted(
        [
            "user",
            "function_call:c1",
            "function_call:c2",
            "function_call_output:c1",
            "function_call_output:c2",
            "assistant",
        ]
    )
    assert (await session.get_items())[-1]["role"] == "assistant"


async def test_a_partial_resume_that_does_not_fit_leaves_the_run_waiting(memory, session, store) -> None:
    parked = await two_parked(memory, session, store)
    await store.decide("a1", "approve", by="eve")

    with pytest.raises(CannotResume):
        await store.resume(parked.id, agent(memory, name="other"), session=session, partial=True)

    assert (await store.get(parked.id)).status == "parked"
    assert facts(memory) == []


async def test_a_partial_resume_of_a_foreign_tool_runs_it_once(memory, session, store) -> None:
    from agents import function_tool

    from agents_memory.sdk.tools import memory_tools

    sent = []

    @function_tool(needs_approval=True)
    def send_mail(to: str) -> str:
        sent.append(to)
        return "sent"

    tools = [*memory_tools(memory), send_mail]
    step = [call("send_mail", "c1", to="eve"), *later()]
    parked = await store.park(await run(agent(memory, step, tools=tools), "hi", session=session), session=session)
    await store.decide("a1", "approve", by="eve")
    await store.resume(parked.id, agent(memory, tools=tools), session=session, partial=True)
    await store.decide("a2", "approve", by="eve")

    done = await store.resume(parked.id, agent(memory, "done", tools=tools), session=session)

    assert (done.run.status, sent, facts(memory)) == ("finished", ["eve"], ["Ada likes tea"])
    assert (await store.show("a1")).status == "done"
