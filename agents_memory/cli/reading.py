"""The commands that read memory: recall, get, history, provenance, about."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from agents_memory.cli.output import (
    READS,
    JsonOption,
    MemoryOption,
    NamespaceOption,
    clean,
    console,
    day,
    opened,
    print_json,
    print_table,
)
from agents_memory.types import Fact, FactVersion, Provenance


def add_to(app: typer.Typer) -> None:
    """Add the reading commands to the command line."""
    app.command()(recall)
    app.command()(get)
    app.command()(history)
    app.command()(provenance)
    app.command()(about)


def recall(
    query: Annotated[str, typer.Argument(help="Plain words.")],
    memory: MemoryOption,
    namespace: NamespaceOption = READS,
    k: Annotated[int, typer.Option("-k", min=1, help="How many facts at most.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Find the facts that answer a question."""
    with opened(memory, namespace) as handle:
        found = handle.recall(query, k=k)
    if as_json:
        print_json("recall", found)
        return
    if found.explanation is not None:
        console.print(clean(found.explanation))
        return
    rows = [(hit.fact.id, hit.fact.content, day(hit.fact.valid_from), ", ".join(hit.retrievers)) for hit in found.hits]
    print_table(("id", "fact", "since", "found by"), rows)


def get(
    fact_id: Annotated[str, typer.Argument(help="Such as f12.")],
    memory: MemoryOption,
    namespace: NamespaceOption = READS,
    as_json: JsonOption = False,
) -> None:
    """Read one fact."""
    with opened(memory, namespace) as handle:
        fact = handle.get(fact_id)
    if as_json:
        print_json("get_fact", fact)
        return
    _print_facts((fact,))


def history(
    fact_id: Annotated[str, typer.Argument(help="Such as f12.")],
    memory: MemoryOption,
    namespace: NamespaceOption = READS,
    as_json: JsonOption = False,
) -> None:
    """Read every version of a fact: what was believed, when, and why it changed."""
    with opened(memory, namespace) as handle:
        versions = handle.history(fact_id)
    if as_json:
        print_json("history", versions)
        return
    print_table(("version", "what it said", "held", "believed", "change", "by", "why"), map(_history_row, versions))


def provenance(
    fact_id: Annotated[str, typer.Argument(help="Such as f12.")],
    memory: MemoryOption,
    namespace: NamespaceOption = READS,
    as_json: JsonOption = False,
) -> None:
    """Read where a fact comes from: on which words, and who approved it."""
    with opened(memory, namespace) as handle:
        chain = handle.provenance(fact_id)
    if as_json:
        print_json("provenance", chain)
        return
    columns = ("fact", "version", "what it said", "written", "approved by", "on the words")
    print_table(columns, map(_provenance_row, chain))


def about(
    entity: Annotated[str, typer.Argument(help="A name it answers to.")],
    memory: MemoryOption,
    namespace: NamespaceOption = READS,
    hops: Annotated[int, typer.Option(min=0, max=3, help="How many relations to follow.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Read what is known around an entity."""
    with opened(memory, namespace) as handle:
        found = handle.about(entity, hops=hops)
    if as_json:
        print_json("about", found)
        return
    _print_facts(found.facts)
    for relation in found.relations:
        console.print(clean(f"{relation.source} → {relation.predicate} → {relation.target}"))


def _history_row(version: FactVersion) -> tuple[str, ...]:
    fact = version.fact
    return (
        str(fact.version),
        fact.content,
        _span(fact.valid_from, fact.valid_to),
        _span(fact.tx_from, fact.tx_to),
        version.change,
        version.writer or "",
        version.close_reason or version.reason or "",
    )


def _provenance_row(entry: Provenance) -> tuple[str, ...]:
    words = "; ".join(evidence.text for evidence in entry.evidence if evidence.text)
    return (
        entry.fact_id,
        str(entry.version),
        entry.content,
        day(entry.written_at),
        entry.approved_by or "",
        words,
    )


def _span(start: datetime, end: datetime | None) -> str:
    return f"{day(start)} to {day(end) or 'now'}"


def _print_facts(facts: tuple[Fact, ...]) -> None:
    rows = [
        (fact.id, fact.content, fact.kind.value, _span(fact.valid_from, fact.valid_to), ", ".join(fact.entities))
        for fact in facts
    ]
    print_table(("id", "fact", "kind", "held", "about"), rows)
