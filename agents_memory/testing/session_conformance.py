"""What a session has to do, as tests that anyone can run on theirs.

Subclass `SessionContract` in a test module and say how a session is opened; the Agents SDK's own `SQLiteSession` passes
too. Needs pytest, and pytest-asyncio in auto mode. `session_concurrency` has the cases of many callers, `session_runs`
those that need a run.
"""
# ruff: noqa: D102 - the name of a test is its sentence

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import SessionSettings
from agents.memory import Session

from agents_memory.testing.session_payloads import AWKWARD_IDS, PAYLOADS, nested

Open = Callable[..., Any]
"""`open_session(session_id="s", **settings)`: a session on the test's file, closed when the test ends."""


def said(text: str) -> Any:
    """A user item."""
    return {"role": "user", "content": text}


def texts(items: list[Any]) -> list[Any]:
    """What each item says."""
    return [item["content"] for item in items]


class SessionFiles:
    """How a session is opened; a subclass says so for its kind."""

    def open(self, path: Path, session_id: str, **settings: Any) -> Any:
        """A session kept in the file at `path`."""
        raise NotImplementedError

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        """The file of this test."""
        return tmp_path / "sessions"

    @pytest.fixture
    def open_session(self, path: Path) -> Iterator[Open]:
        """Open sessions on the test's file."""
        opened: list[Any] = []

        def opening(session_id: str = "s", **settings: Any) -> Any:
            opened.append(self.open(path, session_id, **settings))
            return opened[-1]

        yield opening
        for session in opened:
            session.close()


