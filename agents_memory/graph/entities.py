"""Entities and the names they answer to.

A name means the entity it was given to in the handle's namespace, else in the nearest ancestor. An unknown name that
a write uses creates an entity in the handle's own namespace. Two names are one when they fold to the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents_memory._ids import IdKind, to_text
from agents_memory.errors import Conflict, NotFound
from agents_memory.graph import audit
from agents_memory.graph.arguments import AddAlias, OneEntity
from agents_memory.graph.changes import NameGiven
from agents_memory.graph.mentions import find_given
from agents_memory.graph.names import fold
from agents_memory.graph.rows import entity_from_row
from agents_memory.graph.scope import Scope
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import Change, Effect, Entity, Receipt, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A name and the entity it means, found or just created."""

    entity_id: int
    name: str
    created: bool

    def as_change(self) -> Change:
        """The line of a receipt that says so."""
        effect = Effect.ENTITY_CREATED if self.created else Effect.ENTITY_MATCHED
        return Change(effect=effect, id=to_text(IdKind.ENTITY, self.entity_id), text=self.name)


def resolve(scope: Scope, tx: Transaction, names: Sequence[str]) -> dict[str, Resolved]:
    """The entities that `names` mean, by folded name, creating those that do not exist.

    Costs one statement when all exist and three when some do not, whatever the number of names.
    """
    wanted: dict[str, str] = {}
    for name in names:
        wanted.setdefault(fold(name), name)  # of two spellings the first
    if not wanted:
        return {}
    found = {key: _found(row) for key, row in _nearest(scope, list(wanted)).items()}
    missing = {key: name for key, name in wanted.items() if key not in found}
    created = _create(scope, tx, missing) if missing else {}
    return {key: found[key] if key in found else created[key] for key in wanted}


def find(scope: Scope, name: str) -> int:
    """The id of the entity that `name` means.

    Raises:
        NotFound: No visible entity answers to it.
    """
    row = _nearest(scope, [fold(name)]).get(fold(name))
    if row is None:
        raise NotFound(f"No entity visible from {scope.namespace!r} answers to that name. Check its spelling.")
    return int(row["entity_id"])


def by_id(scope: Scope, entity_ids: Sequence[int]) -> dict[int, Entity]:
    """Entities with their names, by id."""
    _, known_at = scope.moments()
    rows = scope.database.rows("entities_by_id", entity_ids=list(entity_ids), known_at=known_at)
    return {row["entity_id"]: entity_from_row(row) for row in rows}


def get_entity(scope: Scope, arguments: OneEntity) -> Entity:
    """The entity a name means, with its aliases."""
    entity_id = find(scope, arguments.name)
    return by_id(scope, [entity_id])[entity_id]


def add_alias(scope: Scope, arguments: AddAlias) -> Receipt:
    """Let an entity answer to a further name.

    Raises:
        Conflict: The name means another entity here already.
        NotFound: No entity answers to `entity`.
        WrongNamespace: The entity belongs to another namespace.
    """
    key = fold(arguments.alias)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        entity_id = find(scope, arguments.entity)
        entity = by_id(scope, [entity_id])[entity_id]
        scope.own(entity.id, entity.namespace)
        other = _nearest(scope, [key]).get(key)
        if other is not None and other["entity_id"] == entity_id:
            return Receipt(status=Status.UNCHANGED, id=entity.id, version=1, note="It answers to that name already.")
        if other is not None and other["namespace"] == scope.namespace:
            taken = to_text(IdKind.ENTITY, other["entity_id"])
            raise Conflict(f"That name means {taken} already. Use another, or rename {taken} first.", entity=taken)
        _give_names(scope, tx, [(entity_id, arguments.alias, key)])
        audit.record(tx, "add_alias", [entity.id], namespace=scope.namespace, actor=scope.caller.writer)
    return Receipt(
        status=Status.CREATED,
        id=entity.id,
        version=1,
        changes=(Change(effect=Effect.ALIAS_ADDED, id=entity.id, text=arguments.alias),),
    )


def _nearest(scope: Scope, keys: list[str]) -> dict[str, Row]:
    visible = scope.visible
    _, known_at = scope.moments()
    rows = scope.database.rows("find_names", keys=keys, visible=list(visible), known_at=known_at)
    rows.sort(key=lambda row: visible.index(row["namespace"]), reverse=True)
    return {row["alias_key"]: row for row in rows}


def _found(row: Row) -> Resolved:
    return Resolved(entity_id=row["entity_id"], name=row["name"], created=False)


def _create(scope: Scope, tx: Transaction, missing: dict[str, str]) -> dict[str, Resolved]:
    ids = tx.new_ids(IdKind.ENTITY, len(missing))
    names = list(missing.values())
    tx.run("insert_entities", namespace=scope.namespace, entity_ids=ids, names=names, created_at=tx.now)
    _give_names(scope, tx, list(zip(ids, names, missing, strict=True)))
    return {
        key: Resolved(entity_id=entity_id, name=name, created=True)
        for entity_id, (key, name) in zip(ids, missing.items(), strict=True)
    }


def _give_names(scope: Scope, tx: Transaction, given: Sequence[tuple[int, str, str]]) -> None:
    tx.run(
        "insert_aliases",
        namespace=scope.namespace,
        entity_ids=[entity_id for entity_id, _, _ in given],
        aliases=[name for _, name, _ in given],
        keys=[key for _, _, key in given],
        tx_from=tx.now,
    )
    find_given(tx, scope.namespace, [(name, key) for _, name, key in given])
    for entity_id, name, key in given:
        tx.publish(NameGiven(namespace=scope.namespace, entity_id=entity_id, name=name, key=key, tx_from=tx.now))
