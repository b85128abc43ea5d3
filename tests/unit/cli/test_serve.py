"""The command that holds a file: it says where, answers the others, takes over, and lets go when it is told to."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from agents_memory import Memory
from agents_memory.share import place
from tests.storage import ROOT, line_from
from tests.support import run_command


def serving(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "agents_memory.cli", "serve", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_it_says_where_it_serves_and_lets_go_when_it_is_told_to(tmp_path: Path) -> None:
    path = tmp_path / "team.duckdb"
    with serving(path) as server:
        said = line_from(server)
        found = place.read(str(path))
        assert found is not None
        assert said == f"{path} is held by process {server.pid} and reached at {found.address}."

        with Memory.open(path) as memory:
            assert memory.remember("Through the server").id == "f1"

            server.send_signal(signal.SIGTERM)
            out, err = server.communicate(timeout=60)

            assert (server.returncode, out, err) == (0, f"{path} was let go of.\n", "")
            assert sorted(file.name for file in tmp_path.iterdir()) == ["team.duckdb", "team.duckdb.lock"]
            assert memory.get("f1").content == "Through the server"


def test_it_takes_the_file_over_from_who_holds_it_at_first(tmp_path: Path) -> None:
    path = tmp_path / "team.duckdb"
    memory = Memory.open(path)
    with serving(path) as server:
        said = line_from(server)
        assert said == f"{path} is held by process {os.getpid()}; it is taken over when that ends."

        memory.close()

        assert line_from(server).startswith(f"{path} is held by process {server.pid} ")
        server.send_signal(signal.SIGINT)
        assert server.communicate(timeout=60) == (f"{path} was let go of.\n", "")
        assert server.returncode == 0


def test_it_ends_when_it_is_told_to_while_it_waits(tmp_path: Path) -> None:
    path = tmp_path / "team.duckdb"
    with Memory.open(path) as memory, serving(path) as server:
        assert "is taken over when that ends" in line_from(server)

        server.send_signal(signal.SIGTERM)

        assert server.communicate(timeout=60) == (f"{path} was let go of.\n", "")
        assert memory.remember("Still here").id == "f1"


def test_a_file_that_nobody_may_go_through_is_refused(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "team.duckdb", share="never"):
        ran = run_command(["serve", str(tmp_path / "team.duckdb")])

    assert ran.code == 5
    assert "shared with nobody" in ran.err
