"""Branches are what a plain list a branch says they are, now and as of every earlier moment."""

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from agents_memory import Memory
from agents_memory._ids import IdKind, to_number
from agents_memory.errors import NoSuchBranch
from agents_memory.sessions.live import Key, conversations

USER = {"role": "user", "content": "q"}
ITEMS = st.one_of(
    st.just(USER),
    st.just({"role": "assistant", "content": "a"}),
    st.builds(lambda call_id: {"type": "function_call", "call_id": call_id}, st.sampled_from(["c1", "c2"])),
    st.builds(lambda call_id: {"type": "function_call_output", "call_id": call_id}, st.sampled_from(["c1", "c2"])),
)
BATCHES = st.lists(ITEMS, min_size=1, max_size=4)
WHICH = st.integers(0, 3)
STEPS = st.one_of(
    st.tuples(st.just("add"), WHICH, BATCHES),
    st.tuples(st.just("add"), WHICH, BATCHES),
    st.tuples(st.just("replace"), WHICH, BATCHES),
    st.tuples(st.just("branch"), WHICH, st.integers(1, 3)),
    st.tuples(st.sampled_from(["pop", "pop", "delete", "clear", "forget"]), WHICH, st.none()),
)


class Stored(NamedTuple):
    """An item, the number of its batch, and what it is."""

    number: int
    batch: int
    kind: str
    call_id: str | None


@dataclass
class Oracle:
    """Each branch as the list that is read, by the rule in words: an output that comes late stands behind its call."""

    branches: dict[str, list[Stored]] = field(default_factory=lambda: {"main": []})
    batches: int = 0

    def add(self, branch: str, items: list[Any], numbers: list[int]) -> None:
        """Add a batch, item by item, where each is read."""
        self.batches += 1
        for item, number in zip(items, numbers, strict=True):
            kind = item.get("role") or item["type"].removeprefix("function_")
            self._put(self.branches[branch], Stored(number, self.batches, kind, item.get("call_id")))

    def _put(self, read: list[Stored], new: Stored) -> None:
        call = self._waiting(read, new) if new.kind == "call_output" else None
        if call is not None and self._went_on(read, call):
            read.insert(read.index(call) + 1, new)
        else:
            read.append(new)

    @staticmethod
    def _waiting(read: list[Stored], output: Stored) -> Stored | None:
        waiting: list[Stored] = []
        for one in sorted(read):
            if one.call_id != output.call_id:
                continue
            if one.kind == "call":
                waiting.append(one)
            elif waiting:
                waiting.pop()
        return waiting[-1] if waiting else None

    @staticmethod
    def _went_on(read: list[Stored], call: Stored) -> bool:
        """Whether a user spoke after the call, or anybody in a later batch than the call's."""
        after = [one for one in read if one.number > call.number]
        return any(one.kind == "user" or (one.kind == "assistant" and one.batch > call.batch) for one in after)

    def turn(self, branch: str, turn: int) -> int | None:
        """Where a turn of a branch begins."""
        begins = [at for at, one in enumerate(self.branches[branch]) if one.kind == "user"]
        return begins[turn - 1] if turn <= len(begins) else None


def add(memory: Memory, branch: str, items: list[Any]) -> list[int]:
    texts = [json.dumps(item) for item in items]
    ids = memory.call("session_append", {"session_id": "s", "branch": branch, "items": texts})
    return [to_number(IdKind.ITEM, item_id) for item_id in ids]


def read(memory: Any, branch: str) -> list[int]:
    return [to_number(IdKind.ITEM, item.id) for item in memory.read_session("s", branch=branch)]


def numbers(stored: list[Stored]) -> list[int]:
    return [one.number for one in stored]


def step(memory: Memory, oracle: Oracle, name: str, branch: str, given: Any) -> None:
    of = {"session_id": "s", "branch": branch}
    known = oracle.branches[branch]
    if name == "add":
        oracle.add(branch, given, add(memory, branch, given))
    elif name == "pop":
        memory.call("session_pop", of)
        del known[-1:]
    elif name == "clear":
        memory.call("session_clear", {"session_id": "s"})
        oracle.branches = {one: [] for one in oracle.branches}
    elif name == "forget":
        memory._database.shared(conversations).reset()
    elif name == "delete" and branch != "main":
        memory.call("delete_branch", of)
        del oracle.branches[branch]
    elif name == "branch":
        at = oracle.turn(branch, given)
        try:
            new = memory.call("create_branch", {**of, "turn": given})
        except NoSuchBranch:
            assert at is None
        else:
            assert at is not None
            oracle.branches[new] = known[:at]
    elif name == "replace":
        suffix = memory.call("session_suffix", {**of, "limit": 2})
        assert [to_number(IdKind.ITEM, item_id) for item_id, _ in suffix] == numbers(known[-2:])
        last = max((one.number for of_branch in oracle.branches.values() for one in of_branch), default=0)
        texts = [json.dumps(item) for item in given]
        if memory.call("session_replace_suffix", {**of, "expected": suffix, "items": texts}):
            del known[-2:]
            found = [number for number in read(memory, branch) if number > last]
            oracle.add(branch, given, sorted(found))


@settings(max_examples=40)
@given(st.lists(STEPS, max_size=14))
def test_every_branch_is_the_list_that_it_should_be(steps: list[tuple[str, int, Any]]) -> None:
    with Memory.open(":memory:") as memory:
        live = memory._database.shared(conversations)
        oracle = Oracle()
        oracle.add("main", [USER], add(memory, "main", [USER]))
        moments = []
        for name, which, argument in steps:
            branch = list(oracle.branches)[which % len(oracle.branches)]
            step(memory, oracle, name, branch, argument)

            listed = {one.branch: (one.items, one.turns) for one in memory.branches("s")}
            assert listed == {
                one: (len(stored), sum(item.kind == "user" for item in stored))
                for one, stored in oracle.branches.items()
            }
            for one, stored in oracle.branches.items():
                key = Key("main", "s", one)
                assert read(memory, one) == numbers(stored)
                kept = live.get(key)
                assert kept == live._load(key)
                assert [entry.item_id for entry in kept.tail] == numbers(stored)
            moments.append((memory._database.now(), {one: numbers(stored) for one, stored in oracle.branches.items()}))

        for moment, branches in moments:
            then = memory.as_of(known_at=moment)
            assert {one.branch: read(then, one.branch) for one in then.branches("s")} == branches
