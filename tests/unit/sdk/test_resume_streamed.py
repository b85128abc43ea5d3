"""Resuming event by event: the same claim, fencing and bookkeeping as without events."""

import asyncio
from typing import Any

import pytest
from agents.testing import ModelStep

from agents_memory._threads import in_thread
from agents_memory.errors import CannotResume, InvalidInput, LeaseLost, Undecided
from agents_memory.sdk.events import Events
from agents_memory.sdk.resume import Asked, resume_streamed
from agents_memory.sdk.run_states import RunStateStore
from tests.unit.sdk.conftest import agent, call, conversation, facts, outputs, run

STEP = [call("remember", content="Cy owns ingest")]
WHOLE = ["user", "function_call:c1", "function_call_output:c1", "assistant"]


@pytest.fixture
async def ready(memory, session, store) -> str:
    """A run that was approved."""
    parked = await store.park(await run(agent(memory, STEP), "hello", session=session), session=session)
    await store.decide(parked.requests[0], "approve", by="eve")
    return str(parked.id)


def names(events: list[Any]) -> list[str]:
    return [event.name for event in events if event.type == "run_item_stream_event"]


async def test_the_events_come_and_the_run_is_finished(memory, session, store, ready) -> None:
    events = store.resume(ready, agent(memory, "done"), stream=True)

    seen = [event async for event in events]

    assert names(seen) == ["tool_output", "message_output_created"]
    assert (events.outcome.run.status, events.outcome.final_output) == ("finished", "done")
    assert facts(memory) == ["Cy owns ingest"]
    assert await conversation(session) == WHOLE


async def test_a_run_that_had_finished_has_its_outcome_and_no_events(memory, store, ready) -> None:
    await store.resume(ready, agent(memory, "done"))

    events = store.resume(ready, agent(memory), stream=True)

    assert [event async for event in events] == []
    assert (events.outcome.repeated, events.outcome.final_output) == (True, "done")


async def test_a_run_that_stops_again_is_parked_again_and_the_app_is_told(memory, session, ready) -> None:
    told: list[Any] = []
    store = RunStateStore(memory, on_parked=told.append)
    events = store.resume(ready, agent(memory, [call("remember", "c2", content="Ada likes tea")]), stream=True)

    async for _ in events:
        pass

    assert (events.outcome.run.status, events.outcome.run.revision) == ("parked", 2)
    assert [(notice.run_id, notice.revision) for notice in told] == [(ready, 2)]
    await store.decide(events.outcome.run.requests[0], "approve", by="eve")
    assert (await store.resume(ready, agent(memory, "done"))).final_output == "done"
    assert facts(memory) == ["Cy owns ingest", "Ada likes tea"]


async def test_what_does_not_fit_changes_nothing(memory, store, ready) -> None:
    with pytest.raises(CannotResume):
        async for _ in store.resume(ready, agent(memory, "done", name="other"), stream=True):
            pass

    assert (await store.get(ready)).status == "ready"


async def test_what_is_undecided_is_not_begun(memory, session, store) -> None:
    parked = await store.park(await run(agent(memory, STEP), "hello", session=session), session=session)

    with pytest.raises(Undecided):
        async for _ in store.resume(parked.id, agent(memory, "done"), stream=True):
            pass


async def test_a_bad_id_is_refused(memory, store) -> None:
    with pytest.raises(InvalidInput):
        await anext(store.resume("a1", agent(memory), stream=True))


async def test_a_model_that_fails_leaves_a_run_that_can_be_resumed(memory, session, store, ready) -> None:
    failing = agent(memory)
    failing.model.enqueue(ModelStep(error=ConnectionError("no network")))

    with pytest.raises(ConnectionError):
        async for _ in store.resume(ready, failing, stream=True):
            pass
    failed = await store.get(ready)
    done = await store.resume(ready, agent(memory, "done"))

    assert (failed.status, failed.error, done.run.status) == ("failed", "ConnectionError", "finished")
    assert facts(memory) == ["Cy owns ingest"]
    assert await conversation(session) == WHOLE


def hanging(memory: Any, asked: asyncio.Event) -> Any:
    async def hang(_call: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    one = agent(memory)
    one.model.enqueue(ModelStep(responder=hang))
    return one


async def test_a_reader_that_leaves_early_leaves_a_run_that_can_be_resumed(memory, session, store, ready) -> None:
    async with store.resume(ready, hanging(memory, asyncio.Event()), stream=True) as events:
        async for event in events:
            if event.type == "run_item_stream_event":
                break

    assert (await store.get(ready)).status == "failed"
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert (await store.resume(ready, agent(memory, "done"))).run.status == "finished"
    assert facts(memory) == ["Cy owns ingest"]
    assert await conversation(session) == WHOLE


async def test_a_reader_that_is_cancelled_leaves_a_run_that_can_be_resumed(memory, session, store, ready) -> None:
    asked = asyncio.Event()

    async def read() -> None:
        async for _ in store.resume(ready, hanging(memory, asked), stream=True):
            pass

    reading = asyncio.create_task(read())
    await asked.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert (await store.get(ready)).status == "failed"
    assert (await store.resume(ready, agent(memory, "done"))).run.status == "finished"
    assert await conversation(session) == WHOLE


async def test_a_reader_that_stands_still_loses_its_claim(memory, session, store, ready) -> None:
    events = Events(resume_streamed(store, ready, Asked(agent=agent(memory, "done"), lease_s=0.1)))
    await anext(events)
    while beating := [task for task in asyncio.all_tasks() if "_beat" in str(task.get_coro())]:
        await asyncio.wait(beating)

    with pytest.raises(LeaseLost, match="Nobody read"):
        async for _ in events:
            pass
    await claimable(memory, ready)
    assert (await store.resume(ready, agent(memory, "done"))).run.status == "finished"
    assert facts(memory) == ["Cy owns ingest"]
    assert await conversation(session) == WHOLE


async def claimable(memory: Any, run_id: str) -> None:
    """Wait until the lease of a run is over."""

    def is_over() -> bool:
        row = memory._database._cursor().execute(
            "SELECT lease_until < $1 FROM parked_runs", [memory._database.now().replace(tzinfo=None)]
        )
        return bool(row.fetchone()[0])

    while not await in_thread(is_over):
        await asyncio.sleep(0)


async def test_a_resume_that_lost_its_claim_stops_and_writes_nothing(memory, session, store, ready) -> None:
    def rob() -> None:
        memory.call("release_run", {"run_id": ready, "fence": 1})
        memory.call("claim_run", {"run_id": ready, "owner": "elsewhere:1:x"})

    async def robbed(_call: Any) -> Any:
        await in_thread(rob)
        await asyncio.Event().wait()

    slow = agent(memory)
    slow.model.enqueue(ModelStep(responder=robbed))

    with pytest.raises(LeaseLost):
        async for _ in Events(resume_streamed(store, ready, Asked(agent=slow, lease_s=0.03))):
            pass

    assert (await store.get(ready)).attempt == 2


async def test_the_model_is_told_the_same_as_without_events(memory, session, store) -> None:
    parked = await store.park(await run(agent(memory, STEP), "hello", session=session), session=session)
    await store.decide(parked.requests[0], "reject", by="eve", reason="Cy only helps out.")
    events = store.resume(parked.id, agent(memory, "done"), stream=True)

    async for _ in events:
        pass

    assert outputs(events.outcome.result.to_input_list())["c1"] == "Cy only helps out."
