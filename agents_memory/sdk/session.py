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

from agents import RunContextWrapper, RunResult, RunResultStreaming, TResponseInputItem
from agents.exceptions import RunErrorDetails
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from agents_memory import _threads
from agents_memory.config import DEFAULT_NAMESPACE
from agents_memory.errors import Closed, InvalidInput, NoSuchBranch
from agents_memory.memory import Memory
from agents_memory.sdk.compaction import Expired, replace_end, snapshot_of
from agents_memory.sdk.current import run_kept_with
from agents_memory.sdk.routing import MemoryOf
from agents_memory.sdk.turns import (
    branch_row,
    by_turns,
    detailed,
    holding,
    said_in_it,
    session_row,
    summed,
    tools_of,
    turns_of,
    usage_of_turns,
)
from agents_memory.sdk.usage import METER, Place
from agents_memory.sessions.arguments import (
    WhileParked,
    check_branch,
    check_count,
    check_session_id,
    check_while_parked,
)
from agents_memory.sessions.encoding import from_json, to_json
from agents_memory.sessions.types import SessionItem, SessionTurn, SessionUsage
from agents_memory.types import MAIN

_log = logging.getLogger("agents_memory")


class DuckDBSession:
    """A conversation in a memory: pass it as `session=` to `Runner.run`.

    Any number of tasks, threads and event loops may use one, and several may be made for one conversation; no item is
    lost, and a batch is never mixed with another. It stands on one branch at a time, which is its own affair: another
    object, in this process or the next, begins on `main` or the branch that it is given.

    What model calls cost is counted with the items that come of them, as the runner adds these.

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
        limit_turns: int | None = None,
        branch: str = MAIN,
        continues: str | None = None,
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
            limit_turns: How many of the newest turns a run reads, each whole, when no number of items is given
                anywhere; all when left out. No call is ever read without its output for that.
            branch: The branch to stand on.
            continues: The conversation that this one goes on with, once it begins; `Memory.thread` reads both.

        Raises:
            InvalidInput: An id, the namespace, `while_parked` or `limit_turns` cannot be used, or a namespace was given
                with a callable, which names it.
            StoreLocked: Another process holds the file, and it cannot be gone through.
        """
        self.session_id = check_session_id(session_id)
        self._while_parked = check_while_parked(while_parked)
        self._limit_turns = check_count("limit_turns", limit_turns)
        self._branch = check_branch(branch)
        self._continues = None if continues is None else check_session_id(continues)
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
    def branch(self) -> str:
        """The branch that it stands on."""
        return self._branch

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

    def kept_in(self, memory: Memory, *, branch: str) -> DuckDBSession:
        """The same session on a branch, kept in one memory whatever a run's context says; closing it closes nothing."""
        kept = copy(self)
        kept._memory, kept._owned, kept._branch = memory, None, branch
        return kept

    async def get_items(
        self,
        limit: int | None = None,
        branch_id: str | None = None,
        *,
        wrapper: RunContextWrapper[Any] | None = None,
    ) -> list[TResponseInputItem]:
        """The newest items, oldest of them first.

        Args:
            limit: How many; that of the settings when left out, the last `limit_turns` turns when those name none, all
                when there is no such limit either, and all when negative, as in the SDK's own sessions.
            branch_id: The branch to read; the one it stands on when left out.
            wrapper: The context of the run; the runner passes it to every method.

        Raises:
            NoSuchBranch: There is no such branch.
        """
        self._check_open()
        memory, branch = self.memory_for(wrapper), self._branch if branch_id is None else branch_id
        METER.begin(wrapper, self._place(memory))
        wanted = resolve_session_limit(limit, self.session_settings)
        if wanted is None and self._limit_turns is not None:
            return await _threads.in_thread(self._read_turns, memory, branch, self._limit_turns)
        bound = None if wanted is not None and wanted < 0 else wanted
        return await _threads.in_thread(self._read, memory, branch, bound)

    async def get_turns(self, count: int, *, wrapper: RunContextWrapper[Any] | None = None) -> list[TResponseInputItem]:
        """The items of the last `count` turns, each whole; a turn is a user item and what follows it."""
        self._check_open()
        return await _threads.in_thread(self._read_turns, self.memory_for(wrapper), self._branch, count)

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Add a batch at the end, all of it or nothing.

        Raises:
            InvalidInput: The conversation exists and does not continue the one that this object was made with.
            LeaseLost: They come from a resumed run that somebody else has claimed meanwhile; nothing was written.
            NotFound: The branch was deleted, or the conversation to continue is not there; nothing was written.
            NotJson: An item holds something that is no JSON data; nothing was written. It is a `TypeError`, too.
            SessionParked: They may begin a turn while a run waits, and `while_parked` is `refuse`; nothing was written.
        """
        self._check_open()
        if items:
            await _threads.in_thread(self._append, self.memory_for(wrapper), self._branch, list(items), wrapper)

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:
        """Take the last item away and return it; None when there is none."""
        self._check_open()
        text = await _threads.in_thread(self._call, self.memory_for(wrapper), "session_pop", branch=self._branch)
        return None if text is None else cast("TResponseInputItem", from_json(text))

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Take every item away, in every branch, and go back to `main`; the branches stay, empty.

        The items stay in the file, readable as of an earlier moment.
        """
        self._check_open()
        await _threads.in_thread(self._call, self.memory_for(wrapper), "session_clear")
        self._branch = MAIN

    def close(self) -> None:
        """End the use of this object, and close the file if it was opened here. Harmless twice."""
        self._is_closed = True
        if self._owned is not None:
            self._owned.close()

    # -- branches, turns and usage, under the names of the SDK's AdvancedSQLiteSession --------------------------------

    async def create_branch_from_turn(self, turn_number: int, branch_name: str | None = None) -> str:
        """Begin a branch with what was said before a turn of the branch it stands on, and stand on the new one.

        Args:
            turn_number: The turn, from 1.
            branch_name: Its name, never used in this conversation before; made of the turn when left out.

        Returns:
            The name.

        Raises:
            InvalidInput: There is no such turn, or the name was used before. It is a `ValueError`, too.
        """
        asked = {"branch": self._branch, "turn": turn_number, "name": branch_name}
        self._branch = await self._do("create_branch", **asked)
        return self._branch

    async def create_branch_from_content(self, search_term: str, branch_name: str | None = None) -> str:
        """Begin a branch before the first turn whose user item holds a text, and stand on it.

        Raises:
            InvalidInput: No turn holds it, or the name was used before.
        """
        found = await self.find_turns_by_content(search_term)
        if not found:
            raise InvalidInput("No turn of this branch holds that text. Find one with get_conversation_turns.")
        return await self.create_branch_from_turn(found[0]["turn"], branch_name)

    async def switch_to_branch(self, branch_id: str) -> None:
        """Stand on another branch: read it, and add to it, from now on.

        Raises:
            NoSuchBranch: There is no such branch.
        """
        known = [row["branch_id"] for row in await self.list_branches()]
        if branch_id not in known:
            raise NoSuchBranch(
                f"This conversation has no branch {branch_id!r:.80}; it has {', '.join(known) or 'none'}."
            )
        self._branch = branch_id

    async def delete_branch(self, branch_id: str, force: bool = False) -> None:
        """End a branch; its name stays taken.

        Args:
            branch_id: The branch.
            force: End it even if it is the one it stands on, and go back to `main`.

        Raises:
            InvalidInput: It is `main`, or the current one and not forced.
            NoSuchBranch: There is no such branch.
        """
        if branch_id == self._branch and branch_id != MAIN and not force:
            raise InvalidInput(
                f"The session stands on {branch_id!r:.80}. Switch to another branch, or pass force=True."
            )
        await self._do("delete_branch", branch=branch_id)
        if branch_id == self._branch:
            self._branch = MAIN

    async def list_branches(self) -> list[dict[str, Any]]:
        """Every branch: `branch_id`, `message_count`, `user_turns`, `is_current` and `created_at`."""
        return [branch_row(branch, self._branch) for branch in await self._do("list_branches")]

    async def get_conversation_turns(self, branch_id: str | None = None) -> list[dict[str, Any]]:
        """Every turn: `turn`, `content` (its beginning), `full_content`, `timestamp` and `can_branch`."""
        return turns_of(await self._items(branch_id))

    async def find_turns_by_content(self, search_term: str, branch_id: str | None = None) -> list[dict[str, Any]]:
        """The turns whose user item holds a text, whatever its case."""
        return holding(await self._items(branch_id), search_term)

    async def get_conversation_by_turns(self, branch_id: str | None = None) -> dict[int, list[dict[str, str | None]]]:
        """The `type` and `tool_name` of each item, by turn; 0 is what stands before any user item."""
        return by_turns(await self._items(branch_id))

    async def get_tool_usage(self, branch_id: str | None = None) -> list[tuple[str, int, int]]:
        """How often each tool was called in each turn: `(tool, times, turn)`."""
        return tools_of(await self._turns(branch_id))

    async def get_session_usage(self, branch_id: str | None = None) -> dict[str, int] | None:
        """What the model calls cost; None when nothing was counted.

        Args:
            branch_id: Only the turns that were said in this branch and are there; all that was ever spent in the
                conversation when left out, what was popped, cleared or branched away from included.
        """
        spent: SessionUsage
        if branch_id is None:
            spent = await self._do("session_usage")
        else:
            spent = summed(said_in_it(await self._turns(branch_id)))
        return session_row(spent)

    async def get_turn_usage(
        self, user_turn_number: int | None = None, branch_id: str | None = None
    ) -> list[dict[str, Any]] | dict[str, Any]:
        """What the model calls of each turn cost, or those of one, with the details of the tokens.

        A turn that a branch shares with the one it left was paid for there, and is found there.

        Args:
            user_turn_number: The turn; every turn in which a model was called when left out.
            branch_id: The branch; the one it stands on when left out.

        Returns:
            One dictionary a turn, with `user_turn_number`; for one turn a dictionary without it, empty if nothing was
            spent.
        """
        turns = said_in_it(await self._turns(branch_id))
        if user_turn_number is None:
            return usage_of_turns(turns)
        one = [turn for turn in turns if turn.turn == user_turn_number]
        return detailed(one[0].usage) if usage_of_turns(one) else {}

    async def store_run_usage(self, result: RunResult | RunResultStreaming | RunErrorDetails) -> None:
        """Count what a run has spent and was not counted yet, with the newest turn.

        There is no need to call it for a run that was given this session: what it spends is counted as it adds items.
        It is for a run that a guardrail stopped (the `run_data` of the exception), and for one under the SDK's
        compaction, which passes no context on.

        Raises:
            NotFound: The conversation holds nothing to count it with.
        """
        self._check_open()
        await _threads.in_thread(self._add_rest, self.memory, self._branch, result.context_wrapper)

    async def _items(self, branch_id: str | None) -> tuple[SessionItem, ...]:
        items: tuple[SessionItem, ...] = await self._do("read_session", branch=branch_id or self._branch)
        return items

    async def _turns(self, branch_id: str | None) -> tuple[SessionTurn, ...]:
        turns: tuple[SessionTurn, ...] = await self._do("session_turns", branch=branch_id or self._branch)
        return turns

    async def _do(self, operation: str, **arguments: Any) -> Any:
        self._check_open()
        return await _threads.in_thread(self._call, self.memory, operation, **arguments)

    # -----------------------------------------------------------------------------------------------------------------

    async def _get_compaction_snapshot(self, limit: int, *, prune_prefix: Expired | None = None) -> Any:
        """For the SDK's compaction, which gives no context; None where it has to do without."""
        self._check_open()
        if not self._is_compactable():
            return None
        return await snapshot_of(self.memory, self.session_id, self._branch, limit, prune_prefix=prune_prefix)

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        """For the SDK's compaction of all that it reads of a conversation; False where it has to clear and add."""
        self._check_open()
        if not self._is_compactable():
            return False
        limit = resolve_session_limit(None, self.session_settings)
        if limit is None and self._limit_turns is not None:
            limit = len(await self.get_items())
        bound = None if limit is not None and limit < 0 else limit
        return await replace_end(self.memory, self.session_id, self._branch, items, limit=bound)

    def _is_compactable(self) -> bool:
        # a subclass may change what is read and added, which replacing behind its back would not
        return type(self) is DuckDBSession and isinstance(self._memory, Memory)

    def _append(
        self,
        memory: Memory,
        branch: str,
        items: Sequence[TResponseInputItem],
        wrapper: RunContextWrapper[Any] | None,
    ) -> None:
        batch: dict[str, Any] = {
            "items": [to_json(item) for item in items],
            "branch": branch,
            "while_parked": self._while_parked,
            "continues": self._continues,
        }
        run = run_kept_with(memory)
        if run is not None:
            batch |= {"run_id": run.run_id, "fence": run.fence}
        with METER.spent(wrapper, self._place(memory)) as usage:
            self._call(memory, "session_append", **batch, usage=usage)

    def _add_rest(self, memory: Memory, branch: str, wrapper: RunContextWrapper[Any]) -> None:
        with METER.rest(wrapper, self._place(memory)) as usage:
            if usage is not None:
                self._call(memory, "add_usage", branch=branch, usage=usage)

    def _place(self, memory: Memory) -> Place:
        return memory.namespace, self.session_id

    def _read(self, memory: Memory, branch: str, limit: int | None) -> list[TResponseInputItem]:
        window = limit
        while True:
            texts = self._call(memory, "session_items", branch=branch, limit=window)
            items = _readable(texts)
            if limit is None or window is None or len(items) >= limit or len(texts) < window:
                return items if limit is None else items[max(len(items) - limit, 0) :]
            window *= 2  # some texts were unreadable, and the limit counts items

    def _read_turns(self, memory: Memory, branch: str, turns: int) -> list[TResponseInputItem]:
        return _readable(self._call(memory, "session_items", branch=branch, turns=turns))

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
