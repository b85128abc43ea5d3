"""`agents-memory demo`: the main job across three processes, in seven short sections."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from agents_memory.cli.output import clean, console, day
from agents_memory.errors import InvalidInput
from agents_memory.memory import Memory

NAMESPACE = "acme/kestrel"
SESSION = "notes-march"


def demo(
    live: Annotated[bool, typer.Option("--live", help="Use a real model; needs OPENAI_API_KEY.")] = False,
    model: Annotated[str, typer.Option(help="The model of --live.")] = "gpt-5-mini",
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint for --live.")] = None,
    file: Annotated[Path | None, typer.Option(help="Keep the memory in this file; it must not exist yet.")] = None,
) -> None:
    """Show the main job: an agent asks, a person decides elsewhere, the run goes on, and everything can be asked."""
    if live and not os.environ.get("OPENAI_API_KEY"):
        raise InvalidInput("--live needs a key in OPENAI_API_KEY. Leave --live out to run offline.")
    if file is not None and file.exists():
        raise InvalidInput(f"{str(file)!r} exists already. Name a new file for the demo.")
    options = ["--live", "--model", model, *(["--base-url", base_url] if base_url else [])] if live else []
    with tempfile.TemporaryDirectory() as folder:
        _run(str(file or Path(folder) / "demo.duckdb"), options)
    if file is not None:
        console.print(f"\nThe memory is kept: agents-memory recall ingest -m {file} -n {NAMESPACE}")


def _run(file: str, options: list[str]) -> None:
    console.print("1. An agent reads notes and asks to change memory (process one)")
    _process("agents_memory.sdk.demo", "begin", file, *options)
    console.print("\n2. It waits in the file, whoever is gone")
    console.print(f"   {Path(file).name} is on disk; no process holds it, no model waits")
    console.print("\n3. A reviewer looks, in another process (process two)")
    _process("agents_memory.cli.demo_review", file)
    console.print("5. The run goes on where it stopped (process three)")
    _process("agents_memory.sdk.demo", "resume", file, *options)
    console.print("\n7. Questions across conversation and knowledge, one SQL statement each")
    with Memory.open(file, namespace=NAMESPACE) as memory:
        _ask(memory)


def _process(module: str, *arguments: str) -> None:
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)  # noqa: S603 - our own modules


def _ask(memory: Memory) -> None:
    for mention in memory.sessions_mentioning("ingest"):
        console.print(clean(f"   'ingest' is mentioned in {mention.session_id}, {mention.items} time(s)"))
    for fact in memory.facts_written(SESSION):
        console.print(clean(f"   {SESSION} wrote {fact.fact_id} {fact.content!r}, approved by {fact.approved_by}"))
    for when in ("2026-02-01", "2026-04-01"):
        for held in memory.as_of(valid_at=when).facts(entity="ingest"):
            console.print(
                clean(f"   on {when} this held: {held.id} {held.content} (since {day(held.valid_from)[:10]})")
            )
    before = memory.history("f1")[0].fact.tx_from
    for held in memory.as_of(valid_at="2026-04-01", known_at=before).facts(entity="ingest service"):
        console.print(clean(f"   before the review we would have said of April: {held.id} {held.content}"))
