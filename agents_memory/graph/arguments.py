"""The arguments of the graph's verbs: validated here, once, before anything is written; trusted afterwards.

Nothing is coerced: a number is no text, a text is no list, a naive time is refused with the way out.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from agents_memory._ids import IdKind, to_number
from agents_memory.config import MAX_CONTENT_CHARS, MAX_NAME_CHARS
from agents_memory.errors import InvalidTime
from agents_memory.graph.names import fold
from agents_memory.store.values import FOREVER
from agents_memory.types import Kind

_SURROGATE = re.compile("[\ud800-\udfff]")


class Arguments(BaseModel):
    """The base of every operation's arguments: no unknown key, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoArguments(Arguments):
    """Nothing to say."""


def has_surrogate(text: str) -> bool:
    """Whether `text` holds half of a character, which no encoding can store."""
    return _SURROGATE.search(text) is not None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not {type(value).__name__}")
    if has_surrogate(value):
        raise ValueError("holds a lone surrogate, which no encoding can store; remove it")
    return value


def _content(value: object) -> str:
    text = _text(value)
    if not fold(text):
        raise ValueError("must not be blank")
    if len(text) > MAX_CONTENT_CHARS:
        raise ValueError(f"is longer than {MAX_CONTENT_CHARS} characters; store it elsewhere and cite it")
    return text


def _name(value: object) -> str:
    text = " ".join(_text(value).split())
    if not fold(text):
        raise ValueError("must not be blank")
    if len(text) > MAX_NAME_CHARS:
        raise ValueError(f"is longer than {MAX_NAME_CHARS} characters, which is no name")
    return text


def to_moment(value: object) -> datetime:
    """An aware UTC time of a datetime, a date (midnight UTC) or an ISO 8601 string.

    Raises:
        InvalidTime: It is naive, unreadable, or out of the range 0001-01-01 to 9999-12-30.
    """
    moment = _moment_of(value)
    if moment >= FOREVER:
        raise InvalidTime("is the end of time or later; leave an open end out")
    return moment


def _moment_of(value: object) -> datetime:
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if len(value) <= 10 else datetime.fromisoformat(value)
        except ValueError:
            raise InvalidTime(
                "is no ISO 8601 date or time, such as '2026-03-01' or '2026-03-01T09:00:00+02:00'"
            ) from None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidTime(
                "is a naive time; say the zone, such as datetime(..., tzinfo=UTC) or '...T09:00:00+02:00'"
            )
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise InvalidTime("is outside the years 0001 to 9999") from None
    if isinstance(value, date):
        return datetime.combine(value, time.min, tzinfo=UTC)
    raise InvalidTime(f"must be a time, a date or an ISO 8601 string, not {type(value).__name__}")


def _fraction(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1")
    return float(value)


def _list(value: object) -> object:
    if isinstance(value, str | bytes | dict) or not isinstance(value, list | tuple):
        raise ValueError(f"must be a list, not {type(value).__name__}; put a single one into a list")
    return tuple(value)


def _id(kind: IdKind) -> Any:
    def check(value: object) -> str:
        to_number(kind, value)
        return str(value)

    return BeforeValidator(check)


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({fold(name): name for name in reversed(names)}.values())[::-1]


Text = Annotated[str, BeforeValidator(_text)]
Content = Annotated[str, BeforeValidator(_content)]
Name = Annotated[str, BeforeValidator(_name)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_list), AfterValidator(_distinct)]
Moment = Annotated[datetime, BeforeValidator(to_moment)]
Fraction = Annotated[float, BeforeValidator(_fraction)]
FactId = Annotated[str, _id(IdKind.FACT)]
ItemId = Annotated[str, _id(IdKind.ITEM)]
EpisodeId = Annotated[str, _id(IdKind.EPISODE)]
RequestId = Annotated[str, _id(IdKind.REQUEST)]
RunId = Annotated[str, _id(IdKind.RUN)]
TripleArgument = Annotated[tuple[Name, Name, Name], BeforeValidator(_list)]
Triples = Annotated[tuple[TripleArgument, ...], BeforeValidator(_list)]


