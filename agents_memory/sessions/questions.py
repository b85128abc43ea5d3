"""Questions about conversations, and about conversations and knowledge together: one SQL statement each.

A conversation belongs to one namespace and is read there alone; unlike facts it is not handed down.
"""

from __future__ import annotations

from agents_memory._ids import IdKind, to_text
from agents_memory.errors import NotFound
from agents_memory.graph.arguments import NoArguments
from agents_memory.graph.names import fold
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import MentionedEntity, OneSession, ReadTurns
from agents_memory.store.values import Row
from agents_memory.types import FactStatus, SessionItem, SessionMention, SessionSummary, WrittenFact


def read_session(scope: Scope, arguments: ReadTurns) -> tuple[SessionItem, ...]:
    """The items of a session in the order of reading: those of its last turns, or all."""
    _, known_at = scope.moments()
    rows = scope.database.rows(
        "read_session",
        namespace=scope.namespace,
        session_id=arguments.session_id,
        turns=arguments.turns,
        known_at=known_at,
    )
    return tuple(_item(row) for row in rows)


def sessions(scope: Scope, arguments: NoArguments) -> tuple[SessionSummary, ...]:  # noqa: ARG001 - as every handler
    """The sessions of the namespace, oldest first, cleared ones too."""
    _, known_at = scope.moments()
    rows = scope.database.rows("list_sessions", namespace=scope.namespace, known_at=known_at)
    return tuple(SessionSummary(**row) for row in rows)


def sessions_mentioning(scope: Scope, arguments: MentionedEntity) -> tuple[SessionMention, ...]:
    """The sessions in whose messages an entity is named, as whole words in any script, whatever the case.

    Raises:
        NotFound: No visible entity answers to the name.
    """
    _, known_at = scope.moments()
    rows = scope.database.rows(
        "sessions_mentioning",
        name_key=fold(arguments.entity),
        visible=list(scope.visible),
        namespace=scope.namespace,
        known_at=known_at,
    )
    if not rows:
        raise NotFound(f"No entity visible from {scope.namespace!r} answers to that name. Check its spelling.")
    return tuple(_mention(row) for row in rows if row["session_id"] is not None)


def facts_written(scope: Scope, arguments: OneSession) -> tuple[WrittenFact, ...]:
    """The facts that a session wrote, in the order of writing, with who approved each and what became of it."""
    valid_at, known_at = scope.moments()
    rows = scope.database.rows(
        "facts_written_in",
        namespace=scope.namespace,
        session_id=arguments.session_id,
        valid_at=valid_at,
        known_at=known_at,
    )
    return tuple(_written(row) for row in rows)


def _item(row: Row) -> SessionItem:
    item_id = to_text(IdKind.ITEM, row.pop("item_id"))
    return SessionItem(id=item_id, **row)


def _mention(row: Row) -> SessionMention:
    ids = {name: to_text(IdKind.ITEM, row[name]) for name in ("first_item", "last_item")}
    return SessionMention(**{**row, **ids})


def _written(row: Row) -> WrittenFact:
    return WrittenFact(
        fact_id=row["fact_id"],
        content=row["content"],
        change=row["change"],
        written_at=row["written_at"],
        status=FactStatus(row["status"]),
        item_id=row["item_id"],
        call_id=row["call_id"],
        run_id=row["run_id"],
        request_id=row["request_id"],
        decision=row["decision"],
        approved_by=row["approved_by"],
    )
