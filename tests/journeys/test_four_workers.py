"""The web app of the examples with four worker processes on one file, and a reviewer's command beside them."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agents_memory import Memory
from tests.storage import ROOT
from tests.support import run_command

pytestmark = pytest.mark.slow  # each worker imports the SDK
Ask = Callable[..., Any]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "team.duckdb")


@pytest.fixture
def ask(file: str) -> Iterator[Ask]:
    """Call the running app."""
    command = [sys.executable, "-u", str(ROOT / "examples" / "four_workers.py"), "--memory", file, "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        lines, ready = [], 0
        while ready < 4:
            lines.append(server.stderr.readline())
            assert lines[-1], lines
            ready += "Application startup complete" in lines[-1]
        found = re.search(r"http://127\.0\.0\.1:(\d+)", "".join(lines))
        assert found is not None, lines

        def asking(path: str, data: Any = None) -> Any:
            request = urllib.request.Request(f"http://127.0.0.1:{found.group(1)}{path}")
            if data is not None:
                request.data = json.dumps(data).encode()
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)

        yield asking
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=60)
    assert "Traceback" not in said


def test_four_workers_serve_one_memory(ask: Ask, file: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        turns = [{"session": f"conv-{number % 8}", "text": f"hello {number}"} for number in range(48)]
        answers = list(pool.map(lambda turn: ask("/chat", turn), turns))
    assert len({answer["worker"] for answer in answers}) > 1
    assert [answer["answer"] for answer in answers] == [f"You said: {turn['text']}" for turn in turns]

    parked = ask("/chat", {"session": "conv-0", "text": "remember Cy maintains ingest."})
    assert parked["waits_for"] == ["a1"]
    assert run_command(["approvals", "approve", "a1", "--by", "eve", "-m", file]).code == 0
    assert ask("/resume", {}) == {"n1": "finished"}

    found = [ask(f"/recall?q={quote('who maintains ingest?')}") for _ in range(12)]
    assert {tuple(answer["facts"]) for answer in found} == {("Cy maintains ingest.",)}
    with Memory.open(file, namespace="acme/kestrel") as memory:
        assert sum(summary.items for summary in memory.sessions()) == 2 * 48 + 4
        assert memory.provenance("f1")[0].approved_by == "eve"
