"""The worker's side in an app: `resume_ready` with a registry, and `on_parked`."""

import logging
from typing import Any

import pytest
from agents import RunHooks, SQLiteSession
from agents.testing import ModelStep

from agents_memory import AgentEntry, Memory, _clock
from agents_memory._threads import in_thread
from agents_memory.approvals.claims import RETRY_WAITS_S
from agents_memory.errors import InvalidInput
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.types import ParkedNotice, ParkedRun
from tests.storage import Clock
from tests.unit.sdk.conftest import QUIET, agent, call, conversation, facts, run


async def parked(memory: Memory, number: int = 1, *, name: str = "assistant", session: Any = None) -> ParkedRun:
    """A run of an agent that asks to remember something, approved."""
    store = RunStateStore(memory)
    step = [call("remember", content=f"Fact {number}")]
    kept = session or DuckDBSession(f"conv-{number}", memory)
    waiting = await store.park(await run(agent(memory, step, name=name), "hello", session=kept), session=kept)
    await store.decide(waiting.requests[0], "approve", by="eve")
    return waiting


def entry(memory: Memory, *steps: Any, **given: Any) -> AgentEntry:
    return AgentEntry(agent(memory, *steps), run_config=QUIET, **given)


def fresh(*steps: Any) -> Any:
    """A factory of agents that answer with `steps`."""
    return lambda memory, run: entry(memory, *(steps or ("done",)))


def failing() -> ModelStep:
    return ModelStep(error=TimeoutError("the provider says no: Fact 1"))


def told(outcomes: Any) -> list[tuple[str, str]]:
    return [(outcome.run.id, outcome.became.value) for outcome in outcomes]


@pytest.fixture
def clock() -> Any:
    clock = Clock(_clock.now())
    with _clock.replaced_by(clock):
        yield clock


async def test_every_ready_run_is_resumed_and_no_other(memory, store) -> None:
    await parked(memory, 1)
    await parked(memory, 2)
    waiting = await run(agent(memory, [call("remember", content="Fact 3")]), "hello")
    await store.park(waiting)

    outcomes = await store.resume_ready({"assistant": fresh()})

    assert told(outcomes) == [("n1", "finished"), ("n2", "finished")]
    assert facts(memory) == ["Fact 1", "Fact 2"]
    assert await store.resume_ready({"assistant": fresh()}) == ()


async def test_an_agent_and_an_entry_do_as_well_as_a_factory(memory, store) -> None:
    await parked(memory, 1)
    assert told(await store.resume_ready({"assistant": agent(memory, "done")})) == [("n1", "finished")]

    await parked(memory, 2)
    assert told(await store.resume_ready({"assistant": entry(memory, "done")})) == [("n2", "finished")]


async def test_a_factory_may_be_async_and_is_given_the_runs_namespace(file, memory) -> None:
    await parked(memory.at_namespace("acme/kestrel/main"))
    seen = []

    async def make(inner: Memory, run: ParkedRun) -> AgentEntry:
        seen.append((inner.namespace, run.session_id))
        return entry(inner, "done")

    with Memory.open(file, namespace="") as whole_file:
        outcomes = await RunStateStore(whole_file).resume_ready({"assistant": make})

    assert told(outcomes) == [("n1", "finished")]
    assert seen == [("acme/kestrel/main", "conv-1")]
    assert len(memory.at_namespace("acme/kestrel/main").facts_written("conv-1")) == 1


async def test_an_entry_brings_session_context_and_hooks(memory, store) -> None:
    foreign = SQLiteSession("elsewhere")
    await parked(memory, session=foreign)
    seen = []

    class Seen(RunHooks[Any]):
        async def on_agent_start(self, context: Any, agent: Any) -> None:
            seen.append(context.context)

    given = entry(memory, "done", session=foreign, context={"user": "cy"}, hooks=Seen())
    assert told(await store.resume_ready({"assistant": given})) == [("n1", "finished")]

    assert seen == [{"user": "cy"}]
    assert len(await foreign.get_items()) == 4
    foreign.close()


