"""Policies on the way: the SDK asks them about every well-formed write, and in doubt nothing is written."""

import asyncio
import threading
from typing import Any

import pytest

from agents_memory.operations import CATALOGUE, Risk
from agents_memory.policies import Answer, any_of, audit_only, by_operation, low_risk
from agents_memory.sdk.tools import memory_tools
from tests.storage import dump
from tests.unit.sdk.conftest import agent, call, facts, outputs, run

WELL_FORMED: dict[str, dict[str, Any]] = {
    "remember": {"content": "Cy owns intake"},
    "supersede": {"fact_id": "f1", "content": "Cy owns ingest"},
    "correct": {"fact_id": "f1", "content": "Bo owns intake"},
    "forget": {"fact_id": "f1"},
    "relate": {"source": "Bo", "predicate": "owns", "target": "ingest"},
    "unrelate": {"source": "Bo", "predicate": "leads", "target": "ingest"},
    "add_alias": {"entity": "Bo", "alias": "Bob"},
    "add_episode": {"text": "Bo said so."},
}
GATED = sorted(WELL_FORMED)


@pytest.fixture
def known(memory):
    memory.remember("Bo owns ingest", entities=["Bo"], relate=[("Bo", "leads", "ingest")], valid_from="2026-01-12")
    return memory


async def asking(memory, name, policy, arguments=None, *, raw=None):
    from agents.testing import function_call

    step = [call(name, **WELL_FORMED[name]) if raw is None else function_call(name, raw, call_id="c1")]
    return await run(agent(memory, step, "done", policy=policy, include=["add_alias", "add_episode"]), "hello")


def test_every_write_that_can_be_a_tool_is_tried_here() -> None:
    writes = {name for name, entry in CATALOGUE.items() if entry.risk is Risk.WRITE and entry.tool_parameters}

    assert writes == WELL_FORMED.keys()


@pytest.mark.parametrize("name", GATED)
async def test_the_policy_is_really_asked_about_a_well_formed_write(known, name) -> None:
    seen = []

    def policy(operation, arguments, look):
        seen.append((operation, dict(arguments), look().problem))
        return True

    result = await asking(known, name, policy)

    assert [item.name for item in result.interruptions] == [name]
    assert seen == [(name, WELL_FORMED[name], None)]


def raising(operation, arguments):
    raise RuntimeError("a defect of the app")


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("policy", [raising, lambda *_: None, lambda *_: 0, lambda *_: "no", lambda *_: Answer.ASK])
async def test_a_policy_that_says_nothing_plain_asks_and_nothing_is_written(known, name, policy) -> None:
    before = dump(known._database)

    result = await asking(known, name, policy)

    assert [item.name for item in result.interruptions] == [name]
    assert dump(known._database) == before


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("raw", ["", "{", "[]", "null", '"x"', "{}", '{"nonsense": 1}', '{"content": 3, "fact_id": 3}'])
async def test_malformed_arguments_are_asked_about_or_refused_and_never_written(known, name, raw) -> None:
    before = dump(known._database)

    result = await asking(known, name, lambda *_: False, raw=raw)

    said = outputs(result.to_input_list()).get("c1")
    assert bool(result.interruptions) != (said is not None and "error" in said)
    assert dump(known._database) == before


async def test_a_policy_that_blocks_leaves_the_event_loop_free(known) -> None:
    waiting, running = asyncio.Event(), asyncio.get_running_loop()
    released = threading.Event()

    def policy(operation, arguments):
        running.call_soon_threadsafe(waiting.set)
        return not released.wait(10)

    async def release():
        await waiting.wait()
        released.set()

    result, _ = await asyncio.gather(asking(known, "remember", policy), release())

    assert result.interruptions == []
    assert "Cy owns intake" in facts(known)


async def test_a_policy_cannot_change_what_is_written(memory) -> None:
    def policy(operation, arguments):
        arguments["content"] = "Dan owns ingest"
        arguments["entities"].append("Dan")
        return False

    step = [call("remember", content="Cy owns ingest", entities=["Cy"])]
    await run(agent(memory, step, "done", policy=policy), "hello")

    assert facts(memory) == ["Cy owns ingest"]
    assert memory.get("f1").entities == ("Cy",)


