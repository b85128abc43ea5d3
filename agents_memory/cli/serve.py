"""`agents-memory serve`: a process that does nothing but hold a file for the others of its user.

Not needed for sharing, which whoever opens the file first does as well. It keeps the file from changing hands, and is
there for processes that cannot hold it, such as forks of one that did.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Annotated, Final

import typer

from agents_memory.cli.output import clean, console
from agents_memory.config import OPEN_WAIT_S
from agents_memory.share import place
from agents_memory.share.access import Access, open_access, release_access

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def serve(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            envvar="AGENTS_MEMORY",
            help="The memory's file, which is made when it is not there.",
            show_default=False,
        ),
    ],
) -> None:
    """Hold a file for every other process, until it is told to stop; calls under way are finished first."""
    stop = threading.Event()
    _stop_on_signals(stop)
    access = open_access(file, share="require", wait_s=OPEN_WAIT_S)
    try:
        _hold(access, stop)
    finally:
        release_access(access)
    _say(f"{access.path} was let go of.")


def _hold(access: Access, stop: threading.Event) -> None:
    holder = place.read(access.path)
    if holder is not None and holder.pid != os.getpid():
        _say(f"{access.path} is held by {holder.process}; it is taken over when that ends.")
    address = access.hold(stop)
    if address is not None:
        _say(f"{access.path} is held by process {os.getpid()} and reached at {address}.")
        stop.wait()


def _say(line: str) -> None:
    console.print(clean(line))


def _stop_on_signals(stop: threading.Event) -> None:
    def stopping(*_: object) -> None:
        stop.set()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)  # a second signal does not wait for the calls under way

    for number in _SIGNALS:
        signal.signal(number, stopping)
