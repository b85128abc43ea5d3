"""The read index of one namespace: every version, closed ones too, and what words, entities and relations lead to it.

Canonical rows are in the file; this is what was read from them, plus what was committed since. It holds ids, times and
tokens, never text. Not thread-safe by itself: `slots.py` sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

import numpy as np

from agents_memory.graph.changes import FactClosed, FactWritten, NameGiven, RelationClosed, RelationWritten
from agents_memory.recall.columns import INTERVALS, Array, Table, micros
from agents_memory.recall.postings import Postings
from agents_memory.recall.word_index import WordIndex
from agents_memory.text.names import NameBook
from agents_memory.types import Kind

KINDS: Final = tuple(Kind)
KIND_CODES: Final = {kind.value: code for code, kind in enumerate(KINDS)}
_FACT: Final = {
    "fact_id": np.int64,
    "version": np.int32,
    "kind": np.int8,
    "importance": np.float32,
    "pinned": np.bool_,
    "length": np.int32,
}
_RELATION: Final = {"source": np.int64, "predicate": np.int32, "target": np.int64}

Columns = Mapping[str, Array]


class Shard:
    """What one namespace holds, as arrays."""

    def __init__(self) -> None:
        self.facts = Table({**_FACT, **INTERVALS})
        self.relations = Table({**_RELATION, **INTERVALS})
        self.words = WordIndex()
        self.about = Postings()
        self.ties = Postings()
        self.names = NameBook()
        self.predicates: dict[str, int] = {}
        self._fact_rows: dict[tuple[int, int], int] = {}
        self._relation_rows: dict[tuple[int, int], int] = {}

    @property
    def size(self) -> int:
        """The number of versions of facts."""
        return len(self.facts)

    # -- from the file ---------------------------------------------------------------------------------------------

    def load_facts(self, rows: Columns) -> None:
        """Take in the versions of an empty shard's facts."""
        lengths = self.words.load(rows["content"])
        self.about.load(*_one_each(rows["entity_ids"]))
        self._fact_rows = _row_numbers(rows["fact_id"], rows["version"])
        kinds = [KIND_CODES[kind] for kind in rows["kind"]]
        self.facts.append({**rows, "kind": kinds, "length": lengths})

    def load_relations(self, rows: Columns) -> None:
        """Take in the versions of an empty shard's relations."""
        ends = [{source, target} for source, target in zip(rows["source_id"], rows["target_id"], strict=True)]
        self.ties.load(*_one_each(ends))
        self._relation_rows = _row_numbers(rows["relation_id"], rows["version"])
        predicates = [self._predicate(name) for name in rows["predicate"]]
        self.relations.append(
            {**rows, "source": rows["source_id"], "predicate": predicates, "target": rows["target_id"]}
        )

    def load_names(self, rows: Columns) -> None:
        """Take in the names of an empty shard."""
        columns = [rows[name].tolist() for name in ("entity_id", "name", "alias", "tx_from", "tx_to")]
        for entity_id, name, alias, tx_from, tx_to in zip(*columns, strict=True):
            self.names.give(entity_id, name, alias=alias, tx_from=tx_from, tx_to=tx_to)

    # -- from commits ----------------------------------------------------------------------------------------------

    def apply(self, change: object) -> None:
        """Take in one committed change; one that was loaded already changes nothing.

        Raises:
            KeyError: A version was closed that this shard does not hold, so it must be loaded anew.
        """
        match change:
            case FactWritten():
                self._write_fact(change)
            case FactClosed():
                row = self._fact_rows[change.fact_id, change.version]
                self.facts.set("tx_to", row, micros(change.tx_to))
            case RelationWritten():
                self._write_relation(change)
            case RelationClosed():
                row = self._relation_rows[change.relation_id, change.version]
                self.relations.set("tx_to", row, micros(change.tx_to))
            case NameGiven():
                start, end = micros(change.tx_from), micros(None)
                self.names.give(change.entity_id, change.name, alias=change.name, tx_from=start, tx_to=end)

    def _write_fact(self, change: FactWritten) -> None:
        row = len(self.facts)
        if self._fact_rows.setdefault((change.fact_id, change.version), row) != row:
            return
        length = self.words.append(row, change.content)
        self.about.append(row, dict.fromkeys(change.entity_ids, 1))
        self.facts.append(
            {
                "fact_id": [change.fact_id],
                "version": [change.version],
                "kind": [KIND_CODES[change.kind]],
                "importance": [change.importance],
                "pinned": [change.pinned],
                "length": [length],
                **_interval(change),
            }
        )

    def _write_relation(self, change: RelationWritten) -> None:
        row = len(self.relations)
        if self._relation_rows.setdefault((change.relation_id, change.version), row) != row:
            return
        self.ties.append(row, dict.fromkeys((change.source_id, change.target_id), 1))
        self.relations.append(
            {
                "source": [change.source_id],
                "predicate": [self._predicate(change.predicate)],
                "target": [change.target_id],
                **_interval(change),
            }
        )

    def _predicate(self, name: str) -> int:
        return self.predicates.setdefault(name, len(self.predicates))


def _interval(change: FactWritten | RelationWritten) -> dict[str, list[int]]:
    return {
        "valid_from": [micros(change.valid_from)],
        "valid_to": [micros(change.valid_to)],
        "tx_from": [micros(change.tx_from)],
        "tx_to": [micros(None)],
    }


def _one_each(keys_of_rows: Iterable[Iterable[int]]) -> tuple[Array, Array, Array]:
    """The entries of rows that hold some keys, each once."""
    distinct = [tuple(dict.fromkeys(keys)) for keys in keys_of_rows]
    keys = np.fromiter(chain.from_iterable(distinct), np.int64)
    return keys, np.repeat(np.arange(len(distinct)), [len(keys) for keys in distinct]), np.ones(len(keys), np.int64)


def _row_numbers(ids: Array, versions: Array) -> dict[tuple[int, int], int]:
    return {key: row for row, key in enumerate(zip(ids.tolist(), versions.tolist(), strict=True))}
