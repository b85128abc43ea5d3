"""The session contract, held by `DuckDBSession` through another process that holds the file."""

import threading
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from agents_memory import DuckDBSession
from agents_memory.errors import Closed
from agents_memory.testing.session_concurrency import SessionConcurrencyContract
from agents_memory.testing.session_conformance import SessionContract
from agents_memory.testing.session_runs import SessionRunContract
from tests.conformance.test_session import OnDuckDB
from tests.storage import line_from, start_python

HOLDS = """
import sys
from agents_memory import Memory
held = {}
for line in sys.stdin:
    what, path = line.rstrip("\\n").split(" ", 1)
    if what == "hold" and path not in held:
        held[path] = Memory.open(path, share="require")
    elif what == "let-go" and path in held:
        held.pop(path).close()
    print("done", flush=True)
"""


class Holder:
    """A process that holds files for this one to go through."""

    def __init__(self, process: Popen[str]) -> None:
        self._process = process
        self._lock = threading.Lock()

    def tell(self, what: str, path: Path) -> None:
        """Let it `hold` or `let-go` of a file."""
        with self._lock:
            assert self._process.stdin is not None
            self._process.stdin.write(f"{what} {path}\n")
            self._process.stdin.flush()
            assert line_from(self._process) == "done"


@pytest.fixture(scope="module")
def holder() -> Iterator[Holder]:
    with start_python(HOLDS) as process:
        yield Holder(process)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


class OnSharedDuckDB(OnDuckDB):
    holder: Holder

    @pytest.fixture(autouse=True)
    def _held(self, holder: Holder, path: Path) -> Iterator[None]:
        self.holder = holder
        yield
        holder.tell("let-go", path)

    def open(self, path: Path, session_id: str, **settings: Any) -> DuckDBSession:
        self.holder.tell("hold", path)
        session = super().open(path, session_id, **settings)
        with pytest.raises(Closed):
            session.memory._database  # noqa: B018 - it is the other process that has one
        return session

    def store_text(self, path: Path, session_id: str, text: str) -> None:
        self.holder.tell("let-go", path)
        super().store_text(path, session_id, text)


class TestDuckDBSessionThroughAnotherProcess(
    OnSharedDuckDB, SessionContract, SessionConcurrencyContract, SessionRunContract
):
    pass
