"""`run`: it parks by itself, passes everything through, and says what is next."""

import asyncio
import threading
from typing import Any

import pytest
from agents import Agent, MaxTurnsExceeded, RunConfig, RunHooks, SQLiteSession
from agents.testing import ModelStep, ScriptedModel, assistant_message

from agents_memory import DuckDBSession, Memory, RunStateStore, attach, memory_tools, run, run_sync
from agents_memory.errors import CannotPark, InvalidInput
from tests.unit.sdk.conftest import QUIET, agent, call, conversation, facts

STEP = [call("remember", content="Cy owns ingest")]


def free(_operation: str, _arguments: object) -> bool:
    return False


async def test_a_run_that_ends_is_not_parked(memory, session, store) -> None:
    done: Any = await run(agent(memory, "hello"), "hi", memory=memory, session="conv", run_config=QUIET)

    assert (done.final_output, done.parked, done.requests) == ("hello", None, ())
    assert await conversation(session) == ["user", "assistant"]
    assert await store.runs() == ()


async def test_a_run_that_stops_is_parked_and_says_what_waits(memory, session, store) -> None:
    done: Any = await run(agent(memory, STEP), "Cy took ingest.", memory=memory, session="conv", run_config=QUIET)

    (request,) = done.requests
    assert (done.final_output, done.parked.id, done.parked.session_id) == (None, "n1", "conv")
    assert (request.id, request.tool, request.words) == ("a1", "remember", "Cy took ingest.")
    await store.decide(request.id, "approve", by="eve")
    assert (await store.resume(done.parked.id, agent(memory, "done"))).final_output == "done"
    assert facts(memory) == ["Cy owns ingest"]


async def test_only_the_requests_of_this_very_run_are_named(memory) -> None:
    await run(agent(memory, STEP), "one", memory=memory, run_config=QUIET)

    second: Any = await run(agent(memory, STEP), "two", memory=memory, run_config=QUIET)

    assert [request.id for request in second.requests] == list(second.parked.requests) == ["a2"]


@pytest.mark.parametrize("given", ["id", "object", "sdk", "none"])
async def test_any_conversation_can_be_given(memory, given, tmp_path) -> None:
    sdk = SQLiteSession("conv", tmp_path / "other.db")
    session: Any = {"id": "conv", "object": DuckDBSession("conv", memory), "sdk": sdk, "none": None}[given]
    try:
        done: Any = await run(agent(memory, STEP), "hi", memory=memory, session=session, run_config=QUIET)
    finally:
        sdk.close()

    assert done.parked.session_id == (None if given == "none" else "conv")


async def test_writes_of_tools_that_know_no_conversation_name_that_of_the_run(memory) -> None:
    attached = attach(
        Agent(name="assistant", model=ScriptedModel([STEP, [assistant_message("ok")]])), memory, policy=free
    )

    await run(attached, "Cy took ingest.", memory=memory, session="conv", run_config=QUIET)

    (written,) = memory.facts_written("conv")
    (evidence,) = memory.provenance(written.fact_id)[0].evidence
    assert (written.content, evidence.text) == ("Cy owns ingest", "Cy took ingest.")


@pytest.mark.parametrize("streamed", [False, True])
async def test_writes_after_a_resume_name_its_conversation(memory, store, streamed) -> None:
    def only_first_asks(_operation: str, arguments: Any) -> Any:
        return arguments["content"] == "Cy owns ingest"

    tools = memory_tools(memory, policy=only_first_asks)
    parked: Any = (
        await run(agent(memory, STEP, tools=tools), "hi", memory=memory, session="conv", run_config=QUIET)
    ).parked
    await store.decide(parked.requests[0], "approve", by="eve")
    going_on = agent(memory, [call("remember", "c2", content="Bo owns billing")], "done", tools=tools)

    if streamed:
        async for _ in store.resume(parked.id, going_on, run_config=QUIET, stream=True):
            pass
    else:
        await store.resume(parked.id, going_on, run_config=QUIET)

    assert [fact.content for fact in memory.facts_written("conv")] == ["Cy owns ingest", "Bo owns billing"]


async def test_outside_of_a_run_no_conversation_is_at_hand(memory) -> None:
    from agents_memory.sdk.current import session_at_hand

    await run(agent(memory, "hi"), "hi", memory=memory, session="conv", run_config=QUIET)

    assert session_at_hand() is None


async def test_context_run_config_hooks_and_max_turns_reach_the_run(memory) -> None:
    seen: list[Any] = []

    class Watching(RunHooks):
        async def on_agent_start(self, context, agent):
            seen.append(context.context)

    config = RunConfig(tracing_disabled=True, model=ScriptedModel([[call("recall", query="x", k=1)]]))

    with pytest.raises(MaxTurnsExceeded):
        await run(agent(memory), "hi", memory=memory, context="ada", run_config=config, hooks=Watching(), max_turns=1)

    assert seen == ["ada"]


async def test_one_agent_parks_each_users_run_in_their_own_namespace(memory) -> None:
    def memory_of(context: Any) -> Any:
        return memory.at_namespace(f"acme/kestrel/{context.context}")

    shared = agent(memory_of, STEP, STEP)

    runs: list[Any] = [
        await run(shared, "hi", memory=memory_of, session="conv", context=user, run_config=QUIET)
        for user in ("ada", "bo")
    ]

    assert [done.parked.namespace for done in runs] == ["acme/kestrel/ada", "acme/kestrel/bo"]
    assert [len(done.requests) for done in runs] == [1, 1]


