"""Through another process every operation does, gives and refuses what it does in one's own."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from agents_memory import Memory
from agents_memory.errors import AgentsMemoryError, InvalidInput
from agents_memory.operations import CATALOGUE, Risk, operation_named
from agents_memory.share import wire
from agents_memory.share.writes import Write, Writer
from agents_memory.types import Caller, Kind
from tests.storage import dump
from tests.unit.share.conftest import NAMESPACE

OWNER = "elsewhere:1:a"
SAVED = {
    "state": base64.b64encode(bytes(range(256))).decode(),
    "sdk_version": "0.24.0",
    "schema_version": "1.21",
    "tools": "{}",
}

Step = tuple[str, dict[str, Any]]


def said(role: str, text: str) -> str:
    return json.dumps({"role": role, "content": text})


def call_item(call_id: str) -> str:
    return json.dumps({"type": "function_call", "call_id": call_id, "name": "remember", "arguments": "{}"})


def asking(call_id: str, **arguments: Any) -> dict[str, Any]:
    written = json.dumps(arguments)
    return {
        "tool": "remember",
        "operation": "remember",
        "arguments": written,
        "call_id": call_id,
        "agent": "assistant",
    }


def run(digest: str, *calls: dict[str, Any], **given: Any) -> dict[str, Any]:
    who = {"starting_agent": "assistant", "current_agent": "assistant", "session_id": "conv", "session_is_ours": True}
    return {**SAVED, **who, "digest": digest, "calls": list(calls), **given}


CY = ("Cy", "maintains", "ingest")
GRAPH: list[Step] = [
    ("remember", {"content": "Cy maintains ingest", "entities": ("Cy", "ingest"), "relate": [CY], "evidence": "“So”"}),
    ("remember", {"content": "cy maintains ingest.", "entities": ["Cy"]}),
    ("remember", {"content": "Ada likes tea", "kind": Kind.PREFERENCE, "valid_from": date(2026, 1, 1)}),
    (
        "remember",
        {"content": "日本語 😀 \x00", "valid_from": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=9)))},
    ),
    ("remember", {"content": "Bo has 7 servers", "entities": ["Bo"], "importance": 0.1, "pinned": True}),
    ("remember", {"content": "Bo has 8 servers", "entities": ["Bo"]}),
    ("supersede", {"fact_id": "f1", "content": "Bo maintains ingest", "relate": (["Bo", "maintains", "ingest"],)}),
    ("correct", {"fact_id": "f2", "content": "Ada likes coffee", "reason": "Misheard"}),
    ("forget", {"fact_id": "f4"}),
    ("relate", {"source": "Cy", "predicate": "knows", "target": "Bo"}),
    ("relate", {"source": "Cy", "predicate": "knows", "target": "Bo"}),
    ("unrelate", {"source": "Cy", "predicate": "knows", "target": "Bo"}),
    ("add_alias", {"entity": "Cy", "alias": "Cyrus"}),
    ("add_episode", {"text": "Cy: mine", "source": "chat", "occurred_at": "2026-01-01T09:00:00Z"}),
    ("get_fact", {"fact_id": "f3"}),
    ("list_facts", {"limit": 2}),
    ("history", {"fact_id": "f1"}),
    ("provenance", {"fact_id": "f1"}),
    ("about", {"entity": "cyrus", "hops": 2}),
    ("get_entity", {"name": "Cy"}),
    ("context", {"query": "who maintains ingest?"}),
    ("search_items", {"query": "ingest"}),
    ("summarize_session", {"session_id": "conv"}),
    ("recall", {"query": "who maintains ingest?", "kinds": frozenset({Kind.FACT})}),
]
SESSIONS: list[Step] = [
    ("session_append", {"session_id": "conv", "items": [said("user", "Cy took ingest"), said("assistant", "Noted")]}),
    ("session_append", {"session_id": "conv", "items": (said("user", "\ud800"), call_item("c0"))}),
    ("session_append", {"session_id": "next", "items": [said("user", "And Bo?")], "continues": "conv"}),
    ("add_usage", {"session_id": "conv", "usage": {"requests": 2, "input_tokens": 10**12}}),
    ("session_items", {"session_id": "conv"}),
    ("session_suffix", {"session_id": "conv", "limit": 2}),
    ("create_branch", {"session_id": "conv", "turn": 2, "name": "other"}),
    ("list_branches", {"session_id": "conv"}),
    ("session_turns", {"session_id": "conv"}),
    ("session_usage", {"session_id": "conv"}),
    ("read_session", {"session_id": "conv", "turns": 1}),
    ("get_item", {"item_id": "i2", "around": 1}),
    ("thread", {"session_id": "next"}),
    ("sessions", {}),
    ("entities_mentioned", {"session_id": "conv"}),
    ("sessions_mentioning", {"entity": "Cy"}),
    ("items_about", {"entity": "ingest"}),
    ("usage_by_entity", {}),
    ("export_session", {"session_id": "conv"}),
    ("session_pop", {"session_id": "conv", "branch": "other"}),
    ("delete_branch", {"session_id": "conv", "branch": "other"}),
    ("session_replace_suffix", {"session_id": "next", "expected": [["i5", "{}"]], "items": [said("user", "sum")]}),
    ("rename_session", {"session_id": "next", "to": "last"}),
    ("session_clear", {"session_id": "last"}),
    ("delete_session", {"session_id": "last"}),
    ("delete_old_sessions", {"before": date(2000, 1, 1), "dry_run": True}),
    ("delete_old_sessions", {"before": date(2000, 1, 1)}),
]
QUEUE: list[Step] = [
    ("request_approval", {"operation": "remember", "arguments": {"content": "Asked for."}, "by": "ada"}),
    ("try_call", {"operation": "remember", "arguments": {"content": "Dee runs billing", "entities": ["Dee"]}}),
    ("try_call", {"operation": "remember", "arguments": {"content": " "}}),
    (
        "perform",
        {
            "operation": "remember",
            "arguments": {"content": "Eve reviews", "kind": None},
            "call_id": "c9",
            "approved": True,
            "review": True,
        },
    ),
    ("written", {}),
    ("acknowledge", {"request_id": "a1", "by": "eve"}),
    ("park_run", run("d1", asking("c1", content="Dee runs billing"), asking("c2", content="Fay left"))),
    ("park_run", run("d1", asking("c1", content="Dee runs billing"), asking("c2", content="Fay left"))),
    ("pending", {}),
    ("check_pending", {}),
    ("show_request", {"request_id": "a2"}),
    ("claim_run", {"run_id": "n1", "owner": OWNER}),
    ("decide", {"request_id": "a2", "decision": "edit", "by": "eve", "arguments": {"content": "Dee runs billing now"}}),
    ("decide", {"request_id": "a2", "decision": "approve", "by": "bob"}),
    ("decide", {"request_id": "a3", "decision": "reject", "by": "eve", "reason": "No"}),
    ("request_history", {"request_id": "a2"}),
    ("list_runs", {"status": "ready"}),
    ("runs_to_resume", {}),
    ("claim_run", {"run_id": "n1", "owner": OWNER}),
    ("claim_run", {"run_id": "n1", "owner": "elsewhere:2:b"}),
    ("renew_lease", {"run_id": "n1", "fence": 1, "lease_s": 120}),
    ("start_call", {"run_id": "n1", "fence": 1, "call_id": "c5"}),
    (
        "perform",
        {
            "operation": "remember",
            "arguments": {"content": "Dee runs billing"},
            "call_id": "c1",
            "run_id": "n1",
            "fence": 1,
            "approved": True,
        },
    ),
    ("checkpoint_run", {"run_id": "n1", "fence": 1, "digest": "d2", "settled": ["c1"], **SAVED}),
    ("fail_run", {"run_id": "n1", "fence": 1, "error": "ModelBehaviorError"}),
    ("claim_run", {"run_id": "n1", "owner": OWNER}),
    ("release_run", {"run_id": "n1", "fence": 2}),
    ("claim_run", {"run_id": "n1", "owner": OWNER}),
    (
        "repark_run",
        {
            "run_id": "n1",
            "fence": 3,
            "digest": "d3",
            **SAVED,
            "current_agent": "x",
            "calls": [asking("c7", content="G")],
        },
    ),
    ("withdraw", {"id": "a4", "by": "eve"}),
    ("claim_run", {"run_id": "n1", "owner": OWNER}),
    ("finish_run", {"run_id": "n1", "fence": 4, "result": "done"}),
    ("get_run", {"run_id": "n1"}),
    ("park_run", run("d5", asking("c8", content="Hal left"), session_id=None, session_is_ours=False)),
    ("expire", {"id": "n2", "by": "eve"}),
    ("withdraw", {"id": "n2", "by": "eve", "reason": "Over"}),
    ("facts_written", {"session_id": "conv"}),
    ("sessions_behind", {"fact_id": "f1"}),
]
REFUSED: list[Step] = [
    ("no_such_operation", {}),
    ("remember", {"content": b"bytes"}),
    ("remember", {"content": "\ud800"}),
    ("remember", {"content": ""}),
    ("remember", {"content": "x", "importance": float("nan")}),
    ("remember", {"content": "x", "importance": 10**5000}),
    ("remember", {"content": "x", "kind": "no kind"}),
    ("remember", {"content": "x", "entities": "Cy"}),
    ("remember", {"content": "x", "entities": {"Cy"}}),
    ("remember", {"content": "x", "entities": object()}),
    ("remember", {"content": "x", "valid_from": datetime(2026, 1, 1)}),  # noqa: DTZ001 - naive on purpose
    ("remember", {"content": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"}),
    ("remember", {"content": "x", "episode": "p99"}),
    ("remember", {"content": "x", "unknown": 1}),
    ("supersede", {"fact_id": 1, "content": "x"}),
    ("supersede", {"fact_id": "f1", "content": "x"}),
    ("get_fact", {"fact_id": "f99"}),
    ("recall", {"query": "x", "k": 10**30}),
    ("recall", {"query": "x", "k": "3"}),
    ("session_append", {"session_id": "conv", "items": [object()]}),
    ("session_append", {"session_id": "none", "items": [said("user", "x")], "branch": "none"}),
    ("session_append", {"session_id": "conv", "items": [said("user", "x")], "fence": 3}),
    ("decide", {"request_id": "a99", "decision": "approve", "by": "eve"}),
    ("claim_run", {"run_id": "n99", "owner": OWNER}),
    ("renew_lease", {"run_id": "n1", "fence": 99}),
]
SCRIPT = [*GRAPH, *SESSIONS, *QUEUE, *REFUSED]


def outcome(memory: Memory, step: Step) -> Any:
    """What a step gives or raises, without the moments in it."""
    name, arguments = step
    try:
        result = memory.call(name, arguments, session_id="conv")
    except AgentsMemoryError as error:
        return type(error).__name__, timeless(error.to_dict())
    return type(result).__name__, timeless(operation_named(name).dump(result))


def timeless(data: Any) -> Any:
    """Data with every moment replaced: no two runs have the same."""
    text = json.dumps(data, default=repr)
    text = re.sub(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "MOMENT", text)
    return json.loads(re.sub(r"\d\d:\d\d:\d\d UTC", "MOMENT", text))


def rows_of(memory: Memory) -> Any:
    """What the file holds, apart from moments, random names and what is kept to answer again."""
    rows = dump(memory._database)
    del rows["answers"], rows["schema_migrations"], rows["audit"]
    moment = re.compile(r"datetime\.datetime\([\d, ]+\)")
    plain = {
        name: [tuple("BYTES" if isinstance(cell, bytes) else cell for cell in row) for row in rows[name]]
        for name in rows
    }
    return {name: sorted(moment.sub("MOMENT", repr(row)) for row in plain[name]) for name in plain}


@pytest.fixture
def local() -> Iterator[Memory]:
    with Memory.open(":memory:", namespace=NAMESPACE, writer="ada") as memory:
        yield memory


def test_the_script_holds_every_operation() -> None:
    assert {name for name, _ in SCRIPT} - {"no_such_operation"} == CATALOGUE.keys()


def test_every_operation_does_through_the_socket_what_it_does_here(local: Memory, held: Memory, shared: Memory) -> None:
    for step in SCRIPT:
        assert outcome(shared, step) == outcome(local, step), step[0]

    assert rows_of(held) == rows_of(local)


@pytest.mark.parametrize("content", [b"bytes", object(), datetime(2026, 1, 1, tzinfo=UTC), {1, 2}])
def test_what_is_no_json_within_a_call_is_refused_as_here(local: Memory, shared: Memory, content: object) -> None:
    for memory in (local, shared):
        memory.call("park_run", run("d1", asking("c1", content="Dee runs billing")))

        with pytest.raises(InvalidInput):
            memory.call(
                "decide", {"request_id": "a1", "decision": "edit", "by": "eve", "arguments": {"content": content}}
            )


def test_no_step_fails_for_being_done_for_another_process(shared: Memory) -> None:
    refused = {kind for kind, _ in (outcome(shared, step) for step in SCRIPT)}

    assert "TransactionElsewhere" not in refused
    assert "TransactionDoomed" not in refused
    assert "AgentsMemoryError" not in refused


def test_a_view_of_another_moment_reads_and_does_not_write(local: Memory, shared: Memory) -> None:
    for memory in (local, shared):
        for step in GRAPH[:8]:
            outcome(memory, step)
    moment = datetime(2026, 1, 1, tzinfo=UTC)

    for step in (*GRAPH, GRAPH[0]):
        views = [memory.as_of(valid_at=moment, known_at="2900-01-01") for memory in (local, shared)]
        assert len({repr(outcome(view, step)) for view in views}) == 1, step[0]  # type: ignore[arg-type]


def test_every_result_has_the_types_of_a_local_one(local: Memory, shared: Memory) -> None:
    for name, arguments in SCRIPT:
        here = there = None
        try:
            here = local.call(name, arguments)
        except AgentsMemoryError:
            continue
        finally:
            try:
                there = shared.call(name, arguments)
            except AgentsMemoryError:
                assert here is None, name
        assert shape(there) == shape(here), name


def shape(value: Any) -> Any:
    """The types in a result, to the last field."""
    if isinstance(value, tuple | list):
        return type(value), [shape(one) for one in value]
    if isinstance(value, dict):
        return dict, {key: shape(one) for key, one in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return type(value), {name: shape(getattr(value, name)) for name in value.__dataclass_fields__}
    return type(value)


# -- groups -----------------------------------------------------------------------------------------------------------


def writes(steps: list[Step]) -> list[Write]:
    """The steps that may be members of a group, as the owner gets them."""
    caller = Caller(namespace=NAMESPACE, writer="ada", session_id="conv")
    return [
        Write(
            call_id=f"w{number}",
            caller=caller,
            operation=name,
            arguments=json.loads(wire.encoded(wire.arguments_as_data(arguments))),
        )
        for number, (name, arguments) in enumerate(steps)
        if operation_named(name).risk is not Risk.READ and not operation_named(name).stands_alone
    ]


def result_of(write: Write) -> Any:
    error = write.answer.exception(timeout=0)
    if isinstance(error, AgentsMemoryError):
        return timeless(error.to_dict())
    return timeless(json.loads(write.answer.result(timeout=0)))


@pytest.fixture
def do(held: Memory) -> Iterator[Callable[[list[Write]], None]]:
    """Do a group of writes as the owner does those that wait together."""
    writer = Writer(held._database)
    yield writer._do
    writer.stop()


def test_a_group_does_what_its_members_do_one_after_the_other(
    local: Memory, held: Memory, do: Callable[[list[Write]], None]
) -> None:
    group, alone = writes([*GRAPH, *SESSIONS]), writes([*GRAPH, *SESSIONS])
    assert len(group) > 15

    do(group)
    assert len({row[2] for row in dump(held._database)["answers"]}) == 1  # together
    for write in alone:
        result = None
        try:
            result = local.call(write.operation, write.arguments, session_id="conv")
        except AgentsMemoryError as error:
            write.answer.set_exception(error)
        else:
            write.answer.set_result(json.dumps(operation_named(write.operation).dump(result)))

    assert [result_of(write) for write in group] == [result_of(write) for write in alone]
    here, there = rows_of(local), rows_of(held)
    for name in here:
        assert there[name] == here[name]


def test_each_member_of_a_group_has_a_moment_of_its_own(held: Memory, do: Callable[[list[Write]], None]) -> None:
    group = writes([("remember", {"content": f"Fact {number}"}) for number in range(5)])

    do(group)

    moments = [held.get(f"f{number}").tx_from for number in range(1, 6)]
    assert moments == sorted(set(moments))
    assert held.remember("After them").id == "f6"
    assert held.get("f6").tx_from > moments[-1]


def test_a_member_that_fails_takes_no_other_with_it(held: Memory, do: Callable[[list[Write]], None]) -> None:
    steps: list[Step] = [("remember", {"content": f"Fact {number}"}) for number in range(3)]
    group = writes([steps[0], ("forget", {"fact_id": "f99"}), steps[1], ("remember", {"content": ""}), steps[2]])

    do(group)

    assert [fact.content for fact in held.facts()] == ["Fact 0", "Fact 1", "Fact 2"]
    assert [result_of(write).get("code", "done") for write in group] == [
        "done", "not_found", "done", "invalid_input", "done",
    ]  # fmt: skip


def test_a_call_that_is_made_again_is_answered_and_not_done_again(
    held: Memory, do: Callable[[list[Write]], None]
) -> None:
    [first] = writes([("remember", {"content": "Once"})])
    again, later = (
        Write(call_id="w0", caller=first.caller, operation="remember", arguments=first.arguments, again=True)
        for _ in range(2)
    )

    do([first, again])  # the second came while the first waited
    do([later])

    assert result_of(first) == result_of(again) == result_of(later)
    assert len(held.history("f1")) == 1
    assert len(dump(held._database)["evidence"]) == 0


def test_a_call_that_is_made_again_and_was_never_done_is_done(held: Memory, do: Callable[[list[Write]], None]) -> None:
    [again] = writes([("remember", {"content": "Once"})])

    do([Write(call_id="w0", caller=again.caller, operation="remember", arguments=again.arguments, again=True)])

    assert held.get("f1").content == "Once"


def test_answers_are_forgotten_after_a_while(held: Memory, do: Callable[[list[Write]], None]) -> None:
    from agents_memory import _clock
    from tests.storage import Clock

    clock = Clock(datetime(2900, 1, 1, tzinfo=UTC))
    with _clock.replaced_by(clock):
        for _ in range(4):
            do(writes([("remember", {"content": "Once"})]))
            clock.move(minutes=6)

    kept = [row[2] for row in dump(held._database)["answers"]]
    assert max(kept) - min(kept) <= timedelta(minutes=20)
    assert len(kept) < 4
