"""Which memory a run uses: a fixed one, or the one that the application names for the run's context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from agents import RunContextWrapper

from agents_memory.memory import Memory

MemoryOf: TypeAlias = Callable[[RunContextWrapper[Any]], Memory]
"""Names the memory of a run, such as one on the namespace of the user in its context. It is called for every use."""
