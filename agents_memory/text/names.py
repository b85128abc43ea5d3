"""The names that entities answer to, and finding them in a question or in what was said: whole words, in any script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agents_memory.text.tokens import NameWord, name_words, whole_words
from agents_memory.text.words import STOP_WORDS

_MAX_WORDS = 12
_RUN = re.compile(r"[a-z0-9_]+")


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


class KnownNames:
    """Names to look for in what was said, each under a key of the caller's: every one that a text holds whole."""

    def __init__(self, names: Iterable[tuple[str, str]] = ()) -> None:
        """Know some names.

        Args:
            names: Each name, and its key.
        """
        self._by_first: dict[str, dict[str, tuple[str, ...]]] = {}
        self._runs: set[str] = set()
        for name, key in names:
            self.add(name, key)

    def __bool__(self) -> bool:
        """Whether any name is known."""
        return bool(self._by_first)

    def add(self, name: str, key: str) -> None:
        """Know a further name."""
        words = tuple(word.key for word in whole_words(name))
        if words:
            self._by_first.setdefault(words[0], {})[key] = words
            self._runs.update(_RUN.findall(words[0])[:1])

    def found_in(self, text: str) -> list[str]:
        """The keys of the names in a text, each once."""
        if not self._may_be_in(text):
            return []
        words = whole_words(text)
        found: dict[str, None] = {}
        for start, word in enumerate(words):
            for key, wanted in self._by_first.get(word.key, {}).items():
                span = words[start : start + len(wanted)]
                if wanted == tuple(one.key for one in span) and _may_be_name(span):
                    found[key] = None
        return list(found)

    def _may_be_in(self, text: str) -> bool:
        """A quick look that misses nothing."""
        if not self._by_first or not text.isascii():
            return bool(self._by_first)
        return not self._runs.isdisjoint(_RUN.findall(text.lower()))


def hint(name: str) -> str | None:
    """A text that stands in the folded form of every text that holds the name; None for a name without a word."""
    return max((word.key for word in whole_words(name)), key=len, default=None)
