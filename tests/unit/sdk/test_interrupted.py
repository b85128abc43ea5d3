"""What happens to a parked run's conversation and claim when somebody interferes."""

import asyncio

import pytest
from agents import Agent, Runner
from agents.testing import ScriptedModel, assistant_message, function_call

from agents_memory import DuckDBSession, Memory, RunStateStore, memory_tools


@pytest.mark.parametrize("take_away", ["clear_session", "pop_item"])
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_call_that_was_taken_away_comes_back_with_its_output(take_away, decision) -> None:
    with Memory.open(":memory:") as memory:
        session = DuckDBSession("s", memory)
        asks = ScriptedModel([[function_call("remember", {"content": "Cy likes tea."}, call_id="c1")]])
        agent = Agent(name="assistant", model=asks, tools=memory_tools(memory, session=session))
        store = RunStateStore(memory)
        parked = await store.park(await Runner.run(agent, "hi", session=session), session=session)
        await getattr(session, take_away)()
        await store.decide(parked.requests[0], decision, by="eve")

        await store.resume(parked.id, agent.clone(model=ScriptedModel([[assistant_message("done")]])), session=session)

        kinds = [item.get("type") for item in await session.get_items()]
        assert kinds[-3:] == ["function_call", "function_call_output", "message"]


async def test_a_resume_that_is_cancelled_while_it_claims_leaves_no_claim() -> None:
    with Memory.open(":memory:") as memory:
        session = DuckDBSession("s", memory)
        asks = ScriptedModel([[function_call("remember", {"content": "Cy likes tea."}, call_id="c1")]])
        agent = Agent(name="assistant", model=asks, tools=memory_tools(memory, session=session))
        store = RunStateStore(memory)
        parked = await store.park(await Runner.run(agent, "hi", session=session), session=session)
        await store.decide(parked.requests[0], "approve", by="eve")
        claiming = asyncio.Event()
        loop = asyncio.get_running_loop()

        def notice(name: str) -> None:
            if name == "claim_run":
                loop.call_soon_threadsafe(claiming.set)

        memory._database.on_statement = notice
        resuming = asyncio.create_task(store.resume(parked.id, agent, session=session))
        await claiming.wait()
        resuming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await resuming
        memory._database.on_statement = None

        assert (await store.get(parked.id)).status in {"ready", "failed"}


async def test_a_policy_that_says_nothing_lets_nothing_through() -> None:
    def forgetful(_operation: str, _arguments: object) -> bool:
        return None  # type: ignore[return-value]

    with Memory.open(":memory:") as memory:
        asks = ScriptedModel([[function_call("remember", {"content": "Cy likes tea."}, call_id="c1")]])
        agent = Agent(name="assistant", model=asks, tools=memory_tools(memory, policy=forgetful))

        result = await Runner.run(agent, "hi")

        assert [item.tool_name for item in result.interruptions] == ["remember"]
        assert memory.facts() == ()
