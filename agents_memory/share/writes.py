"""Writes that wait at the same time, committed together: a commit costs more than what is committed.

Each member is all or nothing by itself: when one fails, the group is rolled back and its members are done one by one.
What is answered is stored in the transaction that did it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Final

from agents_memory import operations
from agents_memory.store.database import Database, Transaction
from agents_memory.types import Caller

MAX_GROUP: Final = 64
"""More writes than these wait for the next group, so that nobody's answer waits for a very long transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A call that writes.

    Attributes:
        call_id: What the caller named it, so that it can ask again.
        caller: Who asks.
        operation: What is asked.
        arguments: With what.
        answer: What it gives, as JSON, or raises.
    """

    call_id: str
    caller: Caller
    operation: str
    arguments: dict[str, Any]
    answer: Future[str] = field(default_factory=Future)


class Writer:
    """The thread that does the writes of other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: SimpleQueue[Write | None] = SimpleQueue()
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
        self._thread.join()

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
        if len(group) > 1 and self._together(group):
            return
        for write in group:
            self._alone(write)

    def _together(self, group: Sequence[Write]) -> bool:
        try:
            with self._database.transaction() as tx:
                answers = [self._done(tx, write) for write in group]
                _keep(tx, group, answers)
        except Exception:  # noqa: BLE001 - one of them failed: which, and why, is seen when each is done alone
            return False
        for write, answer in zip(group, answers, strict=True):
            write.answer.set_result(answer)
        return True

    def _alone(self, write: Write) -> None:
        try:
            with self._database.transaction() as tx:
                answer = self._done(tx, write)
                _keep(tx, [write], [answer])
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            write.answer.set_exception(error)
        else:
            write.answer.set_result(answer)

    def _done(self, tx: Transaction, write: Write) -> str:
        tx.advance()
        result = operations.call(self._database, write.caller, write.operation, write.arguments)
        return json.dumps(operations.operation_named(write.operation).dump(result))


def _keep(tx: Transaction, group: Sequence[Write], answers: Sequence[str]) -> None:
    call_ids = [write.call_id for write in group]
    tx.run("insert_answers", call_ids=call_ids, answers=answers, answered_at=tx.now)
