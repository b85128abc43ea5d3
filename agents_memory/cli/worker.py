"""`agents-memory worker`: resume what is decided, with the agents of an app. The only command that imports the SDK.

Each pass opens the file and lets it go again, so that an idle worker never holds it for others. A signal ends the
worker after the run under way.
"""

from __future__ import annotations

import asyncio
import importlib
import signal
import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from agents_memory.cli.output import WHOLE_FILE, MemoryOption, clean, console, opened
from agents_memory.config import OPEN_WAIT_S
from agents_memory.errors import InvalidInput, StoreLocked
from agents_memory.types import ParkedRun, RunStatus

if TYPE_CHECKING:
    from agents_memory.sdk.worker import Registry, RunOutcome

NOT_ALL_RESUMED: Final = 7
"""The exit code of a single pass in which a run failed or could not be resumed."""


def worker(
    registry: Annotated[
        str, typer.Argument(metavar="MODULE:NAME", help="The registry: a mapping, or a function that gives one.")
    ],
    memory: MemoryOption,
    once: Annotated[
        bool, typer.Option("--once", help="End after one pass; code 7 when a run was not resumed.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="How long to wait between passes.")] = 5.0,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="A file whose bytes are the key of RunStateStore.")
    ] = None,
    on_parked: Annotated[
        str | None, typer.Option("--on-parked", metavar="MODULE:NAME", help="Called when a run stops again.")
    ] = None,
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            envvar="AGENTS_MEMORY_NAMESPACE",
            help="Resume only runs of this namespace and below; of the whole file when left out.",
            show_default=False,
        ),
    ] = WHOLE_FILE,
) -> None:
    """Resume the runs that are decided, with the agents of your app, until it is told to stop."""
    working = Worker(
        file=memory,
        namespace=namespace,
        registry=_registry_at(registry),
        key=None if key_file is None else _bytes_of(key_file),
        on_parked=None if on_parked is None else attribute_at(on_parked),
    )
    all_went_well = asyncio.run(working.once() if once else working.until_stopped(every))
    if not all_went_well:
        raise typer.Exit(NOT_ALL_RESUMED)


@dataclass(kw_only=True)
class Worker:
    """Passes over the runs of a file.

    Attributes:
        file: The memory's file.
        namespace: Runs of this namespace and below.
        registry: The agents.
        key: The key that signs states.
        on_parked: As for `RunStateStore`.
        wait_s: How long a pass waits while another process holds the file and shares it with nobody.
        say: Prints a line.
        stop: Set it, and the worker ends after the run under way.
    """

    file: str
    namespace: str
    registry: Registry
    key: bytes | None = None
    on_parked: Callable[[Any], object] | None = None
    wait_s: float = OPEN_WAIT_S
    say: Callable[[str], None] = lambda line: console.print(clean(line))
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _unfit: set[tuple[str, int]] = field(default_factory=set)

    async def once(self) -> bool:
        """One pass; says whether no run failed or could not be resumed."""
        self._stop_on_signals()
        return await self.one_pass()

    async def until_stopped(self, every_s: float) -> bool:
        """Pass after pass until `stop` is set; a file that cannot be reached is tried again at the next one."""
        self._stop_on_signals()
        while not self.stop.is_set():
            try:
                await self.one_pass()
            except StoreLocked as error:
                self.say(f"{error} Trying again.")
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), every_s)
        return True

    async def one_pass(self) -> bool:
        """Open the file, resume what it is time for, and let the file go."""
        from agents_memory.sdk.run_states import RunStateStore
        from agents_memory.sdk.worker import Became, resume_each

        all_went_well = True
        with opened(self.file, self.namespace, wait_s=self.wait_s) as memory:
            store = RunStateStore(memory, key=self.key, on_parked=self.on_parked)
            async with aclosing(resume_each(store, self.registry, wanted=self._fits)) as outcomes:
                async for outcome in outcomes:
                    self.say(line_of(outcome))
                    self._learn_from(outcome)
                    all_went_well &= outcome.became in {Became.FINISHED, Became.PARKED, Became.ELSEWHERE}
                    if self.stop.is_set():
                        break
        return all_went_well

    def _fits(self, run: ParkedRun) -> bool:
        """Whether the agents of this process may fit a run; what did not fit once will not until it is started anew."""
        return (run.id, run.revision) not in self._unfit

    def _learn_from(self, outcome: RunOutcome) -> None:
        is_left_as_it_was = outcome.run.status is RunStatus.READY and outcome.became == "failed"
        if outcome.became == "cannot_resume" or is_left_as_it_was:
            self._unfit.add((outcome.run.id, outcome.run.revision))

    def _stop_on_signals(self) -> None:
        loop = asyncio.get_running_loop()

        def stop() -> None:
            self.stop.set()
            for number in _SIGNALS:
                loop.remove_signal_handler(number)  # a second signal does not wait for the run under way

        for number in _SIGNALS:
            loop.add_signal_handler(number, stop)


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def line_of(outcome: RunOutcome) -> str:
    """What became of a run, in a line."""
    run = outcome.run
    match outcome.became:
        case "finished":
            return f"{run.id} finished"
        case "parked":
            waits = f"waits for {', '.join(run.requests)}" if run.status is RunStatus.PARKED else "is ready again"
            return f"{run.id} parked again, {waits}"
        case "failed":
            return f"{run.id} failed: {outcome.reason} (failure {run.failures} in a row)"
        case "uncertain":
            return f"{run.id} uncertain: {outcome.reason}"
        case "cannot_resume":
            return f"{run.id} cannot be resumed: {outcome.reason}"
    return f"{run.id} left alone: {outcome.reason}"


def attribute_at(target: str) -> Any:
    """What `MODULE:NAME` stands for, with the current directory importable as for `python -m`.

    Raises:
        InvalidInput: There is no such module or attribute.
    """
    module_name, _, name = target.partition(":")
    if not name.isidentifier() or not all(part.isidentifier() for part in module_name.split(".")):
        raise InvalidInput(f"{target!r:.80} names nothing. Write MODULE:NAME, such as myapp.agents:registry.")
    if not sys.flags.safe_path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, and misses another
        raise InvalidInput(
            f"There is no module {module_name!r}. Run the worker in the folder that it is in, or install it."
        ) from None
    if not hasattr(module, name):
        raise InvalidInput(f"The module {module_name!r} has no {name!r}.")
    return getattr(module, name)


def _registry_at(target: str) -> Registry:
    from agents_memory.sdk.worker import checked_registry

    found = attribute_at(target)
    return checked_registry(found() if callable(found) else found)


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"The key file {str(file)!r} cannot be read ({type(error).__name__}).") from None
