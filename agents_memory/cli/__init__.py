"""The command line: a rendering of the catalogue, without the Agents SDK, which `worker` alone imports when it runs.

Commands translate and print; what they do is an operation of `agents_memory.operations`.
"""

from __future__ import annotations

import typer

from agents_memory.cli import approvals, reading
from agents_memory.cli.demo import demo
from agents_memory.cli.output import reporting_errors
from agents_memory.cli.serve import serve
from agents_memory.cli.worker import worker

app = typer.Typer(
    name="agents-memory",
    help="A durable, reviewed memory for the OpenAI Agents SDK, in one DuckDB file.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(approvals.app, name="approvals")
app.command("demo")(demo)
app.command("serve")(serve)
app.command("worker")(worker)
reading.add_to(app)


def main() -> None:
    """Run the command line; an error of ours is printed in a line, and its kind is the exit code."""
    with reporting_errors():
        app()


__all__ = ["app", "main"]
