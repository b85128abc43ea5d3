"""What model calls cost is counted once, with the session whose items came of them."""

import asyncio
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    RunContextWrapper,
    Runner,
    RunState,
    function_tool,
)
from agents.testing import ModelStep, ScriptedModel, assistant_message
from agents.usage import Usage
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from agents_memory import Memory
from agents_memory.errors import NotFound, StorageError
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.usage import Meter
from tests.unit.sdk.conftest import NAMESPACE, QUIET, call, run


def spends(tokens: int, *output: Any) -> ModelStep:
    """A model's answer that cost `tokens`, one of them written."""
    said = [assistant_message(item) if isinstance(item, str) else item for item in output]
    return ModelStep(said, usage=Usage(requests=1, input_tokens=tokens - 1, output_tokens=1, total_tokens=tokens))


@function_tool
def look(where: str) -> str:
    """Look."""
    return where


@function_tool(needs_approval=True)
def send(to: str) -> str:
    """Send."""
    return to


def scripted(*steps: ModelStep, name: str = "assistant", tools: Any = (look, send), **options: Any) -> Agent[Any]:
    return Agent(name=name, tools=list(tools), model=ScriptedModel(list(steps)), **options)


async def tokens(session: DuckDBSession) -> int:
    spent = await session.get_session_usage()
    return 0 if spent is None else spent["total_tokens"]


async def tokens_by_turn(session: DuckDBSession) -> dict[int, int]:
    turns: Any = await session.get_turn_usage()
    return {turn["user_turn_number"]: turn["total_tokens"] for turn in turns}


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "streamed"])
async def test_every_model_call_of_a_run_is_counted_with_its_turn(session, streamed) -> None:
    assistant = scripted(spends(10, call("look", where="x")), spends(20, "there"), spends(40, "again"))

    for text in ("one", "two"):
        if streamed:
            stream = Runner.run_streamed(assistant, text, session=session, run_config=QUIET)
            async for _ in stream.stream_events():
                pass
        else:
            await run(assistant, text, session=session)

    assert await tokens_by_turn(session) == {1: 30, 2: 40}
    assert await session.get_session_usage() == {
        "requests": 3, "input_tokens": 67, "output_tokens": 3, "total_tokens": 70, "total_turns": 2,
    }  # fmt: skip


async def test_the_details_of_tokens_are_counted(session) -> None:
    usage = Usage(
        requests=1,
        input_tokens=9,
        input_tokens_details=InputTokensDetails.model_validate({"cached_tokens": 4, "cache_write_tokens": 2}),
        output_tokens=3,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=1),
        total_tokens=12,
    )
    await run(scripted(ModelStep([assistant_message("hi")], usage=usage)), "hello", session=session)

    assert await session.get_turn_usage(1) == {
        "requests": 1,
        "input_tokens": 9,
        "output_tokens": 3,
        "total_tokens": 12,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 1},
    }


async def test_storing_by_hand_what_was_counted_changes_nothing(session) -> None:
    result = await run(scripted(spends(10, "hi")), "hello", session=session)

    await session.store_run_usage(result)
    await session.store_run_usage(result)

    assert await tokens(session) == 10


async def test_a_run_without_the_session_is_counted_once_by_hand(session) -> None:
    await session.add_items([{"role": "user", "content": "hello"}])
    result = await run(scripted(spends(10, "hi")), "hello")

    await session.store_run_usage(result)
    await session.store_run_usage(result)

    assert await tokens_by_turn(session) == {1: 10}


async def test_usage_that_found_nothing_to_be_counted_with_is_not_lost(session) -> None:
    result = await run(scripted(spends(10, "hi")), "hello")
    with pytest.raises(NotFound):
        await session.store_run_usage(result)
    await session.add_items([{"role": "user", "content": "hello"}])

    await session.store_run_usage(result)

    assert await tokens(session) == 10


async def test_an_agent_that_is_a_tool_is_counted_in_its_own_session_where_it_has_one(memory) -> None:
    outer, inner = DuckDBSession("outer", memory), DuckDBSession("inner", memory)
    researcher = scripted(spends(100, "found"), spends(200, "found more"), name="researcher")
    research = researcher.as_tool("research", "Research.", session=inner, run_config=QUIET)
    ask = [call("research", f"o{number}", input="x") for number in range(2)]
    planner = scripted(spends(1, ask[0]), spends(2, ask[1]), spends(4, "done"), tools=[research])

    result = await run(planner, "hello", session=outer)

    assert result.context_wrapper.usage.total_tokens == 307
    assert (await tokens(outer), await tokens(inner)) == (7, 300)
    assert await tokens_by_turn(inner) == {1: 100, 2: 200}