class Remember(Arguments):
    """Store a new fact."""

    content: Content = Field(description="The fact as one self-contained sentence.")
    entities: Names = Field(default=(), description="Names of the people, projects or things it is about.")
    kind: Kind = Field(default=Kind.FACT, description="What sort of fact it is.")
    importance: Fraction = Field(default=0.5, description="0 to 1.")
    confidence: Fraction = Field(default=1.0, description="0 to 1.")
    pinned: bool = Field(default=False, strict=True, description="Marks it as always worth showing.")
    valid_from: Moment | None = Field(default=None, description="Since when it holds; now when left out.")
    valid_to: Moment | None = Field(default=None, description="Until when it holds; open when left out.")
    relate: Triples = Field(default=(), description="Relations it states, each [source, predicate, target].")
    evidence: Content | None = Field(default=None, description="The words it rests on, verbatim.")
    episode: EpisodeId | None = Field(default=None, description="A stored episode it rests on, such as p4.")


class Supersede(Arguments):
    """Record that the world changed."""

    fact_id: FactId = Field(description="The fact that no longer holds, such as f12.")
    content: Content = Field(description="What holds instead, as one self-contained sentence.")
    at: Moment | None = Field(default=None, description="When the world changed; now when left out.")
    reason: Content | None = Field(default=None, description="Why.")
    entities: Names | None = Field(default=None, description="Who it is about; the same as before when left out.")
    relate: Triples = Field(default=(), description="Relations that begin then.")
    unrelate: Triples = Field(default=(), description="Relations that end then.")


class Correct(Arguments):
    """Record that memory was wrong."""

    fact_id: FactId = Field(description="The fact that was wrong, such as f12.")
    content: Content = Field(description="What was true all along, as one self-contained sentence.")
    reason: Content | None = Field(default=None, description="Why.")
    entities: Names | None = Field(default=None, description="Who it is about; the same as before when left out.")
    relate: Triples = Field(default=(), description="Relations that were true all along.")
    unrelate: Triples = Field(default=(), description="Relations that were never true.")


class Forget(Arguments):
    """Stop believing a fact."""

    fact_id: FactId = Field(description="The fact to stop believing, such as f12.")
    reason: Content | None = Field(default=None, description="Why.")


class Relate(Arguments):
    """Tie two entities."""

    source: Name = Field(description="The entity the relation starts from.")
    predicate: Name = Field(description="What ties them, such as 'maintains'.")
    target: Name = Field(description="The entity it leads to.")
    valid_from: Moment | None = Field(default=None, description="Since when it holds; now when left out.")
    valid_to: Moment | None = Field(default=None, description="Until when it holds; open when left out.")


class Unrelate(Arguments):
    """End a relation."""

    source: Name = Field(description="The entity the relation starts from.")
    predicate: Name = Field(description="What ties them.")
    target: Name = Field(description="The entity it leads to.")
    at: Moment | None = Field(default=None, description="When it ended; now when left out.")


class AddAlias(Arguments):
    """Give an entity another name."""

    entity: Name = Field(description="A name it answers to already.")
    alias: Name = Field(description="The further name.")


class AddEpisode(Arguments):
    """Keep words as evidence."""

    text: Content = Field(description="The words, verbatim.")
    source: Content | None = Field(default=None, description="Where they come from.")
    occurred_at: Moment | None = Field(default=None, description="When they were said; now when left out.")


class OneFact(Arguments):
    """Name a fact."""

    fact_id: FactId = Field(description="The fact, such as f12.")


class ListFacts(Arguments):
    """Which facts to list."""

    entity: Name | None = Field(default=None, description="Only those about it, by a name it answers to.")
    limit: int = Field(default=100, ge=1, strict=True, description="How many at most.")
    after: FactId | None = Field(default=None, description="Only those after this one: the last of the page before.")


class OneEntity(Arguments):
    """Name an entity."""

    name: Name = Field(description="A name it answers to.")


class AboutEntity(Arguments):
    """Name an entity and how far to look."""

    entity: Name = Field(description="A name it answers to.")
    hops: int = Field(default=1, ge=0, le=3, strict=True, description="How many relations to follow, 0 to 3.")
