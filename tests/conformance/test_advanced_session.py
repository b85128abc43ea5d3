"""Branches, turns and usage under the names of the SDK's `AdvancedSQLiteSession`, held by both side by side."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.extensions.memory import AdvancedSQLiteSession
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.usage import Usage
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from agents_memory import DuckDBSession

QUIET = RunConfig(tracing_disabled=True)
LEFT_OUT = {"timestamp", "created_at", "cache_write_tokens_details"}  # moments, and what newer versions of openai add


def said(text: str) -> Any:
    return {"role": "user", "content": text}


def answer(text: str) -> Any:
    return {"role": "assistant", "content": text}


def without_times(found: Any) -> Any:
    """What was found, without what may differ, at any depth."""
    if isinstance(found, dict):
        return {key: without_times(value) for key, value in found.items() if key not in LEFT_OUT}
    return [without_times(one) for one in found] if isinstance(found, list) else found


async def all_of(session: Any, branch_id: str | None = None) -> dict[str, Any]:
    """Everything that can be asked of a branch, by the method that was asked."""
    one_turn = [await session.get_turn_usage(turn, branch_id) for turn in range(4)]
    found = {
        "items": await session.get_items(branch_id=branch_id),
        "turns": await session.get_conversation_turns(branch_id),
        "by turns": await session.get_conversation_by_turns(branch_id),
        "tools": await session.get_tool_usage(branch_id),
        "turn usage": await session.get_turn_usage(branch_id=branch_id),
        "one turn's usage": one_turn,
        "session usage": await session.get_session_usage(branch_id),
        "found": await session.find_turns_by_content("AGAIN", branch_id),
        "branches": sorted(await session.list_branches(), key=lambda row: row["branch_id"]),
    }
    return {name: without_times(value) for name, value in found.items()}


@function_tool
def look(where: str) -> str:
    """Look."""
    return where


@function_tool
def note(what: str) -> str:
    """Note."""
    return what


def spends(tokens: int, *output: Any) -> ModelStep:
    usage = Usage(
        requests=1,
        input_tokens=tokens,
        input_tokens_details=InputTokensDetails.model_validate({"cached_tokens": 3, "cache_write_tokens": 1}),
        output_tokens=2,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=1),
        total_tokens=tokens + 2,
    )
    return ModelStep([assistant_message(item) if isinstance(item, str) else item for item in output], usage=usage)


async def talk(session: Any, text: str, *steps: ModelStep) -> None:
    agent = Agent(name="assistant", tools=[look, note], model=ScriptedModel(list(steps)))
    await session.store_run_usage(await Runner.run(agent, text, session=session, run_config=QUIET))


async def a_conversation(session: Any) -> None:
    """Three turns, the second with calls."""
    await talk(session, "hello", spends(10, "hi"))
    calls = [function_call("note", {"what": "b"}, call_id="c1"), function_call("look", {"where": "a"}, call_id="c2")]
    more = function_call("note", {"what": "c"}, call_id="c3")
    await talk(session, "look again", spends(20, *calls), spends(30, more), spends(40, "there"))
    await talk(session, "and Again?", spends(50, "yes"))


async def branched(session: Any) -> None:
    await a_conversation(session)
    await session.create_branch_from_turn(3, "b")
    await talk(session, "another way", spends(60, "fine"))


async def branched_twice(session: Any) -> None:
    await branched(session)
    await session.create_branch_from_content("another", "c")
    await talk(
        session, "a third way again", spends(70, function_call("look", {"where": "z"}, call_id="c9")), spends(1, "ok")
    )
    await session.switch_to_branch("b")


async def popped(session: Any) -> None:
    await branched(session)
    for _ in range(3):
        await session.pop_item()


async def deleted(session: Any) -> None:
    await branched_twice(session)
    await session.delete_branch("b", force=True)


async def odd_items(session: Any) -> None:
    """What no run of ours makes: a beginning without a user, parts, tools of providers, unknown types."""
    await session.add_items([{"role": "system", "content": "be kind"}])
    await session.add_items([{"role": "user", "content": [{"type": "input_text", "text": "x" * 120 + " again"}]}])
    await session.add_items(
        [
            {"type": "mcp_call", "id": "m1", "name": "find", "server_label": "docs", "arguments": "{}"},
            {"type": "mcp_approval_request", "id": "m2", "name": "drop", "server_label": "db", "arguments": "{}"},
            {"type": "web_search_call", "id": "w1", "status": "completed"},
            {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}},
            {"type": "custom_tool_call", "call_id": "k1", "name": "paint", "input": "red"},
            {"type": "function_call", "call_id": "f1", "name": "find", "namespace": "crm", "arguments": "{}"},
            {"type": "function_call", "call_id": "f2", "name": "find", "namespace": "find", "arguments": "{}"},
            {"type": "tool_search_call", "id": "t1"},
            {"type": "tool_search_output", "id": "t2"},
            {"type": "reasoning", "id": "r1", "summary": []},
            {"type": "something new"},
            {"neither": "type nor role"},
        ]
    )
    await session.add_items(
        [{"role": "user", "content": '%_\\ "quoted"', "type": "message"}, {"role": "user", "content": ""}]
    )


SCENES: dict[str, Callable[[Any], Any]] = {
    scene.__name__: scene for scene in (a_conversation, branched, branched_twice, popped, deleted, odd_items)
}


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[Any, Any]]:
    theirs = AdvancedSQLiteSession(session_id="s", create_tables=True, db_path=tmp_path / "s.db")
    ours = DuckDBSession("s", tmp_path / "s.duckdb")
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize("scene", SCENES)
async def test_every_answer_is_the_same(both: tuple[Any, Any], scene: str) -> None:
    ours, theirs = both
    for session in both:
        await SCENES[scene](session)

    for branch_id in [None, *(row["branch_id"] for row in await theirs.list_branches())]:
        found, expected = await all_of(ours, branch_id), await all_of(theirs, branch_id)
        if branch_id is None and scene in {"popped", "deleted"}:
            del expected["session usage"]  # ours counts what was spent, whatever was taken away since
        for method, value in expected.items():
            assert found[method] == value, (branch_id, method)


@pytest.mark.parametrize(
    "term", ["hello", "HELLO", "again", "%", "_", "\\", '"', "quoted", "", "no such words", "x" * 120]
)
async def test_the_same_turns_hold_a_term(both: tuple[Any, Any], term: str) -> None:
    found = []
    for session in both:
        await odd_items(session)
        await session.add_items([said("hello 100%"), answer("hello again")])
        found.append(without_times(await session.find_turns_by_content(term)))

    assert found[0] == found[1]


async def test_turns_name_their_moments_and_can_be_branched_from(both: tuple[Any, Any]) -> None:
    for session in both:
        await session.add_items([said("hello")])

        (turn,) = await session.get_conversation_turns()

        assert turn["timestamp"]
        assert turn["can_branch"]
        (branch,) = await session.list_branches()
        assert branch["created_at"]


async def test_names_are_made_for_branches_without_one(both: tuple[Any, Any]) -> None:
    for session in both:
        await a_conversation(session)
        names = []
        for _ in range(3):
            names.append(await session.create_branch_from_turn(2))
            await session.switch_to_branch("main")

        assert len(set(names)) == 3
        assert {row["branch_id"] for row in await session.list_branches()} == {"main", *names}


REFUSED: dict[str, Callable[[Any], Any]] = {
    "a branch before a turn that is not there": lambda s: s.create_branch_from_turn(7, "new"),
    "a branch before no turn": lambda s: s.create_branch_from_turn(0, "new"),
    "a branch without a name": lambda s: s.create_branch_from_turn(2, "  "),
    "a branch of a name in use": lambda s: s.create_branch_from_turn(2, "b"),
    "a branch of the first name": lambda s: s.create_branch_from_turn(2, "main"),
    "a branch of the name of a deleted one": lambda s: s.create_branch_from_turn(2, "gone"),
    "a branch before what nobody said": lambda s: s.create_branch_from_content("never said"),
    "standing on an unknown branch": lambda s: s.switch_to_branch("unknown"),
    "standing on a deleted branch": lambda s: s.switch_to_branch("gone"),
    "deleting main": lambda s: s.delete_branch("main"),
    "deleting main with force": lambda s: s.delete_branch("main", force=True),
    "deleting the current branch": lambda s: s.delete_branch("b"),
    "deleting an unknown branch": lambda s: s.delete_branch("unknown"),
    "deleting a branch twice": lambda s: s.delete_branch("gone"),
    "deleting no branch": lambda s: s.delete_branch(" "),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_one_refuses_the_other_refuses_and_nothing_changes(both: tuple[Any, Any], what: str) -> None:
    for session in both:
        await a_conversation(session)
        await session.create_branch_from_turn(2, "gone")
        await session.delete_branch("gone", force=True)
        await session.create_branch_from_turn(3, "b")
        before = await all_of(session)

        with pytest.raises(ValueError):  # noqa: PT011 - what their users catch
            await REFUSED[what](session)

        assert await all_of(session) == before


async def test_a_branch_of_a_conversation_that_has_not_begun_is_refused(both: tuple[Any, Any]) -> None:
    for session in both:
        with pytest.raises(ValueError):  # noqa: PT011
            await session.create_branch_from_turn(1)
        assert await session.list_branches() == []
        assert await session.get_session_usage() is None
        assert await session.get_turn_usage() == []
        assert await session.get_turn_usage(1) == {}
        assert await session.get_conversation_by_turns() == {}


async def test_clearing_goes_back_to_main(both: tuple[Any, Any]) -> None:
    for session in both:
        await branched_twice(session)
        await session.clear_session()
        await session.add_items([said("anew")])

        assert await session.get_items() == [said("anew")]
        (current,) = [row["branch_id"] for row in await session.list_branches() if row["is_current"]]
        assert current == "main"
        assert without_times(await session.get_conversation_turns()) == [
            {"turn": 1, "content": "anew", "full_content": "anew", "can_branch": True}
        ]
        with pytest.raises(ValueError):  # noqa: PT011
            await session.create_branch_from_turn(1, "b")


class TestWhatIsOurs:
    """Where the two differ, on purpose."""

    @pytest.fixture
    async def session(self, both: tuple[Any, Any]) -> DuckDBSession:
        session: DuckDBSession = both[0]
        await a_conversation(session)
        return session

    async def test_clearing_leaves_the_branches_empty_and_what_was_spent_counted(self, session: DuckDBSession) -> None:
        before = await session.get_session_usage()
        await session.create_branch_from_turn(2, "b")
        await session.clear_session()

        rows = [(row["branch_id"], row["message_count"]) for row in await session.list_branches()]
        assert rows == [("main", 0), ("b", 0)]
        after = await session.get_session_usage()
        assert before is not None
        assert after == {**before, "total_turns": 0}

    async def test_a_branch_before_the_first_turn_is_there_though_empty(self, session: DuckDBSession) -> None:
        await session.create_branch_from_turn(1, "afresh")

        assert await session.get_items() == []
        assert [row["branch_id"] for row in await session.list_branches()] == ["main", "afresh"]
        await session.switch_to_branch("main")
        await session.switch_to_branch("afresh")

    @pytest.mark.parametrize(
        "method",
        [
            "get_items",
            "get_conversation_turns",
            "get_conversation_by_turns",
            "get_tool_usage",
            "get_session_usage",
            "get_turn_usage",
        ],
    )
    async def test_reading_an_unknown_branch_is_refused(self, session: DuckDBSession, method: str) -> None:
        with pytest.raises(ValueError, match="no branch 'unknown'"):
            await getattr(session, method)(branch_id="unknown")

    async def test_a_run_is_counted_by_itself(self, both: tuple[Any, Any]) -> None:
        agent = Agent(name="assistant", model=ScriptedModel([spends(10, "hi")]))

        await Runner.run(agent, "hello", session=both[0], run_config=QUIET)

        assert (await both[0].get_session_usage())["total_tokens"] == 12

    async def test_words_are_found_whatever_their_case_in_any_script(self, both: tuple[Any, Any]) -> None:
        await both[0].add_items([said("МОСКВА")])

        assert [turn["turn"] for turn in await both[0].find_turns_by_content("москва")] == [1]

    async def test_branches_are_listed_in_the_order_in_which_they_began(self, session: DuckDBSession) -> None:
        for name in ("z", "a", "m"):
            await session.create_branch_from_turn(2, name)
            await session.switch_to_branch("main")

        assert [row["branch_id"] for row in await session.list_branches()] == ["main", "z", "a", "m"]
