"""A file that is held here, and a handle that goes through its socket as one of another process does."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents_memory import Memory
from agents_memory.share.access import Access
from agents_memory.types import Caller

NAMESPACE = "acme/kestrel"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "team.duckdb"


@pytest.fixture
def held(path: Path) -> Iterator[Memory]:
    with Memory.open(path, namespace=NAMESPACE, writer="ada") as memory:
        yield memory


@pytest.fixture
def reach(path: Path) -> Iterator[Callable[..., Memory]]:
    """Make further handles, each of which reaches the file as another process would."""
    made: list[Access] = []

    def reaching(writer: str = "ada", wait_s: float = 5) -> Memory:
        access = Access(str(path), share="auto", wait_s=wait_s)
        made.append(access)
        access.reach()
        return Memory(access, Caller(namespace=NAMESPACE, writer=writer), owns=False)

    yield reaching
    for access in made:
        access.close()


@pytest.fixture
def shared(held: Memory, reach: Callable[..., Memory]) -> Memory:
    """A handle on the held file that goes through the socket."""
    return reach()
