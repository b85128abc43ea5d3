"""Resuming a parked run: claim, verify, apply the decisions, run, and record what became of it.

Whatever happens in between leaves the run where somebody can resume it: a state that does not fit is given back as it
was, a failure is recorded and the conversation taken back, and a process that dies loses its claim.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, cast

from agents import Agent, RunConfig, RunHooks, Runner, RunResult, RunResultStreaming, RunState, StreamEvent
from agents.exceptions import AgentsException
from agents.items import ToolApprovalItem
from agents.memory import Session
from pydantic_core import to_jsonable_python

from agents_memory._threads import settled
from agents_memory.approvals.calls import arguments_digest
from agents_memory.errors import AgentsMemoryError, CannotResume, LeaseLost
from agents_memory.memory import Memory
from agents_memory.sdk.checkpoints import Checkpoints
from agents_memory.sdk.current import CurrentRun, working_in
from agents_memory.sdk.events import Ended, events_of
from agents_memory.sdk.parking import call_of, stopped
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.states import binding_of, opened, saved, tools_of
from agents_memory.sdk.usage import METER
from agents_memory.types import Claim, ParkedRun, RunStatus, Verdict

LEASE_S: Final = 60.0
"""A resume renews its claim three times within this; one that stood still for longer has lost it."""

_log = logging.getLogger("agents_memory")


class Store(Protocol):
    """What resuming needs of a `RunStateStore`."""

    memory: Memory
    key: bytes | None

    async def call(self, operation: str, **arguments: Any) -> Any:
        """An operation of the catalogue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What became of a resumed run.

    Attributes:
        run: The run as it stands now: finished, or parked again.
        result: What the SDK returned; None when the run had finished before.
        repeated: Whether it had finished before, so that nothing was run this time.
    """

    run: ParkedRun
    result: RunResult | RunResultStreaming | None
    repeated: bool = False

    @property
    def final_output(self) -> str | None:
        """The final output as text, once the run is finished."""
        return self.run.result


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a run is to be resumed; see `RunStateStore.resume`.

    Attributes:
        agent: The agent that the run started with.
        session: Its conversation, if given.
        context: The application's context.
        run_config: As for `Runner.run`.
        hooks: As for `Runner.run`.
        lease_s: Seconds for which a claim holds unless it is renewed.
        partial: Whether to do what is decided although some requests still wait.
    """

    agent: Agent[Any]
    session: Session | None = None
    context: Any = None
    run_config: RunConfig | None = None
    hooks: RunHooks[Any] | None = None
    lease_s: float = LEASE_S
    partial: bool = False


async def resume(store: Store, run_id: str, asked: Asked) -> Resumed:
    """See `RunStateStore.resume`."""
    if (over := await _finished(store, run_id)) is not None:
        return over
    async with _attempt(store, run_id, asked) as (attempt, state):
        result = await attempt.run(state)
        return Resumed(run=await attempt.recorded(result), result=result)


async def resume_streamed(store: Store, run_id: str, asked: Asked) -> AsyncGenerator[StreamEvent | Ended[Resumed]]:
    """As `resume`, event by event. A reader that leaves early ends the attempt like a failure."""
    if (over := await _finished(store, run_id)) is not None:
        yield Ended(over)
        return
    async with _attempt(store, run_id, asked) as (attempt, state):
        result = attempt.started(state)
        async with aclosing(attempt.events(result)) as events:
            async for event in events:
                yield event
        done = Resumed(run=await attempt.recorded(result), result=result)
    yield Ended(done)


async def _finished(store: Store, run_id: str) -> Resumed | None:
    run = cast("ParkedRun", await store.call("get_run", run_id=run_id))
    return Resumed(run=run, result=None, repeated=True) if run.status is RunStatus.FINISHED else None


@asynccontextmanager
async def _attempt(store: Store, run_id: str, asked: Asked) -> AsyncIterator[tuple[_Attempt, RunState[Any]]]:
    """A claim on the run and its state, with which the block runs it and records what became of it."""
    attempt = await _claimed(store, run_id, asked)
    try:
        state = await attempt.restored()
        attempt = replace(attempt, session=attempt.session_for(asked.session))
    except BaseException:
        await attempt.leave("release_run")
        raise
    try:
        yield attempt, state
    except LeaseLost:
        raise
    except BaseException as error:
        await attempt.leave("fail_run", error=type(error).__name__)
        raise


async def give_up(store: Store, run_id: str, *, error: str) -> ParkedRun:
    """Record that a run cannot be resumed now, without trying: it counts as a failure, and no other claim is open."""
    claim = cast("Claim", await store.call("claim_run", run_id=run_id, owner=_owner(), lease_s=LEASE_S))
    return cast("ParkedRun", await store.call("fail_run", run_id=run_id, fence=claim.fence, error=error))


