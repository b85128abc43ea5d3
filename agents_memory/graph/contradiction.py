"""When two statements about the same thing cannot both be true, as far as their words tell.

A pure rule, cheap and cautious: two statements that say nearly the same, and differ in a number, in a negation, or in a
name on both sides, may contradict each other. It reads words that are separated by spaces, and English negations. It
proposes; whether both are true is for a person or a model to say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agents_memory.types import Difference

MIN_OVERLAP: Final = 0.6
"""The share of what both say in all that either says, numbers, negations and differing names apart."""

_WORD: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?![\w,])|[^\W_]+(?:[._:/@'’+-][^\W_]+)*")
_NEGATIONS: Final = "not no never none nothing nobody neither nor cannot without"
_NOT: Final = frozenset(_NEGATIONS.split())
_NUMERALS: Final = """
    zero one two three four five six seven eight nine ten eleven twelve hundred thousand million once twice
"""
_COUNTED: Final = frozenset(_NUMERALS.split())
_SMALL_WORDS: Final = """
    a an the this that these those i me my we us our you your he him his she her it its they them their
    am is are was were be been being do does did have has had will would can could shall should may might must
    and or but so as at by for from in into of off on onto out over to up with about than then there here now
    still currently longer any some also just only
"""
_SAYS_LITTLE: Final = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True)
class Statement:
    """A statement as its words.

    Attributes:
        content: The statement.
    """

    content: str

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that say something, folded, numbers and names among them."""
        return frozenset(key for _, key in self._pieces if key not in _NOT and not key.endswith("n't"))

    @cached_property
    def named(self) -> frozenset[str]:
        """Those that are written with a capital, as names are."""
        return frozenset(key for word, key in self._pieces if word[0].isupper()) & self.words

    @cached_property
    def is_negated(self) -> bool:
        """Whether it denies something."""
        return sum(key in _NOT or key.endswith("n't") for _, key in self._pieces) % 2 == 1

    @cached_property
    def subject(self) -> str:
        """The beginning of the statement, lower case, up to its first word that says something."""
        text = self.content.lower()
        first = next((found for found in _WORD.finditer(text) if _key(found[0]) not in _SAYS_LITTLE), None)
        return text if first is None else text[: first.end()]

    @cached_property
    def _pieces(self) -> list[tuple[str, str]]:
        return [(word, key) for word, key in _pieces(self.content) if key not in _SAYS_LITTLE]


def difference(one: Statement, other: Statement) -> Difference | None:
    """What two statements differ in that cannot both be so, or None when they may well both be true."""
    only_one, only_other = one.words - other.words, other.words - one.words
    values = _numbers(only_one), _numbers(only_other), only_one & one.named, only_other & other.named
    plain = (only_one | only_other).difference(*values)
    shared = len(one.words & other.words)
    if not shared or shared / (shared + len(plain)) < MIN_OVERLAP:
        return None
    found = _value_that_differs(*values)
    if one.is_negated is not other.is_negated:
        return Difference.NEGATION if found is None else None
    return found


def _value_that_differs(
    numbers: Iterable[str], other_numbers: Iterable[str], names: Iterable[str], other_names: Iterable[str]
) -> Difference | None:
    if numbers and other_numbers:
        return Difference.NUMBER
    return Difference.NAME if names and other_names else None


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if word in _COUNTED or any(char.isdigit() for char in word))


def _pieces(text: str) -> list[tuple[str, str]]:
    return [(found[0], _key(found[0])) for found in _WORD.finditer(unicodedata.normalize("NFKC", text))]


def _key(word: str) -> str:
    """A word without case, possessive and plural ending, a number without commas."""
    key = word.casefold().replace("’", "'").removesuffix("'s")
    if key[0].isdigit():
        return key.replace(",", "")
    return key[:-1] if len(key) > 3 and key.endswith("s") and not key.endswith("ss") else key
