"""What is read of conversations: frozen, JSON-able, with ids as strings and aware times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionItem:
    """One stored item of a conversation.

    Attributes:
        id: Such as `i12`; grows with time across the whole file.
        session_id: The conversation.
        branch: The branch in which it is read.
        item_json: The item exactly as it was given, as JSON.
        type: The item's type; `message` when it names none.
        role: The speaker of a message.
        tool: The tool that it calls.
        turn: 1 for what the first user item began; 0 before it.
        position: Its number in the order of reading, from 1.
        text: The words in it, if any.
        added_at: When it was stored.
        run_id: The parked run that added it, such as `n5`.
    """

    id: str
    session_id: str
    branch: str
    item_json: str
    type: str
    role: str | None
    tool: str | None
    turn: int
    position: int
    text: str | None
    added_at: datetime
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemInContext:
    """An item and what was said around it.

    Attributes:
        item: The item.
        before: What comes before it, in the order of reading.
        after: What comes after it.
    """

    item: SessionItem
    before: tuple[SessionItem, ...]
    after: tuple[SessionItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """What model calls cost.

    Attributes:
        requests: How many there were.
        input_tokens: What they read.
        output_tokens: What they wrote.
        total_tokens: Both, as the provider counts it.
        cached_tokens: What of the input came from the provider's cache.
        cache_write_tokens: What of the input was written to it.
        reasoning_tokens: What of the output was reasoning.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUsage:
    """What the model calls of a conversation cost.

    Attributes:
        turns: In how many turns that are still there a model was called; one that branches share counts once.
        usage: What was spent in all branches, each call once, what was popped or cleared since included.
    """

    turns: int
    usage: TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTurn:
    """A turn of a conversation: a user item and what follows it.

    Attributes:
        session_id: The conversation.
        branch: The branch in which it is read.
        said_in: The branch in which it was said, and its model calls made.
        turn: 1 for the first; 0 for what stands before any user item.
        item_id: Its oldest item, such as `i12`.
        said: The words of the user.
        items: How many items it holds.
        started_at: When the first of them was stored.
        ended_at: When the last of them was.
        tools: The tools called in it, in their order, repeated ones repeated.
        usage: What its model calls cost.
    """

    session_id: str
    branch: str
    said_in: str
    turn: int
    item_id: str
    said: str | None
    items: int
    started_at: datetime
    ended_at: datetime
    tools: tuple[str, ...]
    usage: TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A way that a conversation took.

    Attributes:
        branch: Its name; `main` is the one that every conversation begins with.
        parent: The branch that it left; None for `main`.
        from_turn: The turn of the parent before which it left.
        created_at: When.
        items: How many items it holds, those it began with included.
        turns: How many of them are a user's.
    """

    branch: str
    parent: str | None
    from_turn: int | None
    created_at: datetime
    items: int
    turns: int


class FactStatus(StrEnum):
    """What has become of a statement that was written once."""

    CURRENT = "current"
    UPCOMING = "upcoming"
    ENDED = "ended"
    SUPERSEDED = "superseded"
    CORRECTED = "corrected"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A conversation at a glance.

    Attributes:
        session_id: The conversation.
        items: How many items it holds.
        turns: How many of them are a user's.
        created_at: When its first item was ever stored.
        first_at: When the oldest item that it holds was stored; None when it holds none.
        last_at: When the newest one was.
        continues: The conversation that it goes on with.
    """

    session_id: str
    items: int
    turns: int
    created_at: datetime
    first_at: datetime | None
    last_at: datetime | None
    continues: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMention:
    """A conversation in which an entity was mentioned.

    Attributes:
        session_id: The conversation.
        items: How many of its messages name the entity.
        first_item: The oldest of them, such as `i3`.
        first_at: When that was stored.
        last_item: The newest of them.
        last_at: When that was stored.
    """

    session_id: str
    items: int
    first_item: str
    first_at: datetime
    last_item: str
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFact:
    """What a conversation wrote into memory, and what has become of it.

    Attributes:
        fact_id: Such as `f12`.
        content: What was written.
        change: `created`, or `corrected` when it took the place of what the fact said before.
        written_at: When.
        status: Whether it still stands.
        item_id: The session item whose words it comes from, such as `i3`.
        call_id: The model's call that wrote it.
        run_id: The parked run it belonged to, such as `n5`.
        request_id: The approval request that carried it, such as `a9`.
        decision: `approve` or `edit`: what the reviewer decided; None when nobody was asked.
        approved_by: The reviewer.
    """

    fact_id: str
    content: str
    change: str
    written_at: datetime
    status: FactStatus
    item_id: str | None = None
    call_id: str | None = None
    run_id: str | None = None
    request_id: str | None = None
    decision: str | None = None
    approved_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionedEntity:
    """An entity that a conversation mentions.

    Attributes:
        entity_id: Such as `e3`.
        name: Its own name, whatever it was called there.
        items: How many messages name it.
        first_item: The oldest of them, such as `i3`.
        first_at: When that was stored.
        last_item: The newest of them.
        last_at: When that was stored.
    """

    entity_id: str
    name: str
    items: int
    first_item: str
    first_at: datetime
    last_item: str
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAbout:
    """A message that has to do with an entity.

    Attributes:
        item: The message.
        entity: The entity that it names.
        hops: How many relations tie that one to the entity asked about; 0 when it is the one.
    """

    item: SessionItem
    entity: str
    hops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBehind:
    """Where a fact was said, or said again.

    Attributes:
        session_id: The conversation.
        fact_id: The fact: the one asked about, or one that it superseded.
        version: The version of it.
        change: `created`, `corrected` or `reinforced`.
        told_at: When that was written.
        item_id: The item whose words it comes from, such as `i3`.
        text: Those words.
    """

    session_id: str
    fact_id: str
    version: int
    change: str
    told_at: datetime
    item_id: str | None
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityUsage:
    """What the turns cost in which an entity is named.

    Attributes:
        entity_id: Such as `e3`.
        name: Its own name.
        sessions: In how many conversations it is named.
        turns: In how many turns.
        usage: What these cost.
        tools: How often each tool was called in them.
    """

    entity_id: str
    name: str
    sessions: int
    turns: int
    usage: TokenUsage
    tools: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedSessions:
    """What deleting took out of the file.

    Attributes:
        sessions: The conversations that are gone, or would be.
        items: How many stored items, those popped or cleared before included.
        run_states: How many saved states of parked runs.
        waiting: The conversations that were old enough and are left, since a run of theirs waits.
        is_dry_run: Whether nothing was deleted.
    """

    sessions: tuple[str, ...]
    items: int
    run_states: int
    waiting: tuple[str, ...] = ()
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExport:
    """All that the file holds of a conversation.

    Attributes:
        namespace: Its namespace.
        session: It at a glance.
        branches: Its branches, main first.
        items: Its items, branch by branch in the order of reading; one that several branches share stands in each.
        turns: Its turns, branch by branch, with what they cost.
        facts_written: What it wrote into memory.
    """

    namespace: str
    session: SessionSummary
    branches: tuple[Branch, ...]
    items: tuple[SessionItem, ...]
    turns: tuple[SessionTurn, ...]
    facts_written: tuple[WrittenFact, ...]
