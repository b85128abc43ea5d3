"""`DuckDBSession`: a conversation kept in a memory, as the Agents SDK's `Session` protocol asks for it.

It translates and decides nothing: items become JSON texts here, and `sessions/` stores and orders them. Every call
crosses to a thread; a cancelled caller waits until its write is settled.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from copy import copy
from typing import Any, cast

from agents import RunContextWrapper, TResponseInputItem
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from agents_memory import _threads
from agents_memory.config import DEFAULT_NAMESPACE
from agents_memory.errors import Closed, InvalidInput
from agents_memory.memory import Memory
from agents_memory.sdk.compaction import Expired, replace_all, snapshot_of
from agents_memory.sdk.current import run_kept_with
from agents_memory.sdk.routing import MemoryOf
from agents_memory.sessions.arguments import WhileParked, check_session_id, check_while_parked
from agents_memory.sessions.encoding import from_json, to_json

_log = logging.getLogger("agents_memory")


class DuckDBSession:
    """A conversation in a memory: pass it as `session=` to `Runner.run`.

    Any number of tasks, threads and event loops may use one, and several may be made for one conversation; no item is
    lost, and a batch is never mixed with another.

    Attributes:
        session_id: The conversation.
        session_settings: How much of it a run reads, as the SDK defines it.
    """

    session_id: str
    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        memory: Memory | MemoryOf | str | os.PathLike[str],
        *,
        namespace: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        while_parked: WhileParked = "continue",
    ) -> None:
        """Open the conversation; it exists once something was added to it.

        Args:
            session_id: Any text that is not blank.
            memory: The memory it is kept in, which stays the caller's to close; or a callable that names one for a
                run's context, such as one on the namespace of the user; or the path of a file, which this session
                opens and closes.
            namespace: The namespace it belongs to; that of the memory when left out, `main` for a path.
            session_settings: The SDK's settings: `limit` is how many items a run reads when it does not say.
            while_parked: What a new turn does while a run of the conversation waits for a person: `continue`, or
                `refuse`, with which `add_items` raises `SessionParked`. Items that do not say what they are, such as
                encrypted ones, may be a user's and are refused too.

        Raises:
            InvalidInput: The session id, the namespace or `while_parked` cannot be used, or a namespace was given with
                a callable, which names it.
            StoreLocked: Another process holds the file.
        """
        self.session_id = check_session_id(session_id)
        self._while_parked = check_while_parked(while_parked)
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._owned: Memory | None = None
        self._memory: Memory | MemoryOf
        if isinstance(memory, str | os.PathLike):
            self._memory = self._owned = Memory.open(memory, namespace=namespace or DEFAULT_NAMESPACE)
        elif isinstance(memory, Memory):
            self._memory = memory if namespace is None else memory.at_namespace(namespace)
        elif namespace is None:
            self._memory = memory
        else:
            raise InvalidInput("A callable names the memory and with it the namespace. Leave namespace= out.")
        self._is_closed = False

    @property
    def memory(self) -> Memory:
        """The memory that it is kept in.

        Raises:
            InvalidInput: The run's context names it; ask `memory_for`.
        """
        return self.memory_for(None)

    def memory_for(self, wrapper: RunContextWrapper[Any] | None) -> Memory:
        """The memory that it is kept in for a run.

        Raises:
            InvalidInput: The run's context names the memory, and none was given.
        """
        if isinstance(self._memory, Memory):
            return self._memory
        if wrapper is None:
            raise InvalidInput(
                "The memory of this session is named by a run's context, and there is none here. Pass wrapper=, as the "
                "SDK's runner does, or make a session of the memory itself."
            )
        return self._memory(wrapper)

    def kept_in(self, memory: Memory) -> DuckDBSession:
        """The same session, kept in one memory whatever a run's context says; closing it closes nothing else."""
        kept = copy(self)
        kept._memory, kept._owned = memory, None
        return kept

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """The newest items, oldest of them first.

        Args:
            limit: How many; that of the settings when left out, all when those name none, and all when negative, as
                in the SDK's own sessions.
            wrapper: The context of the run; the runner passes it to every method.
        """
        self._check_open()
        wanted = resolve_session_limit(limit, self.session_settings)
        bound = None if wanted is not None and wanted < 0 else wanted
        return await _threads.in_thread(self._read, self.memory_for(wrapper), bound)

    async def get_turns(self, count: int, *, wrapper: RunContextWrapper[Any] | None = None) -> list[TResponseInputItem]:
        """The items of the last `count` turns; a turn is a user item and what follows it."""
        self._check_open()
        items = await _threads.in_thread(self.memory_for(wrapper).read_session, self.session_id, turns=count)
        return _readable([item.item_json for item in items])

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Add a batch at the end, all of it or nothing.

        Raises:
            LeaseLost: They come from a resumed run that somebody else has claimed meanwhile; nothing was written.
            NotJson: An item holds something that is no JSON data; nothing was written. It is a `TypeError`, too.
            SessionParked: They may begin a turn while a run waits, and `while_parked` is `refuse`; nothing was written.
        """
        self._check_open()
        if items:
            await _threads.in_thread(self._append, self.memory_for(wrapper), list(items))

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:
        """Take the last item away and return it; None when there is none."""
        self._check_open()
        text = await _threads.in_thread(self._call, self.memory_for(wrapper), "session_pop")
        return None if text is None else cast("TResponseInputItem", from_json(text))

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Take every item away. They stay in the file, readable as of an earlier moment."""
        self._check_open()
        await _threads.in_thread(self._call, self.memory_for(wrapper), "session_clear")

    def close(self) -> None:
        """End the use of this object, and close the file if it was opened here. Harmless twice."""
        self._is_closed = True
        if self._owned is not None:
            self._owned.close()

    async def _get_compaction_snapshot(self, limit: int, *, prune_prefix: Expired | None = None) -> Any:
        """For the SDK's compaction, which gives no context; None where it has to do without."""
        self._check_open()
        if not self._is_compactable():
            return None
        return await snapshot_of(self.memory, self.session_id, limit, prune_prefix=prune_prefix)

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        """For the SDK's compaction of a whole conversation; False where it has to clear and add."""
        self._check_open()
        return self._is_compactable() and await replace_all(self.memory, self.session_id, items)

    def _is_compactable(self) -> bool:
        # a subclass may change what is read and added, which replacing behind its back would not
        return type(self) is DuckDBSession and isinstance(self._memory, Memory)

    def _append(self, memory: Memory, items: Sequence[TResponseInputItem]) -> None:
        texts = [to_json(item) for item in items]
        batch: dict[str, Any] = {"items": texts, "while_parked": self._while_parked}
        run = run_kept_with(memory)
        if run is None:
            self._call(memory, "session_append", **batch)
        else:
            self._call(memory, "session_append", **batch, run_id=run.run_id, fence=run.fence)

    def _read(self, memory: Memory, limit: int | None) -> list[TResponseInputItem]:
        window = limit
        while True:
            texts = self._call(memory, "session_items", limit=window)
            items = _readable(texts)
            if limit is None or window is None or len(items) >= limit or len(texts) < window:
                return items if limit is None else items[max(len(items) - limit, 0) :]
            window *= 2  # some texts were unreadable, and the limit counts items

    def _call(self, memory: Memory, operation: str, *, run_id: str | None = None, **arguments: Any) -> Any:
        return memory.call(
            operation, {"session_id": self.session_id, **arguments}, session_id=self.session_id, run_id=run_id
        )

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed(f"The session {self.session_id!r:.80} was closed. Make a new one.")


def _readable(texts: Sequence[str]) -> list[TResponseInputItem]:
    items: list[TResponseInputItem] = []
    broken = 0
    for text in texts:
        try:
            items.append(cast("TResponseInputItem", from_json(text)))
        except ValueError:
            broken += 1
    if broken:
        _log.warning("%d stored session item(s) are no JSON and were left out", broken)
    return items
