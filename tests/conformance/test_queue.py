"""The queue's contract, held by `RunStateStore` on a memory of this process, and on one that another process holds."""

from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from agents_memory import Memory, RunStateStore
from agents_memory.testing.queue_conformance import QueueContract
from agents_memory.testing.queue_deaths import QueueDeathContract
from agents_memory.testing.queue_requests import QueueRequestContract
from tests.storage import line_from, start_python

HOLD = """
import sys
from agents_memory import Memory
held = []
for line in sys.stdin:
    held.append(Memory.open(line.rstrip("\\n")))
    print("held", flush=True)
"""


@pytest.fixture(scope="module")
def holder() -> Iterator[Popen[str]]:
    with start_python(HOLD) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


class TestQueueHere(QueueContract, QueueRequestContract, QueueDeathContract):
    def open(self, path: Path, namespace: str, **settings: Any) -> RunStateStore:
        return RunStateStore(Memory.open(path, namespace=namespace, writer="bot"), **settings)


class TestQueueElsewhere(QueueContract, QueueRequestContract, QueueDeathContract):
    @pytest.fixture
    def path(self, tmp_path: Path, holder: Popen[str]) -> Path:
        assert holder.stdin is not None
        path = tmp_path / "queue.duckdb"
        holder.stdin.write(f"{path}\n")
        holder.stdin.flush()
        assert line_from(holder) == "held"
        return path

    def open(self, path: Path, namespace: str, **settings: Any) -> RunStateStore:
        return RunStateStore(Memory.open(path, namespace=namespace, writer="bot", share="require"), **settings)