async def test_a_run_of_an_agent_that_is_not_registered_is_left_alone_and_said_so(memory, store) -> None:
    await parked(memory, 1, name="stranger")
    await parked(memory, 2)

    first, second = await store.resume_ready({"assistant": fresh()})

    assert (first.run.status, first.became) == ("ready", "cannot_resume")
    assert "'stranger'" in (first.reason or "")
    assert first.run.attempt == 0
    assert second.became == "finished"


async def test_a_run_that_does_not_fit_stays_ready_and_keeps_no_other_back(memory, store) -> None:
    await parked(memory, 1)
    await parked(memory, 2)

    def make(inner: Memory, run: ParkedRun) -> Any:
        return agent(inner, "done") if run.id == "n2" else agent(inner, "done", tools=[])

    first, second = await store.resume_ready({"assistant": make})

    assert (first.run.status, first.became) == ("ready", "cannot_resume")
    assert "remember" in (first.reason or "")
    assert second.became == "finished"
    assert told(await store.resume_ready({"assistant": fresh()})) == [("n1", "finished")]


async def test_a_run_that_fails_keeps_no_other_back_and_is_tried_again_later(memory, store, clock) -> None:
    await parked(memory, 1)
    await parked(memory, 2)
    session = DuckDBSession("conv-1", memory)

    def make(inner: Memory, run: ParkedRun) -> Any:
        return entry(inner, failing() if run.id == "n1" else "done")

    first, second = await store.resume_ready({"assistant": make})

    assert (first.run.status, first.became, first.reason) == ("failed", "failed", "TimeoutError")
    assert isinstance(first.error, TimeoutError)
    assert second.became == "finished"
    assert await store.resume_ready({"assistant": fresh()}) == ()
    clock.move(seconds=RETRY_WAITS_S[0] + 1)
    assert told(await store.resume_ready({"assistant": fresh()})) == [("n1", "finished")]
    assert sorted(facts(memory)) == ["Fact 1", "Fact 2"]
    assert await conversation(session) == ["user", "function_call:c1", "function_call_output:c1", "assistant"]


async def test_a_factory_that_raises_is_a_failure_that_is_tried_a_bounded_number_of_times(memory, store, clock) -> None:
    await parked(memory)

    def make(inner: Memory, run: ParkedRun) -> Any:
        raise ConnectionError("no tool server")

    for wait in RETRY_WAITS_S:
        (outcome,) = await store.resume_ready({"assistant": make})
        assert (outcome.became, outcome.reason) == ("failed", "ConnectionError")
        assert await store.resume_ready({"assistant": make}) == ()
        clock.move(seconds=wait + 1)
    await store.resume_ready({"assistant": make})
    clock.move(days=9)

    assert await store.resume_ready({"assistant": make}) == ()
    assert (await store.resume("n1", agent(memory, "done"))).run.status == "finished"


async def test_a_run_that_ends_every_process_that_resumes_it_is_given_up(memory, store, clock) -> None:
    await parked(memory)
    for _ in range(len(RETRY_WAITS_S) + 1):
        memory.call("claim_run", {"run_id": "n1", "owner": "elsewhere:1:a", "lease_s": 60})
        clock.move(seconds=61)

    (outcome,) = await store.resume_ready({"assistant": fresh()})

    assert (outcome.run.status, outcome.became, outcome.reason) == ("failed", "failed", "Lost")
    assert facts(memory) == []
    assert (await store.withdraw("n1", by="eve")).status == "withdrawn"


async def test_a_run_whose_process_died_is_resumed(memory, store, clock) -> None:
    await parked(memory)
    memory.call("claim_run", {"run_id": "n1", "owner": "elsewhere:1:a", "lease_s": 60})
    clock.move(seconds=61)

    assert told(await store.resume_ready({"assistant": fresh()})) == [("n1", "finished")]


async def test_a_run_that_stops_again_waits_for_its_next_decision(memory, store) -> None:
    await parked(memory)
    asking = fresh([call("remember", "c2", content="Fact 2")])

    (outcome,) = await store.resume_ready({"assistant": asking})

    assert (outcome.became, outcome.run.status, outcome.run.requests) == ("parked", "parked", ("a2",))
    assert await store.resume_ready({"assistant": asking}) == ()


