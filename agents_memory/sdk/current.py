"""Which parked run the code at hand is resuming, as a context variable that the SDK carries into tools and sessions."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRun:
    """The claim under which a run is being resumed.

    Attributes:
        run_id: The parked run, such as `n5`.
        fence: The token of the claim; every effect checks that it is still the newest.
    """

    run_id: str
    fence: int


current_run: ContextVar[CurrentRun | None] = ContextVar("agents_memory_current_run", default=None)
"""Set by `resume` around `Runner.run`; None elsewhere."""
