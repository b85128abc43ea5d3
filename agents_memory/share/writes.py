"""Writes that wait at the same time, committed together: a commit costs more than what is committed.

Each member is all or nothing by itself: when one fails, the group is rolled back and its members are done one by one.
What is answered is stored in the transaction that did it, so that a call which is made again is answered and not done
again; all of them pass through one thread, so the first is over when the second is looked at.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from queue import SimpleQueue
from typing import Any, Final

from agents_memory import operations
from agents_memory.store.database import Database, Transaction
from agents_memory.types import Caller

STOP_WAIT_S: Final = 10.0
"""A write that takes longer when the process ends is left to its caller to ask about again."""

MAX_GROUP: Final = 64
"""More writes than these wait for the next group, so that nobody's answer waits for a very long transaction."""

ANSWERS_KEPT: Final = timedelta(minutes=10)
"""How long an answer can be asked for again, at least; a caller gives up after three minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A call that writes.

    Attributes:
        call_id: What the caller named it, so that it can ask again.
        caller: Who asks.
        operation: What is asked.
        arguments: With what.
        again: Whether it was asked before, and may have been done.
        answer: What it gives, as JSON, or raises.
    """

    call_id: str
    caller: Caller
    operation: str
    arguments: dict[str, Any]
    again: bool = False
    answer: Future[str] = field(default_factory=Future)


class Writer:
    """The thread that does the writes of other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: SimpleQueue[Write | None] = SimpleQueue()
        self._forgot_at: datetime | None = None
        self._thread = threading.Thread(target=self._run, name="agents-memory-writes", daemon=True)
        self._thread.start()

    def answer(self, write: Write) -> str:
        """Do a write, and give its answer as JSON.

        Raises:
            AgentsMemoryError: What the operation says; nothing was written.
        """
        self._queue.put(write)
        return write.answer.result()

    def stop(self) -> None:
        """Do what waits, and end."""
        self._queue.put(None)
        self._thread.join(STOP_WAIT_S)

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            group = [first]
            while len(group) < MAX_GROUP and not self._queue.empty():
                more = self._queue.get()
                if more is None:
                    self._queue.put(None)
                    break
                group.append(more)
            self._do(group)

    def _do(self, group: Sequence[Write]) -> None:
        together = len(group) > 1 and not any(write.again for write in group)
        if together and self._together(group):
            return
        for write in group:
            self._alone(write, may_be_done=together or write.again)

    def _together(self, group: Sequence[Write]) -> bool:
        try:
            with self._database.transaction() as tx:
                answers = [self._done(tx, write) for write in group]
                self._keep(tx, group, answers)
        except Exception:  # noqa: BLE001 - one of them failed: which, and why, is seen when each is done alone
            return False
        for write, answer in zip(group, answers, strict=True):
            write.answer.set_result(answer)
        return True

    def _alone(self, write: Write, *, may_be_done: bool) -> None:
        try:
            with self._database.transaction() as tx:
                found = tx.one_or_none("answer_of", call_id=write.call_id) if may_be_done else None
                if found is None:
                    answer = self._done(tx, write)
                    self._keep(tx, [write], [answer])
                else:
                    answer = found["answer"]
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            write.answer.set_exception(error)
        else:
            write.answer.set_result(answer)

    def _done(self, tx: Transaction, write: Write) -> str:
        tx.advance()
        result = operations.call(self._database, write.caller, write.operation, write.arguments)
        return json.dumps(operations.operation_named(write.operation).dump(result))

    def _keep(self, tx: Transaction, group: Sequence[Write], answers: Sequence[str]) -> None:
        if self._forgot_at is None or tx.now - self._forgot_at > ANSWERS_KEPT:
            tx.run("forget_answers", before=tx.now - ANSWERS_KEPT)
            self._forgot_at = tx.now
        call_ids = [write.call_id for write in group]
        tx.run("insert_answers", call_ids=call_ids, answers=answers, answered_at=tx.now)
