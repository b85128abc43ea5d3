"""What `DuckDBSession` does beyond the common contract."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from agents.testing import assistant_message

from agents_memory import DuckDBSession, Memory
from agents_memory._threads import in_thread
from agents_memory.errors import Closed, InvalidInput, LeaseLost
from agents_memory.sdk.current import CurrentRun, current_run
from agents_memory.testing.session_conformance import said, texts
from agents_memory.testing.session_runs import (
    approved,
    assistant,
    call,
    check_calls_are_answered,
    outline,
    play,
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", namespace="acme") as memory:
        yield memory


async def test_a_late_output_stands_next_to_its_call(memory: Memory) -> None:
    session = DuckDBSession("s", memory)
    agent, noted = assistant(
        [[call("a", "c1")], [assistant_message("meanwhile")], [assistant_message("done")], [assistant_message("next")]],
        asks=True,
    )
    parked = await play(agent, "note a", session)
    await play(agent, "another question", session)

    await play(agent, await approved(parked, agent), session)
    await play(agent, "and now?", session)

    assert noted == ["a"]
    assert outline(await session.get_items()) == [
        "user", "call:c1", "call_output:c1", "user", "assistant", "assistant", "user", "assistant",
    ]  # fmt: skip
    sent = agent.model.last_call.input  # type: ignore[union-attr]
    assert outline(sent) == outline((await session.get_items())[:-1])


async def test_late_outputs_of_several_calls_each_stand_next_to_theirs(memory: Memory) -> None:
    session = DuckDBSession("s", memory)
    agent, noted = assistant(
        [[call("a", "c1"), call("b", "c2")], [assistant_message("meanwhile")], [assistant_message("done")]], asks=True
    )
    parked = await play(agent, "note both", session)
    await play(agent, "another question", session)

    await play(agent, await approved(parked, agent), session)

    assert sorted(noted) == ["a", "b"]
    assert outline(await session.get_items())[:5] == ["user", "call:c1", "call_output:c1", "call:c2", "call_output:c2"]
    check_calls_are_answered(await session.get_items())


async def test_two_runs_parked_in_one_session_each_get_their_output(memory: Memory) -> None:
    session = DuckDBSession("s", memory)
    agent, _ = assistant(
        [[call("a", "c1")], [call("b", "c2")], [assistant_message("first")], [assistant_message("second")]], asks=True
    )
    first = await play(agent, "note a", session)
    second = await play(agent, "note b", session)

    await play(agent, await approved(first, agent), session)
    await play(agent, await approved(second, agent), session)

    assert outline(await session.get_items()) == [
        "user", "call:c1", "call_output:c1", "user", "call:c2", "call_output:c2", "assistant", "assistant",
    ]  # fmt: skip


async def test_a_resume_that_lost_its_claim_adds_nothing(memory: Memory) -> None:
    session = DuckDBSession("s", memory)
    await session.add_items([said("before")])
    token = current_run.set(CurrentRun(run_id="n7", fence=1, memory=memory))
    with pytest.raises(LeaseLost):
        await session.add_items([said("during")])
    current_run.reset(token)

    assert await session.get_items() == [said("before")]


async def test_a_claim_says_nothing_about_a_session_in_another_file(memory: Memory) -> None:
    with Memory.open(":memory:") as other:
        session = DuckDBSession("s", memory)
        token = current_run.set(CurrentRun(run_id="n7", fence=1, memory=other))
        await session.add_items([said("during")])
        current_run.reset(token)

        rows = memory._database._cursor().execute("SELECT text, run_id FROM session_items").fetchall()

    assert rows == [("during", None)]


async def test_every_use_after_close_says_closed(memory: Memory) -> None:
    session = DuckDBSession("s", memory)
    await asyncio.gather(in_thread(session.close), in_thread(session.close))

    uses = (
        session.get_items(),
        session.get_turns(1),
        session.add_items([]),
        session.add_items([said("a")]),
        session.pop_item(),
        session.clear_session(),
    )
    for use in uses:
        with pytest.raises(Closed, match="closed"):
            await use


async def test_closing_a_session_leaves_the_memory_it_was_given_open(memory: Memory) -> None:
    session = DuckDBSession("s", memory)
    await session.add_items([said("a")])

    session.close()

    assert [item.text for item in memory.read_session("s")] == ["a"]
    assert await DuckDBSession("s", memory).get_items() == [said("a")]


async def test_a_session_of_a_path_closes_its_file(tmp_path: Path) -> None:
    session = DuckDBSession("s", tmp_path / "m.duckdb", namespace="acme")
    await session.add_items([said("a")])
    session.close()

    assert not (tmp_path / "m.duckdb.wal").exists()
    with Memory.open(tmp_path / "m.duckdb", namespace="acme") as memory:
        assert [item.text for item in memory.read_session("s")] == ["a"]


@pytest.mark.parametrize("session_id", ["", "  ", "\n", None, 7, "a\ud800"])
def test_an_id_that_names_nothing_is_refused(memory: Memory, session_id: Any) -> None:
    with pytest.raises(InvalidInput, match="session"):
        DuckDBSession(session_id, memory)


async def test_a_session_belongs_to_one_namespace(memory: Memory) -> None:
    here, below = DuckDBSession("s", memory), DuckDBSession("s", memory, namespace="acme/kestrel")

    await here.add_items([said("a")])
    await below.add_items([said("b")])

    assert texts(await here.get_items()) == ["a"]
    assert texts(await below.get_items()) == ["b"]


async def test_the_last_turns_begin_with_a_user_item(memory: Memory) -> None:
    session = DuckDBSession("s", memory)
    sizes = [1, 6, 2, 3, 4]
    await session.add_items([{"role": "system", "content": "preface"}])
    for turn, size in enumerate(sizes):
        answers: list[Any] = [{"role": "assistant", "content": str(n)} for n in range(1, size)]
        await session.add_items([said(f"turn {turn}"), *answers])

    last_two = await session.get_turns(2)

    assert len(last_two) == 7
    assert last_two[0] == said("turn 3")
    assert len(await session.get_turns(5)) == sum(sizes)
    assert len(await session.get_turns(9)) == sum(sizes) + 1
    assert await session.get_turns(0) == []


async def test_a_refused_item_is_named_by_its_kind_and_not_its_content(memory: Memory) -> None:
    session = DuckDBSession("s", memory)

    with pytest.raises(InvalidInput) as refused:
        await session.add_items([{"role": "user", "content": Secret()}])  # type: ignore[misc, list-item]

    assert isinstance(refused.value, TypeError)
    assert "Secret is not JSON serializable" in str(refused.value)
    assert "swordfish" not in str(refused.value)


class Secret:
    def __repr__(self) -> str:
        return "swordfish"


async def test_an_unreadable_row_is_reported_without_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = DuckDBSession("s", tmp_path / "m.duckdb")
    await session.add_items([said("a")])
    session.close()
    with duckdb.connect(str(tmp_path / "m.duckdb")) as file:
        file.execute("UPDATE session_items_stored SET item_json = '{swordfish'")
    damaged = DuckDBSession("s", tmp_path / "m.duckdb")

    with caplog.at_level(logging.WARNING, logger="agents_memory"):
        assert await damaged.get_items() == []
    damaged.close()

    assert "1 stored session item(s) are no JSON" in caplog.text
    assert "swordfish" not in caplog.text


async def test_an_encrypting_wrapper_leaves_no_plaintext_in_any_column(memory: Memory) -> None:
    pytest.importorskip("cryptography")
    from agents.extensions.memory import EncryptedSession

    inner: Any = DuckDBSession("s", memory)
    session = EncryptedSession("s", inner, "a key of some length")
    await session.add_items([said("the word is swordfish")])

    assert await session.get_items(limit=1) == [said("the word is swordfish")]
    rows = memory._database._cursor().execute("SELECT * FROM session_items_stored").fetchall()
    assert "swordfish" not in repr(rows)
