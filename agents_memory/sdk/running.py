"""`run`: a run that parks by itself when it stops for a person, and says what is next."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, overload

from agents import Agent, RunConfig, RunHooks, Runner, RunResult, RunResultStreaming, StreamEvent, TResponseInputItem
from agents.memory import Session
from agents.run_config import DEFAULT_MAX_TURNS

from agents_memory.memory import Memory
from agents_memory.sdk.current import working_in
from agents_memory.sdk.events import Ended, Events, events_of
from agents_memory.sdk.parking import turns_left
from agents_memory.sdk.routing import MemoryOf, memory_for
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.types import ApprovalRequest, ParkedRun
from agents_memory.view import When


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of a run, and what is next.

    Attributes:
        result: What the SDK returned.
        parked: The run in the queue, when it stopped for a person: decide its requests, then resume it by its id. One
            of status `ready` has nothing that a person could decide; resume it at once.
        requests: The requests of it that wait.
    """

    result: RunResult | RunResultStreaming
    parked: ParkedRun | None = None
    requests: tuple[ApprovalRequest, ...] = ()

    @property
    def final_output(self) -> Any:
        """What the agent said at the end; None while the run waits."""
        return self.result.final_output

    @property
    def turns_left(self) -> int | None:
        """How many more turns the run may take once it is resumed; None without a limit.

        `max_turns` is kept with a parked run and cannot be raised any more. With 0 a resume carries out what was
        approved and then fails, since the model cannot be asked again.
        """
        return turns_left(self.result)


@overload
def run(
    agent: Agent[Any],
    input: str | list[TResponseInputItem],
    *,
    memory: Memory | MemoryOf,
    session: str | Session | None = ...,
    context: Any = ...,
    run_config: RunConfig | None = ...,
    hooks: RunHooks[Any] | None = ...,
    max_turns: int | None = ...,
    store: RunStateStore | None = ...,
    expires_at: When | None = ...,
    stream: Literal[False] = ...,
) -> Coroutine[Any, Any, Ran]: ...


@overload
def run(
    agent: Agent[Any],
    input: str | list[TResponseInputItem],
    *,
    memory: Memory | MemoryOf,
    session: str | Session | None = ...,
    context: Any = ...,
    run_config: RunConfig | None = ...,
    hooks: RunHooks[Any] | None = ...,
    max_turns: int | None = ...,
    store: RunStateStore | None = ...,
    expires_at: When | None = ...,
    stream: Literal[True],
) -> Events[Ran]: ...


def run(
    agent: Agent[Any],
    input: str | list[TResponseInputItem],  # noqa: A002 - the SDK's word
    *,
    memory: Memory | MemoryOf,
    session: str | Session | None = None,
    context: Any = None,
    run_config: RunConfig | None = None,
    hooks: RunHooks[Any] | None = None,
    max_turns: int | None = DEFAULT_MAX_TURNS,
    store: RunStateStore | None = None,
    expires_at: When | None = None,
    stream: bool = False,
) -> Coroutine[Any, Any, Ran] | Events[Ran]:
    """Run an agent, and park the run when it stops for a person.

    `await run(...)` gives a `Ran`. With `stream=True` it is not awaited but read with `async for`: it gives the SDK's
    events, and has the same `Ran` as its `outcome` once all were read, which is also when the run is parked.

    Args:
        agent: The agent, such as one made by `attach`.
        input: What the user says, as for `Runner.run`.
        memory: The memory of the conversation and the queue, or a callable that picks it by the run's context.
        session: The conversation: any session of the SDK, or the id of one that is kept in the memory. Writes of
            memory tools that were made without one name it.
        context: As for `Runner.run`.
        run_config: As for `Runner.run`.
        hooks: As for `Runner.run`.
        max_turns: As for `Runner.run`. It is kept with a parked run and counts on when that is resumed.
        store: Where to park, when that shall have a `key` or `on_parked`; a plain `RunStateStore` of the memory when
            left out.
        expires_at: When the requests stop waiting, if the run is parked.
        stream: Give events.

    Raises:
        InvalidInput: The id is no session id.
        CannotPark: The SDK cannot keep the run.
        Exception: Whatever `Runner.run` raises.
    """
    kept_in = DuckDBSession(session, memory) if isinstance(session, str) else session
    given: dict[str, Any] = {
        "context": context,
        "run_config": run_config,
        "hooks": hooks,
        "max_turns": max_turns,
        "session": kept_in,
    }
    parking = _Parking(memory=memory, session=kept_in, store=store, expires_at=expires_at)
    if stream:
        return Events(_streamed(agent, input, given, parking))
    return _awaited(agent, input, given, parking)


def run_sync(
    agent: Agent[Any],
    input: str | list[TResponseInputItem],  # noqa: A002 - the SDK's word
    *,
    memory: Memory | MemoryOf,
    session: str | Session | None = None,
    context: Any = None,
    run_config: RunConfig | None = None,
    hooks: RunHooks[Any] | None = None,
    max_turns: int | None = DEFAULT_MAX_TURNS,
    store: RunStateStore | None = None,
    expires_at: When | None = None,
) -> Ran:
    """As `run`, for code that awaits nothing, on the thread's own event loop, as `Runner.run_sync`.

    Raises:
        RuntimeError: An event loop is running in this thread; await `run` there.
    """
    running = run(
        agent,
        input,
        memory=memory,
        session=session,
        context=context,
        run_config=run_config,
        hooks=hooks,
        max_turns=max_turns,
        store=store,
        expires_at=expires_at,
    )
    return _on_own_loop(running)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parking:
    """Where a run goes that stops."""

    memory: Memory | MemoryOf
    session: Session | None
    store: RunStateStore | None
    expires_at: When | None

    async def outcome(self, result: RunResult | RunResultStreaming) -> Ran:
        if not result.interruptions:
            return Ran(result=result)
        store = self.store or RunStateStore(memory_for(self.memory, result.context_wrapper))
        parked = await store.park(result, session=self.session, expires_at=self.expires_at)
        waiting = [request for request in await store.pending() if request.run_id == parked.id]
        return Ran(result=result, parked=parked, requests=tuple(waiting))


async def _awaited(agent: Agent[Any], said: Any, given: dict[str, Any], parking: _Parking) -> Ran:
    with working_in(parking.session):
        result = await Runner.run(agent, said, **given)
    return await parking.outcome(result)


async def _streamed(
    agent: Agent[Any], said: Any, given: dict[str, Any], parking: _Parking
) -> AsyncGenerator[StreamEvent | Ended[Ran]]:
    with working_in(parking.session):
        streamed = Runner.run_streamed(agent, said, **given)
    async for event in events_of(streamed):
        yield event
    yield Ended(await parking.outcome(streamed))


def _on_own_loop(running: Coroutine[Any, Any, Ran]) -> Ran:
    """Run to the end on the loop of this thread, which stays open: a model's client is bound to the loop it met."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        running.close()
        raise RuntimeError("run_sync cannot be called while an event loop is running. Await run(...) instead.")
    loop = _own_loop()
    task = loop.create_task(running)
    try:
        return loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            task.cancel()
            loop.run_until_complete(asyncio.wait([task]))
        raise


def _own_loop() -> asyncio.AbstractEventLoop:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the SDK's run_sync uses the same loop in the same way
        policy = asyncio.get_event_loop_policy()
        try:
            loop = policy.get_event_loop()
        except RuntimeError:
            loop = None
        if loop is None or loop.is_closed():
            loop = policy.new_event_loop()
            policy.set_event_loop(loop)
    return loop
