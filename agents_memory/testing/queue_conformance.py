"""What the approval queue has to do, as tests that anyone can run on theirs.

Subclass `QueueContract` in a test module and say how a `RunStateStore` is opened on a file: on a memory that this
process holds, or on one that another process does. Needs pytest, and pytest-asyncio in auto mode. `queue_requests` has
the cases of single requests, `queue_deaths` those of a process that ends while it resumes.
"""
# ruff: noqa: D102 - the name of a test is its sentence

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from agents import Agent, RunConfig, Runner, RunResult, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from agents_memory import DuckDBSession, Memory, RunStateStore, memory_tools
from agents_memory._threads import in_thread
from agents_memory.errors import AgentsMemoryError, CannotPark, InvalidTransition, LeaseLost, NotFound, Undecided
from agents_memory.types import ParkedRun, RunStatus

OpenStore = Callable[..., RunStateStore]
"""`open_store(namespace="acme/kestrel", **settings)`: a store on the test's file, closed when the test ends."""

NAMESPACE: Final = "acme/kestrel"
QUIET: Final = RunConfig(tracing_disabled=True)
LOST: Final = f"{socket.gethostname()}:{2**31 - 1}:x"
"""Who claims and is dead: no process has that number."""


class QueueFiles:
    """How a store is opened; a subclass says so for its kind."""

    def open(self, path: Path, namespace: str, **settings: Any) -> RunStateStore:
        """A store on the memory in the file at `path`."""
        raise NotImplementedError

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        """The file of this test."""
        return tmp_path / "queue.duckdb"

    @pytest.fixture
    def open_store(self, path: Path) -> Iterator[OpenStore]:
        """Open stores on the test's file."""
        opened: list[RunStateStore] = []

        def opening(namespace: str = NAMESPACE, **settings: Any) -> RunStateStore:
            opened.append(self.open(path, namespace, **settings))
            return opened[-1]

        yield opening
        for store in opened:
            store.memory.close()

    @pytest.fixture
    def store(self, open_store: OpenStore) -> RunStateStore:
        """One store on the test's file."""
        return open_store()


def remembering(content: str, call_id: str = "c1") -> Any:
    """A model's call that writes."""
    return function_call("remember", {"content": content}, call_id=call_id)


def assistant(memory: Memory, *steps: Any, tools: Any = ()) -> Agent[Any]:
    """An agent with memory tools whose model plays `steps`; a text is a final message."""
    script = [[assistant_message(step)] if isinstance(step, str) else step for step in steps]
    return Agent(name="assistant", model=ScriptedModel(script), tools=[*memory_tools(memory), *tools])


async def stopped(memory: Memory, *calls: Any, session: Any = None, tools: Any = ()) -> RunResult:
    """A run that stopped for a person."""
    agent = assistant(memory, list(calls), tools=tools)
    return await Runner.run(agent, "Cy took ingest over.", session=session, run_config=QUIET)


async def parked(store: RunStateStore, *calls: Any, session: Any = None, tools: Any = (), **given: Any) -> ParkedRun:
    """A run that waits for a person to decide its calls."""
    return await store.park(await stopped(store.memory, *calls, session=session, tools=tools), session=session, **given)


async def decided(
    store: RunStateStore, *calls: Any, decision: Any = "approve", arguments: Any = None, **given: Any
) -> ParkedRun:
    """A run that waits for nobody any more."""
    run = await parked(store, *calls, **given)
    for request_id in run.requests:
        await store.decide(request_id, decision, by="eve", arguments=arguments)
    return await store.get(run.id)


async def resumed(store: RunStateStore, run: ParkedRun, *steps: Any, tools: Any = (), **given: Any) -> Any:
    """What became of a run whose model goes on with `steps`."""
    return await store.resume(run.id, assistant(store.memory, *(steps or ["done"]), tools=tools), **given)


async def claim(store: RunStateStore, run: ParkedRun, owner: str = "elsewhere:1:a", **given: Any) -> Any:
    """The right to resume a run."""
    return await store.call("claim_run", run_id=run.id, owner=owner, **given)