async def test_an_expired_request_is_told_to_the_model_and_the_session_is_whole(memory, store, session, clock) -> None:
    result = await run(agent(memory, [call("remember", content="Fact 1")]), "hello", session=session)
    waiting = await store.park(result, session=session, expires_at=clock.moment.isoformat())
    clock.move(seconds=1)

    (expired,) = await store.expire()
    outcomes = await store.resume_ready({"assistant": fresh()})

    assert (expired.id, expired.status) == (waiting.requests[0], "expired")
    assert told(outcomes) == [("n1", "finished")]
    output = next(item for item in await session.get_items() if item.get("type") == "function_call_output")
    assert "expired" in output["output"]
    assert [one.decision for one in await store.history(waiting.requests[0])] == ["expire"]
    assert facts(memory) == []


async def test_what_somebody_else_took_first_is_left_to_them(memory, store) -> None:
    await parked(memory)

    def make(inner: Memory, run: ParkedRun) -> Any:
        inner.call("claim_run", {"run_id": run.id, "owner": "elsewhere:1:a"})
        return agent(inner, "done")

    (outcome,) = await store.resume_ready({"assistant": make})

    assert (outcome.became, outcome.run.status) == ("elsewhere", "resuming")
    assert facts(memory) == []


@pytest.mark.parametrize("registry", [None, ["assistant"], {"assistant": 1}, {1: lambda memory, run: None}])
async def test_a_registry_that_cannot_be_used_is_refused_before_anything(memory, store, registry: Any) -> None:
    waiting = await parked(memory)

    with pytest.raises(InvalidInput):
        await store.resume_ready(registry)

    assert (await store.get(waiting.id)).attempt == 0


async def test_an_entry_needs_an_agent(memory, store) -> None:
    await parked(memory)

    (outcome,) = await store.resume_ready({"assistant": lambda memory, run: "assistant"})

    assert (outcome.became, outcome.reason) == ("failed", "InvalidInput")
    with pytest.raises(InvalidInput, match="str"):
        AgentEntry("assistant")  # type: ignore[arg-type]


async def test_on_parked_is_told_ids_and_names_and_never_the_words(memory, session) -> None:
    notices: list[ParkedNotice] = []
    store = RunStateStore(memory, on_parked=notices.append)
    step = [call("remember", content="Fact 1"), call("relate", "c2", source="Cy", predicate="owns", target="ingest")]

    await store.park(await run(agent(memory, step), "hello", session=session), session=session)

    assert notices == [
        ParkedNotice(
            run_id="n1",
            namespace="acme/kestrel",
            session_id="conv",
            status=notices[0].status,
            revision=1,
            requests=("a1", "a2"),
            tools=("remember", "relate"),
        )
    ]
    assert notices[0].status == "parked"
    assert not any(word in repr(notices) for word in ("Fact", "Cy", "ingest", "hello"))


async def test_on_parked_is_awaited_and_told_of_a_run_that_stops_again(memory) -> None:
    notices: list[ParkedNotice] = []

    async def on_parked(notice: ParkedNotice) -> None:
        await in_thread(notices.append, notice)

    store = RunStateStore(memory, on_parked=on_parked)
    await parked(memory)

    await store.resume_ready({"assistant": fresh([call("remember", "c2", content="Fact 2")])})
    await store.decide("a2", "approve", by="eve")
    await store.resume_ready({"assistant": fresh()})

    assert [(one.run_id, one.revision, one.requests, one.tools) for one in notices] == [
        ("n1", 2, ("a2",), ("remember",))
    ]


async def test_an_on_parked_that_raises_loses_no_run_and_is_logged_by_its_type(memory, session, caplog) -> None:
    def on_parked(notice: ParkedNotice) -> None:
        raise ConnectionError("Fact 1")

    store = RunStateStore(memory, on_parked=on_parked)
    with caplog.at_level(logging.ERROR, logger="agents_memory"):
        step = [call("remember", content="Fact 1")]
        waiting = await store.park(await run(agent(memory, step), "hello", session=session), session=session)

    assert (await store.get(waiting.id)).status == "parked"
    assert "ConnectionError" in caplog.text
    assert "Fact 1" not in caplog.text
