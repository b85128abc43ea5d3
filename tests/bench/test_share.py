"""What going through another process costs, how many writes several make in a second, and what a take-over takes.

    make bench

The medians of one machine; the two ways of a call are measured in turns, so that what else it does meets both.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pytest

from agents_memory import Memory
from tests.storage import line_from, start_python

pytestmark = pytest.mark.bench

HOLD = """
import sys
from agents_memory import Memory
with Memory.open(sys.argv[1], share="require") as memory:
    print("holding", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holder(path: Path) -> Iterator[Popen[str]]:
    with start_python(HOLD, path) as process:
        assert line_from(process) == "holding"
        yield process
        process.communicate("\n", timeout=60)


def fill(memory: Memory, count: int) -> None:
    for number in range(count):
        remember(memory, number)


def remember(memory: Memory, number: int) -> object:
    return memory.remember(f"Service {number} is maintained by team {number % 97}", entities=[f"Service {number}"])


def median_ms(work: Callable[[int], object], number: int, spent: list[float]) -> None:
    begin = time.perf_counter()
    work(number)
    spent.append(1000 * (time.perf_counter() - begin))


def turn(number: int) -> dict[str, object]:
    said = [{"role": "user", "content": f"Message {number} about ingest"}, {"role": "assistant", "content": "Noted."}]
    return {"session_id": "s", "items": [json.dumps(item) for item in said]}


CALLS: dict[str, Callable[[Memory, int], object]] = {
    "get a fact": lambda memory, _: memory.get("f7"),
    "recall, 1,000 facts": lambda memory, number: memory.recall(f"who maintains service {number % 900}?", k=5),
    "read the last 50 items": lambda memory, _: memory.call("session_items", {"session_id": "s", "limit": 50}),
    "append a turn (2 items)": lambda memory, number: memory.call("session_append", turn(number)),
    "remember a fact": lambda memory, number: remember(memory, 1_000_000 + number),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_through_another_process(tmp_path: Path, call: str) -> None:
    here, there = tmp_path / "here.duckdb", tmp_path / "there.duckdb"
    for path in (here, there):
        with Memory.open(path) as memory:
            fill(memory, 1_000)
            for number in range(30):
                memory.call("session_append", turn(number))
    with Memory.open(here) as embedded, holder(there), Memory.open(there) as shared:
        spent: dict[Memory, list[float]] = {embedded: [], shared: []}
        for number in range(210):
            for memory, times in spent.items():
                median_ms(lambda n, memory=memory: CALLS[call](memory, n), number, times)  # type: ignore[misc]
        local, remote = (statistics.median(times[10:]) for times in spent.values())
    print(f"\n{call:26} embedded {local:7.2f} ms   through the owner {remote:7.2f} ms   +{remote - local:5.2f} ms")


@pytest.mark.parametrize("clients", [1, 4, 16])
@pytest.mark.parametrize("call", ["append a turn (2 items)", "remember a fact"])
def test_writes_a_second(tmp_path: Path, clients: int, call: str) -> None:
    path, writes = tmp_path / "team.duckdb", 400 // clients
    with holder(path):
        ready, begin = os.pipe(), os.pipe()
        pids = [client(path, call, number * 1_000, writes, ready[1], begin[0]) for number in range(clients)]
        for _ in pids:
            os.read(ready[0], 1)
        started = time.perf_counter()
        os.write(begin[1], b"." * clients)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        seconds = time.perf_counter() - started
        for end in (*ready, *begin):
            os.close(end)
    assert codes == [0] * clients
    print(f"\n{call:26} {clients:2} processes   {clients * writes / seconds:7.0f} writes a second")


def client(path: Path, call: str, start: int, writes: int, ready: int, begin: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    with Memory.open(path) as memory:
        os.write(ready, b".")
        os.read(begin, 1)
        for number in range(start, start + writes):
            CALLS[call](memory, number)
    os._exit(0)


def test_writes_a_second_of_the_process_that_holds_the_file(tmp_path: Path) -> None:
    for call in ("append a turn (2 items)", "remember a fact"):
        with Memory.open(tmp_path / "team.duckdb") as memory:
            started = time.perf_counter()
            for number in range(400):
                CALLS[call](memory, number)
            seconds = time.perf_counter() - started
        print(f"\n{call:26} by the owner   {400 / seconds:7.0f} writes a second")


@pytest.mark.parametrize("checkpointed", [True, False], ids=["checkpointed", "all of it in the log"])
def test_a_take_over(tmp_path: Path, checkpointed: bool) -> None:
    path, count = tmp_path / "team.duckdb", 10_000
    if checkpointed:
        with Memory.open(path) as memory:
            fill(memory, count)
    with start_python(HOLD, path) as owner:
        assert line_from(owner) == "holding"
        with Memory.open(path) as memory:
            if not checkpointed:
                fill(memory, count)
            memory.get("f7")
            owner.kill()
            owner.wait()
            began = time.perf_counter()
            memory.get("f7")
            taken = time.perf_counter()
            memory.recall("who maintains service 7?")
            recalled = time.perf_counter()
            log = path.with_name(f"{path.name}.wal")
            size = log.stat().st_size if log.exists() else 0
    print(
        f"\ntake-over, {count:,} facts, {'checkpointed' if checkpointed else 'in the log'}   "
        f"{1000 * (taken - began):6.0f} ms to the first answer, "
        f"{1000 * (recalled - taken):6.0f} ms to the first recall (log {size:,} bytes)"
    )
