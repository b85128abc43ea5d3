"""A web app with one agent and many users: each has conversations and memory of their own, and reviewers decide.

    python examples/web_app.py team.duckdb --port 8000

    POST /conversations/{id}/messages  {"text"}   200 {"reply"}, or 202 {"run", "waits"} when somebody must decide
    GET  /runs/{id}                               where that run stands, and its reply once it is finished
    GET  /pending                                 what waits, of all users: for reviewers
    POST /pending/{id}  {"decision", "reason"?, "arguments"?, "preview"?}   the run goes on in the background

Who calls is taken from the header `X-User`, so put something that checks it in front. A process that dies while a run
goes on loses nothing: what is decided and not finished is resumed when the app starts again.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from agents import Agent, RunContextWrapper
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents_memory import AgentEntry, AgentsMemoryError, Memory, ParkedRun, RunStateStore, attach, namespace_of, run
from agents_memory.errors import Conflict, InvalidInput, NotFound
from agents_memory.operations import operation_named

TEAM = "acme"
RETRY_EVERY_S = 30
STATUS_OF = {NotFound: 404, InvalidInput: 400, Conflict: 409}


@dataclass(frozen=True)
class User:
    """The context of a run: whose memory it uses."""

    namespace: str


class App:
    """What the routes do, with one memory for as long as the app is served."""

    memory: Memory
    store: RunStateStore

    def __init__(self, file: str, agent_of: Callable[[], Agent[Any]]) -> None:
        self.file = file
        self.agent_of = agent_of

    @asynccontextmanager
    async def lifespan(self, _served: Starlette) -> AsyncIterator[None]:
        with Memory.open(self.file, namespace=TEAM) as self.memory:
            self.store = RunStateStore(self.memory)  # the queue of the team and of every user below it
            resuming = asyncio.create_task(self.keep_resuming())
            yield
            resuming.cancel()
            with suppress(asyncio.CancelledError):
                await resuming

    def agent(self) -> Agent[Any]:
        return attach(self.agent_of(), self.memory_of)

    def memory_of(self, context: RunContextWrapper[User]) -> Memory:
        return self.memory.at_namespace(context.context.namespace)

    async def resume_ready(self) -> None:
        """Let every run go on that is decided, one after the other."""
        await self.store.resume_ready({"assistant": self.entry})

    def entry(self, _memory: Memory, parked: ParkedRun) -> AgentEntry:
        return AgentEntry(self.agent(), context=User(parked.namespace))

    async def keep_resuming(self) -> None:
        """Also what failed, what expired, and what a process that died left behind."""
        while True:
            await self.resume_ready()
            await asyncio.sleep(RETRY_EVERY_S)

    async def say(self, request: Request) -> Response:
        done = await run(
            self.agent(),
            (await body_of(request)).get("text", ""),
            memory=self.memory_of,
            session=request.path_params["id"],
            context=User(namespace_for(request)),
            store=self.store,
        )
        if done.parked is None:
            return JSONResponse({"reply": done.final_output})
        waits = [{"id": one.id, "tool": one.tool, "arguments": json.loads(one.arguments)} for one in done.requests]
        return JSONResponse({"run": done.parked.id, "waits": waits}, status_code=202)

    async def stands(self, request: Request) -> Response:
        mine = RunStateStore(self.memory.at_namespace(namespace_for(request)))  # nobody else's run is found
        parked = await mine.get(request.path_params["id"])
        return JSONResponse({"run": parked.id, "status": parked.status, "reply": parked.result})

    async def pending(self, request: Request) -> Response:
        user_of(request)
        return JSONResponse(operation_named("pending").dump(await self.store.pending()))

    async def decide(self, request: Request) -> Response:
        given = await body_of(request)
        decided = await self.store.decide(
            request.path_params["id"],
            given.get("decision"),  # type: ignore[arg-type]  # what is none is refused
            by=user_of(request),
            reason=given.get("reason"),
            arguments=given.get("arguments"),
            preview=given.get("preview"),
        )
        answer = {"id": decided.id, "status": decided.status, "run": decided.run_id}
        return JSONResponse(answer, background=BackgroundTask(self.resume_ready))


def user_of(request: Request) -> str:
    """Who calls."""
    user = request.headers.get("X-User", "")
    if not user.strip():
        raise HTTPException(401, "Say who you are in the header X-User.")
    return user


def namespace_for(request: Request) -> str:
    return f"{TEAM}/{namespace_of(user_of(request))}"


async def body_of(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise HTTPException(400, "Send a JSON object.")
    return body


async def refused(_request: Request, error: Exception) -> Response:
    """An error of the memory, as it is said to a caller: its message never quotes what is stored."""
    status = next((code for kind, code in STATUS_OF.items() if isinstance(error, kind)), 500)
    return JSONResponse(error.to_dict() if isinstance(error, AgentsMemoryError) else {}, status_code=status)


def create_app(file: str, agent_of: Callable[[], Agent[Any]]) -> Starlette:
    """The app on a file. Serve it with one process: DuckDB lets one hold a file."""
    app = App(file, agent_of)
    routes = [
        Route("/conversations/{id}/messages", app.say, methods=["POST"]),
        Route("/runs/{id}", app.stands),
        Route("/pending", app.pending),
        Route("/pending/{id}", app.decide, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=app.lifespan, exception_handlers={AgentsMemoryError: refused})


def assistant() -> Agent[Any]:
    return Agent(name="assistant", instructions="You help the team. Keep in memory what they tell you about work.")


if __name__ == "__main__":
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    uvicorn.run(create_app(options.file, assistant), port=options.port)
