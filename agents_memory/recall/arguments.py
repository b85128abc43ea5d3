"""The arguments of recall, and of finding what was said."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from agents_memory.graph.arguments import Arguments, Content, Text
from agents_memory.sessions.arguments import OneBranch, SessionId
from agents_memory.types import Kind


def _kinds(value: object) -> object:
    if isinstance(value, str):
        raise ValueError("must be a list, not str; put a single one into a list")
    return value


class Recall(Arguments):
    """Find facts."""

    query: Content = Field(description="What to look for, in plain words of any language.")
    k: int = Field(default=10, ge=1, strict=True, description="How many facts at most.")
    kinds: Annotated[frozenset[Kind] | None, BeforeValidator(_kinds)] = Field(
        default=None, description="Only facts of these kinds."
    )


class SearchItems(Arguments):
    """Find what was said."""

    query: Content = Field(description="What to look for, in plain words of any language.")
    session_id: SessionId | None = Field(default=None, description="Only in this conversation, such as conv-1.")
    k: int = Field(default=10, ge=1, strict=True, description="How many items at most.")
    role: Content | None = Field(
        default=None, description="Only what this role said, such as user; tool for what tools gave back."
    )


class Summarize(OneBranch):
    """Sum a conversation up."""

    sentences: int = Field(default=5, ge=1, le=100, strict=True, description="How many sentences at most.")


class GetContext(Arguments):
    """Make the text that is put before a model."""

    query: Text = Field(description="What it is about, in plain words; blank for the pinned facts alone.")
    budget_tokens: int = Field(default=1200, ge=1, strict=True, description="How many tokens the text may take.")
