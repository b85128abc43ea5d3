"""Questions about conversations and knowledge together: one SQL statement each over the documented views.

A conversation belongs to one namespace and is read there alone; unlike facts it is not handed down. Which entity a name
means is decided from that namespace, by the names known at the moment asked about.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import NotFound
from agents_memory.graph.arguments import NoArguments, OneFact
from agents_memory.graph.names import fold
from agents_memory.graph.reading import history
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import ItemsAbout, NamedEntity, OneSession
from agents_memory.sessions.reading import item_from_row
from agents_memory.sessions.turns import usage_of
from agents_memory.sessions.types import (
    EntityUsage,
    FactStatus,
    ItemAbout,
    MentionedEntity,
    SessionBehind,
    SessionMention,
    WrittenFact,
)
from agents_memory.store.values import Row


def entities_mentioned(scope: Scope, arguments: OneSession) -> tuple[MentionedEntity, ...]:
    """The entities that a session's messages name, as whole words in any script, the most mentioned first."""
    _, known_at = scope.moments()
    rows = scope.database.rows(
        "entities_mentioned", namespace=scope.namespace, session_id=arguments.session_id, known_at=known_at
    )
    return tuple(
        MentionedEntity(**{**row, **_ends(row), "entity_id": to_text(IdKind.ENTITY, row["entity_id"])}) for row in rows
    )


def sessions_mentioning(scope: Scope, arguments: NamedEntity) -> tuple[SessionMention, ...]:
    """The sessions in whose messages an entity is named, by any name it answers to, in the order of the first mention.

    Raises:
        NotFound: No visible entity answers to the name.
    """
    _, known_at = scope.moments()
    rows = scope.database.rows("sessions_mentioning", **_named(scope, arguments), known_at=known_at)
    found = _of_an_entity(scope, rows, "session_id")
    return tuple(SessionMention(**{**row, **_ends(row)}) for row in found)


def items_about(scope: Scope, arguments: ItemsAbout) -> tuple[ItemAbout, ...]:
    """The messages that name an entity, or one that relations tie to it, the nearest entity first, then the newest.

    Raises:
        NotFound: No visible entity answers to the name.
    """
    valid_at, known_at = scope.moments()
    rows = scope.database.rows(
        "items_about",
        **_named(scope, arguments),
        hops=arguments.hops,
        limit=arguments.limit,
        valid_at=valid_at,
        known_at=known_at,
    )
    found = _of_an_entity(scope, rows, "item_id")
    return tuple(ItemAbout(hops=row.pop("hops"), entity=row.pop("entity"), item=item_from_row(row)) for row in found)


def usage_by_entity(scope: Scope, arguments: NoArguments) -> tuple[EntityUsage, ...]:  # noqa: ARG001 - as every handler
    """What the turns cost in which each entity is named, the dearest first.

    A turn that names several entities counts for each of them; one that branches share counts once.
    """
    _, known_at = scope.moments()
    rows = scope.database.rows("usage_by_entity", namespace=scope.namespace, known_at=known_at)
    return tuple(
        EntityUsage(
            entity_id=to_text(IdKind.ENTITY, row["entity_id"]),
            name=row["name"],
            sessions=row["sessions"],
            turns=row["turns"],
            usage=usage_of(row),
            tools=dict(Counter(row["tools"]).most_common()),
        )
        for row in rows
    )


def sessions_behind(scope: Scope, arguments: OneFact) -> tuple[SessionBehind, ...]:
    """The conversations that a fact rests on, oldest first: where it, or what it superseded, was said and said again.

    Raises:
        NotFound: No visible fact of that id was known then.
    """
    _, known_at = scope.moments()
    asked = {"fact_id": to_number(IdKind.FACT, arguments.fact_id), "known_at": known_at, "visible": list(scope.visible)}
    rows = scope.database.rows("sessions_behind", **asked)
    if not rows:
        history(scope, arguments)  # says so when there is no such fact
    return tuple(SessionBehind(**row) for row in rows)


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


def _named(scope: Scope, arguments: NamedEntity) -> dict[str, Any]:
    return {"namespace": scope.namespace, "visible": list(scope.visible), "name_key": fold(arguments.entity)}


def _of_an_entity(scope: Scope, rows: list[Row], column: str) -> list[Row]:
    """The rows that an entity has; a single one with nothing in `column` says that it has none.

    Raises:
        NotFound: There is no row at all, so no such entity.
    """
    if not rows:
        raise NotFound(f"No entity visible from {scope.namespace!r} answers to that name. Check its spelling.")
    return [row for row in rows if row[column] is not None]


def _ends(row: Row) -> dict[str, str]:
    return {name: to_text(IdKind.ITEM, row[name]) for name in ("first_item", "last_item")}


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
