"""After fork() the child goes through its parent, and its end takes nothing from the parent."""

import os
import signal
from pathlib import Path

import pytest

from agents_memory import Memory
from tests.storage import run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

BEGIN = """
import os, signal, sys, threading
from agents_memory import Memory
from agents_memory.errors import Closed, StoreLocked
SERVED = 7
memory = Memory.open(sys.argv[1])
ids = [memory.remember(f"Fact {number}").id for number in range(3)]
"""

END = """
exit_code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
ids.append(memory.remember("After the child").id)
print(exit_code, *ids, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

FORKS = {
    "the child exits normally with its handles untouched": """
pid = os.fork()
if pid == 0:
    sys.exit(SERVED)
""",
    "the child reads and writes through its parent": """
pid = os.fork()
if pid == 0:
    assert memory.get(ids[0]).content == memory.as_of().history(ids[0])[0].fact.content == "Fact 0"
    assert memory.remember("From the child").id == "f4"
    sys.exit(SERVED)
""",
    "the child closes what it inherited and drops it": """
pid = os.fork()
if pid == 0:
    memory.close()
    memory.close()
    del memory
    sys.exit(SERVED)
""",
    "the child opens the file while the parent holds it": """
pid = os.fork()
if pid == 0:
    with Memory.open(sys.argv[1]) as opened:
        assert opened.get(ids[0]).content == "Fact 0"
    sys.exit(SERVED)
""",
    "the child cannot hold the file alone": """
pid = os.fork()
if pid == 0:
    memory.close()
    try:
        Memory.open(sys.argv[1], share="never", wait_s=0)
    except StoreLocked as refusal:
        sys.exit(SERVED if refusal.details["holder"] == os.getppid() else 2)
    sys.exit(1)
""",
    "another thread of the parent writes meanwhile": """
inside, leave = threading.Event(), threading.Event()
def hold():
    with memory._database.transaction():
        inside.set()
        leave.wait()
thread = threading.Thread(target=hold)
thread.start()
inside.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    memory.remember("From the child")
    memory.close()
    os._exit(SERVED)
leave.set()
thread.join()
""",
    "the fork happens inside a transaction": """
try:
    with memory._database.transaction() as tx:
        ids.append(memory.remember("In the transaction").id)
        pid = os.fork()
except Closed:
    sys.exit(SERVED if pid == 0 else 1)
""",
    "there is a memory without a file besides": """
other = Memory.open(":memory:")
other.remember("Kept nowhere")
pid = os.fork()
if pid == 0:
    try:
        other.remember("From the child")
    except Closed:
        sys.exit(SERVED)
    sys.exit(1)
""",
}


@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS.keys())
def test_a_forked_child_takes_nothing_from_its_parent(tmp_path: Path, fork: str) -> None:
    path = tmp_path / "team.duckdb"

    ran = run_python(BEGIN + fork + END, path)

    assert ran.returncode == -signal.SIGKILL, ran.stderr
    exit_code, *ids = ran.stdout.split()
    assert exit_code == "7", ran.stderr
    with Memory.open(path) as memory:
        assert [memory.get(fact).is_current for fact in ids] == [True] * len(ids)
        assert {row["namespace"] for row in memory._database.rows("list_namespaces")} == {"main"}
        assert memory._database.one("last_fact_version", fact_id=int(ids[-1][1:]), visible=["main"])["content"] == (
            "After the child"
        )
