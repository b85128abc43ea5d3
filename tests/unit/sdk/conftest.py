"""A memory in a file, agents with scripted models, and what a conversation holds afterwards."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, RunResult
from agents.testing import ScriptedModel, assistant_message, function_call

from agents_memory import Memory
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.tools import memory_tools

QUIET = RunConfig(tracing_disabled=True)
NAMESPACE = "acme/kestrel"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "team.duckdb"


@pytest.fixture
def memory(file: Path) -> Iterator[Memory]:
    with Memory.open(file, namespace=NAMESPACE, writer="bot") as opened:
        yield opened


@pytest.fixture
def session(memory: Memory) -> DuckDBSession:
    return DuckDBSession("conv", memory)


@pytest.fixture
def store(memory: Memory) -> RunStateStore:
    return RunStateStore(memory)


def call(name: str, call_id: str = "c1", **arguments: Any) -> Any:
    """A model's call."""
    return function_call(name, arguments, call_id=call_id)


def agent(memory: Any, *steps: Any, name: str = "assistant", tools: Any = None, **options: Any) -> Any:
    """An agent with memory tools whose model answers with `steps`; a text is a final message."""
    script = [[assistant_message(step)] if isinstance(step, str) else step for step in steps]
    given = memory_tools(memory, **options) if tools is None else tools
    return Agent(name=name, tools=list(given), model=ScriptedModel(script))


async def run(agent: Agent[Any], text: Any, **given: Any) -> RunResult:
    """Run quietly."""
    return await Runner.run(agent, text, run_config=QUIET, **given)


async def conversation(session: Any) -> list[str]:
    """What a session holds, an item a line."""
    return [line_of(item) for item in await session.get_items()]


def line_of(item: dict[str, Any]) -> str:
    """An item as `kind:call id`, or a message's speaker."""
    return f"{item['type']}:{item['call_id']}" if "call_id" in item else str(item["role"])


def outputs(result: Any) -> dict[str, Any]:
    """What the model was told for each call, parsed where it is JSON."""
    told = {}
    for item in result:
        if item.get("type") == "function_call_output":
            try:
                told[item["call_id"]] = json.loads(item["output"])
            except ValueError:
                told[item["call_id"]] = item["output"]
    return told


def facts(memory: Memory) -> list[str]:
    """Every fact of the file that is believed, in the order of writing."""
    rows = memory._database._cursor().execute(
        "SELECT content FROM fact_versions WHERE tx_to = forever() ORDER BY tx_from, fact_id"
    )
    return [row[0] for row in rows.fetchall()]
