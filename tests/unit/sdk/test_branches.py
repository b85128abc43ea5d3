"""Runs on branches: parked, decided and resumed where they stopped, whatever the session object stands on meanwhile."""

from pathlib import Path
from typing import Any

import pytest
from agents import Runner, RunState
from agents.extensions.memory import EncryptedSession
from agents.testing import UnexpectedModelCall

from agents_memory import Memory
from agents_memory.errors import CannotResume, InvalidInput, NoSuchBranch, SessionParked
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.tools import memory_tools
from tests.unit.sdk.conftest import NAMESPACE, QUIET, agent, call, conversation, facts, line_of, run

STEP = [call("remember", content="Cy owns ingest")]
MAIN_SAID = ["user", "assistant", "user", "assistant"]
BRANCH_SAID = ["user", "assistant", "user", "function_call:c1", "function_call_output:c1", "assistant"]


async def talked(session: Any, memory: Memory) -> None:
    """Two turns on main, and a branch before the second that the session stands on."""
    await run(agent(memory, "hi"), "hello", session=session)
    await run(agent(memory, "there"), "on main", session=session)
    await session.create_branch_from_turn(2, "b")


async def parked(session: Any, memory: Memory, text: str = "on b", **options: Any) -> str:
    """A run that waits on the branch that the session stands on; its id."""
    result = await run(agent(memory, STEP, **options), text, session=session)
    return (await RunStateStore(memory).park(result, session=session)).id


async def approve_all(store: RunStateStore) -> None:
    for request in await store.pending():
        await store.decide(request.id, "approve", by="eve")


async def on(session: Any, branch: str) -> list[str]:
    return [line_of(item) for item in await session.get_items(branch_id=branch)]


def words_behind(memory: Memory) -> list[str | None]:
    """The words that each fact comes from, in the order of writing."""
    rows = memory._database._cursor().execute(
        "SELECT i.text FROM fact_versions v LEFT JOIN session_items_stored i USING (item_id) ORDER BY v.fact_id"
    )
    return [row[0] for row in rows.fetchall()]


@pytest.mark.parametrize("passed", ["the session", "another object", "nothing"])
async def test_a_run_parked_on_a_branch_goes_on_there(memory, session, store, passed) -> None:
    await talked(session, memory)
    run_id = await parked(session, memory)
    await session.switch_to_branch("main")
    await approve_all(store)
    given = {"the session": session, "another object": DuckDBSession("conv", memory), "nothing": None}[passed]

    done = await store.resume(run_id, agent(memory, "done", session=session), session=given)

    assert (done.run.branch, done.run.status) == ("b", "finished")
    assert await on(session, "b") == BRANCH_SAID
    assert await on(session, "main") == MAIN_SAID
    assert session.branch == "main"
    assert words_behind(memory) == ["on b"]


async def test_a_run_parked_on_main_goes_on_there_while_the_session_stands_on_a_branch(memory, session, store) -> None:
    await run(agent(memory, "hi"), "hello", session=session)
    run_id = await parked(session, memory, "on main")
    await session.create_branch_from_turn(2, "b")
    await run(agent(memory, "there"), "on b", session=session)
    await approve_all(store)

    await store.resume(run_id, agent(memory, "done", session=session), session=session)

    assert await on(session, "main") == BRANCH_SAID
    assert await on(session, "b") == MAIN_SAID
    assert words_behind(memory) == ["on main"]


async def test_a_branch_goes_on_in_another_process(file: Path) -> None:
    with Memory.open(file, namespace=NAMESPACE) as first:
        session = DuckDBSession("conv", first)
        await talked(session, first)
        run_id = await parked(session, first)
    with Memory.open(file, namespace=NAMESPACE) as second:
        await approve_all(RunStateStore(second))
        await RunStateStore(second).resume(run_id, agent(second, "done"))

        assert await on(DuckDBSession("conv", second), "b") == BRANCH_SAID
        assert await conversation(DuckDBSession("conv", second, branch="b")) == BRANCH_SAID
        assert await conversation(DuckDBSession("conv", second)) == MAIN_SAID


