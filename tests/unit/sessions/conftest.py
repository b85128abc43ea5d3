from collections.abc import Iterator

import pytest

from agents_memory import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", namespace="acme") as memory:
        yield memory
