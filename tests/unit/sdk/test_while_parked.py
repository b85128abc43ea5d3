"""A session that refuses a new turn while one of its runs waits for a person."""

from typing import Any

import pytest
from agents import Runner
from agents.extensions.memory import EncryptedSession

from agents_memory import Memory
from agents_memory.errors import InvalidInput, SessionParked
from agents_memory.sdk.current import CurrentRun, current_run
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from tests.unit.sdk.conftest import QUIET, agent, call, conversation, run

STEP = [call("remember", content="Cy owns ingest")]
WHOLE = ["user", "function_call:c1", "function_call_output:c1", "assistant"]
NEW_TURN: Any = [{"role": "user", "content": "the word is swordfish"}]


@pytest.fixture
def refusing(memory: Memory) -> DuckDBSession:
    return DuckDBSession("conv", memory, while_parked="refuse")


@pytest.fixture
def encrypted(refusing: Any) -> Any:
    return EncryptedSession("conv", refusing, "a key of some length")


async def parked(memory: Memory, session: Any, *steps: Any) -> Any:
    result = await run(agent(memory, *(steps or [STEP])), "hello", session=session)
    return await RunStateStore(memory).park(result, session=session)


async def turn(agent: Any, session: Any, *, streamed: bool) -> None:
    if not streamed:
        await run(agent, "and now?", session=session)
        return
    async for _ in Runner.run_streamed(agent, "and now?", session=session, run_config=QUIET).stream_events():
        pass


async def test_a_new_turn_is_refused_before_the_model_is_asked(memory, refusing) -> None:
    waiting = await parked(memory, refusing)
    never = agent(memory, "never said")

    with pytest.raises(SessionParked, match=r"n1 waits \(a1\)") as refused:
        await run(never, "the word is swordfish", session=refusing)

    assert refused.value.details == {"session_id": "conv", "run_id": waiting.id, "requests": list(waiting.requests)}
    assert "swordfish" not in str(refused.value)
    assert never.model.last_call is None
    assert await conversation(refusing) == WHOLE[:2]


async def test_a_streamed_turn_is_refused_too(memory, refusing) -> None:
    await parked(memory, refusing)
    never = agent(memory, "never said")

    with pytest.raises(SessionParked):
        await turn(never, refusing, streamed=True)

    assert never.model.last_call is None
    assert await conversation(refusing) == WHOLE[:2]


async def test_the_waiting_run_itself_goes_on_and_then_new_turns_do(memory, store, refusing) -> None:
    waiting = await parked(memory, refusing)
    await store.decide(waiting.requests[0], "approve", by="eve")
    with pytest.raises(SessionParked):  # ready is not resumed yet
        await refusing.add_items(NEW_TURN)

    await store.resume(waiting.id, agent(memory, "done"), session=refusing)
    await run(agent(memory, "hello again"), "and now?", session=refusing)

    assert await conversation(refusing) == [*WHOLE, "user", "assistant"]


async def test_a_new_turn_is_refused_while_the_run_is_resumed(memory, store, refusing) -> None:
    waiting = await parked(memory, refusing)
    await store.decide(waiting.requests[0], "approve", by="eve")
    await store.call("claim_run", run_id=waiting.id, owner="host:1:a", lease_s=60)

    with pytest.raises(SessionParked):
        await refusing.add_items(NEW_TURN)


async def test_what_begins_no_turn_may_be_added(memory, refusing) -> None:
    await parked(memory, refusing)

    await refusing.add_items([{"role": "assistant", "content": "Somebody looks at it."}])

    assert await conversation(refusing) == [*WHOLE[:2], "assistant"]
    assert len(await refusing.get_items(limit=2)) == 2


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "run_streamed"])
async def test_a_turn_that_is_encrypted_is_refused_and_its_resume_is_not(memory, store, encrypted, streamed) -> None:
    waiting = await parked(memory, encrypted)
    await store.decide(waiting.requests[0], "approve", by="eve")
    never = agent(memory, "never said")

    with pytest.raises(SessionParked):
        await turn(never, encrypted, streamed=streamed)
    done = await store.resume(waiting.id, agent(memory, "done"), session=encrypted)
    await run(agent(memory, "hello again"), "and now?", session=encrypted)

    assert never.model.last_call is None
    assert done.run.status == "finished"
    assert await conversation(encrypted) == [*WHOLE, "user", "assistant"]


async def test_a_run_of_an_encrypted_session_is_filed_where_that_is_kept(memory, store) -> None:
    below = memory.at_namespace("acme/kestrel/cy")
    inner: Any = DuckDBSession("conv", below, while_parked="refuse")
    session = EncryptedSession("conv", inner, "a key of some length")

    result = await run(agent(below, STEP), "hello", session=session)
    waiting = await store.park(result, session=session)

    assert waiting.namespace == "acme/kestrel/cy"
    assert [one.id for one in await store.runs()] == [waiting.id]
    with pytest.raises(SessionParked):
        await session.add_items(NEW_TURN)


async def test_other_sessions_and_those_that_go_on_are_not_held_up(memory, refusing) -> None:
    await parked(memory, refusing)

    for other in (
        DuckDBSession("other", memory, while_parked="refuse"),
        DuckDBSession("conv", memory, namespace="acme/other", while_parked="refuse"),
        DuckDBSession("conv", memory),
    ):
        await other.add_items(NEW_TURN)
        assert (await other.get_items(limit=1)) == NEW_TURN


async def test_a_run_that_is_resumed_elsewhere_begins_no_turn_here(memory, store, refusing) -> None:
    await parked(memory, refusing)
    other = await parked(memory, DuckDBSession("other", memory), [call("remember", "c2", content="Bo owns billing")])
    await store.decide(other.requests[0], "approve", by="eve")
    claim = await store.call("claim_run", run_id=other.id, owner="host:1:a", lease_s=60)
    token = current_run.set(CurrentRun(run_id=other.id, fence=claim.fence, memory=memory))

    with pytest.raises(SessionParked):
        await refusing.add_items(NEW_TURN)
    current_run.reset(token)


@pytest.mark.parametrize("value", ["wait", "", None, True, []])
def test_anything_else_is_refused_at_once(memory, value: Any) -> None:
    with pytest.raises(InvalidInput, match="'continue' or 'refuse'"):
        DuckDBSession("conv", memory, while_parked=value)