async def test_an_agent_that_is_a_tool_without_a_session_is_counted_in_the_outer_one(session) -> None:
    research = scripted(spends(100, "found"), name="researcher").as_tool("research", "Research.", run_config=QUIET)

    await run(
        scripted(spends(1, call("research", input="x")), spends(2, "done"), tools=[research]), "x", session=session
    )

    assert await tokens_by_turn(session) == {1: 103}


async def test_agents_that_are_tools_at_once_count_every_token_once(memory) -> None:
    outer = DuckDBSession("outer", memory)
    inner = [DuckDBSession(f"inner {number}", memory) for number in range(4)]
    tools = [
        scripted(spends(100, "found"), name=f"r{number}").as_tool(f"r{number}", "R.", session=one, run_config=QUIET)
        for number, one in enumerate(inner)
    ]
    calls = [call(f"r{number}", f"o{number}", input="x") for number in range(4)]

    await run(scripted(spends(1, *calls), spends(2, "done"), tools=tools), "hello", session=outer)

    assert sum([await tokens(one) for one in (outer, *inner)]) == 403


async def test_a_run_that_is_handed_over_is_counted_to_its_end(session) -> None:
    helper = scripted(spends(20, "done"), name="helper")
    triage = scripted(spends(10, call("transfer_to_helper", "h1")), name="triage", handoffs=[helper])

    await run(triage, "hello", session=session)

    assert await tokens_by_turn(session) == {1: 30}


async def test_a_run_resumed_in_process_counts_on(session) -> None:
    assistant = scripted(spends(10, call("send", to="eve")), spends(20, "sent"))
    state = (await run(assistant, "hello", session=session)).to_state()
    state.approve(state.get_interruptions()[0])

    await Runner.run(assistant, state, session=session, run_config=QUIET)

    assert await tokens_by_turn(session) == {1: 30}


async def test_what_was_spent_before_a_run_was_parked_is_not_counted_again(file) -> None:
    with Memory.open(file, namespace=NAMESPACE) as first:
        session = DuckDBSession("conv", first)
        parked = await run(scripted(spends(10, call("send", to="eve"))), "hello", session=session)
        run_id = (await RunStateStore(first).park(parked, session=session)).id
        await RunStateStore(first).decide("a1", "approve", by="eve")
    with Memory.open(file, namespace=NAMESPACE) as second:
        done = await RunStateStore(second).resume(run_id, scripted(spends(20, "sent")), run_config=QUIET)
        session = DuckDBSession("conv", second)
        assert done.result is not None
        await session.store_run_usage(done.result)

        assert done.result.context_wrapper.usage.total_tokens == 30
        assert await tokens_by_turn(session) == {1: 30}


async def test_a_state_read_from_text_counts_on_without_the_store(session) -> None:
    text = (await run(scripted(spends(10, call("send", to="eve"))), "hello", session=session)).to_state().to_string()
    assistant = scripted(spends(20, "sent"))
    state = await RunState.from_string(assistant, text)
    state.approve(state.get_interruptions()[0])

    await Runner.run(assistant, state, session=session, run_config=QUIET)

    assert await tokens_by_turn(session) == {1: 30}


async def test_a_failed_attempt_and_the_next_are_both_counted(memory, session) -> None:
    store = RunStateStore(memory)
    parked = await run(scripted(spends(10, call("send", to="eve"))), "hello", session=session)
    run_id = (await store.park(parked, session=session)).id
    await store.decide("a1", "approve", by="eve")
    failing = scripted(spends(20, call("look", "c2", where="x")), ModelStep([], error=RuntimeError("model is down")))
    with pytest.raises(RuntimeError):
        await store.resume(run_id, failing, run_config=QUIET)

    await store.resume(run_id, scripted(spends(40, "sent")), run_config=QUIET)

    assert await tokens(session) == 70


def trips(*_: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)


