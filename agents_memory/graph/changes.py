"""What a committed transaction changed, as told to the read indexes of the process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FactWritten:
    """A version of a fact was inserted."""

    namespace: str
    fact_id: int
    version: int
    content: str
    kind: str
    importance: float
    pinned: bool
    entity_ids: tuple[int, ...]
    valid_from: datetime
    valid_to: datetime | None
    tx_from: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FactClosed:
    """Belief in a version of a fact ended."""

    namespace: str
    fact_id: int
    version: int
    tx_to: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationWritten:
    """A version of a relation was inserted."""

    namespace: str
    relation_id: int
    version: int
    source_id: int
    predicate: str
    target_id: int
    valid_from: datetime
    valid_to: datetime | None
    tx_from: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationClosed:
    """Belief in a version of a relation ended."""

    namespace: str
    relation_id: int
    version: int
    tx_to: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NameGiven:
    """An entity answers to a name from `tx_from` on: its own when it was created, or an alias."""

    namespace: str
    entity_id: int
    name: str
    key: str
    tx_from: datetime
