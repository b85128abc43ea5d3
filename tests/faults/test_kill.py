"""Killed at any moment, a file opens again with every write that was acknowledged, and with no half of another.

Children are killed from outside at random moments, and kill themselves at every single statement.
"""

import random
import signal
import subprocess
from pathlib import Path

import pytest

from agents_memory import Memory
from agents_memory.store.queries import migrations
from tests.storage import broken_links, dump, line_from, run_python, start_python

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")

WRITE = """
import itertools, sys
from agents_memory import Memory
memory = Memory.open(sys.argv[1], writer="child")
print("open", flush=True)
for number in itertools.count():
    receipt = memory.remember(
        f"Fact {number} of {sys.argv[2]}",
        entities=[f"Thing {number % 7}", sys.argv[2]],
        relate=[(sys.argv[2], "has", f"Thing {number % 7}")],
        evidence=f"Somebody said {number}",
    )
    if number % 3 == 2:
        receipt = memory.supersede(receipt.id, f"Later fact {number} of {sys.argv[2]}")
    print(receipt.id, flush=True)
"""

# One process imports once, then forks a child for every statement: the child kills itself in that statement's place.
EVERY_STATEMENT = """
import os, signal, sys
from agents_memory import Memory
from agents_memory.store import database, files

class Fuse:
    def __init__(self, burns):
        self.left = burns
    def __call__(self, name):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

def survived(number):
    "Whether a child with a fuse of that length reached the end of its work."
    path = f"{sys.argv[1]}/{number}.duckdb"
    pid = os.fork()
    if pid == 0:
        work(path, Fuse(number))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

%s

number = 0
while not survived(number):
    number += 1
print(number)
"""

MIGRATE = """
def work(path, fuse):
    opened = database.Database(path, files._connect(path))
    opened.on_statement = fuse
    files.migrate(opened)
"""

SUPERSEDE = """
def work(path, fuse):
    memory = Memory.open(path, writer="child")
    memory.remember("Cy maintains ingest", entities=["Cy"], relate=[("Cy", "maintains", "ingest")])
    memory._database.on_statement = fuse
    memory.supersede(
        "f1", "Bo maintains ingest", entities=["Bo"],
        relate=[("Bo", "maintains", "ingest")], unrelate=[("Cy", "maintains", "ingest")],
    )
"""


def killed_after(path: Path, acknowledgements: int, name: str) -> list[str]:
    """Let a child write until so many writes are acknowledged, kill it, and return all that it acknowledged."""
    with start_python(WRITE, path, name) as child:
        assert line_from(child) == "open", child.communicate()
        acknowledged = [line_from(child) for _ in range(acknowledgements)]
        child.kill()
        rest, _ = child.communicate(timeout=60)
    return [*acknowledged, *rest.splitlines()]


def check_writes(path: Path, acknowledged: list[str]) -> None:
    with Memory.open(path) as memory:
        assert [memory.get(fact).is_current for fact in acknowledged] == [True] * len(acknowledged)
        assert broken_links(memory._database) == []
        check_whole(memory)


def check_whole(memory: Memory) -> None:
    """Every write that is there is there with all of its parts."""
    rows = dump(memory._database)
    open_facts = [row[0] for row in rows["fact_versions"] if row[13].year == 9999]
    audited = {fact for row in rows["audit"] for fact in row[3] if fact.startswith("f")}
    known = {row[0] for row in rows["entities"]}

    assert len(open_facts) == len(set(open_facts))
    assert {f"f{row[0]}" for row in rows["fact_versions"]} == audited
    assert {entity for row in rows["fact_versions"] for entity in row[9]} <= known
    assert {row[1] for row in rows["entity_aliases"]} == known
    assert {row[2] for row in rows["evidence"]} == {row[0] for row in rows["episodes"]}


def kill_while_writing(tmp_path: Path, kills: int, seed: int) -> None:
    path, chance = tmp_path / "team.duckdb", random.Random(seed)
    acknowledged: list[str] = []

    for number in range(kills):
        acknowledged += killed_after(path, chance.randint(1, 20), f"child {number}")
        if chance.random() < 0.5:  # else the next child replays the log
            check_writes(path, acknowledged)

    check_writes(path, acknowledged)
    assert len(acknowledged) == len(set(acknowledged)) >= kills


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    kill_while_writing(tmp_path, kills=6, seed=6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_killed_writer_loses_nothing_that_it_acknowledged_many_times(tmp_path: Path, seed: int) -> None:
    kill_while_writing(tmp_path, kills=10, seed=seed)


def test_a_write_in_progress_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    ran = run_python(EVERY_STATEMENT % SUPERSEDE, tmp_path)

    statements = int(ran.stdout or 0)
    assert statements > 8, ran.stderr
    for number in range(statements + 1):
        with Memory.open(tmp_path / f"{number}.duckdb") as memory:
            (current,) = memory.about("ingest").facts
            (tie,) = memory.about("ingest").relations
            done = number == statements
            assert current.content == ("Bo maintains ingest" if done else "Cy maintains ingest"), number
            assert tie.source == ("Bo" if done else "Cy"), number
            assert broken_links(memory._database) == []
            check_whole(memory)


def test_a_first_open_that_was_killed_is_done_again(tmp_path: Path) -> None:
    ran = run_python(EVERY_STATEMENT % MIGRATE, tmp_path)

    statements = int(ran.stdout or 0)
    assert statements > 4 * len(migrations()), ran.stderr
    for number in range(statements + 1):
        with Memory.open(tmp_path / f"{number}.duckdb") as memory:
            steps = [row[0] for row in dump(memory._database)["schema_migrations"]]
            assert steps == [step.number for step in migrations()], number
            assert memory.remember("It works").id == "f1"


def kill_while_opening(tmp_path: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    opening = "import sys\nfrom agents_memory import Memory\nprint('go', flush=True)\nMemory.open(sys.argv[1]).close()"

    for number in range(kills):
        path = tmp_path / f"{number}.duckdb"
        with start_python(opening, path) as child:
            assert line_from(child) == "go", child.communicate()
            try:
                child.wait(timeout=chance.uniform(0, 0.2))
            except subprocess.TimeoutExpired:
                child.kill()
            child.communicate(timeout=60)

        with Memory.open(path) as memory:
            assert memory.remember("It works").id == "f1", number


def test_a_file_that_was_being_made_opens_again(tmp_path: Path) -> None:
    kill_while_opening(tmp_path, kills=4, seed=4)


@pytest.mark.slow
def test_a_file_that_was_being_made_opens_again_many_times(tmp_path: Path) -> None:
    kill_while_opening(tmp_path, kills=60, seed=60)


def test_a_file_that_was_being_closed_opens_again(tmp_path: Path) -> None:
    closing = (
        "import sys\nfrom agents_memory import Memory\nmemory = Memory.open(sys.argv[1])\n"
        "for number in range(20):\n    print(memory.remember(f'Fact {number}').id, flush=True)\nmemory.close()"
    )
    chance = random.Random(20)

    for number in range(3):
        path = tmp_path / f"{number}.duckdb"
        with start_python(closing, path) as child:
            acknowledged = [line_from(child) for _ in range(20)]
            try:
                child.wait(timeout=chance.uniform(0, 0.05))
            except subprocess.TimeoutExpired:
                child.kill()
            child.communicate(timeout=60)

        check_writes(path, acknowledged)
