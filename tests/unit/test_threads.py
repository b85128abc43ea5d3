"""An async caller's work is done in a thread, and a cancelled caller waits until it is settled."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from agents_memory import Memory
from agents_memory._threads import in_thread
from agents_memory.errors import NotFound

who: ContextVar[str] = ContextVar("who", default="nobody")


async def test_the_result_comes_back_from_another_thread() -> None:
    assert await in_thread(threading.get_ident) != threading.get_ident()
    assert await in_thread(lambda *parts, sep: sep.join(parts), "a", "b", sep="-") == "a-b"


async def test_an_error_comes_back_as_it_was_raised() -> None:
    with Memory.open(":memory:") as memory, pytest.raises(NotFound, match="f1"):
        await in_thread(memory.get, "f1")


async def test_context_variables_are_seen_in_the_thread() -> None:
    who.set("ada")

    assert await in_thread(who.get) == "ada"


async def test_the_event_loop_runs_on_meanwhile() -> None:
    answer = threading.Event()

    waiting = asyncio.create_task(in_thread(answer.wait, 60))
    asyncio.get_running_loop().call_soon(answer.set)

    assert await waiting


async def test_a_cancelled_caller_waits_until_its_write_is_settled() -> None:
    started, go_on = threading.Event(), threading.Event()
    with Memory.open(":memory:") as memory:

        def write() -> None:
            started.set()
            go_on.wait(60)
            memory.remember("Cy maintains ingest", entities=["Cy"])

        caller = asyncio.create_task(in_thread(write))
        await asyncio.to_thread(started.wait, 60)
        caller.cancel()
        await asyncio.sleep(0)
        caller.cancel()
        was_done_before = caller.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await caller

        assert not was_done_before
        assert [fact.content for fact in memory.about("Cy").facts] == ["Cy maintains ingest"]


async def test_a_cancelled_caller_is_not_told_of_the_error_that_came_after() -> None:
    started, go_on = threading.Event(), threading.Event()

    def fail() -> None:
        started.set()
        go_on.wait(60)
        raise ValueError("too late to tell")

    caller = asyncio.create_task(in_thread(fail))
    await asyncio.to_thread(started.wait, 60)
    caller.cancel()
    await asyncio.sleep(0)
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_many_callers_at_once_all_get_theirs() -> None:
    with Memory.open(":memory:") as memory:
        receipts = await asyncio.gather(*(in_thread(memory.remember, f"Fact {number}") for number in range(20)))

    assert len({receipt.id for receipt in receipts}) == 20