async def test_after_a_guardrail_tripped_the_next_run_counts_its_own(session) -> None:
    guarded = scripted(spends(10, "no"), output_guardrails=[OutputGuardrail(guardrail_function=trips)])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await run(guarded, "hello", session=session)
    first = scripted(input_guardrails=[InputGuardrail(guardrail_function=trips, run_in_parallel=False)])
    with pytest.raises(InputGuardrailTripwireTriggered):
        await run(first, "hello again", session=session)
    assert await tokens(session) == 0

    await run(scripted(spends(20, "hi")), "and again", session=session)

    assert await tokens(session) == 20


async def test_what_a_tripped_run_spent_can_be_stored_by_hand(session) -> None:
    guarded = scripted(spends(10, "no"), output_guardrails=[OutputGuardrail(guardrail_function=trips)])
    with pytest.raises(OutputGuardrailTripwireTriggered) as tripped:
        await run(guarded, "hello", session=session)

    await session.store_run_usage(tripped.value.run_data)

    assert await tokens_by_turn(session) == {1: 10}


async def test_an_encrypted_session_counts(memory, session) -> None:
    pytest.importorskip("cryptography")
    from agents.extensions.memory import EncryptedSession

    encrypted = EncryptedSession("conv", session, "a key of some length")

    await run(scripted(spends(10, call("look", where="x")), spends(20, "hi")), "hello", session=encrypted)

    assert await tokens(session) == 30


async def test_a_compacting_session_passes_no_context_so_that_usage_is_stored_by_hand(session) -> None:
    from agents.memory import OpenAIResponsesCompactionSession
    from openai import AsyncOpenAI

    compacting = OpenAIResponsesCompactionSession(
        "conv", session, client=AsyncOpenAI(api_key="none"), should_trigger_compaction=lambda _: False
    )
    result = await run(scripted(spends(10, call("look", where="x")), spends(20, "hi")), "hello", session=compacting)
    assert await tokens(session) == 0

    await session.store_run_usage(result)
    await session.store_run_usage(result)

    assert await tokens_by_turn(session) == {1: 30}


class Failing(DuckDBSession):
    """Fails at chosen batches, counted from 1."""

    fails_at: tuple[int, ...] = ()
    batches = 0

    def _call(self, memory: Memory, operation: str, **arguments: Any) -> Any:
        self.batches += operation == "session_append"
        if operation == "session_append" and self.batches in self.fails_at:
            raise StorageError("The disk is full.")
        return super()._call(memory, operation, **arguments)


async def test_what_a_failed_batch_was_to_count_is_counted_with_the_next(memory) -> None:
    session = Failing("conv", memory)
    session.fails_at = (2,)
    context: Any = RunContextWrapper(None)
    await session.add_items([{"role": "user", "content": "hello"}], wrapper=context)
    context.usage.add(Usage(requests=1, input_tokens=9, output_tokens=1, total_tokens=10))
    with pytest.raises(StorageError):
        await session.add_items([{"role": "assistant", "content": "lost"}], wrapper=context)
    context.usage.add(Usage(requests=1, input_tokens=19, output_tokens=1, total_tokens=20))

    await session.add_items([{"role": "assistant", "content": "hi"}], wrapper=context)

    assert await tokens_by_turn(session) == {1: 30}


async def test_a_batch_whose_caller_was_cancelled_is_counted_once(session) -> None:
    context: Any = RunContextWrapper(None)
    await session.add_items([{"role": "user", "content": "hello"}], wrapper=context)
    context.usage.add(Usage(requests=1, input_tokens=9, output_tokens=1, total_tokens=10))
    adding = asyncio.ensure_future(session.add_items([{"role": "assistant", "content": "hi"}], wrapper=context))
    await asyncio.sleep(0)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    written = len(await session.get_items()) == 2

    await session.add_items([{"role": "assistant", "content": "more"}], wrapper=context)

    assert written
    assert await tokens(session) == 10


async def test_what_was_taken_away_was_spent_all_the_same(session) -> None:
    await run(scripted(spends(10, "hi")), "hello", session=session)
    await run(scripted(spends(20, "hi")), "again", session=session)
    await session.pop_item()
    await session.pop_item()
    assert (await tokens(session), await tokens_by_turn(session)) == (30, {1: 10})

    await session.clear_session()

    assert (await tokens(session), await tokens_by_turn(session)) == (30, {})


async def test_a_run_that_is_over_is_forgotten() -> None:
    meter = Meter()
    context: Any = RunContextWrapper(None)
    meter.begin(context, ("main", "s"))
    assert len(meter._runs) == 1

    del context

    assert not meter._runs
