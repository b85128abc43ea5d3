"""Processes that write to one file at once while its owners are ended one after the other.

Run as `python -m tests.faults.sharing FOLDER CLIENTS WRITES HOW TIMES`: so many clients make so many rounds of writes
each, or more, and so many times the process that holds the file is ended, by the signal HOW. Prints what happened as
JSON. The clients are forks of a process that imported everything and opened nothing.
"""

import itertools
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from agents_memory import Memory
from agents_memory.share import place
from agents_memory.share.held import Held


class Told(Exception):
    """The process was told to end."""


class Client:
    """One process: it writes, and writes down what was acknowledged, whatever happens to it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / "team.duckdb"
        self.name = name
        self._enough = folder / "enough"
        self._log = os.open(folder / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def run(self, rounds: int) -> None:
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with Memory.open(self.path, namespace="acme", writer=self.name, wait_s=60) as memory:
            self.say("open")
            for number in itertools.count():
                if number >= rounds and self._enough.exists():
                    break
                self.do(memory, number)
                if isinstance(memory._access._role, Held):
                    self.say("hold", self.name, str(time.monotonic()))

    def do(self, memory: Memory, number: int) -> None:
        content = f"{self.name} wrote number {number}"
        memory.remember(content, entities=[self.name])
        self.say("fact", content)
        for session_id in ("all", self.name):
            items = [json.dumps({"role": "user", "content": f"{content}, {half}"}) for half in ("first", "second")]
            memory.call("session_append", {"session_id": session_id, "items": items})
            self.say(session_id, content)
        assert memory.recall(content, k=1).hits[0].fact.content == content

    def say(self, *words: str) -> None:
        os.write(self._log, ("\t".join(words) + "\n").encode())

    def _end(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Told


def started(folder: Path, name: str, rounds: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        Client(folder, name).run(rounds)
        code = 0
    except (Told, KeyboardInterrupt):
        code = 3
    except BaseException:  # noqa: BLE001 - a fork must not go on as if it were its parent
        traceback.print_exc()
    finally:
        os._exit(code)


def said(folder: Path) -> list[list[str]]:
    return [line.split("\t") for log in sorted(folder.glob("*.log")) for line in log.read_text().splitlines()]


def facts_of(folder: Path) -> Counter[str]:
    return Counter(words[1].split()[0] for words in said(folder) if words[0] == "fact")


def end_owner(folder: Path, how: signal.Signals, alive: dict[int, str]) -> tuple[str, float]:
    """End the owner once every client wrote something more; gives its name and when it was gone."""
    before = facts_of(folder)
    while any(facts_of(folder)[name] == before[name] for name in alive.values()):
        time.sleep(0.01)
    while (pid := owner_of(folder)) not in alive or not any(
        words[:2] == ["hold", alive[pid]] for words in said(folder)
    ):
        time.sleep(0.01)
    os.kill(pid, how)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return alive.pop(pid), time.monotonic()


def owner_of(folder: Path) -> int:
    found = place.read(str(folder / "team.duckdb"))
    return 0 if found is None else found.pid


def main(folder: Path, clients: int, rounds: int, how: str, times: int) -> dict[str, Any]:
    pids = {started(folder, f"client-{number}", rounds): f"client-{number}" for number in range(clients)}
    alive = dict(pids)
    ended = [end_owner(folder, signal.Signals[how], alive) for _ in range(times)]
    (folder / "enough").touch()
    codes = {name: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, name in pids.items()}
    return {"said": said(folder), "ended": ended, "codes": codes}


if __name__ == "__main__":
    sys.stdout.write(
        json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])))
    )
