"""From rows of the file to the data that callers see."""

from __future__ import annotations

from datetime import datetime

from agents_memory._ids import IdKind, to_text
from agents_memory.store.values import Row
from agents_memory.types import Entity, Fact, FactVersion, Kind, Relation


def fact_from_row(row: Row, valid_at: datetime, known_at: datetime) -> Fact:
    """A fact as its row states it, current or not at the moments asked about."""
    return Fact(
        id=to_text(IdKind.FACT, row["fact_id"]),
        version=row["version"],
        namespace=row["namespace"],
        content=row["content"],
        kind=Kind(row["kind"]),
        importance=row["importance"],
        confidence=row["confidence"],
        pinned=row["pinned"],
        entities=tuple(row["entities"] or ()),
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        tx_from=row["tx_from"],
        tx_to=_known_end(row["tx_to"], known_at),
        is_current=_holds(row, valid_at, known_at),
        supersedes=optional_id(IdKind.FACT, row["supersedes"]),
    )


def version_from_row(row: Row, valid_at: datetime, known_at: datetime) -> FactVersion:
    """A version of a fact with why it came and why it went, as far as was known then."""
    ended = _known_end(row["tx_to"], known_at) is not None
    return FactVersion(
        fact=fact_from_row(row, valid_at, known_at),
        change=row["change"],
        writer=row["writer"],
        reason=row["reason"],
        closed_as=row["closed_as"] if ended else None,
        closed_by=row["closed_by"] if ended else None,
        close_reason=row["close_reason"] if ended else None,
    )


def relation_from_row(row: Row, known_at: datetime) -> Relation:
    """A relation with the names of its two ends."""
    return Relation(
        id=to_text(IdKind.RELATION, row["relation_id"]),
        version=row["version"],
        namespace=row["namespace"],
        source=row["source"],
        predicate=row["predicate"],
        target=row["target"],
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        tx_from=row["tx_from"],
        tx_to=_known_end(row["tx_to"], known_at),
        fact_id=optional_id(IdKind.FACT, row["fact_id"]),
    )


def entity_from_row(row: Row) -> Entity:
    """An entity with the other names it answers to."""
    names = row["aliases"] or ()
    return Entity(
        id=to_text(IdKind.ENTITY, row["entity_id"]),
        name=row["name"],
        namespace=row["namespace"],
        aliases=tuple(name for name in names if name != row["name"]),
    )


def optional_id(kind: IdKind, number: int | None) -> str | None:
    """The id as text, or None where there is none."""
    return None if number is None else to_text(kind, number)


def _known_end(moment: datetime | None, known_at: datetime) -> datetime | None:
    """The end of belief, when it had come by then: what lay ahead was not known."""
    return moment if moment is not None and moment <= known_at else None


def _holds(row: Row, valid_at: datetime, known_at: datetime) -> bool:
    return _within(row["valid_from"], row["valid_to"], valid_at) and _within(row["tx_from"], row["tx_to"], known_at)


def _within(start: datetime, end: datetime | None, moment: datetime) -> bool:
    return start <= moment and (end is None or moment < end)
