"""The worker's side of the queue: runs that are decided go on, one after the other, with the agents of a registry.

A state holds no code, so whoever resumes brings the agents. One run that fails keeps no other from being resumed, and
which runs it is time for is the queue's rule (`approvals/claims.py`): a failed one is tried again later, and only a
bounded number of times.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any, Final, Protocol, TypeAlias, cast

from agents import Agent, RunConfig, RunHooks
from agents.memory import Session

from agents_memory.approvals.claims import RETRY_WAITS_S
from agents_memory.errors import CannotResume, InvalidInput, InvalidTransition, LeaseLost, NotFound
from agents_memory.memory import Memory
from agents_memory.sdk.resume import Resumed, Store, give_up
from agents_memory.types import ParkedRun, RunStatus

_LOST: Final = "Lost"
"""The kind of failure of a run whose processes ended one after the other."""


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """An agent in a registry, with what `RunStateStore.resume` is to be given beside it.

    Attributes:
        agent: The agent that runs start with.
        session: The conversation, where it is not a `DuckDBSession` of the same file; a factory makes it for each run.
        context: The application's context.
        run_config: As for `Runner.run`.
        hooks: As for `Runner.run`.
    """

    agent: Agent[Any]
    _: KW_ONLY
    session: Session | None = None
    context: Any = None
    run_config: RunConfig | None = None
    hooks: RunHooks[Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.agent, Agent):
            raise InvalidInput(f"A run is resumed with an Agent, not with {type(self.agent).__name__}.")


AgentFactory: TypeAlias = Callable[[Memory, ParkedRun], Any]
"""Makes the `Agent` or `AgentEntry` for a run, and may be async. It is given the memory on the run's namespace."""

Registry: TypeAlias = Mapping[str, Agent[Any] | AgentEntry | AgentFactory]
"""What resumes the runs of each starting agent, by its name."""


class Became(StrEnum):
    """What can become of a run that it was time to resume."""

    FINISHED = "finished"
    PARKED = "parked"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    CANNOT_RESUME = "cannot_resume"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What became of one run.

    Attributes:
        run: The run as it stands now.
        became: `finished`, `parked` again, `failed`, `uncertain`, `cannot_resume`, or `elsewhere` when somebody else
            took it first.
        reason: Why it is none of the first two; never memory text.
        error: What was raised, for the application to look into; its message may quote what a model or a tool said.
    """

    run: ParkedRun
    became: Became
    reason: str | None = None
    error: Exception | None = None


class Resumer(Store, Protocol):
    """What a worker needs of a `RunStateStore`."""

    async def resume(
        self,
        run_id: str,
        agent: Agent[Any],
        *,
        session: Session | None,
        context: Any,
        run_config: RunConfig | None,
        hooks: RunHooks[Any] | None,
    ) -> Resumed:
        """Carry a run on."""


def checked_registry(registry: object) -> Registry:
    """A registry whose entries can be used.

    Raises:
        InvalidInput: It is no mapping, or an entry is neither an agent nor makes one.
    """
    if not isinstance(registry, Mapping):
        raise InvalidInput(
            f"A registry maps the names of starting agents to agents; {type(registry).__name__} is no mapping."
        )
    for name, entry in registry.items():
        if not isinstance(name, str) or not (isinstance(entry, Agent | AgentEntry) or callable(entry)):
            raise InvalidInput(
                f"The registry's entry {name!r:.60} is no Agent, no AgentEntry, and nothing that makes one.", name=name
            )
    return registry


async def resume_each(
    store: Resumer, registry: Registry, *, wanted: Callable[[ParkedRun], bool] = lambda _run: True
) -> AsyncGenerator[RunOutcome]:
    """Resume the runs that it is time for, one after the other, and say of each what became of it."""
    runs = cast("tuple[ParkedRun, ...]", await store.call("runs_to_resume"))
    for run in filter(wanted, runs):
        yield await _outcome(store, registry, run)


async def _outcome(store: Resumer, registry: Registry, run: ParkedRun) -> RunOutcome:
    try:
        return await _resumed(store, registry, run)
    except Exception as error:  # noqa: BLE001 - the edge of a run: the others are resumed whatever came of this one
        return await _without_result(store, run, error)


async def _resumed(store: Resumer, registry: Registry, run: ParkedRun) -> RunOutcome:
    made = registry.get(run.starting_agent)
    if made is None:
        raise CannotResume(
            f"{run.id} was started with the agent {run.starting_agent!r}, which the registry does not have.",
            run_id=run.id,
            starting_agent=run.starting_agent,
        )
    if run.status is RunStatus.RESUMING and run.failures >= len(RETRY_WAITS_S):
        # the run itself may be what ended each process that resumed it
        return RunOutcome(run=await give_up(store, run.id, error=_LOST), became=Became.FAILED, reason=_LOST)
    try:
        entry = await _entry(made, store.memory.at_namespace(run.namespace), run)
    except Exception as error:  # noqa: BLE001 - a factory is the app's; what it raises is a failure as any other
        given_up = await give_up(store, run.id, error=type(error).__name__)
        return RunOutcome(run=given_up, became=Became.FAILED, reason=given_up.error, error=error)
    done = await store.resume(
        run.id,
        entry.agent,
        session=entry.session,
        context=entry.context,
        run_config=entry.run_config,
        hooks=entry.hooks,
    )
    return RunOutcome(run=done.run, became=Became.FINISHED if done.run.status is RunStatus.FINISHED else Became.PARKED)


async def _entry(made: Agent[Any] | AgentEntry | AgentFactory, memory: Memory, run: ParkedRun) -> AgentEntry:
    entry: Any = made
    if not isinstance(made, Agent | AgentEntry):
        entry = made(memory, run)
        if inspect.isawaitable(entry):
            entry = await entry
    return entry if isinstance(entry, AgentEntry) else AgentEntry(entry)


async def _without_result(store: Resumer, run: ParkedRun, error: Exception) -> RunOutcome:
    now = await _as_it_stands(store, run)
    if now.status is RunStatus.UNCERTAIN:
        return RunOutcome(run=now, became=Became.UNCERTAIN, reason=str(error), error=error)
    if now.status is not RunStatus.FAILED and isinstance(error, CannotResume):
        return RunOutcome(run=now, became=Became.CANNOT_RESUME, reason=str(error), error=error)
    if now.status is not RunStatus.FAILED and isinstance(error, InvalidTransition | LeaseLost | NotFound):
        return RunOutcome(run=now, became=Became.ELSEWHERE, reason=str(error), error=error)
    return RunOutcome(run=now, became=Became.FAILED, reason=type(error).__name__, error=error)


async def _as_it_stands(store: Resumer, run: ParkedRun) -> ParkedRun:
    try:
        return cast("ParkedRun", await store.call("get_run", run_id=run.id))
    except NotFound:
        return run
