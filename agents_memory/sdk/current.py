"""What the code at hand is part of, as context variables that the SDK carries into tools and sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from agents_memory.memory import Memory


class HasSessionId(Protocol):
    """A conversation, as far as tools need it."""

    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRun:
    """The claim under which a run is being resumed.

    Attributes:
        run_id: The parked run, such as `n5`.
        fence: The token of the claim; every write checks that it is still the newest.
        memory: The memory in whose file the run is kept.
    """

    run_id: str
    fence: int
    memory: Memory


current_run: ContextVar[CurrentRun | None] = ContextVar("agents_memory_current_run", default=None)
"""Set by `working_in`; None elsewhere. Read it with `run_kept_with`."""


def run_kept_with(memory: Memory) -> CurrentRun | None:
    """The run that is being resumed, when it is kept in the file of `memory`; its claim counts only there."""
    run = current_run.get()
    return run if run is not None and run.memory.shares_file_with(memory) else None


_current_session: ContextVar[HasSessionId | None] = ContextVar("agents_memory_current_session", default=None)


def session_at_hand() -> HasSessionId | None:
    """The conversation that `run` or a resume works in; None elsewhere, since the SDK tells tools of none."""
    return _current_session.get()


@contextmanager
def working_in(session: HasSessionId | None, run: CurrentRun | None = None) -> Iterator[None]:
    """Say to what is started in the block which conversation it works in, and which run it resumes, if it does."""
    tokens = _current_session.set(session), current_run.set(run or current_run.get())
    try:
        yield
    finally:
        _current_session.reset(tokens[0])
        current_run.reset(tokens[1])
