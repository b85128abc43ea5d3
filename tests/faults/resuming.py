"""A process that resumes parked runs and is killed at chosen statements; each attempt is a fork that opens the file.

Run as `python -m tests.faults.resuming FOLDER SCENARIO POINTS`, where POINTS is `commits` for the statements around
every commit of a resume, `all` for every statement, or `race` for two processes that resume at once. Prints what was
found after each kill and recovery as a JSON list.
"""

import asyncio
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from agents import Agent, RunConfig, Runner
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from agents_memory import Memory
from agents_memory.errors import Closed, InvalidTransition
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.tools import memory_tools

QUIET = RunConfig(tracing_disabled=True)
KILLED = 9
REFUSED = 5
Answer = Callable[[list[str]], Any]


def remember(call_id: str, content: str) -> Any:
    return function_call("remember", {"content": content}, call_id=call_id)


def answering(answer: Answer) -> ScriptedModel:
    """A model that decides by the calls whose outputs it was sent, as a real one does."""

    def respond(call: Any) -> Any:
        items = [item for item in call.input if isinstance(item, dict)]
        return answer([item["call_id"] for item in items if item.get("type") == "function_call_output"])

    return ScriptedModel([ModelStep.respond(respond) for _ in range(6)])


def plain(memory: Memory) -> Agent[Any]:
    """One approved call, and a final message."""

    def answer(done: list[str]) -> Any:
        return [assistant_message("done")] if done else [remember("c1", "Cy owns ingest")]

    return Agent(name="assistant", tools=memory_tools(memory), model=answering(answer))


def siblings(memory: Memory) -> Agent[Any]:
    """Two approved calls of one response."""

    def answer(done: list[str]) -> Any:
        two = [remember("c1", "Cy owns ingest"), remember("c2", "Ada likes tea")]
        return [assistant_message("done")] if done else two

    return Agent(name="assistant", tools=memory_tools(memory), model=answering(answer))


def second_turn(memory: Memory) -> Agent[Any]:
    """An approved call, then a free one whose id is another at every attempt, then a final message."""

    def answer(done: list[str]) -> Any:
        if not done:
            return [remember("c1", "Cy owns ingest")]
        if len(done) == 1:
            related = {"source": "Cy", "predicate": "owns", "target": "ingest"}
            return [function_call("relate", related, call_id=f"c2-{os.getpid()}")]
        return [assistant_message("done")]

    def only_facts(operation: str, _arguments: Any) -> bool:
        return operation == "remember"

    return Agent(name="assistant", tools=memory_tools(memory, policy=only_facts), model=answering(answer))


def nested(memory: Memory) -> Agent[Any]:
    """The approved call is made by an agent that is a tool of another."""

    def inner_answer(done: list[str]) -> Any:
        return [assistant_message("found")] if done else [remember("c1", "Cy owns ingest")]

    def outer_answer(done: list[str]) -> Any:
        research = function_call("research", {"input": "who owns ingest"}, call_id="o1")
        return [assistant_message("done")] if done else [research]

    inner = Agent(name="researcher", tools=memory_tools(memory), model=answering(inner_answer))
    return Agent(name="assistant", tools=[inner.as_tool("research", "Research.")], model=answering(outer_answer))


SCENARIOS: dict[str, Callable[[Memory], Agent[Any]]] = {
    "plain": plain,
    "siblings": siblings,
    "second_turn": second_turn,
    "nested": nested,
}


async def park(path: Path, scenario: str) -> None:
    with Memory.open(path, namespace="acme/kestrel") as memory:
        session = DuckDBSession("conv", memory)
        store = RunStateStore(memory)
        result = await Runner.run(SCENARIOS[scenario](memory), "hello", session=session, run_config=QUIET)
        await store.park(result, session=session)
        for request in await store.pending():
            await store.decide(request.id, "approve", by="eve")


