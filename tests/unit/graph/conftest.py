"""A memory of its own for every test, in one file for speed, and one under a clock that the test sets."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count

import pytest

from agents_memory import Memory, _clock
from tests.storage import Clock

_numbers = count(1)


@pytest.fixture(scope="session")
def root() -> Iterator[Memory]:
    """A handle on a file that every test of the session writes to, each in a namespace of its own."""
    with Memory.open(":memory:", namespace="unused") as memory:
        yield memory


@pytest.fixture
def memory(root: Memory) -> Memory:
    """An empty namespace."""
    return root.at_namespace(f"t{next(_numbers)}", writer="ada")


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The clock of the process, standing at 1 September 2026."""
    clock = Clock(datetime(2026, 9, 1, tzinfo=UTC))
    with _clock.replaced_by(clock):
        yield clock


@pytest.fixture
def timed(clock: Clock) -> Iterator[Memory]:
    """An empty memory whose moments are those of `clock`."""
    with Memory.open(":memory:", writer="ada") as memory:
        clock.move(hours=1)  # past the moments that making the schema took
        yield memory
