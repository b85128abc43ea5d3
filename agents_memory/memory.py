"""`Memory`: the handle on one file and namespace. Every verb is a call of one entry of the catalogue.

The verbs are synchronous: they block for as long as DuckDB takes, typically a few milliseconds. The parts that the
Agents SDK awaits (`DuckDBSession`, the tools, `RunStateStore`) cross to a thread by themselves.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, Self, cast

from agents_memory.config import DEFAULT_NAMESPACE, OPEN_WAIT_S, ROOT
from agents_memory.errors import Closed, InvalidInput, InvalidTime
from agents_memory.graph.arguments import has_surrogate, to_moment
from agents_memory.graph.scope import check_namespace
from agents_memory.sessions.types import (
    DeletedSessions,
)
from agents_memory.share.access import Access, open_access, release_access
from agents_memory.share.held import Share
from agents_memory.types import (
    ApprovalRequest,
    Caller,
    Episode,
    Kind,
    Receipt,
    Triple,
)
from agents_memory.view import MemoryView, When, listed


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
            pinned: Mark it as always worth showing: `context` begins with it. It changes no ranking.
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
                entities=listed(entities),
                kind=kind,
                importance=importance,
                confidence=confidence,
                pinned=pinned,
                valid_from=valid_from,
                valid_to=valid_to,
                relate=listed(relate),
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
                entities=None if entities is None else listed(entities),
                relate=listed(relate),
                unrelate=listed(unrelate),
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
                entities=None if entities is None else listed(entities),
                relate=listed(relate),
                unrelate=listed(unrelate),
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

    def request_approval(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        *,
        by: str | None = None,
        reason: str | None = None,
        words: str | None = None,
        session_id: str | None = None,
        expires_at: When | None = None,
        approvals: int | None = None,
        not_by_requester: bool | None = None,
    ) -> ApprovalRequest:
        """Ask a person for a write that no run of an agent makes, such as an MCP client's or a realtime agent's.

        It waits in the same queue as the calls of parked runs. Approving it writes it, in the transaction of the
        decision; otherwise nothing is written. The very same that waits already is not asked a second time.

        Args:
            operation: A write that agents have a tool for, such as `"remember"`.
            arguments: Its arguments, any that it takes.
            by: Who asks; the handle's writer when left out. It becomes the writer of what is written.
            reason: Why; the reviewer is told.
            words: The words it rests on. What is written cites them, where it is a fact.
            session_id: The conversation it comes from; without `words` its last user message is cited.
            expires_at: When it stops waiting; never when left out.
            approvals: How many people must approve it; one when left out.
            not_by_requester: Whether who asks may not decide; they may when left out.

        Returns:
            The request, such as `a9`. Once it is decided, its `receipt` says what was written.

        Raises:
            AgentsMemoryError: Whatever the write would raise now; nobody is asked about what cannot work.
            InvalidInput: It is no write that can be asked for; or who asks may not decide, and nobody says who asks.
            InvalidTime: `expires_at` lies in the past.
        """
        return cast(
            "ApprovalRequest",
            self._do(
                "request_approval",
                operation=operation,
                arguments=arguments,
                by=by,
                reason=reason,
                words=words,
                session_id=session_id,
                expires_at=expires_at,
                approvals=approvals,
                not_by_requester=not_by_requester,
            ),
        )

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
