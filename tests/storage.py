"""What tests see below the public surface: every row of a file, a clock they set, and processes of their own."""

import hashlib
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agents_memory.store.database import Database

ROOT = Path(__file__).parents[1]

Dump = dict[str, list[tuple[Any, ...]]]


def dump(database: Database) -> Dump:
    """Every row of every table, in an order that does not depend on how it was written."""
    cursor = database._cursor()
    names = [row[0] for row in cursor.execute("SELECT table_name FROM duckdb_tables() ORDER BY table_name").fetchall()]
    return {name: sorted(cursor.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in names}


def broken_links(database: Database) -> list[int]:
    """The numbers of the audit rows whose hash is not that of their row and of the row before, worked out anew."""
    broken = []
    last: dict[str, tuple[int, str]] = {}
    rows = sorted(dump(database)["audit"], key=lambda row: (row[1], row[0]))
    for number, namespace, operation, ids, actor, recorded_at, commitment, previous, found in rows:
        micros = round((recorded_at - datetime(1970, 1, 1)).total_seconds() * 1_000_000)  # noqa: DTZ001 - as stored
        parts = [number, namespace, operation, ",".join(ids), actor or "", micros, commitment or "", previous]
        expected = hashlib.sha256(chr(31).join(map(str, parts)).encode()).hexdigest()
        if (number - 1, previous) != last.get(namespace, (0, "")) or found != expected:
            broken.append(number)
        last[namespace] = (number, found)
    return broken


class Clock:
    """A clock that stands still until it is moved, forward or back."""

    def __init__(self, start: datetime) -> None:
        self.moment = start

    def __call__(self) -> datetime:
        return self.moment

    def move(self, **by: float) -> datetime:
        """Move by a `timedelta` and return the moment that it shows then."""
        self.moment += timedelta(**by)
        return self.moment

    def set(self, text: str) -> datetime:
        """Show the moment that an ISO date or time names, UTC when it names no zone."""
        moment = datetime.fromisoformat(text)
        self.moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return self.moment


def start_python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a process of its own that runs `code`; talk to it through its pipes, and leave its `with` block."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def line_from(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints, without its end; empty when it prints no more."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def run_python(code: str, *arguments: object, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run `code` in a process of its own to its end."""
    with start_python(code, *arguments) as process:
        out, err = process.communicate(timeout=timeout_s)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
