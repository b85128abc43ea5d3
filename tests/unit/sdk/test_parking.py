"""Parking: what is kept of a stopped run, and what is not."""

import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Runner, SQLiteSession, function_tool
from agents.testing import ScriptedModel

from agents_memory import Memory
from agents_memory.errors import CannotPark, CannotResume, WrongNamespace
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.tools import memory_tools
from tests.unit.sdk.conftest import QUIET, agent, call, conversation, facts, outputs, run

STEP = [call("remember", content="Cy owns ingest")]


def stored_states(memory: Memory) -> list[dict[str, Any]]:
    rows = memory._database._cursor().execute("SELECT state FROM run_states").fetchall()
    return [json.loads(zlib.decompress(row[0])) for row in rows]


async def test_a_result_without_interruptions_cannot_be_parked(memory, store) -> None:
    result = await run(agent(memory, "done"), "hello")

    with pytest.raises(CannotPark, match="Nothing in this run waits"):
        await store.park(result)

    assert await store.runs() == ()


async def test_a_stream_that_was_not_read_to_the_end_cannot_be_parked(memory, store) -> None:
    stream = Runner.run_streamed(agent(memory, STEP), "hello", run_config=QUIET)

    with pytest.raises(CannotPark, match="stream"):
        await store.park(stream)

    async for _ in stream.stream_events():
        pass
    assert (await store.park(stream)).status == "parked"


async def test_a_run_is_parked_with_what_resuming_needs(memory, session, store) -> None:
    result = await run(agent(memory, STEP, session=session), "Cy took ingest over.", session=session)

    parked = await store.park(result, session=session, by="app")

    (request,) = await store.pending()
    assert (parked.session_id, parked.starting_agent, parked.current_agent) == ("conv", "assistant", "assistant")
    assert (request.tool, request.operation, request.agent) == ("remember", "remember", "assistant")
    assert (request.run_id, request.session_id, request.call_id) == (parked.id, "conv", "c1")
    assert request.words == "Cy took ingest over."


async def test_the_preview_shows_the_normalised_effect_and_that_is_what_happens(memory, session, store) -> None:
    memory.remember("Bo owns ingest", entities=["Ingest Service"])
    memory.add_alias("Ingest Service", "ingest")
    step = [call("remember", content="Cy owns ingest", entities=["  INGEST ", "Cy"])]
    result = await run(agent(memory, step), "hello", session=session)
    parked = await store.park(result, session=session)
    shown = await store.show(parked.requests[0])
    await store.decide(parked.requests[0], "approve", by="eve", preview=shown.preview.digest)

    done = await store.resume(parked.id, agent(memory, "done"))

    changes = outputs(done.result.to_input_list())["c1"]["changes"]
    assert [(change.effect.value, change.text) for change in shown.preview.changes] == [
        ("entity matched", "Ingest Service"),
        ("entity created", "Cy"),
        ("fact added", "Cy owns ingest"),
    ]
    assert [change["effect"] for change in changes] == [change.effect.value for change in shown.preview.changes]


@dataclass
class AppContext:
    """What an app passes to its tools."""

    handle: Any
    secret: str = field(default="s3cret")


@pytest.mark.parametrize("kind", ["dataclass", "mapping"])
async def test_the_application_context_is_not_kept(memory, store, tmp_path, kind) -> None:
    with (tmp_path / "open").open("w") as handle:
        context = AppContext(handle) if kind == "dataclass" else {"handle": handle, "secret": "s3cret"}
        result = await run(agent(memory, STEP), "hello", context=context)
        parked = await store.park(result)

    assert "s3cret" not in json.dumps(stored_states(memory))
    assert parked.status == "parked"


async def test_a_nested_agents_context_is_not_kept_either(memory, store) -> None:
    inner = agent(memory, STEP, name="researcher")
    step = [call("research", "o1", input="x")]
    outer = agent(memory, step, name="planner", tools=[inner.as_tool("research", "Research.")])
    result = await run(outer, "hello", context={"secret": "s3cret"})

    await store.park(result)

    assert "s3cret" not in json.dumps(stored_states(memory))


async def test_a_resumed_run_gets_the_fresh_context(memory, store) -> None:
    seen = []

    def memory_of(wrapper):
        seen.append(wrapper.context)
        return memory

    result = await run(agent(memory_of, STEP), "hello", context="old")
    parked = await store.park(result)
    await store.decide(parked.requests[0], "approve", by="eve")
    seen.clear()

    await store.resume(parked.id, agent(memory_of, "done"), context="fresh")

    assert seen
    assert set(seen) == {"fresh"}


