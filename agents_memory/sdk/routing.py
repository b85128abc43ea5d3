"""Which memory a run uses, and which branch of its conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from agents import RunContextWrapper

from agents_memory.memory import Memory
from agents_memory.types import MAIN

MemoryOf: TypeAlias = Callable[[RunContextWrapper[Any]], Memory]
"""Names the memory of a run, such as one on the namespace of the user in its context. It is called for every use."""


def memory_for(memory: Memory | MemoryOf, context: RunContextWrapper[Any]) -> Memory:
    """The memory of a run with this context."""
    return memory if isinstance(memory, Memory) else memory(context)


def branch_of(session: object) -> str:
    """The branch that a conversation stands on, or the one that it wraps; main for those that know no branches."""
    while session is not None:
        branch = getattr(session, "branch", None)
        if isinstance(branch, str):
            return branch
        session = getattr(session, "underlying_session", None)
    return MAIN
