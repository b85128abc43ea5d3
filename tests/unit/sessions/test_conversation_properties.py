"""What the process keeps of a session is what the file says, whatever happened."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agents_memory import Memory
from agents_memory._ids import IdKind, to_number
from agents_memory.sessions import items
from agents_memory.sessions.live import Key, conversations

CALL_IDS = st.sampled_from(["c1", "c2"])
ITEMS = st.one_of(
    st.just({"role": "user", "content": "q"}),
    st.just({"role": "assistant", "content": "a"}),
    st.builds(lambda call_id: {"type": "function_call", "call_id": call_id}, CALL_IDS),
    st.builds(lambda call_id: {"type": "function_call_output", "call_id": call_id}, CALL_IDS),
)
STEPS: st.SearchStrategy[tuple[str, list[Any]]] = st.one_of(
    st.tuples(st.just("add"), st.lists(ITEMS, min_size=1, max_size=4)),
    st.tuples(st.just("add for a run"), st.lists(ITEMS, min_size=1, max_size=3)),
    st.tuples(st.just("add and fail"), st.lists(ITEMS, min_size=1, max_size=3)),
    st.tuples(st.just("add many"), st.lists(ITEMS, min_size=1, max_size=1)),
    st.tuples(st.sampled_from(["pop", "clear", "take back", "forget"]), st.just([])),
)


class Failed(Exception):
    pass


def step(memory: Memory, name: str, added: list[Any]) -> None:
    texts = [json.dumps(item) for item in added] * (90 if name == "add many" else 1)
    if name.startswith("add"):
        run_id = "n1" if name == "add for a run" else None
        try:
            with memory._database.transaction():
                memory.call("session_append", {"session_id": "s", "items": texts}, run_id=run_id)
                if name == "add and fail":
                    raise Failed
        except Failed:
            pass
    elif name == "take back":
        with memory._database.transaction() as tx:
            items.remove_after(tx, Key("main", "s", "main"), run_id=1, watermark=3)
    elif name == "forget":
        memory._database.shared(conversations).reset()
    else:
        memory.call(f"session_{name}", {"session_id": "s"})


@settings(max_examples=40)
@given(st.lists(STEPS, max_size=12))
def test_the_state_kept_equals_the_state_read(steps: list[tuple[str, list[Any]]]) -> None:
    with Memory.open(":memory:") as memory:
        live = memory._database.shared(conversations)
        for name, added in steps:
            step(memory, name, added)

            kept = live.get(Key("main", "s", "main"))
            assert kept == live._load(Key("main", "s", "main"))
            stored = memory.read_session("s")
            assert [entry.item_id for entry in kept.tail] == [
                to_number(IdKind.ITEM, item.id) for item in stored[len(stored) - len(kept.tail) :]
            ]
