"""What a session has to do when many use it at once, as tests that anyone can run on theirs.

A subclass of `SessionConcurrencyContract` says how a session is opened, as in `session_conformance`.
"""
# ruff: noqa: D102 - the name of a test is its sentence

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from agents_memory.testing.session_conformance import Open, SessionFiles, said, texts


class SessionConcurrencyContract(SessionFiles):
    """The cases of many tasks, threads and event loops."""

    async def test_batches_of_many_tasks_are_whole_and_none_is_lost(self, open_session: Open) -> None:
        session, same = open_session(), open_session()

        await asyncio.gather(*((session, same)[n % 2].add_items(_pair(n)) for n in range(40)))

        _check_pairs(await session.get_items(), 40)

    async def test_sessions_side_by_side_lose_nothing(self, open_session: Open) -> None:
        sessions = [open_session(f"s{n}") for n in range(8)]

        await asyncio.gather(*(session.add_items(_pair(n)) for session in sessions for n in range(5)))

        for session in sessions:
            _check_pairs(await session.get_items(), 5)

    async def test_threads_with_loops_of_their_own_lose_nothing(self, open_session: Open) -> None:
        session, same = open_session(), open_session()

        async def work(start: int) -> None:
            for n in range(start, start + 50):
                await (session, same)[n % 2].add_items(_pair(n))

        _in_threads([partial(work, start) for start in range(0, 200, 50)])

        _check_pairs(await session.get_items(), 200)

    async def test_many_can_open_a_new_file_at_once(self, open_session: Open) -> None:
        async def work(n: int) -> None:
            await open_session(f"s{n}").add_items([said("a")])

        _in_threads([partial(work, n) for n in range(8)])

        assert [len(await open_session(f"s{n}").get_items()) for n in range(8)] == [1] * 8

    async def test_each_item_is_popped_once(self, open_session: Open) -> None:
        session = open_session()
        await session.add_items([said(str(n)) for n in range(10)])

        popped = await asyncio.gather(*(session.pop_item() for _ in range(12)))

        assert sorted(texts([item for item in popped if item])) == [str(n) for n in range(10)]
        assert popped.count(None) == 2

    async def test_no_half_batch_is_ever_seen(self, open_session: Open) -> None:
        session, reader = open_session(), open_session()
        writing = asyncio.gather(*(session.add_items(_pair(n)) for n in range(20)))

        while not writing.done():
            assert len(await reader.get_items()) % 2 == 0
        await writing

    async def test_a_cancelled_append_is_settled_when_the_caller_goes_on(self, open_session: Open) -> None:
        session = open_session()
        adding = asyncio.ensure_future(session.add_items([said(str(n)) for n in range(200)]))
        await asyncio.sleep(0)

        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        settled = await session.get_items()
        await session.add_items([said("next")])

        assert len(settled) in (0, 200)
        assert len(await session.get_items()) == len(settled) + 1


def _pair(n: int) -> list[Any]:
    return [said(f"{n} first"), said(f"{n} second")]


def _check_pairs(items: list[Any], count: int) -> None:
    found = texts(items)
    assert sorted(found[::2], key=lambda text: int(text.split()[0])) == [f"{n} first" for n in range(count)]
    assert [text.replace("first", "second") for text in found[::2]] == found[1::2]


def _in_threads(jobs: list[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    failed: list[BaseException] = []

    def work(job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            asyncio.run(job())
        except BaseException as error:  # noqa: BLE001 - handed to the test below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