async def test_a_store_is_parked_in_with_its_key_its_notices_and_an_end(memory) -> None:
    told: list[Any] = []
    store = RunStateStore(memory, key=b"ours", on_parked=told.append)

    done: Any = await run(
        agent(memory, STEP), "hi", memory=memory, store=store, expires_at="2999-01-01", run_config=QUIET
    )

    assert [notice.run_id for notice in told] == [done.parked.id]
    assert done.requests[0].expires_at.year == 2999
    assert memory._database._cursor().execute("SELECT count(signature) FROM run_states").fetchone() == (1,)


async def test_a_run_that_has_no_turns_left_says_so_and_fails_when_it_is_resumed(memory, store, caplog) -> None:
    done: Any = await run(agent(memory, STEP), "hi", memory=memory, run_config=QUIET, max_turns=1)
    await store.decide(done.requests[0].id, "approve", by="eve")

    assert done.turns_left == 0
    assert "n1 has 0 turn(s) left" in caplog.text
    with pytest.raises(MaxTurnsExceeded):
        await store.resume(done.parked.id, agent(memory, "done"), run_config=QUIET)
    assert facts(memory) == ["Cy owns ingest"]


@pytest.mark.parametrize(("max_turns", "left"), [(2, 1), (10, 9), (None, None)])
@pytest.mark.parametrize("streamed", [False, True])
async def test_with_turns_left_the_run_can_go_on(memory, store, max_turns, left, streamed) -> None:
    done: Any = await ran(agent(memory, STEP), memory, streamed=streamed, max_turns=max_turns)
    await store.decide(done.requests[0].id, "approve", by="eve")

    assert done.turns_left == left
    assert (await store.resume(done.parked.id, agent(memory, "done"), run_config=QUIET)).final_output == "done"


async def ran(one: Any, memory: Memory, *, streamed: bool, **given: Any) -> Any:
    if not streamed:
        return await run(one, "hi", memory=memory, run_config=QUIET, **given)
    events = run(one, "hi", memory=memory, run_config=QUIET, stream=True, **given)
    async for _ in events:
        pass
    return events.outcome


# -- streaming -----------------------------------------------------------------------------------------------------


async def test_a_streamed_run_is_parked_once_its_events_were_read(memory, session, store) -> None:
    events: Any = run(agent(memory, STEP), "hi", memory=memory, session="conv", run_config=QUIET, stream=True)

    kinds = [event.type async for event in events]

    assert "run_item_stream_event" in kinds
    assert events.outcome.parked.id == "n1"
    assert [request.id for request in events.outcome.requests] == ["a1"]
    assert await conversation(session) == ["user", "function_call:c1"]


async def test_a_streamed_run_that_ends_has_its_output(memory) -> None:
    events = run(agent(memory, "hello"), "hi", memory=memory, run_config=QUIET, stream=True)

    async for _ in events:
        pass

    assert (events.outcome.final_output, events.outcome.parked) == ("hello", None)


async def test_before_the_end_there_is_no_outcome(memory) -> None:
    async with run(agent(memory, STEP), "hi", memory=memory, run_config=QUIET, stream=True) as events:
        await anext(events)

        with pytest.raises(InvalidInput, match="to the end"):
            _ = events.outcome


async def test_a_reader_that_leaves_stops_the_run_and_parks_nothing(memory, store) -> None:
    async def hang(_call: Any) -> Any:
        await asyncio.Event().wait()

    hanging = agent(memory, [call("recall", query="x", k=1)])
    hanging.model.enqueue(ModelStep(responder=hang))

    async with run(hanging, "hi", memory=memory, run_config=QUIET, stream=True) as events:
        async for event in events:
            if event.type == "run_item_stream_event" and event.name == "tool_output":
                break

    assert await store.runs() == ()
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_a_streamed_run_that_fails_raises(memory) -> None:
    failing = agent(memory)
    failing.model.enqueue(ModelStep(error=ConnectionError("no network")))

    with pytest.raises(ConnectionError):
        async for _ in run(failing, "hi", memory=memory, run_config=QUIET, stream=True):
            pass


async def test_what_cannot_be_kept_is_said(memory) -> None:
    with pytest.raises(InvalidInput):
        run(agent(memory), "hi", memory=memory, session=" ", stream=True)
    with pytest.raises(CannotPark):
        await RunStateStore(memory).park((await run(agent(memory, "x"), "hi", memory=memory, run_config=QUIET)).result)


# -- without an event loop -----------------------------------------------------------------------------------------


def in_another_thread(call: Any) -> Any:
    """What a call gives in a thread whose event loop is closed afterwards."""
    given: list[Any] = []

    def work() -> None:
        try:
            given.append(call())
        finally:
            asyncio.get_event_loop_policy().get_event_loop().close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    return given[0]


def test_without_an_event_loop_runs_follow_one_another(memory) -> None:
    def both() -> Any:
        first = run_sync(agent(memory, STEP), "hi", memory=memory, session="conv", run_config=QUIET)
        return first, run_sync(agent(memory, "hello"), "hi", memory=memory, session="conv", run_config=QUIET)

    first, second = in_another_thread(both)

    assert (first.parked.id, second.final_output) == ("n1", "hello")


async def test_where_a_loop_runs_it_says_to_await(memory) -> None:
    with pytest.raises(RuntimeError, match="Await run"):
        run_sync(agent(memory), "hi", memory=memory)
