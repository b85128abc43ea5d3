"""A web app with several worker processes on one memory: each opens the same file, and one of them holds it.

    python examples/four_workers.py --memory team.duckdb --workers 4
    curl -d '{"session": "conv-1", "text": "remember Cy maintains ingest"}' localhost:8000/chat
    agents-memory approvals approve a1 --by eve -m team.duckdb
    curl -X POST localhost:8000/resume
    curl 'localhost:8000/recall?q=who+maintains+ingest'

The memory is opened when a worker starts, not when the module is imported: a server that loads the app before it forks
its workers would open it in the parent. The model is the SDK's `ScriptedModel`, so no key is needed.
"""

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from agents import Agent, RunConfig, Runner
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agents_memory import AgentEntry, DuckDBSession, Memory, RunStateStore, memory_tools
from agents_memory.types import ParkedRun

QUIET = RunConfig(tracing_disabled=True)


def answer(call: Any) -> Any:
    """What the model says: it remembers what it is told to, and notes everything else."""
    last = call.input[-1]
    if last.get("type") == "function_call_output":
        return [assistant_message("Noted.")]
    asked = str(last.get("content", ""))
    if asked.startswith("remember "):
        return [function_call("remember", {"content": asked.removeprefix("remember ")}, call_id=f"c{len(call.input)}")]
    return [assistant_message(f"You said: {asked}")]


def assistant(memory: Memory, session: DuckDBSession | None = None) -> Agent[Any]:
    model = ScriptedModel([ModelStep.respond(answer) for _ in range(4)])
    return Agent(name="assistant", model=model, tools=memory_tools(memory, session=session))


async def chat(request: Request) -> JSONResponse:
    """A turn of a conversation, which any worker may take."""
    asked = await request.json()
    memory: Memory = request.app.state.memory
    session = DuckDBSession(asked["session"], memory)
    result = await Runner.run(assistant(memory, session), asked["text"], session=session, run_config=QUIET)
    if not result.interruptions:
        return JSONResponse({"answer": result.final_output, "worker": os.getpid()})
    parked = await RunStateStore(memory).park(result, session=session)
    return JSONResponse({"parked": parked.id, "waits_for": parked.requests, "worker": os.getpid()})


async def resume(request: Request) -> JSONResponse:
    """Go on with every run that is decided."""
    outcomes = await RunStateStore(request.app.state.memory).resume_ready({"assistant": entry})
    return JSONResponse({outcome.run.id: outcome.became for outcome in outcomes})


def entry(memory: Memory, _run: ParkedRun) -> AgentEntry:
    return AgentEntry(assistant(memory), run_config=QUIET)


def recall(request: Request) -> JSONResponse:
    """The facts that answer a question; Starlette runs what is not async in a thread."""
    found = request.app.state.memory.recall(request.query_params["q"])
    return JSONResponse({"facts": [hit.fact.content for hit in found.hits], "worker": os.getpid()})


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    with Memory.open(os.environ.get("AGENTS_MEMORY", "team.duckdb"), namespace="acme/kestrel") as memory:
        app.state.memory = memory
        yield


app = Starlette(
    lifespan=lifespan,
    routes=[
        Route("/chat", chat, methods=["POST"]),
        Route("/resume", resume, methods=["POST"]),
        Route("/recall", recall),
    ],
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve an agent with a memory from several processes.")
    parser.add_argument("--memory", default="team.duckdb", help="the memory's file")
    parser.add_argument("--workers", type=int, default=4, help="how many processes")
    parser.add_argument("--port", type=int, default=8000, help="a port of this machine; 0 takes a free one")
    given = parser.parse_args()
    os.environ["AGENTS_MEMORY"] = given.memory
    uvicorn.run("four_workers:app", app_dir=str(Path(__file__).parent), workers=given.workers, port=given.port)


if __name__ == "__main__":
    main()