async def resume(path: Path, scenario: str, kill_at: int | None) -> list[str]:
    """Resume the run and return the statements that it took."""
    seen: list[str] = []

    def on_statement(name: str) -> None:
        if len(seen) == kill_at:
            os._exit(KILLED)
        seen.append(name)

    with Memory.open(path, namespace="acme/kestrel") as memory:
        with suppress(Closed):  # the other of two holds the file
            memory._database.on_statement = on_statement
        await RunStateStore(memory).resume("n1", SCENARIOS[scenario](memory), run_config=QUIET)
        with suppress(Closed):
            memory._database.on_statement = None
    return seen


async def found(path: Path) -> dict[str, Any]:
    """What the file holds in the end."""
    with Memory.open(path, namespace="acme/kestrel") as memory:
        items = await DuckDBSession("conv", memory).get_items()
        cursor = memory._database._cursor()
        rows = cursor.execute("SELECT content FROM fact_versions ORDER BY content").fetchall()
        ties = cursor.execute("SELECT count(*) FROM relation_versions").fetchall()
        return {
            "facts": [row[0] for row in rows],
            "relations": ties[0][0],
            "items": [str(item.get("type", item.get("role"))) for item in items],
            "status": (await RunStateStore(memory).get("n1")).status.value,
        }


def started(work: Callable[[], Any]) -> int:
    """Start a fork that does `work` and ends; nothing but the imports is shared with it."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:  # noqa: BLE001  # a fork must not go on as if it were its parent
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def ended(pid: int) -> int:
    """The exit code of a fork."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def forked(work: Callable[[], Any]) -> int:
    """Do `work` in a fork and return its exit code."""
    return ended(started(work))


def tried(template: Path, scenario: str, point: int) -> dict[str, Any]:
    """Kill a resume at a statement, resume again, and say what the file holds."""
    path = template.with_name("killed.duckdb")
    shutil.copyfile(template, path)
    killed = forked(lambda: asyncio.run(resume(path, scenario, point)))
    recovered = forked(lambda: asyncio.run(resume(path, scenario, None)))
    return {"point": point, "codes": [killed, recovered], **looked_at(path)}


def raced(template: Path, scenario: str) -> dict[str, Any]:
    """Resume in two processes at once, one of which goes through the other, and say what the file holds."""

    def work() -> None:
        try:
            asyncio.run(resume(path, scenario, None))
        except InvalidTransition:
            os._exit(REFUSED)  # the other has the run at this moment

    path = template.with_name("raced.duckdb")
    shutil.copyfile(template, path)
    racing = [started(work) for _ in range(2)]
    return {"codes": [ended(pid) for pid in racing], **looked_at(path)}


def looked_at(path: Path) -> dict[str, Any]:
    """What the file holds, read in a fork; the file is removed."""
    answer = path.with_suffix(".json")
    assert forked(lambda: answer.write_text(json.dumps(asyncio.run(found(path))))) == 0
    path.unlink()
    data: dict[str, Any] = json.loads(answer.read_text())
    return data


def statements_of(template: Path, scenario: str) -> list[str]:
    """The statements of a whole resume."""
    path, answer = template.with_name("whole.duckdb"), template.with_name("statements.json")
    shutil.copyfile(template, path)
    assert forked(lambda: answer.write_text(json.dumps(asyncio.run(resume(path, scenario, None))))) == 0
    names: list[str] = json.loads(answer.read_text())
    return names


def main(folder: str, scenario: str, points: str) -> None:
    template = Path(folder, "template.duckdb")
    assert forked(lambda: asyncio.run(park(template, scenario))) == 0
    if points == "race":
        sys.stdout.write(json.dumps([raced(template, scenario)]))
        return
    names = statements_of(template, scenario)
    chosen = [
        number for number in range(len(names)) if points == "all" or "commit" in names[max(number - 1, 0) : number + 1]
    ]
    sys.stdout.write(json.dumps([tried(template, scenario, point) for point in chosen]))


if __name__ == "__main__":
    main(*sys.argv[1:])
