"""An app parks, a reviewer approves, a worker resumes: three processes and one file, and the write happens once."""

import os
import subprocess
import sys
from pathlib import Path

from agents_memory import Memory
from tests.storage import ROOT, run_python

AGENTS = """
from agents import Agent, RunConfig, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from agents_memory import memory_tools

set_tracing_disabled(True)


def assistant(memory, run=None):
    asks = [function_call("remember", {"content": "Cy owns ingest."}, call_id="c1")]
    model = ScriptedModel([asks] if run is None else [[assistant_message("Noted.")]])
    return Agent(name="assistant", model=model, tools=memory_tools(memory))


def registry():
    return {"assistant": assistant}
"""
APP = """
import asyncio, sys
from agents import Runner
from agents_memory import DuckDBSession, Memory, RunStateStore

sys.path.insert(0, ".")
from team_agents import assistant

async def main():
    with Memory.open("team.duckdb", namespace="acme/kestrel") as memory:
        session = DuckDBSession("conv-1", memory)
        result = await Runner.run(assistant(memory), "Cy took ingest over.", session=session)
        await RunStateStore(memory).park(result, session=session)

asyncio.run(main())
"""


def agents_memory(*arguments: str) -> str:
    """What the command prints, as a process of its own in the current directory."""
    ran = subprocess.run(
        [sys.executable, "-m", "agents_memory.cli", *arguments, "-m", "team.duckdb"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_what_an_app_asked_and_a_reviewer_approved_a_worker_writes_once(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("team_agents.py").write_text(AGENTS)

    assert run_python(APP).returncode == 0
    assert agents_memory("worker", "team_agents:registry", "--once") == ""
    agents_memory("approvals", "approve", "a1", "--by", "eve")
    assert agents_memory("worker", "team_agents:registry", "--once") == "n1 finished\n"
    assert agents_memory("worker", "team_agents:registry", "--once") == ""

    with Memory.open("team.duckdb", namespace="acme/kestrel") as memory:
        written = [(fact.content, fact.approved_by) for fact in memory.facts_written("conv-1")]
        items = [item.type for item in memory.read_session("conv-1")]
    assert written == [("Cy owns ingest.", "eve")]
    assert items == ["message", "function_call", "function_call_output", "message"]