async def _claimed(store: Store, run_id: str, asked: Asked) -> _Attempt:
    """Claim the run; a caller that is cancelled meanwhile leaves no claim behind."""
    wanted = {"run_id": run_id, "owner": _owner(), "lease_s": asked.lease_s, "partial": asked.partial}
    claiming = asyncio.ensure_future(store.call("claim_run", **wanted))
    try:
        await settled(claiming)
    except asyncio.CancelledError:
        if claiming.exception() is None:
            await _Attempt(store=store, claim=claiming.result(), asked=asked).leave("release_run")
        raise
    return _Attempt(store=store, claim=cast("Claim", claiming.result()), asked=asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One claim on a run, from its state to its outcome."""

    store: Store
    claim: Claim
    asked: Asked
    session: Session | None = None

    @property
    def held(self) -> dict[str, Any]:
        """The claim, as operations take it."""
        return {"run_id": self.claim.run.id, "fence": self.claim.fence}

    @property
    def binding(self) -> str:
        """What the state's signature ties it to."""
        run = self.claim.run
        return binding_of(run.namespace, run.session_id, run.branch, run.starting_agent)

    async def restored(self) -> RunState[Any]:
        """The SDK's state with the decisions applied.

        Raises:
            CannotResume: The state or the agent does not fit.
        """
        run, agent = self.claim.run, self.asked.agent
        if agent.name != run.starting_agent:
            raise CannotResume(
                f"{run.id} was started with the agent {run.starting_agent!r}, not {agent.name!r}. Pass that one.",
                run_id=run.id,
                starting_agent=run.starting_agent,
            )
        text = opened(self.claim, key=self.store.key, binding=self.binding)
        try:
            state = await RunState.from_string(agent, text, context_override=self.asked.context)
        except AgentsException as error:
            raise CannotResume(f"{run.id} does not fit the agent {agent.name!r}: {error}", run_id=run.id) from error
        except Exception as error:  # the SDK lets out whatever a state that it did not write makes it stumble over
            raise CannotResume(
                f"The SDK cannot read the state of {run.id} ({type(error).__name__}).", run_id=run.id
            ) from error
        items = state.get_interruptions()
        _check_tools(self.claim, items)
        _apply(self.claim, state, items)
        return state

    def session_for(self, given: Session | None) -> Session | None:
        """The conversation to go on in.

        Raises:
            CannotResume: The given one is another, or none was given and it is not kept here.
        """
        run = self.claim.run
        if given is not None and given.session_id != run.session_id:
            raise CannotResume(
                f"{run.id} belongs to the session {run.session_id!r}, not {given.session_id!r}. Pass that one, "
                "or none.",
                run_id=run.id,
                session_id=run.session_id,
            )
        if isinstance(given, DuckDBSession) and self.claim.session_is_ours:
            return given.kept_in(self.store.memory.at_namespace(run.namespace), branch=run.branch)
        if self.claim.session_is_ours and given is not None:
            raise CannotResume(
                f"{run.id} belongs to a conversation of this memory, and {type(given).__name__} is another of the same "
                "id. Pass the DuckDBSession, or none.",
                run_id=run.id,
                session_id=run.session_id,
            )
        if given is not None or run.session_id is None:
            return given
        if not self.claim.session_is_ours:
            raise CannotResume(
                f"{run.id} belongs to the session {run.session_id!r}, which is not kept in this memory. Pass it.",
                run_id=run.id,
                session_id=run.session_id,
            )
        memory = self.store.memory.at_namespace(run.namespace)
        return DuckDBSession(run.session_id, memory, branch=run.branch)

    async def run(self, state: RunState[Any]) -> RunResult:
        """Run the agent while the claim is renewed.

        Raises:
            LeaseLost: The claim was lost; the run was stopped.
        """
        running = asyncio.create_task(self._run(state))
        beating = asyncio.create_task(self._beat())
        try:
            await asyncio.wait({running, beating}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                await _stop(running)
                await beating
            return await running
        finally:
            await _stop(beating, running)

    def started(self, state: RunState[Any]) -> RunResultStreaming:
        """Start the agent, for `events` to be read."""
        with self._at_work(state):
            return Runner.run_streamed(self.asked.agent, state, **self._options(state))

    async def events(self, streamed: RunResultStreaming) -> AsyncGenerator[StreamEvent]:
        """The events of the started run, while the claim is renewed and they are read.

        Raises:
            LeaseLost: The claim was lost, or nobody read on for as long as it holds; the run was stopped.
        """
        clock = asyncio.get_running_loop().time
        handed_out_at: float | None = None

        def is_read() -> bool:
            return handed_out_at is None or clock() - handed_out_at < self.claim.lease_s

        beating = asyncio.create_task(self._beat(is_read))
        beating.add_done_callback(lambda task: None if task.cancelled() else streamed.cancel())
        try:
            async with aclosing(events_of(streamed)) as events:
                async for event in events:
                    handed_out_at = clock()
                    yield event
                    handed_out_at = None
            if beating.done():
                await beating
        finally:
            await _stop(beating)

    async def recorded(self, result: RunResult | RunResultStreaming) -> ParkedRun:
        """Finish the run, or park it again."""
        if not result.interruptions:
            return cast(
                "ParkedRun", await self.store.call("finish_run", result=_text(result.final_output), **self.held)
            )
        state, items = stopped(result)
        arguments = {
            **saved(state, items, key=self.store.key, binding=self.binding),
            "calls": [call_of(item, result) for item in items],
            "current_agent": result.last_agent.name,
            "waiting": list(self.claim.waiting),
        }
        return cast("ParkedRun", await self.store.call("repark_run", **arguments, **self.held))

    async def leave(self, operation: str, **arguments: Any) -> None:
        """End the claim because of an error, which is the one that the caller sees."""
        try:
            await self.store.call(operation, **self.held, **arguments)
        except AgentsMemoryError as error:
            _log.warning("%s of %s failed: %s", operation, self.claim.run.id, error.code)

    async def _run(self, state: RunState[Any]) -> RunResult:
        with self._at_work(state):
            return await Runner.run(self.asked.agent, state, **self._options(state))

    def _at_work(self, state: RunState[Any]) -> AbstractContextManager[None]:
        if self.session is not None:
            # a state that goes on with a model call is seen by the session only after it
            METER.begin(state._context, (self.claim.run.namespace, self.session.session_id))
        run = CurrentRun(run_id=self.claim.run.id, fence=self.claim.fence, memory=self.store.memory)
        return working_in(self.session, run)

    def _options(self, state: RunState[Any]) -> dict[str, Any]:
        asked = self.asked
        watching = Checkpoints(
            self.store, self.claim, state=state, agent=asked.agent, binding=self.binding, inner=asked.hooks
        )
        return {
            "context": asked.context,
            "run_config": asked.run_config,
            "hooks": watching,
            "session": self.session,
        }

    async def _beat(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        while True:
            await asyncio.sleep(self.claim.lease_s / 3)
            if not is_wanted():
                run = self.claim.run
                raise LeaseLost(f"Nobody read the events of {run.id} on; it can be resumed again.", run_id=run.id)
            try:
                await self.store.call("renew_lease", lease_s=self.claim.lease_s, **self.held)
            except AgentsMemoryError as error:
                if not error.retryable:
                    raise  # a retryable one has two more beats before the lease is over


def _check_tools(claim: Claim, items: list[ToolApprovalItem]) -> None:
    found: Mapping[str, str | None] = tools_of(items)
    for name, fingerprint in json.loads(claim.tools).items():
        if fingerprint is None or found.get(name) == fingerprint:
            continue
        what = "is missing" if found.get(name) is None else "takes other parameters than when it was called"
        raise CannotResume(
            f"{claim.run.id} cannot go on: the tool {name} (agent/tool) {what}. Resume it with the tool as it was.",
            run_id=claim.run.id,
            tool=name,
        )


def _apply(claim: Claim, state: RunState[Any], items: list[ToolApprovalItem]) -> None:
    verdicts = list(claim.verdicts)
    for item in items:
        verdict = next((one for one in verdicts if _is_about(one, item)), None)
        if verdict is None:
            continue  # it waits still, or was decided in process before the run was parked
        verdicts.remove(verdict)
        if verdict.approved:
            state.approve(item, always_approve=verdict.always)
        else:
            state.reject(item, rejection_message=verdict.message)
    if items and verdicts:
        raise CannotResume(
            f"The state of {claim.run.id} lacks the call of {verdicts[0].request_id}.", run_id=claim.run.id
        )


def _is_about(verdict: Verdict, item: ToolApprovalItem) -> bool:
    return (verdict.call_id, verdict.tool, verdict.agent, verdict.arguments_digest) == (
        item.call_id,
        item.qualified_name,
        item.agent.name,
        arguments_digest((item.arguments or "").encode("utf-8", "backslashreplace").decode()),
    )


def _text(output: Any) -> str:
    text = output if isinstance(output, str) else json.dumps(to_jsonable_python(output), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


def _owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


async def _stop(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await settled(*tasks)
