"""What is recorded while a run is resumed, through the SDK's hooks: calls of foreign tools, and a state on the way.

A state is kept only before a model is asked, and only if the SDK can restore it; one that was taken while a tool ran
could not be resumed at all. A tool that is not ours is marked before it runs, so that it never runs twice.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from typing import Any, Protocol

from agents import Agent, AgentHookContext, RunContextWrapper, RunHooks, RunState, Tool
from agents.exceptions import AgentsException
from agents.items import ModelResponse, TResponseInputItem
from agents.tool_context import ToolContext

from agents_memory.errors import CannotPark
from agents_memory.sdk.states import saved
from agents_memory.types import Claim


class Keeper(Protocol):
    """What a checkpoint needs of a `RunStateStore`."""

    key: bytes | None

    async def call(self, operation: str, **arguments: Any) -> Any:
        """An operation of the catalogue."""


class Checkpoints(RunHooks[Any]):
    """Hooks that record, and then do what the application's own hooks do."""

    def __init__(
        self,
        keeper: Keeper,
        claim: Claim,
        *,
        state: RunState[Any],
        agent: Agent[Any],
        binding: str,
        inner: RunHooks[Any] | None,
    ) -> None:
        self._keeper = keeper
        self._held = {"run_id": claim.run.id, "fence": claim.fence}
        self._foreign = [one for one in claim.verdicts if one.approved and not one.is_ours]
        self._own_calls = {one.call_id for one in claim.verdicts}
        self._state = state
        self._agent = agent
        self._binding = binding
        self._inner = inner or RunHooks()

    async def on_tool_start(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool) -> None:  # noqa: D102
        call_id = context.tool_call_id if isinstance(context, ToolContext) else None
        for verdict in self._foreign:
            # a call that nobody reviewed may run an agent whose calls were
            if verdict.call_id == call_id or (call_id not in self._own_calls and verdict.agent != agent.name):
                await self._keeper.call("start_call", call_id=verdict.call_id, **self._held)
        await self._inner.on_tool_start(context, agent, tool)

    async def on_llm_start(  # noqa: D102
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        await self._keep()
        await self._inner.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(  # noqa: D102
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        await self._inner.on_llm_end(context, agent, response)

    async def on_agent_start(self, context: AgentHookContext[Any], agent: Agent[Any]) -> None:  # noqa: D102
        await self._inner.on_agent_start(context, agent)

    async def on_agent_end(self, context: AgentHookContext[Any], agent: Agent[Any], output: Any) -> None:  # noqa: D102
        await self._inner.on_agent_end(context, agent, output)

    async def on_handoff(  # noqa: D102
        self, context: RunContextWrapper[Any], from_agent: Agent[Any], to_agent: Agent[Any]
    ) -> None:
        await self._inner.on_handoff(context, from_agent, to_agent)

    async def on_tool_end(  # noqa: D102
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: Any
    ) -> None:
        await self._inner.on_tool_end(context, agent, tool, result)

    async def _keep(self) -> None:
        try:
            kept = saved(self._state, [], key=self._keeper.key, binding=self._binding)
            text = zlib.decompress(b64decode(kept["state"])).decode("ascii")
            await RunState.from_string(self._agent, text)
        except (AgentsException, CannotPark):
            return  # the state before, and the effects since, are what a later attempt begins with
        invocations = json.loads(text)["context"]["tool_invocations"]
        settled = [call_id for call_id, one in invocations.items() if one.get("completed")]
        await self._keeper.call("checkpoint_run", settled=settled, **kept, **self._held)
