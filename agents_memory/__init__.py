"""A durable, reviewed memory for the OpenAI Agents SDK, in one DuckDB file.

`Memory` and the data it returns come with a plain import. What needs the Agents SDK, whose import takes seconds, is
loaded when first used: `DuckDBSession`, `RunStateStore`, `AgentEntry`, `memory_tools`, `attach`, `run` and `run_sync`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agents_memory import policies
from agents_memory._version import __version__ as __version__
from agents_memory.errors import AgentsMemoryError
from agents_memory.graph.scope import namespace_of
from agents_memory.memory import Memory
from agents_memory.types import (
    About,
    ApprovalRequest,
    Entity,
    Episode,
    Evidence,
    Fact,
    FactVersion,
    Hit,
    Kind,
    ParkedRun,
    Preview,
    Provenance,
    RecallResult,
    Receipt,
    Relation,
)
from agents_memory.view import MemoryView

if TYPE_CHECKING:
    from agents_memory.sdk.attach import attach
    from agents_memory.sdk.run_states import RunStateStore
    from agents_memory.sdk.running import run, run_sync
    from agents_memory.sdk.session import DuckDBSession
    from agents_memory.sdk.tools import memory_tools
    from agents_memory.sdk.worker import AgentEntry

__all__ = [
    "About",
    "AgentEntry",
    "AgentsMemoryError",
    "ApprovalRequest",
    "DuckDBSession",
    "Entity",
    "Episode",
    "Evidence",
    "Fact",
    "FactVersion",
    "Hit",
    "Kind",
    "Memory",
    "MemoryView",
    "ParkedRun",
    "Preview",
    "Provenance",
    "RecallResult",
    "Receipt",
    "Relation",
    "RunStateStore",
    "attach",
    "memory_tools",
    "namespace_of",
    "policies",
    "run",
    "run_sync",
]

_NEED_THE_SDK = {
    "AgentEntry": "agents_memory.sdk.worker",
    "DuckDBSession": "agents_memory.sdk.session",
    "RunStateStore": "agents_memory.sdk.run_states",
    "attach": "agents_memory.sdk.attach",
    "memory_tools": "agents_memory.sdk.tools",
    "run": "agents_memory.sdk.running",
    "run_sync": "agents_memory.sdk.running",
}


def __getattr__(name: str) -> Any:
    if name in _NEED_THE_SDK:
        return getattr(import_module(_NEED_THE_SDK[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
