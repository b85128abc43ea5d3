"""What one process said, the next one goes on with."""

import json
from pathlib import Path

from agents_memory import Memory
from tests.storage import run_python

WRITE_AND_DIE = """
import json, os, sys
from agents_memory import Memory
memory = Memory.open(sys.argv[1])
def add(*items):
    memory.call("session_append", {"session_id": "s", "items": [json.dumps(item) for item in items]})
add({"role": "user", "content": "q1"}, {"type": "function_call", "call_id": "c1"})
for n in range(20):
    add({"role": "user", "content": f"{n} first"}, {"role": "assistant", "content": f"{n} second"})
print("acknowledged", flush=True)
os._exit(0)
"""

GO_ON = """
import json, sys
from agents_memory import Memory
with Memory.open(sys.argv[1]) as memory:
    item = {"type": "function_call_output", "call_id": "c1", "output": "done"}
    memory.call("session_append", {"session_id": "s", "items": [json.dumps(item)]})
"""


def test_the_next_process_finds_every_acknowledged_item_and_the_open_call(tmp_path: Path) -> None:
    file = tmp_path / "m.duckdb"
    died = run_python(WRITE_AND_DIE, file)
    went_on = run_python(GO_ON, file)

    with Memory.open(file) as memory:
        stored = memory.read_session("s")

    assert died.stdout == "acknowledged\n", died.stderr
    assert went_on.returncode == 0, went_on.stderr
    assert [item.type for item in stored[:3]] == ["message", "function_call", "function_call_output"]
    assert [json.loads(item.item_json)["content"] for item in stored[3:]] == [
        f"{n} {half}" for n in range(20) for half in ("first", "second")
    ]
