"""`limit_turns`: a run reads whole turns, and no call without its output."""

import json
from typing import Any

import pytest
from agents import RunConfig, Runner
from agents.memory import SessionSettings
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_memory import Memory
from agents_memory.errors import InvalidInput
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sessions.live import conversations
from agents_memory.testing.session_runs import check_calls_are_answered
from tests.unit.sdk.conftest import agent, call, run


def said(text: str) -> Any:
    return {"role": "user", "content": text}


def answer(text: str) -> Any:
    return {"role": "assistant", "content": text}


def words(items: list[Any]) -> list[str]:
    return [item.get("content") or item["type"] for item in items]


async def talked(session: DuckDBSession) -> None:
    await session.add_items([{"role": "system", "content": "be kind"}])
    for turn in range(4):
        await session.add_items([said(f"q{turn}"), answer(f"a{turn}")])


async def test_a_run_reads_the_last_turns_whole(memory) -> None:
    session = DuckDBSession("conv", memory, limit_turns=2)
    await talked(session)
    assistant = agent(memory, "hi", tools=[])

    await run(assistant, "now", session=session)

    assert words(assistant.model.last_call.input) == ["q2", "a2", "q3", "a3", "now"]
    assert len(memory.read_session("conv")) == 11


@pytest.mark.parametrize(
    ("turns", "expected"),
    [(0, []), (1, ["q3", "a3"]), (4, ["q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3"]), (5, None), (99, None)],
)
async def test_a_number_of_turns_is_read_or_all_there_are(memory, turns, expected) -> None:
    session = DuckDBSession("conv", memory, limit_turns=turns)
    await talked(session)

    found = words(await session.get_items())

    whole = words(await session.get_items(limit=-1))
    assert found == (whole if expected is None else expected)
    memory._database.shared(conversations).reset()
    assert words(await session.get_items()) == found


async def test_a_number_of_items_wins_wherever_it_is_given(memory) -> None:
    session = DuckDBSession("conv", memory, limit_turns=1)
    await talked(session)
    assert words(await session.get_items(limit=3)) == ["a2", "q3", "a3"]
    assert len(await session.get_items(limit=-1)) == 9

    limited = DuckDBSession("conv", memory, limit_turns=1, session_settings=SessionSettings(limit=3))
    assert words(await limited.get_items()) == ["a2", "q3", "a3"]
    assistant = agent(memory, "hi", tools=[])
    await Runner.run(
        assistant,
        "now",
        session=session,
        run_config=RunConfig(tracing_disabled=True, session_settings=SessionSettings(limit=1)),
    )
    assert words(assistant.model.last_call.input) == ["a3", "now"]


async def test_turns_are_those_of_the_branch(memory) -> None:
    session = DuckDBSession("conv", memory, limit_turns=2)
    await talked(session)
    await session.create_branch_from_turn(2, "b")
    await session.add_items([said("qb")])

    assert words(await session.get_items()) == ["q0", "a0", "qb"]
    assert words(await session.get_items(branch_id="main")) == ["q2", "a2", "q3", "a3"]


async def test_a_late_output_is_read_with_its_call_or_not_at_all(memory) -> None:
    session = DuckDBSession("conv", memory, limit_turns=1)
    store = RunStateStore(memory)
    step = [call("remember", content="Cy owns ingest")]
    parked = await store.park(await run(agent(memory, step), "hello", session=session), session=session)
    await run(agent(memory, "meanwhile"), "another question", session=session)
    await store.decide("a1", "approve", by="eve")

    await store.resume(parked.id, agent(memory, "done"), session=session)

    for turns in range(3):
        read = await session.get_turns(turns)
        check_calls_are_answered(read)
    assert words(await session.get_items())[0] == "another question"


@pytest.mark.parametrize("wrong", [-1, True, "2", 1.5])
def test_what_is_no_number_of_turns_is_refused(memory, wrong) -> None:
    with pytest.raises(InvalidInput, match="limit_turns"):
        DuckDBSession("conv", memory, limit_turns=wrong)


CALL_IDS = st.sampled_from(["c1", "c2"])
ITEMS = st.one_of(
    st.just(said("q")),
    st.just(answer("a")),
    st.builds(lambda call_id: {"type": "function_call", "call_id": call_id}, CALL_IDS),
    st.builds(lambda call_id: {"type": "function_call_output", "call_id": call_id}, CALL_IDS),
)


@settings(max_examples=40)
@given(st.lists(st.lists(ITEMS, min_size=1, max_size=4), max_size=8), st.integers(0, 5), st.integers(1, 60))
def test_turns_read_from_what_the_process_keeps_are_those_of_the_file(batches: Any, turns: int, times: int) -> None:

    with Memory.open(":memory:") as memory:
        for number, batch in enumerate(batches):
            texts = [json.dumps(item) for item in batch] * (times if number == 0 else 1)
            memory.call("session_append", {"session_id": "s", "items": texts})
        asked = {"session_id": "s", "turns": turns}

        kept = memory.call("session_items", asked)
        memory._database.shared(conversations).reset()
        anew = memory.call("session_items", asked)
        then = memory.as_of(known_at=memory._database.now()).call("session_items", asked)

        assert kept == anew == then
        assert kept == tuple(item.item_json for item in memory.read_session("s", turns=turns))


async def test_an_encrypted_conversation_shows_no_turns_so_that_all_is_read(memory) -> None:
    from agents.extensions.memory import EncryptedSession

    inner: Any = DuckDBSession("conv", memory, limit_turns=1)
    session = EncryptedSession("conv", inner, "a key of some length")
    await session.add_items([said("q0"), answer("a0")])
    await session.add_items([said("q1")])

    assert words(await session.get_items()) == ["q0", "a0", "q1"]


@pytest.mark.parametrize("limited", [{}, {"limit_turns": 1}, {"session_settings": {"limit": 3}}])
async def test_a_compaction_by_hand_replaces_no_more_than_it_sums_up(memory, limited) -> None:
    from tests.unit.sdk.test_compaction import SUMMARY, Client, compacting

    session = DuckDBSession("conv", memory, **limited)
    await talked(session)
    client = Client()

    await compacting(session, client).run_compaction({"force": True})

    summed = words(client.asked[0]["input"])
    left = [item for item in await session.get_items(limit=-1) if item != SUMMARY]
    assert words(left) + summed == ["be kind", "q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3"]
