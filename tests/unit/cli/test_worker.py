"""The command that resumes: what it imports, what it prints, when it ends, and that it lets the file go."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from agents_memory import AgentEntry, DuckDBSession, Memory, RunStateStore, memory_tools
from agents_memory.cli.worker import NOT_ALL_RESUMED, Worker, attribute_at
from agents_memory.errors import InvalidInput, NotFound, StoreLocked
from tests.storage import line_from, run_python, start_python
from tests.support import run_command

QUIET = RunConfig(tracing_disabled=True)
NAMESPACE = "acme/kestrel"
MODULE = """
from agents import Agent, RunConfig
from agents.testing import ScriptedModel, assistant_message

from agents_memory import AgentEntry, memory_tools

notices = []


def assistant(memory, run):
    model = ScriptedModel([[assistant_message("done")]])
    agent = Agent(name="assistant", model=model, tools=memory_tools(memory))
    return AgentEntry(agent, run_config=RunConfig(tracing_disabled=True))


registry = {"assistant": assistant}
"""
OPENS = """
import sys
from agents_memory import Memory
with Memory.open(sys.argv[1], wait_s=0) as memory:
    pass
"""
HOLDS = """
import sys
from agents_memory import Memory
with Memory.open(sys.argv[1], share="never") as memory:
    print("open", flush=True)
    sys.stdin.readline()
"""


def agent(memory: Memory, *steps: Any, **given: Any) -> Agent[Any]:
    return Agent(name="assistant", model=ScriptedModel(list(steps)), tools=memory_tools(memory), **given)


def make(memory: Memory, run: Any) -> AgentEntry:
    return AgentEntry(agent(memory, [assistant_message("done")]), run_config=QUIET)


async def park(file: str, *, number: int = 1, decided: bool = True, **given: Any) -> None:
    with Memory.open(file, namespace=NAMESPACE) as memory:
        session = DuckDBSession(f"conv-{number}", memory)
        store = RunStateStore(memory, **given)
        asking = agent(memory, [function_call("remember", {"content": f"Fact {number}"}, call_id="c1")])
        result = await Runner.run(asking, "hello", session=session, run_config=QUIET)
        waiting = await store.park(result, session=session)
        if decided:
            await store.decide(waiting.requests[0], "approve", by="eve")


def facts(file: str) -> list[str]:
    with Memory.open(file, namespace=NAMESPACE) as memory:
        return [fact.content for fact in memory.facts()]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "team.duckdb")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of the app in the current directory, by its name."""
    name = "worker_test_app"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def worker(file: str, lines: list[str]) -> Worker:
    """A worker that writes its lines down and does not wait for a file that is held."""
    return Worker(file=file, namespace="", registry={"assistant": make}, say=lines.append, wait_s=0)


def test_one_pass_resumes_what_is_decided_and_ends_well(file: str, module: str) -> None:
    asyncio.run(park(file))
    asyncio.run(park(file, number=2, decided=False))

    ran = run_command(["worker", f"{module}:registry", "--once", "-m", file])

    assert (ran.code, ran.out, ran.err) == (0, "n1 finished\n", "")
    assert facts(file) == ["Fact 1"]


def test_a_pass_with_a_run_that_could_not_be_resumed_ends_with_a_code_of_its_own(file: str, module: str) -> None:
    asyncio.run(park(file))
    (Path(file).parent / "empty_app.py").write_text("def registry():\n    return {}\n")

    ran = run_command(["worker", "empty_app:registry", "--once", "-m", file])

    assert ran.code == NOT_ALL_RESUMED
    assert ran.out == (
        "n1 cannot be resumed: n1 was started with the agent 'assistant', which the registry does not have.\n"
    )


def test_the_namespace_bounds_what_is_resumed(file: str, module: str) -> None:
    asyncio.run(park(file))

    assert run_command(["worker", f"{module}:registry", "--once", "-m", file, "-n", "acme/osprey"]).out == ""
    assert run_command(["worker", f"{module}:registry", "--once", "-m", file, "-n", "acme"]).out == "n1 finished\n"


def test_a_signed_run_is_resumed_with_the_key_of_a_file(file: str, module: str, tmp_path: Path) -> None:
    asyncio.run(park(file, key=b"secret\n"))
    (tmp_path / "key").write_bytes(b"secret\n")
    command = ["worker", f"{module}:registry", "--once", "-m", file]

    without, unread = run_command(command), run_command([*command, "--key-file", "nowhere"])
    signed = run_command([*command, "--key-file", "key"])

    assert (without.code, unread.code, signed.code) == (NOT_ALL_RESUMED, 2, 0)
    assert "is signed" in without.out


def test_on_parked_names_a_function_of_the_app(file: str, module: str) -> None:
    asyncio.run(park(file))
    asking = MODULE.replace('assistant_message("done")', 'function_call("remember", {"content": "x"}, call_id="c2")')
    Path(f"{module}.py").write_text(asking.replace("import ScriptedModel,", "import ScriptedModel, function_call,"))

    ran = run_command(["worker", f"{module}:registry", "--once", "-m", file, "--on-parked", f"{module}:notices.append"])
    assert ran.code == 2  # a name, not an expression

    Path(f"{module}.py").write_text(Path(f"{module}.py").read_text() + "\ntold = notices.append\n")
    sys.modules.pop(module)
    ran = run_command(["worker", f"{module}:registry", "--once", "-m", file, "--on-parked", f"{module}:told"])

    assert (ran.code, ran.out) == (0, "n1 parked again, waits for a2\n")
    assert [notice.requests for notice in sys.modules[module].notices] == [("a2",)]


