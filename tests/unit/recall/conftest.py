"""A memory of its own for each test of recall."""

from collections.abc import Iterator

import pytest

from agents_memory import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", namespace="acme/kestrel") as opened:
        yield opened
