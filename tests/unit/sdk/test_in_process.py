"""The SDK's own loop, without the store: a call that is approved writes once, however often its state is run."""

import pytest
from agents import RunState

from tests.unit.sdk.conftest import agent, call, facts, outputs, run

STEP = [call("remember", content="Cy owns ingest")]


async def approved(assistant, text):
    """A state with every call approved."""
    state = await RunState.from_string(assistant, text)
    for item in state.get_interruptions():
        state.approve(item)
    return state


async def test_an_approved_call_is_written(memory, session) -> None:
    assistant = agent(memory, STEP, "done", session=session)
    result = await run(assistant, "hello", session=session)
    state = result.to_state()
    state.approve(result.interruptions[0])

    final = await run(assistant, state, session=session)

    assert final.final_output == "done"
    assert facts(memory) == ["Cy owns ingest"]


async def test_a_rejected_call_is_not_written_and_the_model_is_told(memory, session) -> None:
    assistant = agent(memory, STEP, "done", session=session)
    result = await run(assistant, "hello", session=session)
    state = result.to_state()
    state.reject(result.interruptions[0], rejection_message="not now")

    final = await run(assistant, state, session=session)

    assert outputs(final.to_input_list())["c1"] == "not now"
    assert facts(memory) == []


@pytest.mark.parametrize("with_session", [True, False])
async def test_two_copies_of_one_state_write_once(memory, session, with_session) -> None:
    given = {"session": session} if with_session else {}
    result = await run(agent(memory, STEP, **given), "hello", **given)
    text = result.to_state().to_string()

    first = agent(memory, "done", **given)
    second = agent(memory, "done", **given)
    one = await run(first, await approved(first, text), **given)
    two = await run(second, await approved(second, text), **given)

    assert facts(memory) == ["Cy owns ingest"]
    assert outputs(one.to_input_list()) == outputs(two.to_input_list())
    assert memory.history(outputs(one.to_input_list())["c1"]["id"])[0].fact.version == 1


async def test_a_call_that_waits_in_the_queue_is_decided_there(memory, session, store) -> None:
    assistant = agent(memory, STEP, "done", "done", session=session)
    result = await run(assistant, "hello", session=session)
    parked = await store.park(result, session=session)

    told = await run(assistant, await approved(assistant, result.to_state().to_string()))

    assert outputs(told.to_input_list())["c1"]["error"]["code"] == "invalid_transition"
    assert facts(memory) == []
    assert (await store.show(parked.requests[0])).status == "pending"


async def test_a_bare_run_of_a_call_that_the_queue_approved_writes_once(memory, session, store) -> None:
    result = await run(agent(memory, STEP), "hello", session=session)
    parked = await store.park(result, session=session)
    await store.decide(parked.requests[0], "approve", by="eve")

    bare = agent(memory, "done")
    await run(bare, await approved(bare, result.to_state().to_string()))
    resumed = await store.resume(parked.id, agent(memory, "done"))

    assert resumed.run.status == "finished"
    assert facts(memory) == ["Cy owns ingest"]
