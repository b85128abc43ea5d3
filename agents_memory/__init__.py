"""A durable, reviewed memory for the OpenAI Agents SDK, in one DuckDB file."""

from __future__ import annotations

from agents_memory.graph.scope import namespace_of
from agents_memory.memory import Memory, MemoryView

__version__ = "0.1.0"

__all__ = ["Memory", "MemoryView", "namespace_of"]
