"""What of a stopped run goes into the queue: its state, and the calls that wait."""

from __future__ import annotations

from typing import Any

from agents import ModelBehaviorError, RunContextWrapper, RunResult, RunResultStreaming, RunState
from agents.items import ToolApprovalItem
from agents.memory import Session

from agents_memory.config import ROOT
from agents_memory.errors import CannotPark, InvalidInput
from agents_memory.memory import Memory
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.states import tool_of
from agents_memory.sdk.tools import MemoryCall


def stopped(result: RunResult | RunResultStreaming) -> tuple[RunState[Any], list[ToolApprovalItem]]:
    """The state of a stopped run and the calls in it that nobody decided.

    Raises:
        CannotPark: The run did not stop for a person, or its stream was not read to the end.
        InvalidInput: It is no result of a run.
    """
    if not isinstance(result, RunResult | RunResultStreaming):
        raise InvalidInput(f"What Runner.run returned can be parked, not {type(result).__name__}.")
    if isinstance(result, RunResultStreaming) and not result.is_complete:
        raise CannotPark("The stream was not read to the end. Read every event of stream_events(), then park.")
    if not result.interruptions:
        raise CannotPark("Nothing in this run waits for a decision. Park only a result that has interruptions.")
    return result.to_state(), waiting_in(result)


def waiting_in(result: RunResult | RunResultStreaming) -> list[ToolApprovalItem]:
    """The calls in a stopped run that nobody decided."""
    return [item for item in result.interruptions if _is_undecided(result, item)]


def turns_left(result: RunResult | RunResultStreaming) -> int | None:
    """How many more turns a stopped run may take when it is resumed; None without a limit.

    The limit is kept with the state, and the SDK lets nobody raise it afterwards.
    """
    turn = result.current_turn if isinstance(result, RunResultStreaming) else result._current_turn
    return None if result.max_turns is None else max(result.max_turns - turn, 0)


def call_of(item: ToolApprovalItem, result: RunResult | RunResultStreaming) -> dict[str, Any]:
    """A call that waits, as the queue takes it."""
    tool = tool_of(item)
    ours = tool.on_invoke_tool if tool is not None and isinstance(tool.on_invoke_tool, MemoryCall) else None
    arguments = item.arguments or ""
    return {
        "tool": tool_name(item),
        "operation": None if ours is None else ours.operation.name,
        "arguments": arguments.encode("utf-8", "backslashreplace").decode(),
        "call_id": item.call_id or "",
        "agent": item.agent.name,
        "namespace": None if ours is None else ours.memory_for(result.context_wrapper).namespace,
    }


def tool_name(item: ToolApprovalItem) -> str:
    """The name of the tool that a call names."""
    return item.qualified_name or "unknown"


def home_of(session: Session | None, memory: Memory, wrapper: RunContextWrapper[Any]) -> Memory | None:
    """The memory that a conversation is kept in, when that is the file of `memory` and its namespace or below.

    A session that wraps another, such as the SDK's `EncryptedSession`, is kept where that one is.
    """
    while session is not None and not isinstance(session, DuckDBSession):
        session = getattr(session, "underlying_session", None)
    if not isinstance(session, DuckDBSession):
        return None
    home = session.memory_for(wrapper)
    if not home.shares_file_with(memory):
        return None
    above, namespace = memory.namespace, home.namespace
    return home if above in {ROOT, namespace} or namespace.startswith(f"{above}/") else None


def _is_undecided(result: RunResult | RunResultStreaming, item: ToolApprovalItem) -> bool:
    try:
        status = result.context_wrapper.get_approval_status(
            item.tool_name or "",
            item.call_id or "",
            tool_namespace=item.tool_namespace,
            existing_pending=item,
            tool_lookup_key=item.tool_lookup_key,
        )
    except ModelBehaviorError:  # a nested agent's call, whose id is that of another call of the outer run
        return True
    return status is None