class SessionContract(SessionFiles):
    """The cases of one caller and no run."""

    def store_text(self, path: Path, session_id: str, text: str) -> None:
        """Append `text` as a stored item of the session, whatever it is. No session is open then."""
        raise NotImplementedError

    # -- protocol ----------------------------------------------------------------------------------------------------

    async def test_it_is_a_session_to_the_sdk(self, open_session: Open) -> None:
        session = open_session()

        assert isinstance(session, Session)
        assert session.session_id == "s"
        assert not hasattr(session, "run_compaction")

    @pytest.mark.parametrize("settings", [None, {"limit": 2}, SessionSettings(limit=2)])
    async def test_settings_are_taken_in_every_form(self, open_session: Open, settings: Any) -> None:
        session = open_session(session_settings=settings)

        assert session.session_settings == SessionSettings(limit=None if settings is None else 2)

    # -- reading -----------------------------------------------------------------------------------------------------

    async def test_an_empty_session_has_nothing(self, open_session: Open) -> None:
        session = open_session()

        assert await session.get_items() == []
        assert await session.get_items(limit=3) == []
        assert await session.pop_item() is None

    async def test_items_come_in_the_order_of_adding(self, open_session: Open) -> None:
        session = open_session()

        await session.add_items([said("a"), said("b")])
        await session.add_items([said("c")])

        assert texts(await session.get_items()) == ["a", "b", "c"]

    @pytest.mark.parametrize(("limit", "expected"), [(0, ""), (1, "c"), (2, "bc"), (3, "abc"), (9, "abc"), (-1, "abc")])
    async def test_a_limit_gives_the_newest_in_order(self, open_session: Open, limit: int, expected: str) -> None:
        session = open_session()
        await session.add_items([said("a"), said("b"), said("c")])

        assert texts(await session.get_items(limit=limit)) == list(expected)
        assert texts(await session.get_items(limit)) == list(expected)

    async def test_a_limit_beyond_what_a_process_keeps_is_honoured(self, open_session: Open) -> None:
        session = open_session()
        await session.add_items([said(str(n)) for n in range(300)])

        assert texts(await session.get_items(limit=250)) == [str(n) for n in range(50, 300)]
        assert len(await session.get_items()) == 300

    async def test_the_settings_limit_holds_unless_another_is_given(self, open_session: Open) -> None:
        session = open_session(session_settings=SessionSettings(limit=1))
        await session.add_items([said("a"), said("b"), said("c")])

        assert texts(await session.get_items()) == ["c"]
        assert texts(await session.get_items(limit=2)) == ["b", "c"]

    async def test_a_limit_counts_items_of_this_session_only(self, open_session: Open) -> None:
        mine, other = open_session("mine"), open_session("other")
        await mine.add_items([said("a"), said("b")])
        await other.add_items([said("x")])

        assert texts(await mine.get_items(limit=2)) == ["a", "b"]

    async def test_returned_items_are_detached(self, open_session: Open) -> None:
        session = open_session()
        await session.add_items([{"role": "user", "content": [{"type": "input_text", "text": "a"}]}])

        (await session.get_items())[0]["content"][0]["text"] = "changed"

        assert (await session.get_items())[0]["content"][0]["text"] == "a"

    # -- writing -----------------------------------------------------------------------------------------------------

    async def test_an_empty_batch_changes_nothing(self, open_session: Open) -> None:
        session = open_session()

        await session.add_items([])

        assert await session.get_items() == []

    async def test_equal_items_are_both_kept(self, open_session: Open) -> None:
        session = open_session()

        await session.add_items([said("a"), said("a")])

        assert texts(await session.get_items()) == ["a", "a"]

    async def test_given_items_are_left_as_they_are(self, open_session: Open) -> None:
        session = open_session()
        given = [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]
        before = copy.deepcopy(given)

        await session.add_items(given)

        assert given == before

    @pytest.mark.parametrize("bad", [object(), {1, 2}, b"bytes"], ids=["object", "set", "bytes"])
    async def test_a_batch_with_what_is_no_json_is_refused_whole(self, open_session: Open, bad: object) -> None:
        session = open_session()
        await session.add_items([said("before")])

        with pytest.raises(TypeError):
            await session.add_items([said("good"), {"role": "user", "content": bad}])
        await session.add_items([said("after")])

        assert texts(await session.get_items()) == ["before", "after"]

    async def test_a_thousand_items_are_one_batch(self, open_session: Open) -> None:
        session = open_session()
        many = [said(str(n)) for n in range(1000)]

        await session.add_items(many)

        assert await session.get_items() == many

    @pytest.mark.parametrize("name", PAYLOADS)
    async def test_an_item_comes_back_equal_to_the_letter(self, open_session: Open, name: str) -> None:
        await open_session().add_items([PAYLOADS[name]])

        [same] = await open_session().get_items()

        assert json.dumps(same) == json.dumps(PAYLOADS[name])

    async def test_deep_nesting_comes_back(self, open_session: Open) -> None:
        session = open_session()
        await session.add_items([nested(200)])

        assert await session.get_items() == [nested(200)]

    # -- pop and clear -----------------------------------------------------------------------------------------------

    async def test_pop_gives_the_last_first_until_none_is_left(self, open_session: Open) -> None:
        session = open_session(session_settings=SessionSettings(limit=1))
        await session.add_items([said("a"), said("b"), said("c")])

        popped = [await session.pop_item() for _ in range(4)]

        assert [item and item["content"] for item in popped] == ["c", "b", "a", None]

    async def test_adding_goes_on_after_a_pop(self, open_session: Open) -> None:
        session = open_session()
        await session.add_items([said("a"), said("b")])

        await session.pop_item()
        await session.add_items([said("c")])

        assert texts(await session.get_items()) == ["a", "c"]

    async def test_pop_and_clear_touch_no_other_session(self, open_session: Open) -> None:
        mine, other = open_session("mine"), open_session("other")
        await mine.add_items([said("a"), said("b")])
        await other.add_items([said("x")])

        await mine.pop_item()
        await mine.clear_session()

        assert await mine.get_items() == []
        assert texts(await other.get_items()) == ["x"]

    async def test_a_cleared_session_can_be_cleared_and_used_again(self, open_session: Open) -> None:
        session = open_session()
        await session.clear_session()
        await session.add_items([said("a")])

        await session.clear_session()
        await session.clear_session()
        await session.add_items([said("b")])

        assert texts(await session.get_items()) == ["b"]

    # -- identity and life -------------------------------------------------------------------------------------------

    async def test_any_id_names_a_session_of_its_own(self, open_session: Open) -> None:
        sessions = {name: open_session(name) for name in AWKWARD_IDS}

        for name, session in sessions.items():
            await session.add_items([said(name)])

        assert [texts(await session.get_items()) for session in sessions.values()] == [[name] for name in AWKWARD_IDS]

    async def test_items_survive_closing(self, open_session: Open) -> None:
        first = open_session()
        await first.add_items([said("a")])
        first.close()

        assert texts(await open_session().get_items()) == ["a"]

    async def test_two_objects_of_one_session_agree(self, open_session: Open) -> None:
        one, two = open_session(), open_session()

        await one.add_items([said("a")])
        await two.add_items([said("b")])
        popped = await one.pop_item()

        assert popped == said("b")
        assert await one.get_items() == await two.get_items() == [said("a")]

    async def test_closing_twice_is_harmless_and_final(self, open_session: Open) -> None:
        session = open_session()
        session.close()
        session.close()

        for use in (session.get_items(), session.add_items([]), session.pop_item(), session.clear_session()):
            with pytest.raises(Exception, match="closed"):
                await use

    async def test_closing_one_leaves_the_others_open(self, open_session: Open) -> None:
        one, two = open_session(), open_session()
        one.close()

        await two.add_items([said("a")])

        assert texts(await two.get_items()) == ["a"]

    async def test_an_unreadable_row_is_left_out_and_not_counted(self, open_session: Open, path: Path) -> None:
        before = open_session()
        await before.add_items([said("a"), said("b")])
        before.close()
        self.store_text(path, "s", "{broken")
        session = open_session()

        assert texts(await session.get_items()) == ["a", "b"]
        assert texts(await session.get_items(limit=2)) == ["a", "b"]
        await session.add_items([said("c")])
        assert texts(await session.get_items(limit=2)) == ["b", "c"]
        assert [await session.pop_item() for _ in range(4)] == [said("c"), said("b"), said("a"), None]
