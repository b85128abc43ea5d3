"""An agent's tools, rendered from the catalogue: reads are free, writes ask a person first.

The tools are `FunctionTool`s built by hand, because the SDK calls an approval policy for every call only of such tools
(`docs/decisions/0001-tools-are-built-by-hand.md`). A call that cannot work is answered to the model at once, so that no
person is asked about it; a call that must be asked about is never written on the way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from agents import FunctionTool, RunContextWrapper, Tool
from agents.items import ToolApprovalItem
from agents.tool_context import ToolContext

from agents_memory._threads import in_thread
from agents_memory.approvals.calls import checked, given, read
from agents_memory.errors import AgentsMemoryError, InvalidInput
from agents_memory.memory import Memory
from agents_memory.operations import Operation, Risk, operation_named
from agents_memory.policies import Answer, Policy, always, answer_of
from agents_memory.recall.fence import fence
from agents_memory.sdk.current import HasSessionId, run_kept_with, session_at_hand
from agents_memory.sdk.routing import MemoryOf, branch_of, memory_for
from agents_memory.sdk.schemas import tool_schema
from agents_memory.types import Performed, Preview, Trial

READS = ("recall", "get_fact", "history")
WRITES = ("remember", "supersede", "correct", "forget", "relate", "unrelate")


SessionOf: TypeAlias = Callable[[RunContextWrapper[Any]], HasSessionId | None]


def memory_tools(
    memory: Memory | MemoryOf,
    *,
    session: HasSessionId | SessionOf | None = None,
    policy: Policy = always,
    include: Iterable[str] = (),
) -> list[Tool]:
    """The tools with which an agent reads and writes a memory.

    Args:
        memory: The memory, or a callable that picks it by the run's context: one agent, many users.
        session: The conversation that writes come from, or a callable that picks it; it is recorded with each write.
            When left out, it is that of `agents_memory.run` or of the resume, where one of these runs the agent.
        policy: Whether a write asks a person, such as `policies.low_risk()`; every write does by default.
        include: Further operations of the catalogue by name, such as `about` or `add_alias`.

    Raises:
        InvalidInput: An included operation is no tool, or the policy is no plain function.
        NotFound: There is no such operation.
    """
    answer_of(policy)
    names = dict.fromkeys((*READS, *WRITES, *include))
    return [_tool(operation_named(name), memory, session, policy) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCall:
    """What a memory tool does when the model calls it. `RunStateStore` knows our tools by it.

    Attributes:
        operation: The verb of the catalogue.
        memory: The memory, or what picks it.
        session: The conversation, or what picks it.
        policy: Whether a write asks.
    """

    operation: Operation
    memory: Memory | MemoryOf
    session: HasSessionId | SessionOf | None
    policy: Policy

    async def __call__(self, context: ToolContext[Any], arguments: str) -> str:
        """Answer the call, as text for the model."""
        try:
            return await self._answer(context, read(arguments))
        except AgentsMemoryError as error:
            return _json({"error": error.to_dict()})

    async def must_ask(self, context: RunContextWrapper[Any], arguments: dict[str, Any], _call_id: str) -> bool:
        """The gate: whether this call waits for a person. One that cannot work, or was dealt with, does not."""
        try:
            checked(self.operation, arguments)
        except InvalidInput:
            return False
        trial = _Trial(self, context, arguments)
        if await self._answered(trial) is not Answer.ASK:
            return False
        tried = await in_thread(trial)
        return tried.error is None and tried.handled_by is None

    def memory_for(self, context: RunContextWrapper[Any]) -> Memory:
        """The memory that a run of this context uses."""
        return memory_for(self.memory, context)

    async def _answer(self, context: ToolContext[Any], arguments: dict[str, Any]) -> str:
        if self.operation.risk is Risk.READ:
            return await in_thread(self._read, self.memory_for(context), given(arguments))
        checked(self.operation, arguments)
        if _is_approved(context):
            return await self._perform(context, arguments, approved=True)
        trial = _Trial(self, context, arguments)
        answer = await self._answered(trial)
        if answer is not Answer.ASK:
            return await self._perform(context, arguments, approved=True, review=answer is Answer.REVIEW)
        tried = await in_thread(trial)
        if tried.error is not None:
            return _json({"error": tried.error})
        if tried.handled_by is not None:
            return await self._perform(context, arguments, approved=False)
        message = "This call needs a person's approval and did not have it. Nothing was written; make the call again."
        return _json({"error": {"code": "needs_approval", "message": message, "retryable": True}})

    async def _answered(self, trial: _Trial) -> Answer:
        """What the policy says, asked in a thread, since it may look at memory and block."""
        arguments = deepcopy(given(trial.arguments))  # what a policy does to them is not what is written
        return await in_thread(answer_of(self.policy), self.operation.name, arguments, trial.look)

    def _read(self, memory: Memory, arguments: dict[str, Any]) -> str:
        checked(self.operation, arguments)
        result = memory.call(self.operation.name, arguments)
        return fence(_json(_compact(self.operation.dump(result))))

    async def _perform(
        self, context: ToolContext[Any], arguments: dict[str, Any], *, approved: bool, review: bool = False
    ) -> str:
        memory, session = self.memory_for(context), self._session_for(context)
        run = run_kept_with(memory)
        done: Performed = await in_thread(
            memory.call,
            "perform",
            {
                "operation": self.operation.name,
                "arguments": arguments,
                "call_id": context.tool_call_id,
                "session_id": None if session is None else session.session_id,
                "branch": branch_of(session),
                "approved": approved,
                "review": review,
                "agent": None if context.agent is None else context.agent.name,
                "run_id": None if run is None else run.run_id,
                "fence": None if run is None else run.fence,
            },
        )
        return _json(_compact(_said(done, approved=approved)))

    def _session_for(self, context: RunContextWrapper[Any]) -> HasSessionId | None:
        if self.session is None:
            return session_at_hand()
        if hasattr(self.session, "session_id"):
            return cast("HasSessionId", self.session)
        return cast("Any", self.session)(context)  # type: ignore[no-any-return]


class _Trial:
    """What a call would do, tried at most once, when first asked for. It blocks."""

    def __init__(self, call: MemoryCall, context: RunContextWrapper[Any], arguments: dict[str, Any]) -> None:
        self.arguments = arguments
        self._memory = call.memory_for(context)
        self._run = run_kept_with(self._memory)
        self._operation = call.operation.name
        self._tried: Trial | None = None

    def __call__(self) -> Trial:
        if self._tried is None:
            run_id = None if self._run is None else self._run.run_id
            asked = {"operation": self._operation, "arguments": self.arguments, "run_id": run_id}
            self._tried = cast("Trial", self._memory.call("try_call", asked))
        return self._tried

    def look(self) -> Preview:
        return self().preview


def _tool(
    operation: Operation, memory: Memory | MemoryOf, session: HasSessionId | SessionOf | None, policy: Policy
) -> FunctionTool:
    if not operation.tool_parameters:
        raise InvalidInput(f"{operation.name!r} is no tool of an agent.")
    call = MemoryCall(operation=operation, memory=memory, session=session, policy=policy)
    return FunctionTool(
        name=operation.name,
        description=operation.description,
        params_json_schema=tool_schema(operation),
        on_invoke_tool=call,
        needs_approval=False if operation.risk is Risk.READ else call.must_ask,
    )


def _is_approved(context: ToolContext[Any]) -> bool:
    """Whether a person approved this very call, as the SDK knows it."""
    if context.tool_call is None or context.agent is None:
        return False
    item = ToolApprovalItem(
        agent=cast("Any", context.agent),
        raw_item=context.tool_call,
        tool_name=context.tool_name,
        tool_namespace=context.tool_namespace,
    )
    status = context.get_approval_status(
        context.tool_name,
        context.tool_call_id,
        tool_namespace=context.tool_namespace,
        tool_lookup_key=item.tool_lookup_key,
        current_invocation=item,
    )
    return status is True


def _said(done: Performed, *, approved: bool) -> dict[str, Any]:
    answer = _receipt(done.result)
    if done.edits:
        answer["review"] = {
            "by": done.reviewed_by,
            "reason": done.reason,
            "changed": {edit.argument: {"asked": edit.asked, "used": edit.used} for edit in done.edits},
        }
        answer["note"] = (
            "A reviewer changed this call before it ran; memory holds the reviewer's version. Do not repeat it."
            if approved
            else "Already handled by review: a reviewer changed this call and it ran then. Nothing was written again."
        )
    return answer


def _receipt(result: Any) -> dict[str, Any]:
    """A receipt without the stored texts in its changes, which a model may not read outside of a fence."""
    changes = [{"effect": change["effect"], "id": change["id"]} for change in result.get("changes", ())]
    conflicts = [{"id": one["id"], "differs_in": one["differs_in"]} for one in result.get("conflicts", ())]
    kept = {name: result[name] for name in ("status", "id", "version", "note", "duplicates") if name in result}
    return {**kept, "changes": changes, "conflicts": conflicts}


def _compact(value: Any) -> Any:
    """JSON data without what says nothing, or says it twice: a model pays for every token."""
    if isinstance(value, dict):
        said = {name: inner for name, inner in value.items() if inner is not None and inner not in ([], {})}
        if "text" in said:
            said.pop("item_json", None)  # of a session item, whose words are the text
        return {name: _compact(inner) for name, inner in said.items()}
    if isinstance(value, list):
        return [_compact(inner) for inner in value]
    return value


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
