"""What tests of several folders share."""

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from agents_memory.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def run_command(arguments: Sequence[str]) -> Ran:
    """Run `agents-memory` in this process, exactly as its entry point does."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with patch.object(sys, "argv", ["agents-memory", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
    return Ran(code=code if isinstance(code, int) else int(code is not None), out=out.getvalue(), err=err.getvalue())
