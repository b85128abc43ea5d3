"""Turns: what a user item began, what was called in it, and what its model calls cost."""

from __future__ import annotations

from dataclasses import fields

from agents_memory._ids import IdKind, to_text
from agents_memory.errors import NotFound
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import OneBranch, OneSession, SpendUsage
from agents_memory.sessions.items import check_branch_of, key_of, newest_entries
from agents_memory.sessions.types import SessionTurn, SessionUsage, TokenUsage
from agents_memory.store.values import Row

_COUNTS = tuple(field.name for field in fields(TokenUsage))


def session_turns(scope: Scope, arguments: OneBranch) -> tuple[SessionTurn, ...]:
    """The turns of a branch in their order; turn 0 is what stands before any user item, if anything does.

    Raises:
        NoSuchBranch: There is no such branch.
    """
    _, known_at = scope.moments()
    key = key_of(scope, arguments)
    rows = scope.database.rows("session_turns", **key._asdict(), known_at=known_at)
    if not rows:
        check_branch_of(scope, key)
    return tuple(_turn(row) for row in rows)


def session_usage(scope: Scope, arguments: OneSession) -> SessionUsage:
    """What the model calls of a session cost in all of its branches, each once.

    What was popped, cleared or branched away from was spent all the same, and counts until the session is deleted.
    """
    _, known_at = scope.moments()
    row = scope.database.one(
        "session_usage", namespace=scope.namespace, session_id=arguments.session_id, known_at=known_at
    )
    return SessionUsage(turns=row["turns"], usage=usage_of(row))


def add_usage(scope: Scope, arguments: SpendUsage) -> None:
    """Count what model calls cost with the newest turn of a branch, besides what is counted there.

    Raises:
        NotFound: There is no such branch, or nothing in it to count with.
    """
    key = key_of(scope, arguments)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        newest = newest_entries(scope, key, 1)
        if not newest:
            raise NotFound(f"The session {key.session_id!r:.80} holds nothing that usage could be counted with.")
        tx.run("add_usage", item_id=newest[0].item_id, **arguments.usage.model_dump())


def usage_of(row: Row) -> TokenUsage:
    """The usage in a row of sums."""
    return TokenUsage(**{name: row[name] for name in _COUNTS})


def _turn(row: Row) -> SessionTurn:
    kept = {name: value for name, value in row.items() if name not in _COUNTS}
    kept["item_id"] = to_text(IdKind.ITEM, row["item_id"])
    return SessionTurn(**{**kept, "tools": tuple(row["tools"])}, usage=usage_of(row))
