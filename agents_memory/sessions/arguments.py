"""The arguments of the session operations, validated once."""

from __future__ import annotations

from typing import Annotated, Literal, cast, get_args

from pydantic import BeforeValidator, Field

from agents_memory.errors import InvalidInput
from agents_memory.graph.arguments import Arguments, Name, has_surrogate


def check_session_id(value: object) -> str:
    """`value` itself, when it can name a session: any text but a blank one.

    Raises:
        InvalidInput: It is no text, blank, or holds a lone surrogate, which no encoding can store.
    """
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput("A session needs an id that is not blank, such as 'conv-1'.")
    if has_surrogate(value):
        raise InvalidInput("A session id cannot hold a lone surrogate, which no encoding can store. Remove it.")
    return value


SessionId = Annotated[str, BeforeValidator(check_session_id)]

WhileParked = Literal["continue", "refuse"]
"""What a new turn does while a run of the conversation waits for a person."""


def check_while_parked(value: object) -> WhileParked:
    """`value` itself, when it says what a new turn does while a run waits.

    Raises:
        InvalidInput: It is neither `continue` nor `refuse`.
    """
    if value not in get_args(WhileParked):
        raise InvalidInput(f"while_parked is 'continue' or 'refuse', not {value!r:.80}.")
    return cast("WhileParked", value)


class OneSession(Arguments):
    """Name a session."""

    session_id: SessionId = Field(description="The conversation, such as conv-1.")


class AppendItems(OneSession):
    """Add items at the end of a session."""

    items: tuple[Annotated[str, Field(strict=True)], ...] = Field(description="The items, each as a JSON text.")
    fence: int | None = Field(default=None, strict=True, description="The claim of the resumed run they come from.")
    while_parked: WhileParked = Field(default="continue", description="Whether a new turn may begin while a run waits.")


class ReplaceSuffix(OneSession):
    """Put items in the place of the end of a session."""

    expected: tuple[tuple[str, str], ...] = Field(description="The end as it was read: each item's id and JSON text.")
    items: tuple[Annotated[str, Field(strict=True)], ...] = Field(description="What stands there now, as JSON texts.")
    drop: tuple[str, ...] = Field(default=(), description="The ids of items before the end that go with it.")
    fence: int | None = Field(default=None, strict=True, description="The claim of the resumed run it comes from.")


class ReadItems(OneSession):
    """Read the newest items of a session."""

    limit: int | None = Field(default=None, ge=0, strict=True, description="How many; all when left out.")


class ReadTurns(OneSession):
    """Read the newest turns of a session."""

    turns: int | None = Field(default=None, ge=0, strict=True, description="How many; all when left out.")


class MentionedEntity(Arguments):
    """Name an entity to look for in conversations."""

    entity: Name = Field(description="A name it answers to.")
