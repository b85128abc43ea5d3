"""The version rule for facts: close the open version, guarded, and insert the next, in one transaction.

Nothing else changes a fact. `facts.py` says which versions a verb closes and inserts; this file does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import NotFound, StaleVersion
from agents_memory.graph import audit
from agents_memory.graph.changes import FactClosed, FactWritten
from agents_memory.graph.names import content_key
from agents_memory.graph.scope import Scope
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import Change, Effect, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A version about to be inserted; `fact_id` None asks for a new fact."""

    fact_id: int | None
    version: int
    content: str
    kind: Kind
    importance: float
    confidence: float
    pinned: bool
    entity_ids: tuple[int, ...]
    valid_from: datetime
    valid_to: datetime | None
    change: str
    supersedes: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A version that was inserted, and the commitment to it."""

    fact_id: int
    version: int
    content: str
    commitment: str

    @property
    def id(self) -> str:
        """The fact's id as callers see it."""
        return to_text(IdKind.FACT, self.fact_id)

    def as_change(self, effect: Effect) -> Change:
        """The line of a receipt that says so."""
        return Change(effect=effect, id=self.id, text=self.content)


def next_draft(row: Row, change: str) -> Draft:
    """The draft of the version after `row`, equal to it but for what made it."""
    return Draft(
        fact_id=row["fact_id"],
        version=row["version"] + 1,
        content=row["content"],
        kind=Kind(row["kind"]),
        importance=row["importance"],
        confidence=row["confidence"],
        pinned=row["pinned"],
        entity_ids=tuple(row["entity_ids"]),
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        change=change,
        supersedes=row["supersedes"],
    )


def open_version(scope: Scope, tx: Transaction, fact_id: str) -> Row:
    """The believed version of a fact of this namespace.

    Raises:
        NotFound: No visible fact has that id.
        StaleVersion: It was forgotten.
        WrongNamespace: It belongs to another namespace.
    """
    number = to_number(IdKind.FACT, fact_id)
    row = tx.one_or_none("last_fact_version", fact_id=number, visible=list(scope.visible))
    if row is None:
        raise no_fact(scope, fact_id)
    scope.own(fact_id, row["namespace"])
    if row["tx_to"] is not None:
        raise StaleVersion(
            f"{fact_id} was {row['closed_as']} at {row['tx_to']:%Y-%m-%d %H:%M:%S} UTC. Remember it again if it holds.",
            fact_id=fact_id,
        )
    return row


def no_fact(scope: Scope, fact_id: str) -> NotFound:
    """The error for an id that names no fact visible from here."""
    return NotFound(f"There is no fact {fact_id} visible from {scope.namespace!r}.", fact_id=fact_id)


def close(scope: Scope, tx: Transaction, row: Row, closed_as: str, reason: str | None) -> None:
    """End belief in the version that `row` holds.

    Raises:
        StaleVersion: Another writer closed it first.
    """
    closed = tx.one_or_none(
        "close_fact_version",
        fact_id=row["fact_id"],
        version=row["version"],
        tx_to=tx.now,
        closed_as=closed_as,
        closed_by=scope.caller.writer,
        close_reason=reason,
    )
    if closed is None:
        fact_id = to_text(IdKind.FACT, row["fact_id"])
        raise StaleVersion(f"{fact_id} changed meanwhile. Read it again and decide anew.", fact_id=fact_id)
    tx.publish(FactClosed(namespace=row["namespace"], fact_id=row["fact_id"], version=row["version"], tx_to=tx.now))


def insert(scope: Scope, tx: Transaction, draft: Draft) -> Written:
    """Insert a version, and tell the indexes of it once committed."""
    salt = audit.new_salt()
    fact_id = tx.new_id(IdKind.FACT) if draft.fact_id is None else draft.fact_id
    tx.run(
        "insert_fact_version",
        fact_id=fact_id,
        version=draft.version,
        namespace=scope.namespace,
        content=draft.content,
        content_key=content_key(draft.content),
        kind=draft.kind,
        importance=draft.importance,
        confidence=draft.confidence,
        pinned=draft.pinned,
        entity_ids=list(draft.entity_ids),
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        tx_from=tx.now,
        change=draft.change,
        supersedes=draft.supersedes,
        reason=draft.reason,
        salt=salt,
        **scope.origin(),
    )
    tx.publish(_written(scope, draft, fact_id, tx.now))
    return Written(
        fact_id=fact_id,
        version=draft.version,
        content=draft.content,
        commitment=audit.commitment(salt, draft.content),
    )


def _written(scope: Scope, draft: Draft, fact_id: int, tx_from: datetime) -> FactWritten:
    return FactWritten(
        namespace=scope.namespace,
        fact_id=fact_id,
        version=draft.version,
        content=draft.content,
        kind=draft.kind,
        importance=draft.importance,
        pinned=draft.pinned,
        entity_ids=draft.entity_ids,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        tx_from=tx_from,
    )
