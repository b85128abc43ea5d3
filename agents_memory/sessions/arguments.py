"""The arguments of the session operations, validated once."""

from __future__ import annotations

from typing import Annotated, Literal, cast, get_args

from pydantic import BeforeValidator, Field, model_validator

from agents_memory.errors import InvalidInput
from agents_memory.graph.arguments import Arguments, ItemId, Moment, Name, has_surrogate
from agents_memory.types import MAIN


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


def check_count(name: str, value: object) -> int | None:
    """`value` itself, when it is a number from 0 on, or None.

    Raises:
        InvalidInput: It is neither.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise InvalidInput(f"{name} is a number from 0 on, or None, not {value!r:.80}.")
    return value


def check_branch(value: object) -> str:
    """`value` itself, when it can name a branch: any text but a blank one.

    Raises:
        InvalidInput: It is no text, blank, or holds a lone surrogate.
    """
    if not isinstance(value, str) or not value.strip() or has_surrogate(value):
        raise InvalidInput("A branch needs a name that is not blank, such as 'main'.")
    return value


BranchName = Annotated[str, BeforeValidator(check_branch)]
Texts = tuple[Annotated[str, Field(strict=True)], ...]


class OneSession(Arguments):
    """Name a session."""

    session_id: SessionId = Field(description="The conversation, such as conv-1.")


class OneBranch(OneSession):
    """Name a branch of a session."""

    branch: BranchName = Field(default=MAIN, description="Its branch; main when left out.")


class Spent(Arguments):
    """What model calls cost."""

    requests: int = Field(default=0, ge=0, strict=True)
    input_tokens: int = Field(default=0, ge=0, strict=True)
    output_tokens: int = Field(default=0, ge=0, strict=True)
    total_tokens: int = Field(default=0, ge=0, strict=True)
    cached_tokens: int = Field(default=0, ge=0, strict=True)
    cache_write_tokens: int = Field(default=0, ge=0, strict=True)
    reasoning_tokens: int = Field(default=0, ge=0, strict=True)


class AppendItems(OneBranch):
    """Add items at the end of a session."""

    items: Texts = Field(description="The items, each as a JSON text.")
    fence: int | None = Field(default=None, strict=True, description="The claim of the resumed run they come from.")
    while_parked: WhileParked = Field(default="continue", description="Whether a new turn may begin while a run waits.")
    continues: SessionId | None = Field(default=None, description="The session that this one goes on with, if new.")
    usage: Spent | None = Field(default=None, description="What the model calls cost that they come from.")


class ReplaceSuffix(OneBranch):
    """Put items in the place of the end of a session."""

    expected: tuple[tuple[str, str], ...] = Field(description="The end as it was read: each item's id and JSON text.")
    items: Texts = Field(description="What stands there now, as JSON texts.")
    drop: tuple[str, ...] = Field(default=(), description="The ids of items before the end that go with it.")
    fence: int | None = Field(default=None, strict=True, description="The claim of the resumed run it comes from.")


class NewestItems(OneBranch):
    """Read the newest items of a session."""

    limit: int | None = Field(default=None, ge=0, strict=True, description="How many; all when left out.")


class ReadItems(NewestItems):
    """Read the newest items or turns of a session."""

    turns: int | None = Field(default=None, ge=0, strict=True, description="Only those of so many turns.")

    @model_validator(mode="after")
    def _one_measure(self) -> ReadItems:
        if self.limit is not None and self.turns is not None:
            raise InvalidInput("Give limit or turns, not both.")
        return self


class ReadPage(OneBranch):
    """Read a session, or a part of it."""

    turns: int | None = Field(default=None, ge=0, strict=True, description="Only its last so many turns.")
    limit: int | None = Field(default=None, ge=1, strict=True, description="How many items at most.")
    after: ItemId | None = Field(default=None, description="Only what is read after this item, such as i12.")
    before: ItemId | None = Field(default=None, description="Only what is read before it; with a limit the last of it.")


class SpendUsage(OneBranch):
    """Count what model calls cost with the newest turn of a session."""

    usage: Spent


class NewBranch(OneBranch):
    """Begin a branch of a session before a turn."""

    turn: int = Field(ge=1, strict=True, description="The turn before which it leaves the branch.")
    name: BranchName | None = Field(default=None, description="Its name, never used before; made when left out.")


class OneItem(Arguments):
    """Name an item, and how much around it."""

    item_id: ItemId = Field(description="Such as i12.")
    around: int = Field(default=0, ge=0, strict=True, description="How many items before it and after it.")
    branch: BranchName | None = Field(default=None, description="The branch to read it in; its own when left out.")


class ListSessions(Arguments):
    """List sessions, a page at a time."""

    limit: int | None = Field(default=None, ge=1, strict=True, description="How many at most.")
    after: SessionId | None = Field(default=None, description="Only those after this one: the last of the page before.")


class RenameSession(OneSession):
    """Give a session another id."""

    to: SessionId = Field(description="The new id.")


class DeleteOld(Arguments):
    """Delete what is older than a moment."""

    before: Moment = Field(description="The moment.")
    dry_run: bool = Field(default=False, strict=True, description="Say what would go, and delete nothing.")


class NamedEntity(Arguments):
    """Name an entity to look for in conversations."""

    entity: Name = Field(description="A name it answers to.")


class ItemsAbout(NamedEntity):
    """Name an entity, and how far around it to look in conversations."""

    hops: int = Field(default=1, ge=0, le=3, strict=True, description="How many relations to follow.")
    limit: int | None = Field(default=None, ge=1, strict=True, description="How many items at most.")