async def test_a_late_output_stands_next_to_its_call_on_the_branch(memory, session, store) -> None:
    await talked(session, memory)
    run_id = await parked(session, memory)
    await run(agent(memory, "meanwhile"), "another question", session=session)
    await session.switch_to_branch("main")
    await approve_all(store)

    await store.resume(run_id, agent(memory, "done"), session=session)

    assert await on(session, "b") == [*BRANCH_SAID[:5], "user", "assistant", "assistant"]
    assert await on(session, "main") == MAIN_SAID


async def test_a_free_call_of_a_resumed_run_comes_from_the_words_of_its_branch(memory, session, store) -> None:
    await talked(session, memory)
    run_id = await parked(session, memory)
    await session.switch_to_branch("main")
    await approve_all(store)
    free = [call("relate", "c2", source="Cy", predicate="owns", target="ingest")]
    resuming = agent(memory, free, "done", session=session, policy=lambda name, _arguments: name == "remember")

    await store.resume(run_id, resuming, session=session)

    rows = memory._database._cursor().execute("SELECT session_id, item_id FROM relation_versions").fetchall()
    (row,) = rows
    words = {item.id: item.text for item in memory.read_session("conv", branch="b")}
    assert words[f"i{row[1]}"] == "on b"


async def test_the_same_call_on_another_branch_is_another_call(memory, session, store) -> None:
    await talked(session, memory)
    first = await parked(session, memory, "the same words")
    await session.switch_to_branch("main")
    second = await parked(session, memory, "the same words")
    assert first != second
    await approve_all(store)

    for run_id in (first, second):
        await store.resume(run_id, agent(memory, "done"))

    receipts = memory._database._cursor().execute("SELECT count(*) FROM effects").fetchone()
    assert receipts == (2,)
    assert await on(session, "b") == BRANCH_SAID
    assert await on(session, "main") == [*MAIN_SAID, *BRANCH_SAID[2:]]


async def test_the_same_free_call_on_another_branch_is_written_there(memory, session) -> None:
    step = [call("remember", content="Cy owns ingest"), call("relate", "c2", source="Cy", predicate="owns", target="x")]

    def free() -> Any:
        return agent(memory, step, "done", session=session, policy=lambda _name, _arguments: False)

    await run(free(), "hello", session=session)
    memory.forget("f1")
    await session.create_branch_from_turn(1, "b")
    await run(free(), "hello", session=session)

    assert facts(memory) == ["Cy owns ingest"]
    assert words_behind(memory) == ["hello", "hello"]


async def test_an_equal_state_on_another_branch_is_another_run(memory, session, store) -> None:
    await session.add_items([{"role": "user", "content": "hello"}])
    result = await run(agent(memory, STEP), "hello", session=session)

    on_main = await store.park(result, session=session)
    await session.create_branch_from_turn(1, "b")
    on_b = await store.park(result, session=session)
    again = await store.park(result, session=session)

    assert on_main.id != on_b.id == again.id
    assert (on_main.branch, on_b.branch) == ("main", "b")


async def test_a_run_that_is_approved_in_process_writes_where_the_session_stands(memory, session) -> None:
    await talked(session, memory)
    assistant = agent(memory, STEP, "done", session=session)
    state = (await run(assistant, "on b", session=session)).to_state()
    restored = await RunState.from_string(assistant, state.to_string())
    for item in restored.get_interruptions():
        restored.approve(item)

    await Runner.run(assistant, restored, session=session, run_config=QUIET)

    assert await on(session, "b") == BRANCH_SAID
    assert words_behind(memory) == ["on b"]


async def test_a_failed_attempt_is_taken_back_on_its_branch(memory, session, store) -> None:
    await talked(session, memory)
    run_id = await parked(session, memory)
    await session.switch_to_branch("main")
    await approve_all(store)
    with pytest.raises(UnexpectedModelCall):
        await store.resume(run_id, agent(memory), session=session)

    await store.resume(run_id, agent(memory, "done"), session=session)

    assert await on(session, "b") == BRANCH_SAID
    assert await on(session, "main") == MAIN_SAID
    assert facts(memory) == ["Cy owns ingest"]


