"""The text that is put before a model: pinned facts and what a question recalls, packed into a budget.

A line a fact, `[f12] Cy maintains ingest. (since 2026-03-02)`, whatever line breaks its content has, so that no fact
can pass for another; the whole in the fence of `fence.py`. Nothing is dropped in silence: what had no room is named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from agents_memory.graph.scope import Scope
from agents_memory.recall.arguments import GetContext
from agents_memory.recall.engine import pinned_facts, recall
from agents_memory.recall.fence import MARK_CHARS, fence
from agents_memory.text.size import LETTER, MARK, UNITS, size, tokens
from agents_memory.types import Fact, RecalledContext

TOKENS_A_HIT: Final = 40
"""One hit is asked for in so many tokens of the budget: a line of usual length takes 20 to 40."""

HEADING: Final = "From long-term memory: facts by id, each with since when it holds (UTC)."

_AROUND: Final = size(fence(HEADING)) + 2 * MARK_CHARS * (MARK - LETTER)  # the mark's letters may be digits instead


def context(scope: Scope, arguments: GetContext) -> RecalledContext:
    """The pinned facts, then the best hits that are not pinned, as many as there is room for."""
    valid_at, known_at = scope.moments()
    caller = replace(scope.caller, valid_at=valid_at, known_at=known_at)  # one moment for both
    pinned = pinned_facts(scope.database, caller)
    found = recall(scope.database, caller, arguments.query, k=max(1, arguments.budget_tokens // TOKENS_A_HIT))
    return packed((*pinned, *(hit.fact for hit in found.hits if not hit.fact.pinned)), arguments.budget_tokens)


def packed(facts: Iterable[Fact], budget_tokens: int) -> RecalledContext:
    """Facts as one text within a budget, each that has room left when its turn comes."""
    room = budget_tokens * UNITS - _AROUND
    lines: dict[str, str] = {}
    left_out: list[str] = []
    for fact in facts:
        line = line_of(fact)
        cost = size(f"\n{line}")
        if cost > room:
            left_out.append(fact.id)
            continue
        room -= cost
        lines[fact.id] = line
    text = fence("\n".join([HEADING, *lines.values()])) if lines else ""
    return RecalledContext(text=text, facts=tuple(lines), left_out=tuple(left_out), tokens=tokens(size(text)))


def line_of(fact: Fact) -> str:
    """A fact in a line."""
    until = "" if fact.valid_to is None else f" until {fact.valid_to:%Y-%m-%d}"
    return f"[{fact.id}] {' '.join(fact.content.split())} (since {fact.valid_from:%Y-%m-%d}{until})"
