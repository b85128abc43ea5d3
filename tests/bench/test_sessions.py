"""What `DuckDBSession` costs, as ratios to the SDK's `SQLiteSession` on a file of the same disk, in one run.

    make bench

The two are measured in turns, so that what else the machine does meets both; a ratio is that of the medians. Goals:
appending a turn at most 3, a batch of 1,000 items at most 1.5, the last 50 of 10,000 items at most 1.5.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import SQLiteSession
from agents.memory import Session

from agents_memory import DuckDBSession

pytestmark = pytest.mark.bench
Work = Callable[[Session], Awaitable[object]]


def said(number: int) -> Any:
    role = "assistant" if number % 2 else "user"
    return {"role": role, "content": f"Message {number} about the ingest service, and what to do with it next week."}


@contextmanager
def both(folder: Path) -> Iterator[tuple[Session, Session]]:
    ours = DuckDBSession("s", folder / "ours.duckdb")
    theirs = SQLiteSession("s", folder / "theirs.sqlite")
    yield ours, theirs
    ours.close()
    theirs.close()


def ratio(name: str, sessions: tuple[Session, Session], work: Work, times: int) -> float:
    """Let both do the same in turns, and print the medians."""

    async def measured() -> tuple[list[float], list[float]]:
        spent: tuple[list[float], list[float]] = ([], [])
        for turn in range(times + 3):
            for session, seconds in zip(sessions, spent, strict=True):
                begin = time.perf_counter()
                await work(session)
                if turn >= 3:  # the first ones open the file and fill caches
                    seconds.append(time.perf_counter() - begin)
        return spent

    ours, theirs = (1000 * statistics.median(seconds) for seconds in asyncio.run(measured()))
    print(f"\n{name:32} DuckDB {ours:8.2f} ms   SQLite {theirs:8.2f} ms   {ours / theirs:5.2f}x")
    return ours / theirs


def fill(sessions: tuple[Session, Session], count: int) -> None:
    async def filled() -> None:
        for session in sessions:
            for start in range(0, count, 1000):
                await session.add_items([said(number) for number in range(start, min(start + 1000, count))])

    asyncio.run(filled())


def test_appending_a_turn(tmp_path: Path) -> None:
    with both(tmp_path) as sessions:
        ratio("append a turn (2 items)", sessions, lambda session: session.add_items([said(0), said(1)]), 200)


def test_appending_a_batch(tmp_path: Path) -> None:
    batch = [said(number) for number in range(1000)]
    with both(tmp_path) as sessions:
        ratio("append a batch (1,000 items)", sessions, lambda session: session.add_items(batch), 15)


def test_reading_the_end_of_a_long_conversation(tmp_path: Path) -> None:
    with both(tmp_path) as sessions:
        fill(sessions, 10_000)
        ratio("read the last 50 of 10,000", sessions, lambda session: session.get_items(50), 200)
        ratio("read the last 500 of 10,000", sessions, lambda session: session.get_items(500), 50)


def test_popping(tmp_path: Path) -> None:
    with both(tmp_path) as sessions:
        fill(sessions, 1_000)
        ratio("pop an item", sessions, lambda session: session.pop_item(), 100)


def test_reading_the_end_does_not_grow_with_the_conversation(tmp_path: Path) -> None:
    for count in (100, 1_000, 10_000, 50_000):
        with both(tmp_path) as sessions:
            fill(sessions, count)
            ratio(f"read the last 50 of {count:,}", sessions, lambda session: session.get_items(50), 100)
        for file in tmp_path.iterdir():
            file.unlink()