async def test_a_call_that_memory_contradicts_asks_and_what_agrees_is_written(memory) -> None:
    memory.remember("The broker listens on port 5672.", entities=["broker"])
    step = [
        call("remember", "c1", content="The broker listens on port 5673.", entities=["broker"]),
        call("remember", "c2", content="Cy likes tea.", entities=["Cy"]),
        call("remember", "c3", content="Cy must be called Captain.", kind="instruction"),
    ]

    result = await run(agent(memory, step, policy=low_risk()), "hello")

    assert [item.call_id for item in result.interruptions] == ["c1", "c3"]
    assert facts(memory)[1:] == ["Cy likes tea."]


async def test_a_call_that_came_into_conflict_on_the_way_asks_again(memory) -> None:
    def policy(operation, arguments, look):
        found = low_risk()(operation, arguments, look)
        if not found:
            memory.remember("The broker listens on port 5672.", entities=["broker"])
        return found

    step = [call("remember", content="The broker listens on port 5673.", entities=["broker"])]
    result = await run(agent(memory, step, "done", policy=policy), "hello")

    assert outputs(result.to_input_list())["c1"]["error"]["code"] == "needs_approval"
    assert facts(memory) == ["The broker listens on port 5672."]


async def test_a_model_that_writes_freely_is_told_of_duplicates_and_conflicts_but_not_their_text(memory) -> None:
    memory.remember("The broker listens on port 5672.", entities=["broker"])
    step = [
        call("remember", "c1", content="The broker listens on port 5673.", entities=["broker"]),
        call("remember", "c2", content="The broker listens on port 5672", entities=["broker"]),
    ]

    said = outputs((await run(agent(memory, step, "done", policy=lambda *_: False), "hi")).to_input_list())

    assert said["c1"]["conflicts"] == [{"id": "f1", "differs_in": "number"}]
    assert said["c1"]["note"].startswith("May contradict f1.")
    assert said["c2"]["duplicates"] == ["f1"]
    assert "5672" not in str(said["c1"])


async def test_a_write_for_review_is_made_at_once_and_listed_with_its_words(memory, session, store) -> None:
    asking = agent(memory, [call("remember", content="Cy owns ingest")], "done", session=session, policy=audit_only)

    result = await run(asking, "Cy took ingest over.", session=session)

    (listed,) = await store.written()
    assert outputs(result.to_input_list())["c1"]["status"] == "created"
    assert (listed.status, listed.agent, listed.words) == ("written", "assistant", "Cy took ingest over.")
    assert [(change.id, change.text) for change in listed.preview.changes] == [("f1", "Cy owns ingest")]
    assert await store.pending() == ()
    assert memory.provenance("f1")[0].request_id == listed.id
    assert memory.facts_written("conv")[0].approved_by is None

    done = await store.acknowledge(listed.id, by="eve", reason="fine")

    assert (done.status, done.decisions[0].decision, done.decisions[0].decided_by) == ("done", "acknowledge", "eve")
    assert await store.written() == ()


async def test_what_is_risky_asks_and_the_rest_is_listed(memory, session, store) -> None:
    step = [call("remember", "c1", content="Cy owns ingest"), call("remember", "c2", content="x", kind="profile")]

    result = await run(agent(memory, step, policy=any_of(low_risk(), audit_only)), "hello", session=session)
    await store.park(result, session=session)

    assert [request.call_id for request in await store.written()] == ["c1"]
    assert [request.call_id for request in await store.pending()] == ["c2"]


async def test_a_write_for_review_in_a_resumed_run_happens_once(memory, session, store) -> None:
    policy = by_operation({"remember": audit_only})
    memory.remember("Bo owns ingest")
    first = agent(memory, [call("forget", fact_id="f1")], session=session, policy=policy)
    parked = await store.park(await run(first, "hello", session=session), session=session)
    await store.decide(parked.requests[0], "approve", by="eve")
    second = agent(memory, [call("remember", "c2", content="Cy owns ingest")], "done", session=session, policy=policy)

    await store.resume(parked.id, second)
    await store.resume(parked.id, second)

    (listed,) = await store.written()
    assert (listed.run_id, listed.call_id) == (parked.id, "c2")
    assert facts(memory) == ["Cy owns ingest"]


def test_a_policy_that_is_none_is_refused_when_the_tools_are_made(memory) -> None:
    from agents_memory.errors import InvalidInput

    async def policy(operation, arguments):
        return False

    with pytest.raises(InvalidInput):
        memory_tools(memory, policy=policy)
