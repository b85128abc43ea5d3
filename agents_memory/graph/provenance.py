"""Where a fact comes from: its versions and those of what it superseded, each with its words and its reviewer."""

from __future__ import annotations

from collections import defaultdict

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.graph.arguments import OneFact
from agents_memory.graph.rows import optional_id
from agents_memory.graph.scope import Scope
from agents_memory.graph.versions import no_fact
from agents_memory.store.values import Row
from agents_memory.types import Evidence, Provenance


def provenance(scope: Scope, arguments: OneFact) -> tuple[Provenance, ...]:
    """The chain of a fact, newest first, as far as it was known at the asked moment.

    Raises:
        NotFound: No visible fact of that id was known then.
    """
    _, known_at = scope.moments()
    fact_id = to_number(IdKind.FACT, arguments.fact_id)
    rows = scope.database.rows("fact_provenance", fact_id=fact_id, visible=list(scope.visible), known_at=known_at)
    if not rows or rows[0]["fact_id"] != fact_id:
        raise no_fact(scope, arguments.fact_id)
    ids = sorted({row["fact_id"] for row in rows})
    cited: dict[tuple[int, int], list[Evidence]] = defaultdict(list)
    for row in scope.database.rows("fact_evidence", fact_ids=ids, known_at=known_at):
        cited[row["fact_id"], row["version"]].append(_cited(row))
    return tuple(_entry(row, cited[row["fact_id"], row["version"]]) for row in rows)


def _entry(row: Row, cited: list[Evidence]) -> Provenance:
    own = [_said(row)] if row["item_id"] is not None else []
    return Provenance(
        fact_id=to_text(IdKind.FACT, row["fact_id"]),
        version=row["version"],
        change=row["change"],
        content=row["content"],
        writer=row["writer"],
        written_at=row["tx_from"],
        call_id=row["call_id"],
        run_id=optional_id(IdKind.RUN, row["run_id"]),
        request_id=optional_id(IdKind.REQUEST, row["request_id"]),
        approved_by=row["approved_by"],
        evidence=(*own, *cited),
    )


def _said(row: Row) -> Evidence:
    return Evidence(
        text=row["item_text"],
        source=row["session_id"],
        occurred_at=row["item_at"] or row["tx_from"],
        session_id=row["session_id"],
        item_id=optional_id(IdKind.ITEM, row["item_id"]),
    )


def _cited(row: Row) -> Evidence:
    if row["episode_id"] is None:
        return Evidence(
            text=row["item_text"],
            source=row["session_id"],
            occurred_at=row["item_at"] or row["recorded_at"],
            session_id=row["session_id"],
            item_id=optional_id(IdKind.ITEM, row["item_id"]),
            reinforces=row["reinforces"],
        )
    return Evidence(
        text=row["episode_text"],
        source=row["source"],
        occurred_at=row["occurred_at"],
        episode_id=to_text(IdKind.EPISODE, row["episode_id"]),
        reinforces=row["reinforces"],
    )
