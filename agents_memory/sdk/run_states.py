"""`RunStateStore`: where a run that stopped for a person is kept, decided and resumed, by any process.

It translates between the SDK and the queue (`approvals/`) and decides nothing. Parking and deciding need no agent;
resuming does, since a state holds no code.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, Final, Literal, cast, overload

from agents import Agent, RunConfig, RunHooks, RunResult, RunResultStreaming, StreamEvent
from agents.items import ToolApprovalItem
from agents.memory import Session

from agents_memory import _ids
from agents_memory._threads import in_thread
from agents_memory.approvals.calls import given
from agents_memory.errors import InvalidInput
from agents_memory.memory import Memory
from agents_memory.sdk.events import Ended, Events
from agents_memory.sdk.parking import call_of, home_of, stopped, tool_name, turns_left, waiting_in
from agents_memory.sdk.resume import LEASE_S, Asked, Resumed, _owner, resume, resume_streamed
from agents_memory.sdk.routing import branch_of
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.states import binding_of, saved
from agents_memory.sdk.worker import Registry, RunOutcome, checked_registry, resume_each
from agents_memory.types import MAIN, ApprovalRequest, Claim, Decision, ParkedNotice, ParkedRun, RunStatus
from agents_memory.view import When

_log = logging.getLogger("agents_memory")

_FEW_TURNS: Final = 1
"""With one turn left the model can say its final word, and with none not even that."""


class RunStateStore:
    """Parked runs of a memory's namespace and below. Any number may be made; they keep nothing themselves."""

    def __init__(
        self,
        memory: Memory,
        *,
        key: bytes | None = None,
        approvals: int = 1,
        not_by_requester: bool = False,
        on_parked: Callable[[ParkedNotice], object] | None = None,
    ) -> None:
        """Use a memory's queue.

        Args:
            memory: The memory, which stays the caller's to close.
            key: Signs every state and refuses one that is not signed with it, so that whoever can write the file
                cannot make a run do something else.
            approvals: How many people must approve each request of the runs that this store parks.
            not_by_requester: Whether who parked a run may not decide its requests. Both rules are kept with the run,
                and hold for whoever decides, in whatever process.
            on_parked: Called, and awaited where that is possible, after a run was parked, by `park` or by a resume
                that stopped again; for telling reviewers. It is told ids and names, and `pending` stays the truth: a
                process that dies in between has not called it, and parking the same result again calls it again. What
                it raises is logged by its type, and the run stays parked.

        Raises:
            InvalidInput: `memory` is none, or `key` is no secret.
        """
        if not isinstance(memory, Memory):
            raise InvalidInput(f"A store needs a Memory, not {type(memory).__name__}.")
        self.memory = memory
        self.key = _checked_key(key)
        self._rules = {"approvals": approvals, "not_by_requester": not_by_requester}
        self._on_parked = on_parked

    async def park(
        self,
        result: RunResult | RunResultStreaming,
        *,
        session: Session | None = None,
        by: str | None = None,
        expires_at: When | None = None,
    ) -> ParkedRun:
        """Keep a run that stopped, with one approval request per call that waits. The process may end afterwards.

        Parking the same result again gives the run that is parked already.

        The application's context is not kept: whoever resumes passes a fresh one.

        Args:
            result: What `Runner.run` returned, or `run_streamed` once its events were read to the end.
            session: The conversation that the run was given.
            by: Who parks it.
            expires_at: When its requests stop waiting; the model is then told that nobody decided.

        Raises:
            CannotPark: Nothing in the run waits for a decision, or its stream was not read to the end.
            InvalidInput: Who asks may not decide, and nobody says who asks: pass `by`.
            InvalidTransition: It is parked already, under other rules.
        """
        state, items = stopped(result)
        starting = cast("Agent[Any]", getattr(state, "_starting_agent", None) or result.last_agent)
        kept_in = home_of(session, self.memory, result.context_wrapper)
        home = kept_in or self.memory
        session_id, branch = (None, MAIN) if session is None else (session.session_id, branch_of(session))
        arguments = {
            **saved(state, items, key=self.key, binding=binding_of(home.namespace, session_id, branch, starting.name)),
            "calls": [call_of(item, result) for item in items],
            "starting_agent": starting.name,
            "current_agent": result.last_agent.name,
            "session_id": session_id,
            "branch": branch,
            "session_is_ours": kept_in is not None and isinstance(session, DuckDBSession),
            "by": by,
            "expires_at": expires_at,
            **self._rules,
        }
        run = cast("ParkedRun", await in_thread(home.call, "park_run", given(arguments)))
        await self._tell(run, result, items)
        return run

    async def pending(self, *, descendants: bool = True) -> tuple[ApprovalRequest, ...]:
        """The requests that wait, oldest first.

        Args:
            descendants: Whether those of the namespaces below count, too, or only the memory's own.
        """
        return cast("tuple[ApprovalRequest, ...]", await self.call("pending", descendants=descendants))

    async def written(self) -> tuple[ApprovalRequest, ...]:
        """The writes that a policy let through for a look afterwards, until they are acknowledged, oldest first."""
        return cast("tuple[ApprovalRequest, ...]", await self.call("written"))

    async def acknowledge(self, request_id: str, *, by: str, reason: str | None = None) -> ApprovalRequest:
        """Say that a write was looked at, once. To undo what it wrote, forget or correct that.

        Raises:
            AlreadyDecided: Somebody was first.
            InvalidTransition: It is no write that was made without asking.
            NotFound: There is no such request here or below.
        """
        return cast("ApprovalRequest", await self.call("acknowledge", request_id=request_id, by=by, reason=reason))

    async def show(self, request_id: str) -> ApprovalRequest:
        """A request with what it would change in memory now, and the user's words it comes from.

        Raises:
            NotFound: There is no such request here or below.
        """
        return cast("ApprovalRequest", await self.call("show_request", request_id=request_id))

    async def decide(
        self,
        request_id: str,
        decision: Literal["approve", "reject", "edit"],
        *,
        by: str,
        reason: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        preview: str | None = None,
        always: bool = False,
    ) -> ApprovalRequest:
        """Decide a request, once; where several people must approve, each of them once. `resume` runs what is decided.

        Args:
            request_id: Such as `a9`.
            decision: What to do.
            by: Who decides.
            reason: Why; the model is told.
            arguments: After an edit, every argument as it shall be.
            preview: The digest of the preview that was decided on; refuse if memory changed since.
            always: Approve later calls of the same tool by the same agent too, until this run ends.

        Raises:
            AlreadyDecided: Somebody was first.
            InvalidInput: The edit does not fit the tool, or `always` is not with an approval.
            InvalidTransition: The call cannot work as it is.
            MayNotDecide: The run's rules want somebody else: not who asked, or a second person.
            StaleRequest: Memory changed since that preview.
        """
        edited = None if arguments is None else dict(arguments)
        asked = {"request_id": request_id, "decision": decision, "by": by, "reason": reason, "preview": preview}
        return cast("ApprovalRequest", await self.call("decide", arguments=edited, always=always, **asked))

    async def withdraw(
        self, request_or_run_id: str, *, by: str, reason: str | None = None
    ) -> ApprovalRequest | ParkedRun:
        """Take a request that waits, or a whole run, out of the queue; the way out of `uncertain`.

        A run without its request goes on when it is resumed, and the model is told. A withdrawn run never goes on:
        each of its calls without an output gets one that says so, in a `DuckDBSession` of this file.

        Args:
            request_or_run_id: Such as `a9` or `n5`.
            by: Who withdraws it.
            reason: Why; the conversation is told.

        Raises:
            AlreadyDecided: The request was decided before.
            InvalidTransition: The run is being resumed, or is over.
            NotFound: There is no such request or run here or below.
        """
        asked = {"id": request_or_run_id, "by": by, "reason": reason}
        return cast("ApprovalRequest | ParkedRun", await self.call("withdraw", **asked))

    async def expire(
        self, request_or_run_id: str | None = None, *, by: str | None = None
    ) -> tuple[ApprovalRequest, ...]:
        """Let the requests whose time is over stop waiting; their runs go on when resumed, and the model is told.

        What is due is also noticed whenever the queue is read, so this is for whoever wants it to happen by itself.

        Args:
            request_or_run_id: Expire this request, or all that wait of this run, before their time instead.
            by: Who does so.

        Returns:
            The requests of this namespace and below that expired now.

        Raises:
            AlreadyDecided: The request was decided before.
            InvalidTransition: Nothing of the run waits.
            NotFound: There is no such request or run here or below.
        """
        asked = {"id": request_or_run_id, "by": by}
        return cast("tuple[ApprovalRequest, ...]", await self.call("expire", **asked))

    async def history(self, request_id: str) -> tuple[Decision, ...]:
        """What was decided about a request, oldest first: who, what, when and why.

        Raises:
            NotFound: There is no such request here or below.
        """
        return cast("tuple[Decision, ...]", await self.call("request_history", request_id=request_id))

    async def runs(self) -> tuple[ParkedRun, ...]:
        """The parked runs of this namespace and below, oldest first, the finished ones included."""
        return cast("tuple[ParkedRun, ...]", await self.call("list_runs"))

    async def get(self, run_id: str) -> ParkedRun:
        """Where a run stands.

        Raises:
            NotFound: There is no such run here or below.
        """
        return cast("ParkedRun", await self.call("get_run", run_id=run_id))

    async def claim(self, run_id: str, *, lease_s: float = LEASE_S) -> Claim:
        """Take a decided run, for a process that resumes it by other means than `resume`, which claims by itself.

        At most one caller wins. The claim has the state and what was decided. The lease is the caller's to keep: renew
        it in time with `call("renew_lease", run_id=..., fence=claim.fence)`, and end it with `finish_run` (`result=`),
        `fail_run` (`error=`) or `release_run`, which take those two as well. Each raises `LeaseLost` once the claim is
        lost, and whoever gets that must stop.

        Args:
            run_id: Such as `n5`.
            lease_s: Seconds until the claim is lost unless it is renewed.

        Raises:
            InvalidTransition: Somebody else holds it, or it is over.
            NotFound: There is no such run here or below.
            Undecided: Some of its requests still wait.
        """
        return cast("Claim", await self.call("claim_run", run_id=run_id, owner=_owner(), lease_s=lease_s))

    @overload
    def resume(
        self,
        run_id: str,
        agent: Agent[Any],
        *,
        session: Session | None = ...,
        context: Any = ...,
        run_config: RunConfig | None = ...,
        hooks: RunHooks[Any] | None = ...,
        partial: bool = ...,
        stream: Literal[False] = ...,
    ) -> Coroutine[Any, Any, Resumed]: ...

    @overload
    def resume(
        self,
        run_id: str,
        agent: Agent[Any],
        *,
        session: Session | None = ...,
        context: Any = ...,
        run_config: RunConfig | None = ...,
        hooks: RunHooks[Any] | None = ...,
        partial: bool = ...,
        stream: Literal[True],
    ) -> Events[Resumed]: ...

    def resume(
        self,
        run_id: str,
        agent: Agent[Any],
        *,
        session: Session | None = None,
        context: Any = None,
        run_config: RunConfig | None = None,
        hooks: RunHooks[Any] | None = None,
        partial: bool = False,
        stream: bool = False,
    ) -> Coroutine[Any, Any, Resumed] | Events[Resumed]:
        """Carry a decided run on: exactly one caller does, and each of its writes happens once.

        `await store.resume(...)` gives a `Resumed`. With `stream=True` it is not awaited but read with `async for`: it
        gives the SDK's events, and has the `Resumed` as its `outcome` once all were read. A reader that leaves early
        ends the attempt as a failure does: the run can be resumed again at once. One that reads nothing for a minute
        loses the claim.

        Args:
            run_id: Such as `n5`.
            agent: The agent that the run started with, made anew.
            session: Its conversation; made from what was recorded when left out.
            context: The application's context from here on.
            run_config: As for `Runner.run`.
            hooks: As for `Runner.run`.
            partial: Do what is decided now, although some requests still wait; the run is then parked again with
                those, under the same ids. The model goes on once all are decided.
            stream: Give events.

        Raises:
            CannotResume: The agent, session, key or SDK does not fit; the run is ready as before.
            InvalidTransition: Somebody else resumes it, or it is over.
            LeaseLost: This process stood still for so long that somebody else took the run.
            Undecided: Some of its requests still wait; with `partial`, all of them do.
        """
        asked = Asked(
            agent=agent, session=session, context=context, run_config=run_config, hooks=hooks, partial=partial
        )
        return Events(self._events(run_id, asked)) if stream else self._resumed(run_id, asked)

    async def resume_ready(self, registry: Registry) -> tuple[RunOutcome, ...]:
        """Resume every run of this namespace and below that it is time for, one after the other.

        That are the runs whose requests are all decided, those whose process died on the way, and failed ones: each is
        tried again 30 seconds, 2 minutes and 8 minutes after it failed, and left alone after the fourth failure in a
        row, for `resume` or `withdraw`. A run that the agents at hand do not fit is not held against it: it is tried
        at every call and stays ready. Call this as often as you like; `agents-memory worker` does.

        Args:
            registry: What resumes the runs of each starting agent, by its name: an `Agent`, an `AgentEntry`, or a
                function `(memory, run)` that makes one for each run, given the memory on the run's namespace.

        Returns:
            What became of each, oldest first. A run that failed, or whose agent is not in the registry, keeps no other
            from being resumed.

        Raises:
            InvalidInput: The registry cannot be used; nothing was resumed.
        """
        checked = checked_registry(registry)
        return tuple([outcome async for outcome in resume_each(self, checked)])

    async def call(self, operation: str, **arguments: Any) -> Any:
        """An operation of the catalogue, in a thread; arguments that are None are left out."""
        return await in_thread(self.memory.call, operation, given(arguments))

    async def _resumed(self, run_id: str, asked: Asked) -> Resumed:
        _ids.to_number(_ids.IdKind.RUN, run_id)
        done = await resume(self, run_id, asked)
        await self._tell_if_stopped(done)
        return done

    async def _events(self, run_id: str, asked: Asked) -> AsyncGenerator[StreamEvent | Ended[Resumed]]:
        _ids.to_number(_ids.IdKind.RUN, run_id)
        async with aclosing(resume_streamed(self, run_id, asked)) as steps:
            async for step in steps:
                if isinstance(step, Ended):
                    await self._tell_if_stopped(step.outcome)
                yield step

    async def _tell_if_stopped(self, done: Resumed) -> None:
        if done.result is not None and done.run.status is not RunStatus.FINISHED:
            await self._tell(done.run, done.result, waiting_in(done.result))

    async def _tell(
        self, run: ParkedRun, result: RunResult | RunResultStreaming, items: list[ToolApprovalItem]
    ) -> None:
        left = turns_left(result)
        if left is not None and left <= _FEW_TURNS:
            _log.warning("%s has %d turn(s) left when it is resumed; its max_turns cannot be raised", run.id, left)
        if self._on_parked is None:
            return
        notice = ParkedNotice(
            run_id=run.id,
            namespace=run.namespace,
            session_id=run.session_id,
            status=run.status,
            revision=run.revision,
            requests=run.requests,
            tools=tuple(tool_name(item) for item in items),
        )
        try:
            told = self._on_parked(notice)
            if inspect.isawaitable(told):
                await told
        except Exception as error:  # noqa: BLE001 - the run is parked, whatever the app makes of it
            _log.error("on_parked failed for %s (%s); the run is parked", run.id, type(error).__name__)


def _checked_key(key: object) -> bytes | None:
    if key is None or (isinstance(key, bytes) and key):
        return key
    raise InvalidInput("key is a secret of at least one byte, or None; an empty one protects nothing.")
