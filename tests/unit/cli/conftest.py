"""A file with facts, and a request that waits in it, made without the SDK."""

import base64
import json
from pathlib import Path

import pytest

from agents_memory import Memory

HOSTILE = "Cy likes \x1b[31mred\x1b[0m [bold]tea[/bold]."


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "team.duckdb"
    with Memory.open(path, namespace="acme/kestrel", writer="bot") as memory:
        memory.remember("Bo maintains the ingest service.", entities=["Bo", "ingest"], valid_from="2026-01-12")
        memory.remember(HOSTILE, entities=["Cy"])
        memory.relate("Bo", "maintains", "ingest")
        said = json.dumps({"role": "user", "content": "Cy took over ingest."})
        memory.call("session_append", {"session_id": "conv-1", "items": [said]}, session_id="conv-1")
        park(
            memory,
            ("supersede", {"fact_id": "f1", "content": "Cy maintains ingest."}, "c1"),
            ("remember", {"content": "Ada likes tea."}, "c2"),
        )
    return str(path)


def park(memory: Memory, *calls: tuple[str, dict[str, str], str], **given: str) -> None:
    """A run with requests, which waits."""
    memory.call(
        "park_run",
        {
            "state": base64.b64encode(b"state").decode(),
            "digest": str(calls),
            "sdk_version": "0.24.0",
            "schema_version": "1.21",
            "tools": "{}",
            "starting_agent": "assistant",
            "current_agent": "assistant",
            "session_id": "conv-1",
            "session_is_ours": True,
            "calls": [call(*one) for one in calls],
            **given,
        },
    )


def call(operation: str, arguments: dict[str, str], call_id: str) -> dict[str, str]:
    return {
        "tool": operation,
        "operation": operation,
        "arguments": json.dumps(arguments),
        "call_id": call_id,
        "agent": "assistant",
    }
