"""A session whose memory is named by the run's context: one agent, many users."""

from typing import Any

import pytest
from agents import RunContextWrapper
from agents.extensions.memory import EncryptedSession

from agents_memory import Memory
from agents_memory.errors import InvalidInput
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.tools import memory_tools
from agents_memory.testing.session_runs import play
from tests.unit.sdk.conftest import agent, call, conversation, facts, run

STEP = [call("remember", content="Cy owns ingest")]
WHOLE = ["user", "function_call:c1", "function_call_output:c1", "assistant"]


def context_of(user: str) -> RunContextWrapper[Any]:
    return RunContextWrapper(context=user)


@pytest.fixture
def memory_of(memory: Memory) -> Any:
    return lambda wrapper: memory.at_namespace(f"acme/kestrel/{wrapper.context}")


@pytest.fixture
def shared(memory_of: Any) -> DuckDBSession:
    return DuckDBSession("conv", memory_of)


def said_to(memory: Memory, user: str) -> list[str | None]:
    return [item.text for item in memory.at_namespace(f"acme/kestrel/{user}").read_session("conv")]


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "run_streamed"])
async def test_each_user_has_a_conversation_of_their_own(memory, shared, streamed) -> None:
    one = agent(memory, "hi ada", "hi bo", "again, ada", tools=[])

    for user, text in (("ada", "I am ada"), ("bo", "I am bo"), ("ada", "still ada")):
        await play(one, text, shared, streamed=streamed, context=user)

    assert said_to(memory, "ada") == ["I am ada", "hi ada", "still ada", "again, ada"]
    assert said_to(memory, "bo") == ["I am bo", "hi bo"]
    assert memory.sessions() == ()
    assert [item["content"] for item in one.model.last_call.input if item["role"] == "user"] == [
        "I am ada",
        "still ada",
    ]


async def test_an_encrypting_wrapper_hands_the_context_on(memory, shared) -> None:
    session = EncryptedSession("conv", shared, "a key of some length")

    await run(agent(memory, "hi", tools=[]), "hello", session=session, context="ada")

    stored: list[Any] = await session.get_items(wrapper=context_of("ada"))
    assert [item["role"] for item in stored] == ["user", "assistant"]
    assert await session.get_items(wrapper=context_of("bo")) == []


async def test_every_method_follows_the_context(memory, shared) -> None:
    ada, bo = context_of("ada"), context_of("bo")
    one: Any = {"role": "user", "content": "one"}
    await shared.add_items([one], wrapper=ada)

    assert await shared.get_turns(1, wrapper=bo) == []
    assert await shared.pop_item(wrapper=bo) is None
    await shared.clear_session(wrapper=bo)
    assert await shared.get_turns(1, wrapper=ada) == await shared.get_items(1, wrapper=ada) == [one]
    assert await shared.pop_item(wrapper=ada) == one


async def test_without_a_context_it_says_what_is_missing(shared) -> None:
    uses = (
        shared.get_items(),
        shared.get_turns(1),
        shared.add_items([{"role": "user", "content": "lost"}]),
        shared.pop_item(),
        shared.clear_session(),
    )
    for use in uses:
        with pytest.raises(InvalidInput, match="Pass wrapper="):
            await use
    with pytest.raises(InvalidInput, match="Pass wrapper="):
        _ = shared.memory


async def test_a_session_of_one_memory_needs_no_context(memory) -> None:
    session = DuckDBSession("conv", memory)

    await session.add_items([{"role": "user", "content": "hello"}], wrapper=context_of("ada"))

    assert await conversation(session) == ["user"]
    assert [one.session_id for one in memory.sessions()] == ["conv"]


def test_a_namespace_beside_a_callable_is_refused(memory_of) -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        DuckDBSession("conv", memory_of, namespace="acme")


@pytest.mark.parametrize("given", [True, False], ids=["with the session", "without one"])
async def test_a_run_is_resumed_where_it_was_parked_whatever_the_context_says(memory, memory_of, shared, given) -> None:
    store, tools = RunStateStore(memory), memory_tools(memory_of, session=shared)
    result = await run(agent(memory, STEP, tools=tools), "hello", session=shared, context="ada")
    waiting = await store.park(result, session=shared)
    await store.decide(waiting.requests[0], "approve", by="eve")

    resumed = agent(memory, "done", tools=tools)
    await store.resume(waiting.id, resumed, session=shared if given else None, context="ada")

    assert waiting.namespace == "acme/kestrel/ada"
    assert facts(memory) == ["Cy owns ingest"]
    assert len(said_to(memory, "ada")) == len(WHOLE)


async def test_a_resume_under_another_users_context_adds_to_no_other_conversation(memory, memory_of, shared) -> None:
    store, adas = RunStateStore(memory), memory.at_namespace("acme/kestrel/ada")
    result = await run(agent(adas, STEP), "hello", session=shared, context="ada")
    waiting = await store.park(result, session=shared)
    await store.decide(waiting.requests[0], "reject", by="eve")

    await store.resume(waiting.id, agent(adas, "done"), session=shared, context="bo")

    assert said_to(memory, "bo") == []
    assert len(said_to(memory, "ada")) == len(WHOLE)
