"""The verbs that change facts.

`supersede` says that the world changed, `correct` that we were wrong, `forget` that we no longer believe. An exact
duplicate is not stored twice: it reinforces the fact that says so already.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import InvalidInput, InvalidTime, StaleVersion
from agents_memory.graph import audit, entities, episodes, relations, versions
from agents_memory.graph.arguments import Correct, Forget, Remember, Supersede
from agents_memory.graph.conflicts import conflict_note, possible_conflicts
from agents_memory.graph.intervals import Interval
from agents_memory.graph.names import content_key
from agents_memory.graph.scope import Scope
from agents_memory.graph.versions import Draft, Written
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import Change, Effect, PossibleConflict, Receipt, Status


def remember(scope: Scope, arguments: Remember) -> Receipt:
    """Store a new fact, or reinforce the one that says the same already.

    Raises:
        InvalidTime: `valid_to` is not after `valid_from`.
        NotFound: The episode is not visible here.
    """
    with scope.database.transaction() as tx:
        scope.writing(tx)
        valid_from = _interval_start(arguments, tx.now)
        about = entities.resolve(scope, tx, arguments.entities)
        entity_ids = tuple(found.entity_id for found in about.values())
        changes = [found.as_change() for found in about.values()]
        interval = (valid_from, arguments.valid_to)
        same = _same_fact(scope, tx, arguments.content, interval)
        if same is not None:
            return _reinforce(scope, tx, same, arguments, entity_ids, changes)
        written = versions.insert(scope, tx, _first_draft(arguments, valid_from, entity_ids))
        changes.append(written.as_change(Effect.FACT_ADDED))
        _keep_evidence(scope, tx, arguments, written.fact_id, written.version, reinforces=False)
        changes += relations.begin_all(scope, tx, arguments.relate, interval, fact_id=written.fact_id)
        _audit(scope, tx, "remember", written)
        conflicts = possible_conflicts(
            scope,
            tx,
            written.content,
            interval,
            kind=arguments.kind,
            entity_ids=entity_ids,
            besides=[written.fact_id],
        )
    return Receipt(
        status=Status.CREATED,
        id=written.id,
        version=written.version,
        changes=tuple(changes),
        note=conflict_note(conflicts),
        conflicts=conflicts,
    )


def supersede(scope: Scope, arguments: Supersede) -> Receipt:
    """Record that the world changed at `at`: the fact ends there, and a new one that names it begins.

    Raises:
        InvalidInput: The new content says what the fact says already.
        InvalidTime: The fact did not hold yet at `at`.
        NotFound: There is no such fact, or no such relation to end.
        StaleVersion: The fact was forgotten, or had ended by then.
        WrongNamespace: It belongs to another namespace.
    """
    with scope.database.transaction() as tx:
        scope.writing(tx)
        row = versions.open_version(scope, tx, arguments.fact_id)
        moment = arguments.at or tx.now
        _check_end(scope, tx, row, moment)
        _check_differs(row, arguments.content, arguments.fact_id)
        entity_ids, changes = _entities_or_same(scope, tx, arguments.entities, row)
        versions.close(scope, tx, row, "superseded", arguments.reason)
        ended = replace(versions.next_draft(row, "superseded"), valid_to=moment, reason=arguments.reason)
        versions.insert(scope, tx, ended)
        written = versions.insert(scope, tx, _successor(row, arguments, moment, entity_ids))
        changes.append(Change(effect=Effect.FACT_ENDED, id=arguments.fact_id, text=row["content"]))
        changes.append(written.as_change(Effect.FACT_ADDED))
        changes += relations.end_all(scope, tx, arguments.unrelate, moment)
        changes += relations.begin_all(scope, tx, arguments.relate, (moment, row["valid_to"]), fact_id=written.fact_id)
        kept = relations.still_stated(tx, row["fact_id"])
        _audit(scope, tx, "supersede", written, arguments.fact_id)
        same, conflicts = _said_besides(scope, tx, row, written, (moment, row["valid_to"]), entity_ids)
    return Receipt(
        status=Status.SUPERSEDED,
        id=written.id,
        version=written.version,
        changes=(*changes, *kept),
        note=_join_notes(relations.kept_note(kept), _same_note(same), conflict_note(conflicts)),
        duplicates=same,
        conflicts=conflicts,
    )


def correct(scope: Scope, arguments: Correct) -> Receipt:
    """Record that memory was wrong: the same fact, over the same time in the world, says something else from now on.

    Raises:
        InvalidInput: The new content is the old one to the letter, and the entities do not change.
        NotFound: There is no such fact, or no such relation to retract.
        StaleVersion: It was forgotten.
        WrongNamespace: It belongs to another namespace.
    """
    with scope.database.transaction() as tx:
        scope.writing(tx)
        row = versions.open_version(scope, tx, arguments.fact_id)
        entity_ids, changes = _entities_or_same(scope, tx, arguments.entities, row)
        if arguments.content == row["content"] and set(entity_ids) == set(row["entity_ids"]):
            raise InvalidInput(f"{arguments.fact_id} says exactly that already; there is nothing to correct.")
        versions.close(scope, tx, row, "corrected", arguments.reason)
        draft = versions.next_draft(row, "corrected")
        draft = replace(draft, content=arguments.content, entity_ids=entity_ids, reason=arguments.reason)
        written = versions.insert(scope, tx, draft)
        changes.append(Change(effect=Effect.FACT_CORRECTED, id=written.id, text=row["content"]))
        changes.append(written.as_change(Effect.FACT_ADDED))
        interval = (row["valid_from"], row["valid_to"])
        changes += relations.retract_all(scope, tx, arguments.unrelate, interval)
        changes += relations.begin_all(scope, tx, arguments.relate, interval, fact_id=written.fact_id)
        _audit(scope, tx, "correct", written)
        same, conflicts = _said_besides(scope, tx, row, written, interval, entity_ids)
    return Receipt(
        status=Status.CORRECTED,
        id=written.id,
        version=written.version,
        changes=tuple(changes),
        note=_join_notes(_same_note(same), conflict_note(conflicts)),
        duplicates=same,
        conflicts=conflicts,
    )


def forget(scope: Scope, arguments: Forget) -> Receipt:
    """Stop believing a fact, and the relations that only it states. Its history stays readable.

    Raises:
        NotFound: There is no such fact.
        StaleVersion: It was forgotten already.
        WrongNamespace: It belongs to another namespace.
    """
    with scope.database.transaction() as tx:
        scope.writing(tx)
        row = versions.open_version(scope, tx, arguments.fact_id)
        versions.close(scope, tx, row, "forgotten", arguments.reason)
        changes = [Change(effect=Effect.FACT_FORGOTTEN, id=arguments.fact_id, text=row["content"])]
        changes += relations.retract_stated(scope, tx, row["fact_id"])
        audit.record(tx, "forget", [arguments.fact_id], namespace=scope.namespace, actor=scope.caller.writer)
    return Receipt(status=Status.FORGOTTEN, id=arguments.fact_id, version=row["version"], changes=tuple(changes))


def _interval_start(arguments: Remember, now: datetime) -> datetime:
    start = arguments.valid_from
    if start is None:
        start = now if arguments.valid_to is None or arguments.valid_to > now else None
    if start is None or (arguments.valid_to is not None and arguments.valid_to <= start):
        raise InvalidTime(
            "A fact needs valid_to after valid_from (which is now when left out). Give both for a fact of the past."
        )
    return start


def _first_draft(arguments: Remember, valid_from: datetime, entity_ids: tuple[int, ...]) -> Draft:
    return Draft(
        fact_id=None,
        version=1,
        content=arguments.content,
        kind=arguments.kind,
        importance=arguments.importance,
        confidence=arguments.confidence,
        pinned=arguments.pinned,
        entity_ids=entity_ids,
        valid_from=valid_from,
        valid_to=arguments.valid_to,
        change="created",
    )


def _successor(row: Row, arguments: Supersede, moment: datetime, entity_ids: tuple[int, ...]) -> Draft:
    return replace(
        versions.next_draft(row, "created"),
        fact_id=None,
        version=1,
        content=arguments.content,
        entity_ids=entity_ids,
        valid_from=moment,
        supersedes=row["fact_id"],
        reason=arguments.reason,
    )


def _same_fact(
    scope: Scope, tx: Transaction, content: str, interval: Interval, besides: int | None = None
) -> Row | None:
    return tx.one_or_none(
        "same_fact",
        content_key=content_key(content),
        namespace=scope.namespace,
        valid_from=interval[0],
        valid_to=interval[1],
        now=tx.now,
        besides=besides,
    )


def _said_besides(
    scope: Scope, tx: Transaction, row: Row, written: Written, interval: Interval, entity_ids: tuple[int, ...]
) -> tuple[tuple[str, ...], tuple[PossibleConflict, ...]]:
    """The fact that says the same as what was written, and those that may contradict it; not the one it replaced."""
    same = _same_fact(scope, tx, written.content, interval, besides=written.fact_id)
    besides = [written.fact_id, row["fact_id"]]
    conflicts = possible_conflicts(
        scope, tx, written.content, interval, kind=row["kind"], entity_ids=entity_ids, besides=besides
    )
    return () if same is None else (to_text(IdKind.FACT, same["fact_id"]),), conflicts


def _same_note(same: tuple[str, ...]) -> str | None:
    return f"{same[0]} says the same over a time that overlaps. Forget one of the two." if same else None


def _join_notes(*notes: str | None) -> str | None:
    return " ".join(note for note in notes if note is not None) or None


def _reinforce(
    scope: Scope,
    tx: Transaction,
    row: Row,
    arguments: Remember,
    entity_ids: tuple[int, ...],
    changes: list[Change],
) -> Receipt:
    fact_id = to_text(IdKind.FACT, row["fact_id"])
    version = int(row["version"])
    changes.append(Change(effect=Effect.FACT_REINFORCED, id=fact_id, text=row["content"]))
    added = tuple(entity_id for entity_id in entity_ids if entity_id not in row["entity_ids"])
    start = row["valid_from"] if arguments.valid_from is not None else min(row["valid_from"], tx.now)
    if added or start != row["valid_from"]:  # what was to hold later is said to hold already
        versions.close(scope, tx, row, "updated", None)
        draft = versions.next_draft(row, "updated")
        draft = replace(draft, entity_ids=(*draft.entity_ids, *added), valid_from=start)
        written = versions.insert(scope, tx, draft)
        version = written.version
        changes.append(written.as_change(Effect.FACT_UPDATED))
    _keep_evidence(scope, tx, arguments, row["fact_id"], version, reinforces=True)
    interval = (start, row["valid_to"])
    changes += relations.begin_all(scope, tx, arguments.relate, interval, fact_id=row["fact_id"])
    audit.record(tx, "reinforce", [fact_id], namespace=scope.namespace, actor=scope.caller.writer)
    return Receipt(
        status=Status.REINFORCED,
        id=fact_id,
        version=version,
        changes=tuple(changes),
        note=_ignored(row, arguments),
        duplicates=(fact_id,),
    )


def _ignored(row: Row, arguments: Remember) -> str | None:
    given = arguments.model_fields_set
    names = [
        name
        for name in ("kind", "importance", "confidence", "pinned", "valid_from", "valid_to")
        if name in given and getattr(arguments, name) is not None and getattr(arguments, name) != row[name]
    ]
    fact_id = to_text(IdKind.FACT, row["fact_id"])
    lost = f"{fact_id} said so already; it was kept as it is, and {', '.join(names)} had no effect." if names else None
    has_end = arguments.valid_to is None and row["valid_to"] is not None
    return _join_notes(lost, f"{fact_id} is known to end at {row['valid_to'].isoformat()}." if has_end else None)


def _keep_evidence(
    scope: Scope, tx: Transaction, arguments: Remember, fact_id: int, version: int, *, reinforces: bool
) -> None:
    cited: list[int | None] = []
    if arguments.episode is not None:
        cited.append(to_number(IdKind.EPISODE, episodes.get_episode(scope, arguments.episode).id))
    if arguments.evidence is not None:
        cited.append(to_number(IdKind.EPISODE, episodes.keep(scope, tx, arguments.evidence).id))
    if reinforces and not cited:
        cited.append(None)
    for episode_id in cited:
        tx.run(
            "insert_evidence",
            fact_id=fact_id,
            version=version,
            episode_id=episode_id,
            reinforces=reinforces,
            recorded_at=tx.now,
            **scope.origin(),
        )


def _check_end(scope: Scope, tx: Transaction, row: Row, moment: datetime) -> None:
    fact_id = to_text(IdKind.FACT, row["fact_id"])
    if moment <= row["valid_from"]:
        raise InvalidTime(
            f"{fact_id} holds only since {row['valid_from'].isoformat()}, so it cannot end at {moment.isoformat()}. "
            "Give a later 'at'; use correct if it was never true.",
            fact_id=fact_id,
        )
    if row["valid_to"] is None or moment < row["valid_to"]:
        return
    successor = tx.one_or_none(
        "fact_superseded_by", fact_id=row["fact_id"], visible=list(scope.visible), ended=row["valid_to"]
    )
    by = to_text(IdKind.FACT, successor["fact_id"]) if successor else None
    raise StaleVersion(
        f"{fact_id} ended at {row['valid_to'].isoformat()}{f', superseded by {by}' if by else ''}. "
        f"{f'Supersede {by} instead, or give' if by else 'Give'} an 'at' before that.",
        fact_id=fact_id,
        superseded_by=by,
    )


def _check_differs(row: Row, content: str, fact_id: str) -> None:
    if content_key(content) == content_key(row["content"]):
        raise InvalidInput(f"{fact_id} says that already. Use correct to change its wording.", fact_id=fact_id)


def _entities_or_same(
    scope: Scope, tx: Transaction, names: tuple[str, ...] | None, row: Row
) -> tuple[tuple[int, ...], list[Change]]:
    if names is None:
        return tuple(row["entity_ids"]), []
    about = entities.resolve(scope, tx, names)
    return tuple(found.entity_id for found in about.values()), [found.as_change() for found in about.values()]


def _audit(scope: Scope, tx: Transaction, operation: str, written: Written, *besides: str) -> None:
    audit.record(
        tx,
        operation,
        [written.id, *besides],
        namespace=scope.namespace,
        actor=scope.caller.writer,
        commitment=written.commitment,
    )
