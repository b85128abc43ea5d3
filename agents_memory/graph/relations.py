"""Relations: directed, named ties between entities, on both time axes like facts.

The same relation over a time that overlaps is one relation. `unrelate` says that it ended in the world; a correction
retracts one that was never true.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from agents_memory._ids import IdKind, to_text
from agents_memory.errors import InvalidTime, NotFound, StaleVersion
from agents_memory.graph import audit, entities
from agents_memory.graph.arguments import Relate, Unrelate
from agents_memory.graph.changes import RelationClosed, RelationWritten
from agents_memory.graph.intervals import Interval, outside, overlap, uncovered
from agents_memory.graph.names import fold
from agents_memory.graph.scope import Scope
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import Change, Effect, Receipt, Status, Triple


def relate(scope: Scope, arguments: Relate) -> Receipt:
    """Tie two entities; a tie that is there already stays as it is.

    Raises:
        InvalidTime: `valid_to` is not after `valid_from`.
    """
    triple = (arguments.source, arguments.predicate, arguments.target)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        start = arguments.valid_from or tx.now
        if arguments.valid_to is not None and arguments.valid_to <= start:
            raise InvalidTime("A relation needs valid_to after valid_from, which is now when left out.")
        row, changes = _begin(scope, tx, triple, (start, arguments.valid_to), fact_id=None)
        created = changes[-1].effect is Effect.RELATION_ADDED
        if created:
            audit.record(tx, "relate", [_id(row)], namespace=scope.namespace, actor=scope.caller.writer)
    status = Status.CREATED if created else Status.UNCHANGED
    note = None if created else _ignored(row, arguments)
    return Receipt(status=status, id=_id(row), version=row["version"], changes=tuple(changes), note=note)


def unrelate(scope: Scope, arguments: Unrelate) -> Receipt:
    """Record that a relation ended at `at`.

    Raises:
        InvalidTime: It did not hold yet then.
        NotFound: No such relation holds then.
        WrongNamespace: It belongs to another namespace.
    """
    triple = (arguments.source, arguments.predicate, arguments.target)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        row, change = _end(scope, tx, triple, arguments.at or tx.now)
        audit.record(tx, "unrelate", [_id(row)], namespace=scope.namespace, actor=scope.caller.writer)
    return Receipt(status=Status.ENDED, id=_id(row), version=row["version"], changes=(change,))


def begin_all(
    scope: Scope, tx: Transaction, triples: Iterable[Triple], interval: Interval, *, fact_id: int
) -> list[Change]:
    """Begin relations that a fact states."""
    return [change for triple in triples for change in _begin(scope, tx, triple, interval, fact_id=fact_id)[1]]


def end_all(scope: Scope, tx: Transaction, triples: Iterable[Triple], moment: datetime) -> list[Change]:
    """End relations in the world."""
    return [_end(scope, tx, triple, moment)[1] for triple in triples]


def retract_all(scope: Scope, tx: Transaction, triples: Iterable[Triple], interval: Interval) -> list[Change]:
    """Stop believing relations during `interval`; what holds of them before or after it goes on under a new id."""
    changes = []
    for triple in triples:
        for row in _own_between(scope, tx, triple, interval):
            _close(scope, tx, row, "retracted")
            for part in outside(_interval(row), interval):
                _insert_new(scope, tx, row, part)
            changes.append(Change(effect=Effect.RELATION_RETRACTED, id=_id(row), text=" ".join(triple)))
    return changes


def retract_stated(scope: Scope, tx: Transaction, fact_id: int) -> list[Change]:
    """Stop believing the relations that a fact states and nothing else does."""
    changes = []
    for row in tx.rows("relations_of_fact", fact_id=fact_id):
        effect = Effect.RELATION_KEPT if row["is_stated_elsewhere"] else Effect.RELATION_RETRACTED
        if effect is Effect.RELATION_RETRACTED:
            _close(scope, tx, row, "retracted")
        changes.append(Change(effect=effect, id=_id(row), text=_text(row)))
    return changes


def still_stated(tx: Transaction, fact_id: int) -> list[Change]:
    """The open relations that an ended fact stated: nobody said that they ended with it."""
    rows = tx.rows("relations_of_fact", fact_id=fact_id)
    return [
        Change(effect=Effect.RELATION_KEPT, id=_id(row), text=_text(row)) for row in rows if row["valid_to"] is None
    ]


def kept_note(kept: Iterable[Change]) -> str | None:
    """What to do about relations that an ended fact stated."""
    ids = ", ".join(change.id for change in kept if change.id is not None)
    return f"Still believed: {ids}. Unrelate what ended, too." if ids else None


def _begin(
    scope: Scope, tx: Transaction, triple: Triple, interval: Interval, *, fact_id: int | None
) -> tuple[Row, list[Change]]:
    source, predicate, target = triple
    ends = entities.resolve(scope, tx, [source, target])
    changes = [found.as_change() for found in ends.values() if found.created]
    source_id, target_id = ends[fold(source)].entity_id, ends[fold(target)].entity_id
    own = [
        row
        for row in _between(scope, tx, source_id, predicate, target_id)
        if row["namespace"] == scope.namespace and overlap(_interval(row), interval)
    ]
    missing = uncovered(interval, map(_interval, own), tx.now)
    if not missing:
        row = own[0]
        if fact_id != row["fact_id"]:
            tx.run("restate_relation", relation_id=row["relation_id"], fact_id=fact_id, recorded_at=tx.now)
        return row, [*changes, Change(effect=Effect.RELATION_KEPT, id=_id(row), text=" ".join(triple))]
    ends_and_name: Row = {"source_id": source_id, "predicate": predicate, "target_id": target_id, "fact_id": fact_id}
    added = [_insert_new(scope, tx, ends_and_name, part) for part in missing]
    changes += [Change(effect=Effect.RELATION_ADDED, id=_id(row), text=" ".join(triple)) for row in added]
    return added[0], changes


def _ignored(row: Row, arguments: Relate) -> str | None:
    given = {"valid_from": arguments.valid_from, "valid_to": arguments.valid_to}
    names = [name for name, value in given.items() if value is not None and value != row[name]]
    if not names:
        return None
    return f"{_id(row)} said so already; it was kept as it is, and {', '.join(names)} had no effect."


def _end(scope: Scope, tx: Transaction, triple: Triple, moment: datetime) -> tuple[Row, Change]:
    row = _own_between(scope, tx, triple, (moment, None))[0]
    if moment <= row["valid_from"]:
        raise InvalidTime(
            f"{_id(row)} holds only since {row['valid_from'].isoformat()}, so it cannot end then. Give a later 'at'."
        )
    _close(scope, tx, row, "ended")
    ended = {**row, "version": row["version"] + 1, "valid_to": moment}
    return _insert(scope, tx, ended, "ended"), Change(effect=Effect.RELATION_ENDED, id=_id(row), text=" ".join(triple))


def _own_between(scope: Scope, tx: Transaction, triple: Triple, interval: Interval) -> list[Row]:
    """The relations of this namespace that hold during some of `interval`, earliest first; there is at least one."""
    source, predicate, target = triple
    rows = _between(scope, tx, entities.find(scope, source), predicate, entities.find(scope, target))
    fitting = [row for row in rows if overlap(_interval(row), interval)]
    if not fitting:
        raise NotFound("No such relation holds then. Look at about() for what ties these two.")
    own = [row for row in fitting if row["namespace"] == scope.namespace]
    if not own:
        scope.own(_id(fitting[0]), fitting[0]["namespace"])
    return own


def _between(scope: Scope, tx: Transaction, source_id: int, predicate: str, target_id: int) -> list[Row]:
    rows = tx.rows("relations_between", source_id=source_id, target_id=target_id, visible=list(scope.visible))
    return [row for row in rows if fold(row["predicate"]) == fold(predicate)]


def _close(scope: Scope, tx: Transaction, row: Row, closed_as: str) -> None:
    closed = tx.one_or_none(
        "close_relation_version",
        relation_id=row["relation_id"],
        version=row["version"],
        tx_to=tx.now,
        closed_as=closed_as,
        closed_by=scope.caller.writer,
    )
    if closed is None:
        raise StaleVersion(f"{_id(row)} changed meanwhile. Read it again and decide anew.", relation_id=_id(row))
    tx.publish(
        RelationClosed(namespace=row["namespace"], relation_id=row["relation_id"], version=row["version"], tx_to=tx.now)
    )


_COLUMNS = ("relation_id", "version", "source_id", "predicate", "target_id", "valid_from", "valid_to", "fact_id")


def _insert(scope: Scope, tx: Transaction, draft: Row, change: str) -> Row:
    values = {column: draft[column] for column in _COLUMNS}
    tx.run(
        "insert_relation_version",
        namespace=scope.namespace,
        tx_from=tx.now,
        change=change,
        salt=audit.new_salt(),
        **values,
        **scope.origin(),
    )
    row = {**values, "namespace": scope.namespace}
    told = {column: value for column, value in row.items() if column != "fact_id"}
    tx.publish(RelationWritten(tx_from=tx.now, **told))
    return row


def _insert_new(scope: Scope, tx: Transaction, ends_and_name: Row, interval: Interval) -> Row:
    started, ended = interval
    new = {"relation_id": tx.new_id(IdKind.RELATION), "version": 1, "valid_from": started, "valid_to": ended}
    return _insert(scope, tx, {**ends_and_name, **new}, "created")


def _interval(row: Row) -> Interval:
    return row["valid_from"], row["valid_to"]


def _id(row: Row) -> str:
    return to_text(IdKind.RELATION, row["relation_id"])


def _text(row: Row) -> str:
    return f"{row['source']} {row['predicate']} {row['target']}"