async def test_a_withdrawn_run_answers_its_calls_on_its_branch(memory, session, store) -> None:
    await talked(session, memory)
    run_id = await parked(session, memory)
    await session.switch_to_branch("main")

    await store.withdraw(run_id, by="eve")

    assert await on(session, "b") == BRANCH_SAID[:5]
    assert await on(session, "main") == MAIN_SAID


async def test_an_encrypted_session_parks_where_the_session_inside_stands(memory, session, store) -> None:
    encrypted: Any = EncryptedSession("conv", session, "a key of some length")
    await encrypted.add_items([{"role": "user", "content": "hello"}])
    await session.add_items([{"role": "user", "content": "plain, so that there is a turn"}])
    await session.create_branch_from_turn(1, "b")
    run_id = await parked(encrypted, memory)
    await approve_all(store)

    done = await store.resume(run_id, agent(memory, "done"), session=encrypted)

    assert done.run.branch == "b"
    assert len(await session.get_items(branch_id="b")) == 5
    assert len(await session.get_items(branch_id="main")) == 2


@pytest.mark.parametrize("standing", ["main", "b"])
async def test_only_the_branch_in_which_a_run_waits_refuses_a_new_turn(memory, session, standing) -> None:
    await talked(session, memory)
    refusing = DuckDBSession("conv", memory, while_parked="refuse", branch="b")
    await parked(refusing, memory)
    new: Any = [{"role": "user", "content": "and now?"}]

    await refusing.switch_to_branch(standing)
    if standing == "main":
        await refusing.add_items(new)
    else:
        with pytest.raises(SessionParked, match="n1 waits"):
            await refusing.add_items(new)

    assert await on(session, "b") == BRANCH_SAID[:4]


async def test_a_signed_state_cannot_be_moved_to_another_branch(memory, session) -> None:
    store = RunStateStore(memory, key=b"k" * 32)
    await talked(session, memory)
    result = await run(agent(memory, STEP), "on b", session=session)
    run_id = (await store.park(result, session=session)).id
    await approve_all(store)
    memory._database._cursor().execute("UPDATE parked_runs SET branch = 'main'")

    with pytest.raises(CannotResume):
        await store.resume(run_id, agent(memory, "done"))

    memory._database._cursor().execute("UPDATE parked_runs SET branch = 'b'")
    assert (await store.resume(run_id, agent(memory, "done"))).run.status == "finished"


async def test_two_objects_stand_on_branches_of_their_own(memory, session) -> None:
    await talked(session, memory)
    other = DuckDBSession("conv", memory)

    await run(agent(memory, "yes"), "on main too", session=other)
    await run(agent(memory, "yes"), "on b too", session=session)

    assert (session.branch, other.branch) == ("b", "main")
    assert [item.text for item in memory.read_session("conv", branch="b")] == ["hello", "hi", "on b too", "yes"]
    assert len(memory.read_session("conv")) == 6


async def test_a_session_may_begin_on_a_branch_that_is_there(memory, session) -> None:
    await talked(session, memory)
    await DuckDBSession("conv", memory, branch="b").add_items([{"role": "user", "content": "on b"}])

    assert await on(session, "b") == ["user", "assistant", "user"]
    with pytest.raises(NoSuchBranch):
        await DuckDBSession("conv", memory, branch="unknown").add_items([{"role": "user", "content": "lost"}])
    with pytest.raises(NoSuchBranch):
        await DuckDBSession("new", memory, branch="b").add_items([{"role": "user", "content": "lost"}])
    for name in ("", " ", "\ud800", 7):
        with pytest.raises(InvalidInput):
            DuckDBSession("conv", memory, branch=name)  # type: ignore[arg-type]


async def test_the_tools_of_an_agent_know_the_branch_at_each_call(memory, session) -> None:
    tools = memory_tools(memory, session=session, policy=lambda _name, _arguments: False)
    await run(agent(memory, STEP, "done", tools=tools), "on main", session=session)
    await session.create_branch_from_turn(1, "b")
    await run(agent(memory, [call("remember", content="Ada likes tea")], "done", tools=tools), "on b", session=session)

    assert words_behind(memory) == ["on main", "on b"]
