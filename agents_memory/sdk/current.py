"""Which parked run the code at hand is resuming, as a context variable that the SDK carries into tools and sessions."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from agents_memory.memory import Memory


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
"""Set by `resume` around `Runner.run`; None elsewhere. Read it with `run_kept_with`."""


def run_kept_with(memory: Memory) -> CurrentRun | None:
    """The run that is being resumed, when it is kept in the file of `memory`; its claim counts only there."""
    run = current_run.get()
    return run if run is not None and run.memory.shares_file_with(memory) else None