@pytest.mark.parametrize("target", ["registry", "worker_test_app:", ":registry", "worker test app:registry", ".a:b"])
def test_a_target_that_names_nothing_is_refused(target: str, module: str) -> None:
    with pytest.raises(InvalidInput, match="MODULE:NAME"):
        attribute_at(target)


def test_a_module_that_is_not_there_and_one_that_cannot_be_imported_are_told_apart(module: str) -> None:
    Path("broken_app.py").write_text("import a_module_that_is_not_there\n")

    with pytest.raises(InvalidInput, match=r"no module 'no_app\.agents'"):
        attribute_at("no_app.agents:registry")
    with pytest.raises(InvalidInput, match="has no 'missing'"):
        attribute_at(f"{module}:missing")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        attribute_at("broken_app:registry")


async def test_a_memory_that_is_not_there_is_not_made(worker: Worker, lines: list[str], file: str) -> None:
    with pytest.raises(NotFound):
        await worker.one_pass()

    assert not Path(file).exists()


async def test_between_passes_the_file_can_be_opened_by_another_process(
    worker: Worker, lines: list[str], file: str
) -> None:
    await park(file)

    assert await worker.one_pass()

    assert run_python(OPENS, file).returncode == 0
    assert await worker.one_pass()
    assert lines == ["n1 finished"]


async def test_what_is_decided_between_two_passes_is_resumed_in_the_second(
    worker: Worker, lines: list[str], file: str
) -> None:
    await park(file, decided=False)

    await worker.one_pass()
    assert run_command(["approvals", "approve", "a1", "--by", "eve", "-m", file]).code == 0
    await worker.one_pass()

    assert lines == ["n1 finished"]


async def test_a_run_that_does_not_fit_is_tried_and_said_once_a_process(
    worker: Worker, lines: list[str], file: str
) -> None:
    await park(file)
    worker.registry = {"assistant": lambda memory, run: Agent(name="assistant")}

    assert not await worker.one_pass()
    assert await worker.one_pass()

    assert [line.split(":")[0] for line in lines] == ["n1 cannot be resumed"]
    with Memory.open(file, namespace=NAMESPACE) as memory:
        assert (await RunStateStore(memory).get("n1")).attempt == 1


async def test_a_run_that_fails_is_said_and_not_tried_again_at_once(
    worker: Worker, lines: list[str], file: str
) -> None:
    await park(file)

    def failing(memory: Memory, run: Any) -> AgentEntry:
        return AgentEntry(agent(memory, ModelStep(error=TimeoutError("Fact 1"))), run_config=QUIET)

    worker.registry = {"assistant": failing}
    assert not await worker.one_pass()
    assert await worker.one_pass()

    assert lines == ["n1 failed: TimeoutError (failure 1 in a row)"]


async def test_a_worker_that_is_told_to_stop_finishes_the_run_under_way_and_begins_no_other(
    worker: Worker, lines: list[str], file: str
) -> None:
    await park(file, number=1)
    await park(file, number=2)

    def stopping(memory: Memory, run: Any) -> AgentEntry:
        os.kill(os.getpid(), signal.SIGTERM)
        return make(memory, run)

    worker.registry = {"assistant": stopping}
    assert await worker.until_stopped(every_s=3600)

    assert lines == ["n1 finished"]


async def test_a_worker_goes_on_pass_after_pass_until_it_is_told_to_stop(
    worker: Worker, lines: list[str], file: str
) -> None:
    await park(file)
    asked = iter(["a2", "a3"])

    def asking(memory: Memory, run: Any) -> AgentEntry:
        number = run.revision
        step = [function_call("remember", {"content": f"More {number}"}, call_id=f"c{number + 1}")]
        return AgentEntry(agent(memory, step), run_config=QUIET)

    def say(line: str) -> None:
        lines.append(line)
        request = next(asked, None)
        if request is None:
            worker.stop.set()
        else:
            assert run_command(["approvals", "approve", request, "--by", "eve", "-m", file]).code == 0

    worker.registry, worker.say = {"assistant": asking}, say
    await worker.until_stopped(every_s=0.01)

    assert lines == [f"n1 parked again, waits for a{number}" for number in (2, 3, 4)]


async def test_a_file_that_another_process_holds_is_tried_again(worker: Worker, lines: list[str], file: str) -> None:
    await park(file)

    with start_python(HOLDS, file) as holder:
        assert line_from(holder) == "open"
        with pytest.raises(StoreLocked):
            await worker.one_pass()

        def say(line: str) -> None:
            lines.append(line)
            if "Trying again" in line:
                holder.communicate("\n")
            else:
                worker.stop.set()

        worker.say = say
        await worker.until_stopped(every_s=0.01)

    assert f"is open in process {holder.pid}" in lines[0]
    assert lines[-1] == "n1 finished"


def test_the_command_ends_well_when_it_is_told_to_stop(file: str, module: str) -> None:
    asyncio.run(park(file))
    command = [sys.executable, "-m", "agents_memory.cli", "worker", f"{module}:registry", "-m", file]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}

    with subprocess.Popen(
        [*command, "--every", "3600"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert line_from(process) == "n1 finished"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (0, "", "")
