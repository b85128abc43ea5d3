"""The verbs that read facts by id and around an entity, at the moments the scope asks about."""

from __future__ import annotations

from collections import defaultdict

from agents_memory._ids import IdKind, to_number
from agents_memory.graph import entities
from agents_memory.graph.arguments import AboutEntity, ListFacts, OneFact
from agents_memory.graph.names import fold
from agents_memory.graph.rows import fact_from_row, relation_from_row, version_from_row
from agents_memory.graph.scope import Scope
from agents_memory.graph.versions import no_fact
from agents_memory.store.values import Row
from agents_memory.types import About, Fact, FactVersion, Neighbour


def get_fact(scope: Scope, arguments: OneFact) -> Fact:
    """A fact in the version believed at the asked moment, whether or not it holds then (`is_current` says).

    Raises:
        NotFound: No visible fact of that id was believed then; `history` may still know it.
    """
    valid_at, known_at = scope.moments()
    row = scope.database.one_or_none(
        "fact_known",
        fact_id=to_number(IdKind.FACT, arguments.fact_id),
        visible=list(scope.visible),
        known_at=known_at,
    )
    if row is None:
        raise no_fact(scope, arguments.fact_id)
    return fact_from_row(row, valid_at, known_at)


def list_facts(scope: Scope, arguments: ListFacts) -> tuple[Fact, ...]:
    """A page of the facts that hold at the asked moment, in the order of their ids, by one statement.

    Raises:
        NotFound: No visible entity answers to the name.
    """
    valid_at, known_at = scope.moments()
    rows = scope.database.rows(
        "list_facts",
        visible=list(scope.visible),
        valid_at=valid_at,
        known_at=known_at,
        key=None if arguments.entity is None else fold(arguments.entity),
        after=0 if arguments.after is None else to_number(IdKind.FACT, arguments.after),
        limit=arguments.limit,
    )
    if not rows and arguments.entity is not None:
        entities.find(scope, arguments.entity)
    return tuple(fact_from_row(row, valid_at, known_at) for row in rows)


def history(scope: Scope, arguments: OneFact) -> tuple[FactVersion, ...]:
    """Every version of a fact known at the asked moment, oldest first, forgotten ones too.

    Raises:
        NotFound: No visible fact of that id was known then.
    """
    valid_at, known_at = scope.moments()
    rows = scope.database.rows(
        "fact_history",
        fact_id=to_number(IdKind.FACT, arguments.fact_id),
        visible=list(scope.visible),
        known_at=known_at,
    )
    if not rows:
        raise no_fact(scope, arguments.fact_id)
    return tuple(version_from_row(row, valid_at, known_at) for row in rows)


def about(scope: Scope, arguments: AboutEntity) -> About:
    """What is known around an entity, following relations that hold at the asked moment.

    Raises:
        NotFound: No visible entity answers to the name.
    """
    start = entities.find(scope, arguments.entity)
    valid_at, known_at = scope.moments()
    when = {"visible": list(scope.visible), "valid_at": valid_at, "known_at": known_at}
    reached = scope.database.rows("entities_within", entity_id=start, hops=arguments.hops, **when)
    hops = {row["entity_id"]: int(row["hops"]) for row in reached}
    names = entities.by_id(scope, list(hops))
    facts = scope.database.rows("facts_about", entity_ids=list(hops), **when)
    relations = scope.database.rows("relations_among", entity_ids=list(hops), **when)
    return About(
        entity=names[start],
        neighbours=tuple(Neighbour(entity=names[key], hops=count) for key, count in hops.items() if key != start),
        facts=tuple(fact_from_row(row, valid_at, known_at) for row in _nearest_first(facts, hops)),
        relations=tuple(relation_from_row(row, known_at) for row in relations),
    )


def _nearest_first(rows: list[Row], hops: dict[int, int]) -> list[Row]:
    distances: dict[int, int] = defaultdict(lambda: max(hops.values()) + 1, hops)
    newest_first = sorted(rows, key=lambda row: (row["valid_from"], row["fact_id"]), reverse=True)
    return sorted(newest_first, key=lambda row: min(distances[entity] for entity in row["entity_ids"]))
