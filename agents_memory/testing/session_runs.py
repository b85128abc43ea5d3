"""What a session has to do under the SDK's runner, as tests that anyone can run on theirs.

A subclass of `SessionRunContract` says how a session is opened, as in `session_conformance`.
"""
# ruff: noqa: D102 - the name of a test is its sentence

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    RunConfig,
    Runner,
    RunResult,
    RunResultStreaming,
    RunState,
    SessionSettings,
    function_tool,
)
from agents.testing import ScriptedModel, assistant_message, function_call

from agents_memory.testing.session_conformance import Open, SessionFiles, said

QUIET = RunConfig(tracing_disabled=True)


def outline(items: list[Any]) -> list[str]:
    """Each item in a word or two: its role, or its type and call."""
    return [
        str(item.get("role")) if "role" in item else f"{item['type'].removeprefix('function_')}:{item['call_id']}"
        for item in items
    ]


def assistant(steps: list[Any], *, asks: bool = False) -> tuple[Agent[Any], list[str]]:
    """An agent that plays `steps` and has a tool `note`, and what that tool was called with."""
    noted: list[str] = []

    @function_tool(needs_approval=asks)
    def note(text: str) -> str:
        """Write something down."""
        noted.append(text)
        return f"noted {text}"

    return Agent(name="assistant", model=ScriptedModel(steps), tools=[note]), noted


def call(text: str, call_id: str) -> Any:
    """A model's call of `note`."""
    return function_call("note", {"text": text}, call_id=call_id)


async def play(agent: Agent[Any], given: Any, session: Any, *, streamed: bool = False, **options: Any) -> Any:
    """Run to the end, streamed or not."""
    options.setdefault("run_config", QUIET)
    if not streamed:
        return await Runner.run(agent, given, session=session, **options)
    result = Runner.run_streamed(agent, given, session=session, **options)
    async for _ in result.stream_events():
        pass
    return result


async def approved(result: RunResult | RunResultStreaming, agent: Agent[Any]) -> RunState[Any]:
    """The run of `result`, through a string and back, with everything approved."""
    state = await RunState.from_string(agent, result.to_state().to_string())
    for item in state.get_interruptions():
        state.approve(item)
    return state


def check_calls_are_answered(items: list[Any]) -> None:
    """Every call has one output, after it and with no user item between."""
    calls = Counter(item["call_id"] for item in items if item.get("type") == "function_call")
    outputs = Counter(item["call_id"] for item in items if item.get("type") == "function_call_output")
    assert calls == outputs


