"""Resuming a run by a process that ends on the way, as tests that anyone can run on their queue.

A subclass of `QueueDeathContract` says how a store is opened, as in `queue_conformance`. The process that ends is
played: at a point it raises, and nothing that it says to the queue afterwards arrives, so that it leaves its claim.
"""
# ruff: noqa: ARG002, D102 - a hook takes what the SDK gives; the name of a test is its sentence

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from agents import RunHooks, Tool, function_tool
from agents.testing import function_call

from agents_memory import DuckDBSession, RunStateStore
from agents_memory.errors import Closed, InvalidTransition
from agents_memory.testing.queue_conformance import (
    LOST,
    QUIET,
    QueueFiles,
    assistant,
    contents,
    decided,
    items_of,
    remembering,
    resumed,
)

POINTS = (
    "after claim_run",
    "tool starts",
    "tool ended",
    "model is asked",
    "model answered",
    "before finish_run",
    "after finish_run",
)


class Ended(BaseException):
    """The process has ended."""


class MortalStore(RunStateStore):
    """The store of a process that ends at a point."""

    def __init__(self, store: RunStateStore, point: str) -> None:
        super().__init__(store.memory, key=store.key)
        self._point = point
        self._has_ended = False

    async def call(self, operation: str, **arguments: Any) -> Any:
        """An operation of the catalogue, for as long as the process lives."""
        if self._has_ended:
            raise Closed("This process has ended.")
        if operation == "claim_run":
            arguments["owner"] = LOST
        self.pass_by(f"before {operation}")
        result = await super().call(operation, **arguments)
        self.pass_by(f"after {operation}")
        return result

    def pass_by(self, point: str) -> None:
        """End here if this is where the process ends."""
        if point == self._point:
            self._has_ended = True
            raise Ended(point)


class MortalHooks(RunHooks[Any]):
    """The points of a run."""

    def __init__(self, store: MortalStore) -> None:
        self._store = store

    async def on_tool_start(self, context: Any, agent: Any, tool: Tool) -> None:
        self._store.pass_by("tool starts")

    async def on_tool_end(self, context: Any, agent: Any, tool: Tool, result: Any) -> None:
        self._store.pass_by("tool ended")

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self._store.pass_by("model is asked")

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self._store.pass_by("model answered")


class QueueDeathContract(QueueFiles):
    """The cases of a process that ends while it resumes a run."""

    @pytest.mark.parametrize("point", POINTS)
    async def test_each_write_happens_once_wherever_a_resume_ends(self, store: RunStateStore, point: str) -> None:
        session = DuckDBSession("s", store.memory)
        run = await decided(store, remembering("Cy owns ingest"), remembering("Ada likes tea", "c2"), session=session)

        await ended(store, run, point, session=session)
        done = await resumed(store, run, session=session)

        assert (done.run.status, done.repeated) == ("finished", point == "after finish_run")
        assert sorted(contents(store)) == ["Ada likes tea", "Cy owns ingest"]
        assert [len(store.memory.provenance(fact.id)) for fact in store.memory.facts()] == [1, 1]
        assert [len(store.memory.provenance(fact.id)[0].evidence) for fact in store.memory.facts()] == [1, 1]
        check_whole(await items_of(session))
        assert [(await store.show(request_id)).status for request_id in run.requests] == ["done", "done"]

    @pytest.mark.parametrize("point", POINTS)
    async def test_an_edit_is_written_once_wherever_a_resume_ends(self, store: RunStateStore, point: str) -> None:
        edit = {"decision": "edit", "arguments": {"content": "Ada likes decaf"}}
        run = await decided(store, remembering("Ada likes tea"), **edit)

        await ended(store, run, point)
        await resumed(store, run)

        assert contents(store) == ["Ada likes decaf"]

    @pytest.mark.parametrize("point", ["before start_call", "after start_call", "tool starts", "tool ended"])
    async def test_a_tool_of_the_app_runs_at_most_once_wherever_a_resume_ends(
        self, store: RunStateStore, point: str
    ) -> None:
        sent: list[str] = []

        @function_tool(needs_approval=True)
        def send_mail(to: str) -> str:
            """Send a mail."""
            sent.append(to)
            return "sent"

        mail = function_call("send_mail", {"to": "cy"}, call_id="c1")
        run = await decided(store, mail, tools=[send_mail])

        await ended(store, run, point, tools=[send_mail])
        if point == "before start_call":
            await resumed(store, run, tools=[send_mail])
        else:
            with pytest.raises(InvalidTransition, match="uncertain"):
                await resumed(store, run, tools=[send_mail])

        assert (await store.get(run.id)).status == ("finished" if point == "before start_call" else "uncertain")
        assert sent == ([] if point in {"after start_call", "tool starts"} else ["cy"])

    @pytest.mark.parametrize("point", ["before repark_run", "after repark_run"])
    async def test_a_run_that_stops_again_waits_once_wherever_a_resume_ends(
        self, store: RunStateStore, point: str
    ) -> None:
        run = await decided(store, remembering("Cy owns ingest"))
        again = [remembering("Ada likes tea", "c2")]

        await ended(store, run, point, again)
        if point == "before repark_run":
            await resumed(store, run, again)

        (waiting,) = await store.pending()
        await store.decide(waiting.id, "approve", by="eve")
        assert (await resumed(store, run)).run.status == "finished"
        assert contents(store) == ["Cy owns ingest", "Ada likes tea"]


async def ended(store: RunStateStore, run: Any, point: str, *steps: Any, tools: Any = (), session: Any = None) -> None:
    """A resume by a process that ends there."""
    mortal = MortalStore(store, point)
    agent = assistant(store.memory, *(steps or ["half an answer"]), tools=tools)
    with pytest.raises(Ended):
        await mortal.resume(run.id, agent, session=session, run_config=QUIET, hooks=MortalHooks(mortal))


def check_whole(items: list[Any]) -> None:
    """Each call has one output, which tells the model that it was carried out, and there is one answer."""
    calls = Counter(item["call_id"] for item in items if item.get("type") == "function_call")
    outputs = Counter(item["call_id"] for item in items if item.get("type") == "function_call_output")
    assert calls == outputs
    assert set(calls.values()) == {1}
    assert all('"created"' in item["output"] for item in items if item.get("type") == "function_call_output")
    assert sum(item.get("role") == "assistant" for item in items) == 1
