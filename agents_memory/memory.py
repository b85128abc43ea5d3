"""`Memory`: the handle on one file and namespace. Every verb is a call of one entry of the catalogue.

The verbs are synchronous: they block for as long as DuckDB takes, typically a few milliseconds. The parts that the
Agents SDK awaits (`DuckDBSession`, the tools, `RunStateStore`) cross to a thread by themselves.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack, cast

from agents_memory.config import DEFAULT_NAMESPACE, OPEN_WAIT_S, ROOT
from agents_memory.errors import Closed, InvalidInput, InvalidTime
from agents_memory.graph.arguments import has_surrogate, to_moment
from agents_memory.graph.scope import check_namespace
from agents_memory.sessions.types import (
    Branch,
    DeletedSessions,
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
from agents_memory.share.access import Access, open_access, release_access
from agents_memory.share.held import Share
from agents_memory.store.database import Database
from agents_memory.types import (
    MAIN,
    About,
    Caller,
    Entity,
    Episode,
    Fact,
    FactVersion,
    Kind,
    Provenance,
    RecallResult,
    Receipt,
    Triple,
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
        given = None if kinds is None else _listed(kinds)
        return cast("RecallResult", self._do("recall", query=query, k=k, kinds=given))

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
            branch: The branch to read it in; the one that it was said in when left out.

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

    def _do(self, operation: str, **arguments: Any) -> Any:
        return self.call(operation, {key: value for key, value in arguments.items() if value is not None})


class Memory(MemoryView):
    """A durable memory in one DuckDB file, seen from one namespace.

    Open it with `Memory.open`; use it as a context manager, or call `close`. One `Memory` may be used by any number
    of threads and tasks. Opening the same file again in the same process gives a further handle on the same memory.
    """

    def __init__(self, access: Access, caller: Caller, *, owns: bool) -> None:
        super().__init__(access, caller)
        self._owns = owns
        self._is_closed = False
        self._closing = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        namespace: str = DEFAULT_NAMESPACE,
        writer: str | None = None,
        wait_s: float = OPEN_WAIT_S,
        share: Share = "auto",
    ) -> Memory:
        """Open a memory, creating the file when it is not there. Nothing is downloaded, nothing is built.

        One process holds the file; every other that opens it works through that one, with the same verbs and errors,
        and the next that calls takes the file over when its holder ends.

        Args:
            path: The file; its folder must exist. `":memory:"` gives a memory of its own that ends with the process.
            namespace: The path written in, such as `"acme/kestrel"`; it is read together with its ancestors. The
                empty string stands above every namespace: nothing is written there, and the approval queue of the
                whole file is seen.
            writer: The name recorded with what is written.
            wait_s: Seconds to wait while another program holds the file, or one of ours that shares it with nobody.
            share: `auto` shares the file with other processes of this user; `never` holds it alone or not at all;
                `require` shares it or fails, where `auto` would hold it alone, as on a system that allows no socket.

        Raises:
            InvalidInput: The path, the namespace (`namespace_of` makes one of any text) or the writer is none.
            OtherRelease: The process that holds the file runs a release that this one cannot talk to.
            StoreLocked: The file is still held by somebody it cannot be shared with after `wait_s`; the message says by
                whom.
            StoreUnreadable: The path is no file that can be a memory; or it cannot be shared, and was to be.
            NewerStore: A newer release wrote the file.
        """
        if namespace != ROOT:
            check_namespace(namespace)
        caller = Caller(namespace=namespace, writer=_checked_writer(writer))
        return cls(open_access(path, share=share, wait_s=wait_s), caller, owns=True)

    def at_namespace(self, namespace: str, *, writer: str | None = None) -> Memory:
        """A handle on another namespace of the same file. Closing it closes nothing; the original must stay open."""
        writer = self._caller.writer if writer is None else _checked_writer(writer)
        caller = replace(self._caller, namespace=check_namespace(namespace), writer=writer)
        return Memory(self._access, caller, owns=False)

    def shares_file_with(self, other: Memory) -> bool:
        """Whether both are handles on one file."""
        return self._access is other._access

    def as_of(self, *, valid_at: When | None = None, known_at: When | None = None) -> MemoryView:
        """A read-only view of another moment; an axis that is left out stands at now.

        Args:
            valid_at: What held in the world then.
            known_at: What was believed then.

        Raises:
            InvalidTime: A time is naive or unreadable.
        """
        caller = replace(self._caller, valid_at=_moment("valid_at", valid_at), known_at=_moment("known_at", known_at))
        return MemoryView(self._access, caller)

    def remember(
        self,
        content: str,
        *,
        entities: Iterable[str] = (),
        kind: Kind | str | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        pinned: bool | None = None,
        valid_from: When | None = None,
        valid_to: When | None = None,
        relate: Iterable[Triple] = (),
        evidence: str | None = None,
        episode: str | None = None,
    ) -> Receipt:
        """Store a fact; one that says the same already is reinforced instead, and the receipt says so.

        Args:
            content: One self-contained sentence.
            entities: The names of what it is about; unknown ones are created.
            kind: What sort of thing it says; `fact` when left out.
            importance: 0 to 1; 0.5 when left out.
            confidence: 0 to 1; 1 when left out.
            pinned: Mark it as always worth showing; it is stored and returned, and changes no ranking.
            valid_from: Since when it holds; now when left out.
            valid_to: Until when; open when left out.
            relate: Relations it states, each `(source, predicate, target)`.
            evidence: The words it rests on, verbatim; they are kept as an episode.
            episode: An episode it rests on, such as `"p4"`.

        Returns:
            A receipt of status `created` or `reinforced`.

        Raises:
            InvalidInput: An argument cannot be used; nothing was written.
            NotFound: The episode is not visible here.
        """
        return cast(
            "Receipt",
            self._do(
                "remember",
                content=content,
                entities=_listed(entities),
                kind=kind,
                importance=importance,
                confidence=confidence,
                pinned=pinned,
                valid_from=valid_from,
                valid_to=valid_to,
                relate=_listed(relate),
                evidence=evidence,
                episode=episode,
            ),
        )

    def supersede(
        self,
        fact_id: str,
        content: str,
        *,
        at: When | None = None,
        reason: str | None = None,
        entities: Iterable[str] | None = None,
        relate: Iterable[Triple] = (),
        unrelate: Iterable[Triple] = (),
    ) -> Receipt:
        """Record that the world changed: the fact ends at `at`, and a new fact that names it begins there.

        Args:
            fact_id: The fact that no longer holds.
            content: What holds instead.
            at: When the world changed; now when left out, earlier for something learnt late.
            reason: Why.
            entities: What the new fact is about; the same as before when left out.
            relate: Relations that begin then.
            unrelate: Relations that end then.

        Returns:
            A receipt of status `superseded` whose id is the new fact.

        Raises:
            NotFound: There is no such fact, or no such relation to end.
            StaleVersion: It was forgotten, or superseded by somebody else first.
            InvalidTime: It did not hold yet at `at`.
            WrongNamespace: It belongs to an ancestor.
        """
        return cast(
            "Receipt",
            self._do(
                "supersede",
                fact_id=fact_id,
                content=content,
                at=at,
                reason=reason,
                entities=None if entities is None else _listed(entities),
                relate=_listed(relate),
                unrelate=_listed(unrelate),
            ),
        )

    def correct(
        self,
        fact_id: str,
        content: str,
        *,
        reason: str | None = None,
        entities: Iterable[str] | None = None,
        relate: Iterable[Triple] = (),
        unrelate: Iterable[Triple] = (),
    ) -> Receipt:
        """Record that memory was wrong: the same fact says something else, over the same time in the world.

        What was believed before stays readable through `as_of(known_at=...)`.

        Args:
            fact_id: The fact that was wrong.
            content: What was true all along.
            reason: Why.
            entities: What it is about; the same as before when left out.
            relate: Relations that were true all along.
            unrelate: Relations that were never true.

        Raises:
            NotFound: There is no such fact, or no such relation to retract.
            StaleVersion: It was forgotten.
            WrongNamespace: It belongs to an ancestor.
        """
        return cast(
            "Receipt",
            self._do(
                "correct",
                fact_id=fact_id,
                content=content,
                reason=reason,
                entities=None if entities is None else _listed(entities),
                relate=_listed(relate),
                unrelate=_listed(unrelate),
            ),
        )

    def forget(self, fact_id: str, *, reason: str | None = None) -> Receipt:
        """Stop believing a fact, and the relations that it states. Its history stays readable.

        Raises:
            NotFound: There is no such fact.
            StaleVersion: It was forgotten already.
            WrongNamespace: It belongs to an ancestor.
        """
        return cast("Receipt", self._do("forget", fact_id=fact_id, reason=reason))

    def relate(
        self,
        source: str,
        predicate: str,
        target: str,
        *,
        valid_from: When | None = None,
        valid_to: When | None = None,
    ) -> Receipt:
        """Tie two entities; unknown ones are created, and a tie that holds already stays one.

        Returns:
            A receipt of status `created`, or `unchanged` when the relation was there.
        """
        return cast(
            "Receipt",
            self._do(
                "relate",
                source=source,
                predicate=predicate,
                target=target,
                valid_from=valid_from,
                valid_to=valid_to,
            ),
        )

    def unrelate(self, source: str, predicate: str, target: str, *, at: When | None = None) -> Receipt:
        """Record that a relation ended at `at`, which is now when left out.

        Raises:
            NotFound: No such relation holds then.
            InvalidTime: It did not hold yet then.
        """
        return cast("Receipt", self._do("unrelate", source=source, predicate=predicate, target=target, at=at))

    def add_alias(self, entity: str, alias: str) -> Receipt:
        """Let an entity answer to a further name.

        Raises:
            NotFound: No entity answers to `entity`.
            Conflict: The alias means another entity of this namespace already.
        """
        return cast("Receipt", self._do("add_alias", entity=entity, alias=alias))

    def add_episode(self, text: str, *, source: str | None = None, occurred_at: When | None = None) -> Episode:
        """Keep words verbatim as evidence; the same words from the same source are kept once."""
        return cast("Episode", self._do("add_episode", text=text, source=source, occurred_at=occurred_at))

    def rename_session(self, session_id: str, to: str) -> None:
        """Give a conversation of this namespace another id, wherever the file names it.

        `DuckDBSession` objects made with the old id begin a conversation anew; make them with the new one. A call made
        under the old id that is made again under the new one counts as another call.

        Raises:
            Conflict: There is a conversation of that id already; nothing was written.
            NotFound: There is no such conversation.
            SessionParked: A run of it is not over, which knows it by the old id; nothing was written.
        """
        self._do("rename_session", session_id=session_id, to=to)

    def delete_session(self, session_id: str) -> DeletedSessions:
        """Take a conversation of this namespace out of the file, with its branches and the saved states of its runs.

        What it wrote into memory stays, without the words it came from. The rows are gone at once; their bytes may be
        found in the file until DuckDB writes over them.

        Raises:
            NotFound: There is no such conversation.
            SessionParked: A run of it is not over; resume or withdraw it first. Nothing was deleted.
        """
        return cast("DeletedSessions", self._do("delete_session", session_id=session_id))

    def delete_old_sessions(self, before: When, *, dry_run: bool = False) -> DeletedSessions:
        """Keep what is recent: take the conversations of this namespace out of the file that ended before a moment.

        What was popped, cleared or replaced before then goes from the other conversations, too. One with a run that is
        not over stays as it is.

        Args:
            before: The moment.
            dry_run: Say what would go, and delete nothing.
        """
        return cast("DeletedSessions", self._do("delete_old_sessions", before=before, dry_run=dry_run))

    def close(self) -> None:
        """Give the handle back; the last one of the process checkpoints and lets go of the file. Harmless twice."""
        with self._closing:  # two threads may close at once
            if self._owns and not self._is_closed:
                release_access(self._access)
            self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed("This memory was closed. Open it again.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({self._access.path!r}, namespace={self.namespace!r})"


def _listed(values: object) -> Any:
    """A list of what can be listed; anything else is left for the checks of the catalogue to refuse."""
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes | dict) else values


def _checked_writer(writer: object) -> str | None:
    if writer is None or (isinstance(writer, str) and writer.strip() and not has_surrogate(writer)):
        return writer
    raise InvalidInput("A writer is a name: a string that is not blank, or None.")


def _moment(name: str, value: When | None) -> datetime | None:
    if value is None:
        return None
    try:
        return to_moment(value)
    except InvalidTime as error:
        raise InvalidTime(f"{name} {error}.") from None