class SessionRunContract(SessionFiles):
    """The cases that need a run."""

    @pytest.mark.parametrize("streamed", [False, True], ids=["run", "run_streamed"])
    async def test_a_turn_is_stored_and_read_by_the_next(self, open_session: Open, streamed: bool) -> None:
        session = open_session()
        agent, _ = assistant([[assistant_message("hello")], [assistant_message("again")]])

        await play(agent, "hi", session, streamed=streamed)
        await play(agent, "still there?", session, streamed=streamed)

        assert outline(await session.get_items()) == ["user", "assistant", "user", "assistant"]
        assert len(agent.model.last_call.input) == 3  # type: ignore[union-attr]

    @pytest.mark.parametrize("streamed", [False, True], ids=["run", "run_streamed"])
    async def test_a_call_and_its_output_are_stored_once_each(self, open_session: Open, streamed: bool) -> None:
        session = open_session()
        agent, noted = assistant([[call("a", "c1"), call("b", "c2")], [assistant_message("done")]])

        await play(agent, "note both", session, streamed=streamed)

        items = await session.get_items()
        check_calls_are_answered(items)
        assert outline(items) == ["user", "call:c1", "call:c2", "call_output:c1", "call_output:c2", "assistant"]
        assert sorted(noted) == ["a", "b"]

    async def test_a_parked_run_goes_on_in_a_new_object(self, open_session: Open) -> None:
        session = open_session()
        agent, noted = assistant([[call("a", "c1")], [assistant_message("done")]], asks=True)
        parked = await play(agent, "note a", session)
        before = outline(await session.get_items())
        session.close()

        await play(agent, await approved(parked, agent), reopened := open_session())

        assert before == ["user", "call:c1"]
        assert outline(await reopened.get_items()) == ["user", "call:c1", "call_output:c1", "assistant"]
        assert noted == ["a"]

    async def test_streamed_or_not_a_resumed_run_stores_the_same(self, open_session: Open) -> None:
        stored = []
        for streamed in (False, True):
            session = open_session(f"streamed {streamed}")
            agent, _ = assistant([[call("a", "c1")], [assistant_message("done")]], asks=True)
            parked = await play(agent, "note a", session, streamed=streamed)
            await play(agent, await approved(parked, agent), session, streamed=streamed)
            stored.append(await session.get_items())

        assert stored[0] == stored[1]

    async def test_a_rejected_call_has_an_output_too(self, open_session: Open) -> None:
        session = open_session()
        agent, noted = assistant([[call("a", "c1")], [assistant_message("fine")]], asks=True)
        parked = await play(agent, "note a", session)
        state = parked.to_state()
        state.reject(state.get_interruptions()[0])

        await play(agent, state, session)

        assert outline(await session.get_items()) == ["user", "call:c1", "call_output:c1", "assistant"]
        assert noted == []

    async def test_the_run_config_bounds_what_is_read(self, open_session: Open) -> None:
        session = open_session()
        await session.add_items([said(str(n)) for n in range(10)])
        agent, _ = assistant([[assistant_message("ok")]])

        config = RunConfig(tracing_disabled=True, session_settings=SessionSettings(limit=2))
        await play(agent, "now", session, run_config=config)

        assert len(agent.model.last_call.input) == 3  # type: ignore[union-attr]
        assert len(await session.get_items()) == 12

    async def test_an_input_callback_rewrites_no_history(self, open_session: Open) -> None:
        session = open_session()
        await session.add_items([said("old"), said("older")])
        agent, _ = assistant([[assistant_message("ok")]])

        config = RunConfig(tracing_disabled=True, session_input_callback=lambda history, new: history[-1:] + new)
        await play(agent, [said("now")], session, run_config=config)

        assert [item["content"] for item in (await session.get_items())[:3]] == ["old", "older", "now"]

    async def test_a_tripped_guardrail_stores_no_answer(self, open_session: Open) -> None:
        session = open_session()
        agent, _ = assistant([[assistant_message("never")]])
        trips = InputGuardrail(
            guardrail_function=lambda *_: GuardrailFunctionOutput(output_info=None, tripwire_triggered=True),
            run_in_parallel=False,
        )

        with pytest.raises(InputGuardrailTripwireTriggered):
            await play(agent.clone(input_guardrails=[trips]), "bad", session)

        assert outline(await session.get_items()) == ["user"]

    async def test_running_out_of_turns_keeps_whole_pairs(self, open_session: Open) -> None:
        session = open_session()
        agent, _ = assistant([[call(str(n), f"c{n}")] for n in range(3)])

        with pytest.raises(MaxTurnsExceeded):
            await play(agent, "go on", session, max_turns=2)

        check_calls_are_answered(await session.get_items())

    async def test_cancelling_after_a_turn_stores_the_turn(self, open_session: Open) -> None:
        session = open_session()
        agent, _ = assistant([[call("a", "c1")], [assistant_message("never asked for")]])

        result = Runner.run_streamed(agent, "note a", session=session, run_config=QUIET)
        async for event in result.stream_events():
            if event.type == "run_item_stream_event":
                result.cancel(mode="after_turn")

        assert outline(await session.get_items()) == ["user", "call:c1", "call_output:c1"]

    async def test_a_failed_write_is_made_up_for_without_calling_twice(
        self, open_session: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = open_session()
        agent, noted = assistant([[call("a", "c1")], [assistant_message("done")]], asks=True)
        state = await approved(await play(agent, "note a", session), agent)
        with monkeypatch.context() as failing:
            failing.setattr(session, "add_items", _failing)
            with pytest.raises(OSError, match="disk"):
                await play(agent, state, session)

        again = await RunState.from_string(agent, state.to_string())
        await play(agent, again, session)

        assert outline(await session.get_items()) == ["user", "call:c1", "call_output:c1", "assistant"]
        assert noted == ["a"]


async def _failing(_: list[Any]) -> None:
    raise OSError("no space left on disk")
