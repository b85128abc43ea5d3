"""`attach`: an agent that has a memory: its tools, and in its instructions what bears on what the user just said.

The recalled text is made anew before each model call and is part of the instructions, so that no conversation ever
stores it. A recall that fails fails the run: an agent whose pinned rules are missing would go on as if there were none,
and nobody would notice.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from itertools import takewhile
from typing import Any, TypeVar

from agents import Agent, RunContextWrapper, TResponseInputItem

from agents_memory._threads import in_thread
from agents_memory.errors import InvalidInput
from agents_memory.memory import Memory
from agents_memory.operations import operation_named
from agents_memory.policies import Policy, always
from agents_memory.sdk.current import HasSessionId
from agents_memory.sdk.routing import MemoryOf, memory_for
from agents_memory.sdk.tools import SessionOf, memory_tools
from agents_memory.sessions.extract import extract

TContext = TypeVar("TContext")

_MAX_QUESTION_CHARS = 2000

_log = logging.getLogger("agents_memory")


def attach(
    agent: Agent[TContext],
    memory: Memory | MemoryOf,
    *,
    session: HasSessionId | SessionOf | None = None,
    policy: Policy = always,
    budget_tokens: int = 1200,
) -> Agent[TContext]:
    """A clone of an agent with the tools of a memory, whose instructions end with what memory holds for each turn.

    The agent's own instructions stay as they are, text or function. `Memory.context` of the user's words of the turn
    follows them, made anew before each model call, after a resume too, and stored nowhere.

    Args:
        agent: The agent, which is not changed.
        memory: The memory, or a callable that picks it by the run's context: one agent, many users.
        session: As for `memory_tools`; `run` says by itself which conversation writes come from.
        policy: As for `memory_tools`.
        budget_tokens: How many tokens the recalled text may take, at least 1.

    Raises:
        InvalidInput: The agent has one of the tools already, by name, or was attached before; or the budget is none.
    """
    if not isinstance(agent, Agent):
        raise InvalidInput(f"A memory is attached to an Agent, not to {type(agent).__name__}.")
    operation_named("context").parse({"query": "", "budget_tokens": budget_tokens})
    if isinstance(agent.instructions, RecalledInstructions):
        raise InvalidInput(f"The agent {agent.name!r} has a memory attached already. Attach to the agent as it was.")
    tools = memory_tools(memory, session=session, policy=policy)
    taken = {getattr(tool, "name", None) for tool in agent.tools}
    if doubled := [tool.name for tool in tools if tool.name in taken]:
        raise InvalidInput(
            f"The agent {agent.name!r} has tools that attach adds: {', '.join(doubled)}. Give it others, or use "
            "memory_tools instead.",
            tools=doubled,
        )
    instructions = RecalledInstructions(agent.instructions, memory, budget_tokens)
    return agent.clone(tools=[*agent.tools, *tools], instructions=instructions)


class RecalledInstructions:
    """An agent's own instructions, and then what memory holds; what the SDK calls before each model call."""

    def __init__(self, own: str | Callable[..., Any] | None, memory: Memory | MemoryOf, budget_tokens: int) -> None:
        self._own = own
        self._memory = memory
        self._budget_tokens = budget_tokens

    async def __call__(self, context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        """The instructions of this very model call."""
        own = self._own(context, agent) if callable(self._own) else self._own
        if inspect.isawaitable(own):
            own = await own
        memory, question = memory_for(self._memory, context), question_of(context.turn_input)
        recalled = await in_thread(memory.context, question, budget_tokens=self._budget_tokens)
        if recalled.left_out:
            _log.info("the context of %r had no room for %s", agent.name, ", ".join(recalled.left_out))
        return "\n\n".join(part for part in (own, recalled.text) if part)


def question_of(items: list[TResponseInputItem]) -> str:
    """What the user said last: the words of the newest user item and of those right before it.

    Of very long words the beginning and the end; that is where people ask, around what they paste.
    """
    newest_first = [extract(item) for item in reversed(items)]
    while newest_first and not newest_first[0].is_user:
        newest_first.pop(0)
    said = "\n".join(item.text for item in reversed([*takewhile(lambda item: item.is_user, newest_first)]) if item.text)
    if len(said) <= _MAX_QUESTION_CHARS:
        return said
    half = _MAX_QUESTION_CHARS // 2
    return f"{said[:half]}\n{said[-half:]}"
