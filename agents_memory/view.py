"""`MemoryView`: every verb that reads, now or as of another moment. Each is a call of one entry of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any, TypedDict, Unpack, cast

from agents_memory.recall.types import ConversationSummary, SearchResult
from agents_memory.sessions.types import (
    Branch,
    EntityUsage,
    ItemAbout,
    ItemInContext,
    MentionedEntity,
    SessionBehind,
    SessionExport,
    SessionItem,
    SessionMention,
    SessionSummary,
    SessionTurn,
    SessionUsage,
    WrittenFact,
)
from agents_memory.share.access import Access
from agents_memory.store.database import Database
from agents_memory.types import (
    MAIN,
    About,
    Caller,
    Entity,
    Fact,
    FactVersion,
    Kind,
    Provenance,
    RecalledContext,
    RecallResult,
)

When = datetime | date | str
"""A moment: an aware datetime, a date (midnight UTC), or either as an ISO 8601 string."""


class Origin(TypedDict, total=False):
    """Where a call comes from; see `Caller`."""

    session_id: str | None
    branch: str
    item_id: str | None
    run_id: str | None
    call_id: str | None
    request_id: str | None


class MemoryView:
    """A read-only look at a memory, now or as of another moment. Made by `Memory.as_of`."""

    def __init__(self, access: Access, caller: Caller) -> None:
        self._access = access
        self._caller = caller

    @property
    def _database(self) -> Database:
        """The file's database, for this package's own tests; there is one only in the process that holds the file."""
        return self._access.database

    @property
    def namespace(self) -> str:
        """The namespace that is read, together with its ancestors."""
        return self._caller.namespace

    def call(
        self,
        operation: str,
        arguments: Mapping[str, Any] | None = None,
        **origin: Unpack[Origin],
    ) -> Any:
        """Do an operation of the catalogue by name; the typed verbs below are this call.

        Args:
            operation: Its name, such as `"remember"`.
            arguments: Its arguments; they are checked before anything happens.
            **origin: Where the call comes from: the attributes of `Caller` that `Origin` names.

        Raises:
            InvalidInput: The arguments do not fit.
            Closed: The memory was closed.
        """
        self._check_open()
        if origin.keys() - Origin.__annotations__.keys():
            raise TypeError(f"a call comes from {sorted(Origin.__annotations__)}, not from {sorted(origin)}")
        caller = replace(self._caller, **origin)
        return self._access.call(caller, operation, arguments or {})

    def recall(self, query: str, *, k: int = 10, kinds: Iterable[Kind | str] | None = None) -> RecallResult:
        """The facts that answer a question best, best first.

        Args:
            query: Plain words in any language.
            k: How many hits at most; at least 1.
            kinds: Only facts of these kinds.

        Returns:
            The hits, each with why it was found; an empty result says why it is empty.
        """
        given = None if kinds is None else listed(kinds)
        return cast("RecallResult", self._do("recall", query=query, k=k, kinds=given))

    def context(self, query: str, *, budget_tokens: int = 1200) -> RecalledContext:
        """The text to put before a model: pinned facts, and those that answer a question best.

        Each fact is a line with its id, to be cited by, and since when it holds. The lines stand in a fence that says
        that they are data, whose closing mark no stored text can forge.

        Args:
            query: What it is about, in plain words; with a blank one, or one that nothing answers, the pinned facts
                are all there is.
            budget_tokens: How many tokens the text may take with everything around the facts, at least 1. Tokens are
                estimated without a tokenizer (`text/size.py` says how, and how well); by that estimate the text is
                never over. A fact that has no room is named in `left_out`, and shorter ones after it are still put in.
        """
        return cast("RecalledContext", self._do("context", query=query, budget_tokens=budget_tokens))

    def get(self, fact_id: str) -> Fact:
        """A fact in the version believed at the asked moment.

        It is returned whether or not it holds in the world then; `Fact.is_current` says.

        Raises:
            NotFound: No visible fact of that id was believed then. `history` may still know it.
        """
        return cast("Fact", self._do("get_fact", fact_id=fact_id))

    def facts(self, *, entity: str | None = None, limit: int = 100, after: str | None = None) -> tuple[Fact, ...]:
        """The facts that hold at the asked moment, in the order of their ids, a page at a time.

        Args:
            entity: Only those about it, by a name it answers to.
            limit: How many at most, 1 or more.
            after: Only those after this id: the last of the page before.

        Raises:
            NotFound: No visible entity answers to that name.
        """
        return cast("tuple[Fact, ...]", self._do("list_facts", entity=entity, limit=limit, after=after))

    def history(self, fact_id: str) -> tuple[FactVersion, ...]:
        """Every version of a fact, oldest first, with why each came and went; forgotten facts too.

        Raises:
            NotFound: No visible fact of that id was known then.
        """
        return cast("tuple[FactVersion, ...]", self._do("history", fact_id=fact_id))

    def provenance(self, fact_id: str) -> tuple[Provenance, ...]:
        """Where a fact comes from, newest first: its versions, those of what it superseded, words and reviewers.

        Raises:
            NotFound: No visible fact of that id was known then.
        """
        return cast("tuple[Provenance, ...]", self._do("provenance", fact_id=fact_id))

    def about(self, entity: str, *, hops: int = 1) -> About:
        """What is known around an entity.

        Args:
            entity: A name it answers to.
            hops: How many relations to follow, 0 to 3; 0 gives the facts about it alone.

        Raises:
            NotFound: No visible entity answers to that name.
        """
        return cast("About", self._do("about", entity=entity, hops=hops))

    def entity(self, name: str) -> Entity:
        """The entity that a name means.

        Raises:
            NotFound: No visible entity answers to it.
        """
        return cast("Entity", self._do("get_entity", name=name))

    def sessions(self, *, limit: int | None = None, after: str | None = None) -> tuple[SessionSummary, ...]:
        """The conversations of this namespace, oldest first: how long each is, and when it took place.

        A conversation belongs to one namespace and is read there alone; unlike facts it is not handed down.

        Args:
            limit: How many at most; all when left out.
            after: Only those after this one: the last of the page before.
        """
        return cast("tuple[SessionSummary, ...]", self._do("sessions", limit=limit, after=after))

    def read_session(
        self,
        session_id: str,
        *,
        branch: str = MAIN,
        turns: int | None = None,
        limit: int | None = None,
        after: str | None = None,
        before: str | None = None,
    ) -> tuple[SessionItem, ...]:
        """A conversation of this namespace, in the order of reading, or a part of it.

        Args:
            session_id: The conversation.
            branch: The branch to read.
            turns: Only its last so many turns; a turn is a user item and what follows it.
            limit: How many items at most: the first, or with `before` alone the last of those before it.
            after: Only what is read after this item, such as `"i12"`: the last of the page before.
            before: Only what is read before this item; the item itself may have been taken out since.

        Returns:
            Its items; none where there is no such conversation.

        Raises:
            NotFound: Nothing was found, and `after` or `before` was never in the branch.
        """
        asked = {"branch": branch, "turns": turns, "limit": limit, "after": after, "before": before}
        return cast("tuple[SessionItem, ...]", self._do("read_session", session_id=session_id, **asked))

    def get_item(self, item_id: str, *, around: int = 0, branch: str | None = None) -> ItemInContext:
        """An item of a conversation, with what was said around it.

        Args:
            item_id: Such as `"i12"`.
            around: How many items before it and after it.
            branch: The branch to read it in; when left out the one that it was said in, or one that still holds it.

        Raises:
            NotFound: No conversation of this namespace holds it; it may have been popped or cleared.
        """
        return cast("ItemInContext", self._do("get_item", item_id=item_id, around=around, branch=branch))

    def thread(self, session_id: str) -> tuple[SessionItem, ...]:
        """A conversation together with those that it continues (`DuckDBSession(..., continues=)`), oldest first.

        Returns:
            The items of their main branches; none where there is no such conversation.
        """
        return cast("tuple[SessionItem, ...]", self._do("thread", session_id=session_id))

    def search_items(
        self, query: str, *, session_id: str | None = None, k: int = 10, role: str | None = None
    ) -> SearchResult:
        """What was said in the conversations of this namespace that holds the words of a query, best first.

        Searched are messages and what tools gave back, in every branch; an item that several branches share is found
        once. The words are compared as `recall` does.

        Args:
            query: Plain words in any language.
            session_id: Only in this conversation.
            k: How many hits at most; at least 1.
            role: Only what this role said, such as `"user"`; `"tool"` for what tools gave back.

        Returns:
            The hits; an empty result says why it is empty. `get_item` shows what was said around one.
        """
        asked = {"session_id": session_id, "k": k, "role": role}
        return cast("SearchResult", self._do("search_items", query=query, **asked))

    def summarize_session(self, session_id: str, *, sentences: int = 5, branch: str = MAIN) -> ConversationSummary:
        """A conversation of this namespace in a few of its own sentences, verbatim, in the order of reading.

        They are those that say most of what the others say, chosen by the words they share (LexRank), without a model.
        Looked at are the newest 500 messages of users and the assistant, the first 2,000 characters of each. Asking
        again costs nothing until something changes in the conversation.

        Args:
            session_id: The conversation.
            sentences: How many at most, 1 to 100.
            branch: The branch to read.

        Returns:
            The sentences, each with its item; none where there is no such conversation.
        """
        asked = {"sentences": sentences, "branch": branch}
        return cast("ConversationSummary", self._do("summarize_session", session_id=session_id, **asked))

    def branches(self, session_id: str) -> tuple[Branch, ...]:
        """The branches of a conversation, main first; none where there is no such conversation."""
        return cast("tuple[Branch, ...]", self._do("list_branches", session_id=session_id))

    def session_turns(self, session_id: str, *, branch: str = MAIN) -> tuple[SessionTurn, ...]:
        """The turns of a conversation: what the user said, the tools called, and what the model calls cost."""
        return cast("tuple[SessionTurn, ...]", self._do("session_turns", session_id=session_id, branch=branch))

    def session_usage(self, session_id: str) -> SessionUsage:
        """What the model calls of a conversation cost, in all of its branches.

        What was popped or cleared since was spent all the same, and counts.
        """
        return cast("SessionUsage", self._do("session_usage", session_id=session_id))

    def export_session(self, session_id: str) -> SessionExport:
        """All that the file holds of a conversation, as it was at one moment.

        Raises:
            NotFound: There is no such conversation.
        """
        return cast("SessionExport", self._do("export_session", session_id=session_id))

    def entities_mentioned(self, session_id: str) -> tuple[MentionedEntity, ...]:
        """The entities that the messages of a conversation name, the most mentioned first.

        Names are found as whole words in any script, whatever the case: `Go` is not in `Going`.
        """
        return cast("tuple[MentionedEntity, ...]", self._do("entities_mentioned", session_id=session_id))

    def sessions_mentioning(self, entity: str) -> tuple[SessionMention, ...]:
        """The conversations of this namespace in whose messages an entity is named, by any name it answers to.

        Args:
            entity: A name it answers to.

        Raises:
            NotFound: No visible entity answers to that name.
        """
        return cast("tuple[SessionMention, ...]", self._do("sessions_mentioning", entity=entity))

    def items_about(self, entity: str, *, hops: int = 1, limit: int | None = None) -> tuple[ItemAbout, ...]:
        """What was said in this namespace about an entity, or about what relations tie to it.

        Args:
            entity: A name it answers to.
            hops: How many relations to follow, 0 to 3; 0 gives what names the entity itself.
            limit: How many items at most; all when left out.

        Returns:
            Messages, those that name the nearest entity first, then the newest first.

        Raises:
            NotFound: No visible entity answers to that name.
        """
        return cast("tuple[ItemAbout, ...]", self._do("items_about", entity=entity, hops=hops, limit=limit))

    def sessions_behind(self, fact_id: str) -> tuple[SessionBehind, ...]:
        """The conversations that a fact rests on: where it, or what it superseded, was said, and said again.

        Raises:
            NotFound: No visible fact of that id was known then.
        """
        return cast("tuple[SessionBehind, ...]", self._do("sessions_behind", fact_id=fact_id))

    def usage_by_entity(self) -> tuple[EntityUsage, ...]:
        """What the turns of this namespace cost in which each entity is named, and the tools called in them.

        A turn that names several entities counts for each of them, so the sums say more than was spent.
        """
        return cast("tuple[EntityUsage, ...]", self._do("usage_by_entity"))

    def facts_written(self, session_id: str) -> tuple[WrittenFact, ...]:
        """What a conversation of this namespace wrote into memory: who approved it, and whether it still stands."""
        return cast("tuple[WrittenFact, ...]", self._do("facts_written", session_id=session_id))

    def _check_open(self) -> None:
        """A view has no life of its own; the file's database refuses once it is closed."""

    def _do(self, operation: str, /, **arguments: Any) -> Any:
        return self.call(operation, {key: value for key, value in arguments.items() if value is not None})


def listed(values: object) -> Any:
    """A list of what can be listed; anything else is left for the checks of the catalogue to refuse."""
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes | dict) else values
