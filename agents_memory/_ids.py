"""Ids: integers inside, a letter and an integer at every boundary (`f12`).

Short ids cost a model one token or two and are not miscopied. They count up from 1, a kind and file for itself.
"""

from __future__ import annotations

import re
from enum import StrEnum

from agents_memory.errors import InvalidId

_FORM = re.compile(r"[a-z][1-9][0-9]{0,17}", re.ASCII)


class IdKind(StrEnum):
    """What an id names; the value is its letter."""

    FACT = "f"
    ENTITY = "e"
    RELATION = "r"
    EPISODE = "p"
    REQUEST = "a"
    RUN = "n"
    ITEM = "i"


_WORDS = {
    IdKind.FACT: "a fact",
    IdKind.ENTITY: "an entity",
    IdKind.RELATION: "a relation",
    IdKind.EPISODE: "an episode",
    IdKind.REQUEST: "an approval request",
    IdKind.RUN: "a parked run",
    IdKind.ITEM: "a session item",
}


def to_text(kind: IdKind, number: int) -> str:
    """`(IdKind.FACT, 12)` -> `"f12"`."""
    return f"{kind.value}{number}"


def to_number(kind: IdKind, text: object) -> int:
    """`(IdKind.FACT, "f12")` -> `12`.

    Raises:
        InvalidId: `text` is not a string of that form, or names another kind.
    """
    if not isinstance(text, str) or not _FORM.fullmatch(text) or text[0] != kind.value:
        raise InvalidId(
            f"{text!r:.80} is not the id of {_WORDS[kind]}. Pass it as it was returned, such as '{kind.value}12'.",
            expected=kind.value,
        )
    return int(text[1:])
