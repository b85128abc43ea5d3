"""`DuckDBSession`: a conversation kept in a memory, as the Agents SDK's `Session` protocol asks for it.

It translates and decides nothing: items become JSON texts here, and `sessions/` stores and orders them. Every call
crosses to a thread; a cancelled caller waits until its write is settled.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any, cast

from agents import TResponseInputItem
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from agents_memory import _threads
from agents_memory.config import DEFAULT_NAMESPACE
from agents_memory.errors import Closed
from agents_memory.memory import Memory
from agents_memory.sdk.current import run_kept_with
from agents_memory.sessions.arguments import check_session_id
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
        memory: Memory | str | os.PathLike[str],
        *,
        namespace: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """Open the conversation; it exists once something was added to it.

        Args:
            session_id: Any text that is not blank.
            memory: The memory it is kept in, which stays the caller's to close; or the path of a file, which this
                session opens and closes.
            namespace: The namespace it belongs to; that of the memory when left out, `main` for a path.
            session_settings: The SDK's settings: `limit` is how many items a run reads when it does not say.

        Raises:
            InvalidInput: The session id or the namespace cannot be used.
            StoreLocked: Another process holds the file.
        """
        self.session_id = check_session_id(session_id)
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._owned: Memory | None = None
        if isinstance(memory, str | os.PathLike):
            self._memory = self._owned = Memory.open(memory, namespace=namespace or DEFAULT_NAMESPACE)
        else:
            self._memory = memory if namespace is None else memory.at_namespace(namespace)
        self._is_closed = False

    @property
    def memory(self) -> Memory:
        """The memory that it is kept in."""
        return self._memory

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest items, oldest of them first.

        Args:
            limit: How many; that of the settings when left out, all when those name none, and all when negative, as
                in the SDK's own sessions.
        """
        self._check_open()
        wanted = resolve_session_limit(limit, self.session_settings)
        return await _threads.in_thread(self._read, None if wanted is not None and wanted < 0 else wanted)

    async def get_turns(self, count: int) -> list[TResponseInputItem]:
        """The items of the last `count` turns; a turn is a user item and what follows it."""
        self._check_open()
        items = await _threads.in_thread(self._memory.read_session, self.session_id, turns=count)
        return _readable([item.item_json for item in items])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add a batch at the end, all of it or nothing.

        Raises:
            LeaseLost: They come from a resumed run that somebody else has claimed meanwhile; nothing was written.
            NotJson: An item holds something that is no JSON data; nothing was written. It is a `TypeError`, too.
        """
        self._check_open()
        if items:
            await _threads.in_thread(self._append, list(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item away and return it; None when there is none."""
        self._check_open()
        text = await _threads.in_thread(self._call, "session_pop")
        return None if text is None else cast("TResponseInputItem", from_json(text))

    async def clear_session(self) -> None:
        """Take every item away. They stay readable as of an earlier moment; `erase` is what destroys them."""
        self._check_open()
        await _threads.in_thread(self._call, "session_clear")

    def close(self) -> None:
        """End the use of this object, and close the file if it was opened here. Harmless twice."""
        self._is_closed = True
        if self._owned is not None:
            self._owned.close()

    def _append(self, items: Sequence[TResponseInputItem]) -> None:
        texts = [to_json(item) for item in items]
        run = run_kept_with(self._memory)
        if run is None:
            self._call("session_append", items=texts)
        else:
            self._call("session_append", items=texts, run_id=run.run_id, fence=run.fence)

    def _read(self, limit: int | None) -> list[TResponseInputItem]:
        window = limit
        while True:
            texts = self._call("session_items", limit=window)
            items = _readable(texts)
            if limit is None or window is None or len(items) >= limit or len(texts) < window:
                return items if limit is None else items[max(len(items) - limit, 0) :]
            window *= 2  # some texts were unreadable, and the limit counts items

    def _call(self, operation: str, *, run_id: str | None = None, **arguments: Any) -> Any:
        return self._memory.call(
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
