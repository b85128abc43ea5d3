"""`DuckDBSession` under the SDK's compaction, with a client that answers from the test."""

from types import SimpleNamespace
from typing import Any

import pytest
from agents.extensions.memory import EncryptedSession
from agents.memory import OpenAIResponsesCompactionSession
from agents.memory import session as sdk_session

from agents_memory import Memory
from agents_memory.errors import SessionParked
from agents_memory.sdk import compaction
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sessions.live import conversations
from tests.unit.sdk.conftest import agent, call, conversation, run

SUMMARY: Any = {"type": "compaction", "id": "cmp_1", "encrypted_content": "opaque"}
OLD: Any = [{"role": "user", "content": "old"}, {"role": "assistant", "content": "older"}]


class Client:
    """Answers `responses.compact`, and may do something while it is asked."""

    def __init__(self, meanwhile: Any = None) -> None:
        self.asked: list[Any] = []
        self.meanwhile = meanwhile
        self.responses = SimpleNamespace(compact=self.compact)

    async def compact(self, **given: Any) -> Any:
        self.asked.append(given)
        if self.meanwhile is not None:
            await self.meanwhile()
        return SimpleNamespace(output=[SUMMARY], usage=None)


def compacting(inner: Any, client: Any, **options: Any) -> Any:
    return OpenAIResponsesCompactionSession(
        "conv", inner, client=client, should_trigger_compaction=lambda _: True, compaction_mode="input", **options
    )


def kinds(items: list[Any]) -> list[str]:
    return [item.get("role") or item["type"] for item in items]


async def test_a_turn_is_compacted_and_only_what_the_model_saw(memory, session) -> None:
    await session.add_items(OLD)
    session.session_settings.limit = 1
    client = Client()

    await run(agent(memory, "hi", tools=[]), "hello", session=compacting(session, client))

    assert kinds(client.asked[0]["input"]) == ["user", "assistant"]
    assert kinds(await session.get_items(9)) == ["user", "assistant", "compaction"]
    assert [one.text for one in memory.read_session("conv")][:2] == ["old", "older"]


async def test_a_suffix_that_changed_while_the_model_summed_up_is_left_alone(memory, session) -> None:
    late: Any = [{"role": "user", "content": "late"}]
    client = Client(meanwhile=lambda: DuckDBSession("conv", memory).add_items(late))

    await run(agent(memory, "hi", tools=[]), "hello", session=compacting(session, client))

    assert len(client.asked) == 1
    assert await conversation(session) == ["user", "assistant", "user"]


async def test_an_encrypted_conversation_is_compacted_and_stays_encrypted(memory, session) -> None:
    client = Client()
    encrypted = EncryptedSession("conv", compacting(session, client), "a key of some length")

    await run(agent(memory, "hi", tools=[]), "the word is swordfish", session=encrypted)

    assert len(client.asked) == 1
    assert kinds(await encrypted.get_items()) == ["compaction"]
    assert "swordfish" not in repr(memory._database._cursor().execute("FROM session_items_stored").fetchall())
    assert "opaque" not in repr(memory._database._cursor().execute("FROM session_items_stored").fetchall())


async def test_what_expired_goes_with_the_suffix(session) -> None:
    await session.add_items([*OLD, *({"role": "user", "content": str(n)} for n in range(3))])

    snapshot = await session._get_compaction_snapshot(2, prune_prefix=lambda item: item["content"] == "old")
    assert await snapshot.replace_suffix(1, [SUMMARY])

    assert not snapshot.complete
    assert [item.get("content") for item in await session.get_items()] == ["older", "0", "1", None]


@pytest.mark.parametrize(("limit", "complete"), [(1, False), (2, True), (3, True)])
async def test_a_snapshot_knows_whether_it_is_all(session, limit, complete) -> None:
    await session.add_items(OLD)

    snapshot = await session._get_compaction_snapshot(limit)

    assert (snapshot.items, snapshot.complete) == (OLD[-limit:], complete)
    assert not await snapshot.replace_suffix(len(snapshot.items), [SUMMARY])


async def test_a_run_that_waits_is_not_compacted_away(memory, session) -> None:
    client = Client()
    wrapped = compacting(session, client)

    result = await run(agent(memory, [call("remember", content="Cy owns ingest")]), "hi", session=wrapped)
    await RunStateStore(memory).park(result, session=wrapped)

    assert client.asked == []
    assert await conversation(session) == ["user", "function_call:c1"]


async def test_a_compaction_by_hand_replaces_all_at_once_even_while_a_run_waits(memory) -> None:
    session = DuckDBSession("conv", memory, while_parked="refuse")
    wrapped, user = compacting(session, Client()), OLD[:1]
    result = await run(agent(memory, [call("remember", content="Cy owns ingest")]), "hi", session=session)
    await RunStateStore(memory).park(result, session=session)
    with pytest.raises(SessionParked):
        await session.add_items(user)

    await wrapped.run_compaction({"force": True})

    assert kinds(await session.get_items()) == ["compaction"]


async def test_an_empty_conversation_is_compacted_by_hand_too(session) -> None:
    await compacting(session, Client()).run_compaction({"force": True})

    assert kinds(await session.get_items()) == ["compaction"]


async def test_without_the_private_hook_compaction_replaces_a_whole_conversation(memory, session, monkeypatch) -> None:
    monkeypatch.setattr(compaction, "_snapshot_type", None)
    client = Client()

    await run(agent(memory, "hi", tools=[]), "hello", session=compacting(session, client))

    assert await session._get_compaction_snapshot(5) is None
    assert kinds(await session.get_items()) == ["compaction"]


async def test_a_subclass_or_a_context_is_not_gone_behind(memory: Memory) -> None:
    class Own(DuckDBSession):
        pass

    for session in (Own("conv", memory), DuckDBSession("conv", lambda _: memory)):
        assert await session._get_compaction_snapshot(5) is None
        assert not await session._atomic_replace_items([])


async def test_an_unreadable_item_is_not_summed_up(memory: Memory, session) -> None:
    await session.add_items(OLD)
    memory._database._cursor().execute("UPDATE session_items_stored SET item_json = '{' WHERE item_id = 2")
    memory._database.shared(conversations).reset()

    assert await session._get_compaction_snapshot(3) is None
    assert await session._get_compaction_snapshot(0) is not None


def test_this_sdk_has_the_hook() -> None:
    assert hasattr(sdk_session, "_CompactionSnapshot")
