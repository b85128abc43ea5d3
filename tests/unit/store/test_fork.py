"""After fork() the child refuses what it inherited, and its end takes nothing from the parent."""

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
REFUSED = 7
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
    sys.exit(REFUSED)
""",
    "the child is refused every call": """
pid = os.fork()
if pid == 0:
    view = memory.as_of()
    for call in (memory.get, memory.forget, memory.remember, view.history, view.about):
        try:
            call(ids[0])
        except Closed:
            continue
        sys.exit(1)
    sys.exit(REFUSED)
""",
    "the child closes what it inherited and drops it": """
pid = os.fork()
if pid == 0:
    memory.close()
    memory.close()
    del memory
    sys.exit(REFUSED)
""",
    "the child cannot open the file while the parent holds it": """
pid = os.fork()
if pid == 0:
    try:
        Memory.open(sys.argv[1], wait_s=60)
    except StoreLocked as refusal:
        sys.exit(REFUSED if refusal.details["holder"] == os.getppid() else 2)
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
    try:
        memory.remember("From the child")
    except Closed:
        memory.close()
        os._exit(REFUSED)
    os._exit(1)
leave.set()
thread.join()
""",
    "the fork happens inside a transaction": """
try:
    with memory._database.transaction() as tx:
        ids.append(memory.remember("In the transaction").id)
        pid = os.fork()
except Closed:
    sys.exit(REFUSED if pid == 0 else 1)
""",
    "there is a memory without a file besides": """
other = Memory.open(":memory:")
other.remember("Kept nowhere")
pid = os.fork()
if pid == 0:
    try:
        other.remember("From the child")
    except Closed:
        sys.exit(REFUSED)
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
