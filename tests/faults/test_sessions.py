"""Every verb of sessions is all or nothing: whichever statement fails, every row and every answer is as it was."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents_memory import Memory
from agents_memory.testing.faults import Injected, failing_at
from tests.storage import dump

USAGE = {"requests": 1, "input_tokens": 7, "output_tokens": 3, "total_tokens": 10}


def say(memory: Memory, session_id: str, *texts: str, **more: Any) -> object:
    items = [json.dumps({"role": "user", "content": text}) for text in texts]
    return memory.call("session_append", {"session_id": session_id, "items": items, **more})


def replace_end(memory: Memory) -> object:
    suffix = memory.call("session_suffix", {"session_id": "s", "branch": "b", "limit": 2})
    items = [json.dumps({"role": "assistant", "content": "Cy, in short"})]
    asked = {"session_id": "s", "branch": "b", "expected": suffix, "items": items}
    return memory.call("session_replace_suffix", asked)


VERBS: dict[str, Callable[[Memory], object]] = {
    "append with mentions and usage": lambda memory: say(memory, "s", "Cy and Bo", branch="b", usage=USAGE),
    "append to a new session that continues one": lambda memory: say(memory, "new", "Cy?", continues="s"),
    "replace the end": replace_end,
    "pop": lambda memory: memory.call("session_pop", {"session_id": "s", "branch": "b"}),
    "clear": lambda memory: memory.call("session_clear", {"session_id": "s"}),
    "create_branch": lambda memory: memory.call("create_branch", {"session_id": "s", "branch": "b", "turn": 2}),
    "delete_branch": lambda memory: memory.call("delete_branch", {"session_id": "s", "branch": "b"}),
    "add_usage": lambda memory: memory.call("add_usage", {"session_id": "s", "branch": "b", "usage": USAGE}),
    "rename_session": lambda memory: memory.rename_session("s", "renamed"),
    "delete_session": lambda memory: memory.delete_session("s"),
    "delete_old_sessions": lambda memory: memory.delete_old_sessions("2999-01-01"),
    "name what was said before": lambda memory: memory.remember("Dee is new", entities=["Dee"]),
    "add_alias": lambda memory: memory.add_alias("Cy", "Dee"),
}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", writer="ada") as memory:
        memory.remember("Cy knows Bo", entities=["Cy", "Bo"], relate=[("Cy", "knows", "Bo")])
        say(memory, "s", "Cy is here", "and Dee", "and Bo", usage=USAGE)
        memory.call("create_branch", {"session_id": "s", "turn": 3, "name": "b"})
        say(memory, "s", "Cy on b", branch="b", usage=USAGE)
        say(memory, "t", "goes on", continues="s")
        memory.call("remember", {"content": "Cy was said"}, session_id="s", item_id="i1")
        yield memory


def read_back(memory: Memory) -> object:
    """What the public surface says, from what the process keeps and from the file."""
    branches = [one.branch for one in memory.branches("s")]
    return (
        memory.sessions(),
        [memory.read_session("s", branch=branch) for branch in branches],
        [memory.call("session_items", {"session_id": "s", "branch": branch}) for branch in branches],
        [memory.session_turns("s", branch=branch) for branch in branches],
        memory.session_usage("s"),
        memory.entities_mentioned("s"),
        memory.usage_by_entity(),
        memory.thread("t"),
        memory.facts_written("s"),
    )


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_whose_statement_fails_leaves_no_trace(memory: Memory, verb: str) -> None:
    before, read_before = dump(memory._database), read_back(memory)
    failed: list[str] = []

    while True:
        with failing_at(memory._database, len(failed)) as countdown:
            try:
                VERBS[verb](memory)
            except Injected as failure:
                failed.append(str(failure))
        if not countdown.fired:
            break
        assert dump(memory._database) == before, failed
        assert read_back(memory) == read_before

    assert len(failed) >= 2
    assert dump(memory._database) != before


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_is_only_tried_changes_nothing(memory: Memory, verb: str) -> None:
    before, read_before = dump(memory._database), read_back(memory)

    if verb == "delete_old_sessions":
        memory.delete_old_sessions("2999-01-01", dry_run=True)
    else:
        with memory._database.transaction(dry_run=True):
            VERBS[verb](memory)

    assert dump(memory._database) == before
    assert read_back(memory) == read_before


def test_a_batch_with_names_and_usage_costs_no_further_statement(memory: Memory) -> None:
    with failing_at(memory._database, None) as countdown:
        say(memory, "s", *(f"Cy and Bo {number}" for number in range(50)), usage=USAGE)

    assert countdown.seen == ["insert_session_items"]  # which commits by itself
