"""The facts that may contradict a statement. Both are kept, and whoever writes is told.

Looked for are visible facts over a time that overlaps, about an entity that the statement is about too; where one of
the two names no entity, those that begin with the same words. `contradiction.py` says which of them conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agents_memory._ids import IdKind, to_text
from agents_memory.graph.contradiction import Statement, difference
from agents_memory.graph.intervals import Interval
from agents_memory.graph.scope import Scope
from agents_memory.store.database import Transaction
from agents_memory.types import Kind, PossibleConflict

MAX_COMPARED: Final = 20
"""Only so many facts are compared with a statement, those that hold its longest words first: a write stays quick."""

_MAX_CHARS: Final = 2_000  # a statement is a sentence or two; of a document the beginning is compared
_ANY_TEXT: Final = ["", "", "", ""]


def possible_conflicts(
    scope: Scope,
    tx: Transaction,
    content: str,
    interval: Interval,
    *,
    kind: str,
    entity_ids: Sequence[int],
    besides: Sequence[int] = (),
) -> tuple[PossibleConflict, ...]:
    """The facts that may contradict a statement; costs one statement of SQL.

    Args:
        scope: The scope; its ancestors' facts may conflict too.
        tx: The transaction in which the statement is written.
        content: The statement.
        interval: When it holds.
        kind: Its kind. Two events do not contradict each other.
        entity_ids: What it is about.
        besides: Facts that do not count, such as itself and the one it takes the place of.
    """
    stated = Statement(content[:_MAX_CHARS])
    if not stated.words:
        return ()
    rows = tx.rows(
        "facts_like",
        visible=list(scope.visible),
        entity_ids=list(entity_ids),
        is_about_nothing=not entity_ids,
        subject=stated.subject,
        words=[*sorted(stated.words, key=len, reverse=True), *_ANY_TEXT][: len(_ANY_TEXT)],
        except_kind=Kind.EVENT if kind == Kind.EVENT else None,
        valid_from=interval[0],
        valid_to=interval[1],
        besides=list(besides),
        limit=MAX_COMPARED,
    )
    compared = [(row, difference(stated, Statement(row["content"][:_MAX_CHARS]))) for row in rows]
    return tuple(
        PossibleConflict(id=to_text(IdKind.FACT, row["fact_id"]), text=row["content"], differs_in=differs_in)
        for row, differs_in in compared
        if differs_in is not None
    )


def conflict_note(conflicts: Sequence[PossibleConflict]) -> str | None:
    """What to do about conflicts."""
    if not conflicts:
        return None
    ids = ", ".join(conflict.id for conflict in conflicts)
    return f"May contradict {ids}. Read it: supersede it if it no longer holds, correct it if it was wrong."