def contents(store: RunStateStore) -> list[str]:
    """What is believed, in the order of writing."""
    return [fact.content for fact in store.memory.facts()]


async def items_of(session: DuckDBSession) -> list[Any]:
    """What a conversation holds."""
    return list(await session.get_items())


async def code_of(call: Any) -> str | None:
    """The code of the error that awaiting `call` raises; None when it raises none."""
    try:
        await call
    except AgentsMemoryError as error:
        return error.code
    return None


class QueueContract(QueueFiles):
    """The cases of runs: parked, claimed by one, and carried on."""

    # -- parking -----------------------------------------------------------------------------------------------------

    async def test_parking_writes_nothing_and_asks_for_each_call(self, store: RunStateStore) -> None:
        run = await parked(store, remembering("Cy owns ingest"), remembering("Ada likes tea", "c2"))

        assert (run.status, run.revision, run.requests) == ("parked", 1, ("a1", "a2"))
        waiting = await store.pending()
        assert [request.preview.changes[0].text for request in waiting] == ["Cy owns ingest", "Ada likes tea"]
        assert contents(store) == []

    async def test_a_run_that_waits_for_nobody_is_not_parked(self, store: RunStateStore) -> None:
        result = await Runner.run(assistant(store.memory, "hello"), "hi", run_config=QUIET)

        with pytest.raises(CannotPark):
            await store.park(result)
        assert await store.runs() == ()

    async def test_a_stream_that_was_not_read_to_its_end_is_not_parked(self, store: RunStateStore) -> None:
        streaming = Runner.run_streamed(assistant(store.memory, [remembering("x")]), "hi", run_config=QUIET)

        with pytest.raises(CannotPark):
            await store.park(streaming)
        async for _ in streaming.stream_events():
            pass
        assert (await store.park(streaming)).status == "parked"

    async def test_the_same_result_is_parked_once(self, store: RunStateStore) -> None:
        result = await stopped(store.memory, remembering("Cy owns ingest"))

        assert await store.park(result) == await store.park(result)
        assert len(await store.pending()) == 1

    async def test_a_write_beside_the_namespace_is_not_parked(
        self, store: RunStateStore, open_store: OpenStore
    ) -> None:
        beside = open_store("acme/other")

        assert await code_of(store.park(await stopped(beside.memory, remembering("x")))) == "wrong_namespace"
        assert await store.runs() == ()

    async def test_nobody_is_asked_about_a_call_that_cannot_work_any_more(self, store: RunStateStore) -> None:
        store.memory.remember("Bo owns ingest")
        result = await stopped(store.memory, function_call("forget", {"fact_id": "f1"}, call_id="c1"))
        store.memory.forget("f1")

        run = await store.park(result)

        assert run.status == "ready"
        (decision,) = await store.history("a1")
        assert (decision.decision, decision.decided_by) == ("reject", "agents_memory")
        assert (await resumed(store, run)).run.status == "finished"

    async def test_a_run_outlives_the_handle_that_parked_it(self, open_store: OpenStore) -> None:
        first = open_store()
        run = await decided(first, remembering("Cy owns ingest"))
        first.memory.close()

        again = open_store()
        assert await again.get(run.id) == run
        assert (await resumed(again, run)).final_output == "done"
        assert contents(again) == ["Cy owns ingest"]

    # -- who sees what -----------------------------------------------------------------------------------------------

    async def test_a_reviewer_sees_the_namespace_and_below_and_nothing_beside(
        self, store: RunStateStore, open_store: OpenStore
    ) -> None:
        run = await parked(store, remembering("x"))
        above, root, beside, below = map(open_store, ("acme", "", "acme/kestrel2", "acme/kestrel/main"))

        assert [len(await one.pending()) for one in (above, root, beside, below)] == [1, 1, 0, 0]
        for stranger in (beside, below):
            for asked in (stranger.show("a1"), stranger.decide("a1", "approve", by="eve"), stranger.get(run.id)):
                assert await code_of(asked) == "not_found"
        assert (await root.decide("a1", "approve", by="eve")).status == "approved"

    # -- one resumes it ----------------------------------------------------------------------------------------------

    async def test_a_run_is_ready_with_its_last_decision_and_not_before(self, store: RunStateStore) -> None:
        run = await parked(store, remembering("x"), remembering("y", "c2"))

        await store.decide("a1", "approve", by="eve")
        assert (await store.get(run.id)).status == "parked"
        with pytest.raises(Undecided):
            await resumed(store, run)

        await store.decide("a2", "reject", by="eve")
        assert (await store.get(run.id)).status == "ready"

    async def test_what_was_approved_is_written_and_what_was_rejected_is_not(self, store: RunStateStore) -> None:
        session = DuckDBSession("s", store.memory)
        run = await parked(store, remembering("Cy owns ingest"), remembering("x", "c2"), session=session)
        await store.decide("a1", "approve", by="eve")
        await store.decide("a2", "reject", by="eve", reason="no secrets")

        done = await resumed(store, run, session=session)

        assert (done.run.status, done.run.result) == ("finished", "done")
        assert contents(store) == ["Cy owns ingest"]
        assert [(await store.show(request_id)).status for request_id in run.requests] == ["done", "rejected"]
        outputs = {item["call_id"]: item["output"] for item in await items_of(session) if "output" in item}
        assert outputs.keys() == {"c1", "c2"}
        assert "no secrets" in outputs["c2"]

    async def test_a_finished_run_is_not_run_again(self, store: RunStateStore) -> None:
        run = await decided(store, remembering("Cy owns ingest"))
        await resumed(store, run)

        again = await resumed(store, run, "something else")

        assert (again.repeated, again.final_output) == (True, "done")
        assert contents(store) == ["Cy owns ingest"]

    async def test_of_two_resumes_at_once_one_runs(self, store: RunStateStore) -> None:
        run = await decided(store, remembering("Cy owns ingest"))

        results = await asyncio.gather(*(resumed(store, run) for _ in range(2)), return_exceptions=True)

        lost = [result for result in results if isinstance(result, InvalidTransition)]
        ran = [result for result in results if not isinstance(result, BaseException)]
        assert len(lost) + len(ran) == 2
        assert [result.repeated for result in ran].count(False) == 1
        assert contents(store) == ["Cy owns ingest"]

    async def test_of_ten_claims_at_once_one_wins(self, store: RunStateStore, open_store: OpenStore) -> None:
        run = await decided(store, remembering("x"))
        stores = [store, open_store()]

        claims = [code_of(claim(stores[number % 2], run, f"elsewhere:{number}:x")) for number in range(10)]

        assert sorted(map(str, await asyncio.gather(*claims))) == ["None", *["invalid_transition"] * 9]

    async def test_a_run_that_stops_again_waits_again(self, store: RunStateStore) -> None:
        run = await decided(store, remembering("Cy owns ingest"))

        again = await resumed(store, run, [remembering("Ada likes tea", "c2")])

        assert (again.run.status, again.run.revision, again.run.requests) == ("parked", 2, ("a2",))
        assert contents(store) == ["Cy owns ingest"]
        await store.decide("a2", "approve", by="eve")
        assert (await resumed(store, run)).run.status == "finished"
        assert contents(store) == ["Cy owns ingest", "Ada likes tea"]

    async def test_a_part_of_the_decisions_can_be_carried_out(self, store: RunStateStore) -> None:
        run = await parked(store, remembering("Cy owns ingest"), remembering("Ada likes tea", "c2"))
        with pytest.raises(Undecided):
            await resumed(store, run, partial=True)
        await store.decide("a1", "approve", by="eve")

        part = await resumed(store, run, partial=True)

        assert (part.run.status, part.run.requests) == ("parked", ("a2",))
        assert contents(store) == ["Cy owns ingest"]
        await store.decide("a2", "approve", by="eve")
        assert (await resumed(store, run)).run.status == "finished"
        assert contents(store) == ["Cy owns ingest", "Ada likes tea"]

    # -- a claim that was lost ---------------------------------------------------------------------------------------

    async def test_a_lease_that_ran_out_is_anybodys_and_one_that_was_renewed_is_not(self, store: RunStateStore) -> None:
        run = await decided(store, remembering("x"))
        first = await claim(store, run, lease_s=1e-6)
        second = await claim(store, run, "elsewhere:2:b", lease_s=1e-6)
        await store.call("renew_lease", run_id=run.id, fence=second.fence, lease_s=60)

        assert second.fence > first.fence
        assert await code_of(claim(store, run, "elsewhere:3:c")) == "invalid_transition"

    @pytest.mark.parametrize(
        ("operation", "given"),
        [
            ("renew_lease", {}),
            ("start_call", {"call_id": "c1"}),
            ("finish_run", {"result": "forged"}),
            ("fail_run", {"error": "Forged"}),
            ("release_run", {}),
            ("perform", {"operation": "remember", "arguments": {"content": "x"}, "call_id": "c1", "approved": True}),
        ],
    )
    async def test_who_lost_the_claim_can_do_nothing(self, store: RunStateStore, operation: str, given: Any) -> None:
        run = await decided(store, remembering("x"))
        lost = await claim(store, run, LOST)
        held = await claim(store, run, "elsewhere:2:b")

        with pytest.raises(LeaseLost):
            await in_thread(store.memory.call, operation, {"run_id": run.id, "fence": lost.fence, **given})

        assert await store.get(run.id) == held.run
        assert contents(store) == []

    # -- states ------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("status", "can_be_claimed", "can_be_withdrawn"),
        [
            (RunStatus.PARKED, False, True),
            (RunStatus.READY, True, True),
            (RunStatus.RESUMING, False, False),
            (RunStatus.FAILED, True, True),
            (RunStatus.UNCERTAIN, False, True),
            (RunStatus.FINISHED, False, False),
            (RunStatus.WITHDRAWN, False, False),
        ],
    )
    async def test_a_run_moves_only_as_its_state_allows(
        self, store: RunStateStore, status: RunStatus, can_be_claimed: bool, can_be_withdrawn: bool
    ) -> None:
        run = await run_in(store, status)
        assert (await store.get(run.id)).status is status

        assert (await code_of(store.withdraw(run.id, by="eve")) is None) is can_be_withdrawn

        other = await run_in(store, status)
        assert (await code_of(claim(store, other, "elsewhere:2:b")) is None) is can_be_claimed

    async def test_a_withdrawn_run_leaves_its_conversation_whole(self, store: RunStateStore) -> None:
        session = DuckDBSession("s", store.memory)
        run = await parked(store, remembering("x"), session=session)

        assert (await store.withdraw(run.id, by="eve", reason="no longer needed")).status == "withdrawn"

        *_, call, output = await items_of(session)
        assert (call["call_id"], output["call_id"]) == ("c1", "c1")
        assert await store.pending() == ()
        assert (await store.show("a1")).status == "withdrawn"
        assert contents(store) == []

    async def test_what_is_not_there_is_not_found(self, store: RunStateStore) -> None:
        for asked in (store.get("n9"), store.show("a9"), store.withdraw("n9", by="eve"), store.expire("a9")):
            with pytest.raises(NotFound):
                await asked


async def run_in(store: RunStateStore, status: RunStatus) -> ParkedRun:
    """A run in that state, whose one call is of a tool of the app."""

    @function_tool(needs_approval=True)
    def send_mail(to: str) -> str:
        """Send a mail."""
        return f"sent to {to}"

    mail = function_call("send_mail", {"to": "cy"}, call_id="c1")
    run = await parked(store, mail, tools=[send_mail])
    if status is RunStatus.PARKED:
        return run
    if status is RunStatus.WITHDRAWN:
        return await store.withdraw(run.id, by="eve")  # type: ignore[return-value]
    await store.decide(run.requests[0], "approve", by="eve")
    if status is RunStatus.READY:
        return run
    held = {"run_id": run.id, "fence": (await claim(store, run, LOST)).fence}
    if status is RunStatus.FINISHED:
        await store.call("finish_run", result="done", **held)
    if status is RunStatus.FAILED:
        await store.call("fail_run", error="ValueError", **held)
    if status is RunStatus.RESUMING:
        await claim(store, run)
    if status is RunStatus.UNCERTAIN:
        await store.call("start_call", call_id="c1", **held)
        await code_of(claim(store, run))
    return run
