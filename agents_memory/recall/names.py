"""The names that entities answer to, and finding them in a question: whole words, longest first, in any script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents_memory.recall.tokens import NameWord, name_words
from agents_memory.recall.words import STOP_WORDS

_MAX_WORDS = 12


@dataclass(frozen=True, slots=True)
class _Given:
    entity_id: int
    tx_from: int
    tx_to: int


class NameBook:
    """The names given in one namespace."""

    def __init__(self) -> None:
        self._given: dict[str, list[_Given]] = {}
        self._own: dict[int, str] = {}

    def give(self, entity_id: int, name: str, *, alias: str, tx_from: int, tx_to: int) -> None:
        """Let an entity answer to `alias`; `name` is its own, which stays the first one told."""
        key = name_key(name_words(alias))
        entry = _Given(entity_id, tx_from, tx_to)
        known = self._given.setdefault(key, [])
        if entry not in known:
            known.append(entry)
        self._own.setdefault(entity_id, name)

    def meaning(self, key: str, known_at: int) -> list[int]:
        """The entities that answered to a name at a moment."""
        return [given.entity_id for given in self._given.get(key, ()) if given.tx_from <= known_at < given.tx_to]

    def own_name(self, entity_id: int) -> str | None:
        """An entity's own name, or None when it was not named here."""
        return self._own.get(entity_id)


def name_key(words: Sequence[NameWord]) -> str:
    """The form in which the words of a name are looked up."""
    return " ".join(word.key for word in words)


@dataclass(frozen=True, slots=True)
class Named:
    """The entities a question names, in its order, and how many of its words those names take."""

    entity_ids: tuple[int, ...]
    words: frozenset[str]


def find_names(question: str, meaning: Callable[[str], Sequence[int]]) -> Named:
    """Find the names in a question; a longer name hides the shorter ones inside it.

    A single stop word (`will`, `it`) is a name only where it is written with a capital.

    Args:
        question: The question as it was asked.
        meaning: The entities that answer to a key, none for most.
    """
    words = name_words(question)
    taken = [False] * len(words)
    found: dict[int, list[int]] = {}
    for length in range(min(_MAX_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            span = words[start : start + length]
            if any(taken[start : start + length]) or not _may_be_name(span):
                continue
            entities = meaning(name_key(span))
            if entities:
                taken[start : start + length] = [True] * length
                found[start] = list(entities)
    ordered = [entity for start in sorted(found) for entity in found[start]]
    used = frozenset(word.key for word, is_taken in zip(words, taken, strict=True) if is_taken)
    return Named(tuple(dict.fromkeys(ordered)), used)


def _may_be_name(span: Sequence[NameWord]) -> bool:
    return len(span) > 1 or span[0].capital or span[0].key not in STOP_WORDS
