"""`RunStateStore`: where a run that stopped for a person is kept, decided and resumed, by any process.

It translates between the SDK and the queue (`approvals/`) and decides nothing. Parking and deciding need no agent;
resuming does, since a state holds no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from agents import Agent, RunConfig, RunHooks, RunResult, RunResultStreaming
from agents.memory import Session

from agents_memory import _ids
from agents_memory._threads import in_thread
from agents_memory.approvals.calls import given
from agents_memory.memory import Memory, When
from agents_memory.sdk.parking import call_of, home_of, stopped
from agents_memory.sdk.resume import LEASE_S, Resumed, resume
from agents_memory.sdk.routing import branch_of
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.states import binding_of, saved
from agents_memory.types import MAIN, ApprovalRequest, ParkedRun


class RunStateStore:
    """Parked runs of a memory's namespace and below. Any number may be made; they keep nothing themselves."""

    def __init__(self, memory: Memory, *, key: bytes | None = None) -> None:
        """Use a memory's queue.

        Args:
            memory: The memory, which stays the caller's to close.
            key: Signs every state and refuses one that is not signed with it, so that whoever can write the file
                cannot make a run do something else.
        """
        self.memory = memory
        self.key = key

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
        }
        return cast("ParkedRun", await in_thread(home.call, "park_run", given(arguments)))

    async def pending(self) -> tuple[ApprovalRequest, ...]:
        """The requests that wait, oldest first."""
        return cast("tuple[ApprovalRequest, ...]", await self.call("pending"))

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
    ) -> ApprovalRequest:
        """Decide a request, once. It does not run anything; `resume` does.

        Args:
            request_id: Such as `a9`.
            decision: What to do.
            by: Who decides.
            reason: Why; the model is told.
            arguments: After an edit, every argument as it shall be.
            preview: The digest of the preview that was decided on; refuse if memory changed since.

        Raises:
            AlreadyDecided: Somebody was first.
            InvalidInput: The edit does not fit the tool.
            InvalidTransition: The call cannot work as it is.
            StaleRequest: Memory changed since that preview.
        """
        edited = None if arguments is None else dict(arguments)
        asked = {"request_id": request_id, "decision": decision, "by": by, "reason": reason, "preview": preview}
        return cast("ApprovalRequest", await self.call("decide", arguments=edited, **asked))

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

    async def runs(self) -> tuple[ParkedRun, ...]:
        """The parked runs of this namespace and below, oldest first, the finished ones included."""
        return cast("tuple[ParkedRun, ...]", await self.call("list_runs"))

    async def get(self, run_id: str) -> ParkedRun:
        """Where a run stands.

        Raises:
            NotFound: There is no such run here or below.
        """
        return cast("ParkedRun", await self.call("get_run", run_id=run_id))

    async def resume(
        self,
        run_id: str,
        agent: Agent[Any],
        *,
        session: Session | None = None,
        context: Any = None,
        run_config: RunConfig | None = None,
        hooks: RunHooks[Any] | None = None,
    ) -> Resumed:
        """Carry a decided run on: exactly one caller does, and each of its writes happens once.

        Args:
            run_id: Such as `n5`.
            agent: The agent that the run started with, made anew.
            session: Its conversation; made from what was recorded when left out.
            context: The application's context from here on.
            run_config: As for `Runner.run`.
            hooks: As for `Runner.run`.

        Raises:
            CannotResume: The agent, session, key or SDK does not fit; the run is ready as before.
            InvalidTransition: Somebody else resumes it, or it is over.
            LeaseLost: This process stood still for so long that somebody else took the run.
            Undecided: Some of its requests still wait.
        """
        _ids.to_number(_ids.IdKind.RUN, run_id)
        return await resume(
            self, run_id, agent, session=session, context=context, run_config=run_config, hooks=hooks, lease_s=LEASE_S
        )

    async def call(self, operation: str, **arguments: Any) -> Any:
        """An operation of the catalogue, in a thread; arguments that are None are left out."""
        return await in_thread(self.memory.call, operation, given(arguments))
