"""Turns, branches and usage in the form in which the SDK's `AdvancedSQLiteSession` gives them: pure functions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from agents_memory.sessions.encoding import from_json
from agents_memory.sessions.types import Branch, SessionItem, SessionTurn, SessionUsage, TokenUsage

_PREVIEW_CHARS = 100


def turns_of(items: Iterable[SessionItem]) -> list[dict[str, Any]]:
    """The turns that user items begin, each with what the user said."""
    return [_turn(item) for item in items if item.role == "user"]


def holding(items: Iterable[SessionItem], term: str) -> list[dict[str, Any]]:
    """Those of `turns_of` whose words hold a term, whatever the case, each with all of its words."""
    wanted = term.casefold()
    found = [item for item in items if item.role == "user" and wanted in (item.text or "").casefold()]
    return [{**_turn(item), "content": _preview(_content(item))} for item in found]


def by_turns(items: Iterable[SessionItem]) -> dict[int, list[dict[str, str | None]]]:
    """What kind of items each turn is made of."""
    grouped: dict[int, list[dict[str, str | None]]] = {}
    for item in items:
        kind = item.role if item.role in {"user", "assistant"} else _type(item)
        grouped.setdefault(item.turn, []).append({"type": kind, "tool_name": item.tool})
    return grouped


def tools_of(turns: Iterable[SessionTurn]) -> list[tuple[str, int, int]]:
    """How often each tool was called, by turn and then by name: `(tool, times, turn)`."""
    return [(tool, times, turn.turn) for turn in turns for tool, times in sorted(Counter(turn.tools).items())]


def said_in_it(turns: Iterable[SessionTurn]) -> list[SessionTurn]:
    """The turns that were said in the branch that they are read in, not in the one that it left."""
    return [turn for turn in turns if turn.said_in == turn.branch]


def usage_of_turns(turns: Iterable[SessionTurn]) -> list[dict[str, Any]]:
    """What each turn cost that a model was called in."""
    return [{"user_turn_number": turn.turn, **detailed(turn.usage)} for turn in turns if turn.usage != TokenUsage()]


def summed(turns: Sequence[SessionTurn]) -> SessionUsage:
    """What some turns cost together."""
    totals = {name: sum(getattr(turn.usage, name) for turn in turns) for name in TokenUsage.__slots__}
    return SessionUsage(turns=len(usage_of_turns(turns)), usage=TokenUsage(**totals))


def session_row(spent: SessionUsage) -> dict[str, int] | None:
    """What a conversation cost as the SDK sums it up; None when no model was called."""
    kept = ("requests", "input_tokens", "output_tokens", "total_tokens")
    sums = {name: getattr(spent.usage, name) for name in kept}
    return {**sums, "total_turns": spent.turns} if any(sums.values()) else None


def detailed(usage: TokenUsage) -> dict[str, Any]:
    """A usage as the SDK writes it."""
    return {
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def branch_row(branch: Branch, current: str) -> dict[str, Any]:
    """A branch as the SDK lists it."""
    return {
        "branch_id": branch.branch,
        "message_count": branch.items,
        "user_turns": branch.turns,
        "is_current": branch.branch == current,
        "created_at": branch.created_at,
    }


def _turn(item: SessionItem) -> dict[str, Any]:
    content = _content(item)
    preview = _preview(content)
    return {
        "turn": item.turn,
        "content": preview if len(preview) <= _PREVIEW_CHARS else preview[:_PREVIEW_CHARS] + "...",
        "full_content": content,
        "timestamp": item.added_at,
        "can_branch": True,
    }


def _type(item: SessionItem) -> str:
    return "other" if item.type == "unknown" or (item.role and "type" not in _given(item)) else item.type


def _given(item: SessionItem) -> dict[str, Any]:
    """The item as it was given; only what is a dictionary has a role."""
    given: dict[str, Any] = from_json(item.item_json)
    return given


def _content(item: SessionItem) -> Any:
    return _given(item).get("content", "")


def _preview(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
