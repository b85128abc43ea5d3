"""What the commands share: opening the file, tables for people, JSON for programs, and an exit code an error kind."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents_memory.config import DEFAULT_NAMESPACE, OPEN_WAIT_S, ROOT
from agents_memory.errors import AgentsMemoryError, Conflict, InvalidInput, NotFound, StorageError, StoreLocked
from agents_memory.memory import Memory
from agents_memory.operations import operation_named

EXIT_CODES: Final[tuple[tuple[type[AgentsMemoryError], int], ...]] = (
    (InvalidInput, 2),
    (NotFound, 3),
    (Conflict, 4),
    (StoreLocked, 6),
    (StorageError, 5),
    (AgentsMemoryError, 1),
)
"""The exit code of each kind of error; the first that fits counts."""

MemoryOption = Annotated[
    str, typer.Option("--memory", "-m", envvar="AGENTS_MEMORY", help="The memory's file.", show_default=False)
]
NamespaceOption = Annotated[
    str, typer.Option("--namespace", "-n", envvar="AGENTS_MEMORY_NAMESPACE", help="The namespace to read.")
]
QueueOption = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        envvar="AGENTS_MEMORY_NAMESPACE",
        help="See only requests of this namespace and below; the whole file when left out.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

READS: Final = DEFAULT_NAMESPACE
WHOLE_FILE: Final = ROOT

_WIDE: Final = 200
"""Columns where the output is no terminal, so that a program or a file gets whole lines."""

console = Console(highlight=False, markup=False, soft_wrap=True, width=None if sys.stdout.isatty() else _WIDE)
_errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@contextmanager
def opened(path: str, namespace: str, *, wait_s: float = OPEN_WAIT_S) -> Iterator[Memory]:
    """The memory of a command, closed when it is done; a file that is not there is not made."""
    if not Path(path).exists():
        raise NotFound(f"There is no file {path!r}. Name the memory's file with --memory or $AGENTS_MEMORY.")
    with Memory.open(path, namespace=namespace, wait_s=wait_s) as memory:
        yield memory


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Print our errors in a line and leave with the exit code of their kind."""
    try:
        yield
    except AgentsMemoryError as error:
        if "--json" in sys.argv:
            sys.stdout.write(json.dumps({"error": error.to_dict()}, ensure_ascii=False, default=str) + "\n")
        else:
            _errors.print(Text(f"{error.code}: ", style="bold red") + Text(clean(str(error))))
        sys.exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))


def print_json(operation: str, result: Any) -> None:
    """Print a result of an operation as JSON."""
    text = json.dumps(operation_named(operation).dump(result), ensure_ascii=False, indent=2)
    sys.stdout.write(text + "\n")


def clean(text: str) -> str:
    """Stored text made safe for a terminal: control and direction marks are shown, not obeyed."""
    return _UNPRINTABLE.sub(lambda mark: f"\\u{ord(mark.group()):04x}", text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a plain table of cleaned cells, under the names of its columns."""
    _print_rows(Table(*columns, box=None, pad_edge=False), rows)


def print_fields(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values below one another."""
    _print_rows(Table(box=None, pad_edge=False, show_header=False), rows)


def _print_rows(made: Table, rows: Iterable[Sequence[str]]) -> None:
    for row in rows:
        made.add_row(*(Text(clean(cell)) for cell in row))
    with console.capture() as captured:
        console.print(made)
    for line in captured.get().splitlines():
        sys.stdout.write(line.rstrip() + "\n")


def day(moment: datetime | None) -> str:
    """A moment as a person reads it, to the minute, in UTC; empty for an open end."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def age(since: datetime, now: datetime) -> str:
    """How long ago something was, in its largest unit."""
    passed = max(now - since, timedelta())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if passed.total_seconds() >= size:
            return f"{int(passed.total_seconds() // size)} {unit}"
    return f"{int(passed.total_seconds())} s"


def shortened(text: str, width: int = 60) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
