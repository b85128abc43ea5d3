"""An app that goes on running, a reviewer beside it, and a file that passes from one process to the other."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_memory import Memory
from agents_memory.share import place
from tests.storage import line_from, start_python
from tests.support import run_command

APP = """
import asyncio, sys
from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message, function_call
from agents_memory import DuckDBSession, Memory, RunStateStore, memory_tools

QUIET = RunConfig(tracing_disabled=True)

def step(*words):
    print(*words, flush=True)
    return sys.stdin.readline().strip()

async def main():
    with Memory.open(sys.argv[1], namespace="acme/kestrel", writer="app") as memory:
        session = DuckDBSession("conv-1", memory)
        store = RunStateStore(memory)
        tools = memory_tools(memory, session=session)
        new = {"content": "Cy maintains the ingest service.", "entities": ["Cy"]}
        wrong = {"content": "Cy left."}
        steps = [
            [function_call("recall", {"query": "who maintains ingest?", "k": 3}, call_id="c1")],
            [function_call("remember", new, call_id="c2"), function_call("remember", wrong, call_id="c3")],
        ]
        agent = Agent(name="assistant", model=ScriptedModel(steps), tools=tools)
        result = await Runner.run(agent, "Cy took ingest over from Bo.", session=session, run_config=QUIET)
        parked = await store.park(result, session=session)
        step("parked", parked.id, *parked.requests)
        agent = Agent(name="assistant", model=ScriptedModel([[assistant_message("Noted.")]]), tools=tools)
        outcome = await store.resume(parked.id, agent, session=session, run_config=QUIET)
        again = await store.resume(parked.id, agent, session=session, run_config=QUIET)
        step(outcome.run.status.value, again.run.status.value, len(await session.get_items()))

asyncio.run(main())
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "team.duckdb")


@pytest.fixture
def keeper(file: str) -> Iterator[Memory]:
    """What holds the file at first, and knows something."""
    with Memory.open(file, namespace="acme/kestrel", writer="ada") as memory:
        memory.remember("Bo maintains the ingest service.", entities=["Bo", "ingest service"])
        yield memory


def go_on(app: subprocess.Popen[str]) -> None:
    assert app.stdin is not None
    app.stdin.write("\n")
    app.stdin.flush()


def test_a_reviewer_decides_while_the_app_runs_and_the_file_changes_hands(keeper: Memory, file: str) -> None:
    with start_python(APP, file) as app:
        parked = line_from(app)
        assert parked == "parked n1 a1 a2", app.communicate()
        shown = run_command(["approvals", "show", "a1", "-m", file])
        assert "Cy maintains the ingest service." in shown.out
        assert run_command(["approvals", "approve", "a1", "--by", "eve", "-m", file]).code == 0

        keeper.close()
        rejected = run_command(["approvals", "reject", "a2", "--by", "eve", "--reason", "Untrue", "-m", file])
        assert rejected.code == 0, rejected.err
        go_on(app)

        assert line_from(app) == "finished finished 8"
        holder = place.read(file)
        assert holder is not None
        assert holder.pid == app.pid
        found = run_command(["recall", "who maintains ingest?", "-m", file, "-n", "acme/kestrel"])
        assert "Cy maintains the ingest service." in found.out
        late = run_command(["approvals", "approve", "a1", "--by", "bob", "-m", file])
        assert late.code == 4
        assert "decided first by 'eve'" in late.err

        _, errors = app.communicate("\n", timeout=60)
        assert (app.returncode, errors) == (0, "")

    with Memory.open(file, namespace="acme/kestrel") as memory:
        assert [(fact.content, fact.approved_by) for fact in memory.facts_written("conv-1")] == [
            ("Cy maintains the ingest service.", "eve")
        ]
        assert memory.provenance("f2")[0].evidence[0].text == "Cy took ingest over from Bo."