async def test_a_call_of_a_nested_agent_names_that_agent_and_the_outer_run(memory, session, store) -> None:
    inner = agent(memory, STEP, name="researcher")
    step = [call("research", "o1", input="x")]
    outer = agent(memory, step, name="planner", tools=[inner.as_tool("research", "Research.")])
    result = await run(outer, "hello", session=session)

    parked = await store.park(result, session=session)

    (request,) = await store.pending()
    assert (parked.starting_agent, request.agent, request.run_id) == ("planner", "researcher", parked.id)


async def test_a_nested_call_is_carried_out_once_and_asks_no_second_time(memory, session, store) -> None:
    def planner(outer_steps, inner_steps):
        inner = agent(memory, *inner_steps, name="researcher")
        return agent(memory, *outer_steps, name="planner", tools=[inner.as_tool("research", "Research.")])

    asking = planner([[call("research", "o1", input="x")]], [STEP])
    parked = await store.park(await run(asking, "hello", session=session), session=session)
    await store.decide(parked.requests[0], "approve", by="eve")

    done = await store.resume(parked.id, planner(["done"], ["found"]))

    assert done.run.status == "finished"
    assert facts(memory) == ["Cy owns ingest"]
    assert await conversation(session) == ["user", "function_call:o1", "function_call_output:o1", "assistant"]


async def test_a_tool_that_is_not_ours_is_asked_about_too(memory, session, store) -> None:
    sent = []

    @function_tool(needs_approval=True)
    def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    asking = agent(memory, [call("send_mail", to="eve")], tools=[send_mail])
    parked = await store.park(await run(asking, "hello", session=session), session=session)
    (request,) = await store.pending()
    await store.decide(request.id, "approve", by="eve")

    await store.resume(parked.id, agent(memory, "done", tools=[send_mail]))

    assert (request.tool, request.operation) == ("send_mail", None)
    assert sent == ["eve"]
    assert (await store.show(request.id)).status == "done"


async def test_a_run_is_parked_where_its_conversation_is_kept(memory) -> None:
    below = memory.at_namespace("acme/kestrel/main")
    session = DuckDBSession("conv", below)
    result = await run(agent(below, STEP, session=session), "hello", session=session)

    parked = await RunStateStore(memory).park(result, session=session)

    assert parked.namespace == "acme/kestrel/main"
    assert [request.namespace for request in await RunStateStore(memory).pending()] == ["acme/kestrel/main"]


async def test_a_run_whose_tools_write_elsewhere_is_not_parked(memory, store) -> None:
    result = await run(agent(memory.at_namespace("acme/other"), STEP), "hello")

    with pytest.raises(WrongNamespace):
        await store.park(result)


async def test_another_stores_conversation_has_to_be_passed_again(memory, store, tmp_path: Path) -> None:
    other = SQLiteSession("conv", tmp_path / "other.db")
    try:
        result = await run(agent(memory, STEP), "hello", session=other)
        parked = await store.park(result, session=other)
        await store.decide(parked.requests[0], "approve", by="eve")

        with pytest.raises(CannotResume, match="not kept in this memory"):
            await store.resume(parked.id, agent(memory, "done"))
        done = await store.resume(parked.id, agent(memory, "done"), session=other)

        assert done.run.status == "finished"
        assert await conversation(other) == ["user", "function_call:c1", "function_call_output:c1", "assistant"]
    finally:
        other.close()


async def test_a_run_that_was_handed_over_is_resumed_with_the_agent_it_started_with(memory, session, store) -> None:
    def triage(first, second):
        helper = Agent(name="helper", tools=memory_tools(memory), model=ScriptedModel(second))
        return Agent(name="triage", handoffs=[helper], model=ScriptedModel(first))

    asking = triage([[call("transfer_to_helper", "h1")]], [STEP])
    parked = await store.park(await run(asking, "hello", session=session), session=session)
    await store.decide(parked.requests[0], "approve", by="eve")

    from agents.testing import assistant_message

    done = await store.resume(parked.id, triage([], [[assistant_message("done")]]))

    assert (parked.starting_agent, parked.current_agent) == ("triage", "helper")
    assert done.final_output == "done"
    assert facts(memory) == ["Cy owns ingest"]
