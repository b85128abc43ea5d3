"""Withdrawing: a request or a run leaves the queue, and no conversation keeps a call without an output."""

import json
from typing import Any

import pytest

from agents_memory.errors import AlreadyDecided, InvalidInput, InvalidTransition, NotFound
from agents_memory.operations import operation_named
from tests.storage import dump
from tests.unit.approvals.conftest import OTHER, SAVED, a_call

NOT_RUN = "This call was withdrawn before it ran. Nothing was written."


def withdraw(queue, what: str, by: str = "eve", **given: Any) -> Any:
    return queue.memory.call("withdraw", {"id": what, "by": by, **given})


def called(queue, *call_ids: str, kind: str = "function_call") -> None:
    """The items of calls that a model made in one response."""
    items = [json.dumps({"type": kind, "call_id": call_id, "name": "remember"}) for call_id in call_ids]
    queue.memory.call("session_append", {"session_id": "conv", "items": items}, session_id="conv")


def conversation(queue) -> list[tuple[str, Any]]:
    """Each item's type, or who said it, with its call or words."""
    items = map(json.loads, queue.memory.call("session_items", {"session_id": "conv"}))
    return [(item.get("type") or item["role"], item.get("call_id") or item["content"]) for item in items]


def outputs(queue) -> dict[str, Any]:
    items = map(json.loads, queue.memory.call("session_items", {"session_id": "conv"}))
    return {item["call_id"]: item["output"] for item in items if "output" in item}


def under(claim, queue, operation: str, **given: Any) -> Any:
    return queue.memory.call(operation, {"run_id": claim.run.id, "fence": claim.fence, **given})


def uncertain(queue, clock) -> Any:
    """A run that nobody may resume: a foreign call of it began in an attempt that was lost."""
    called(queue, "c1")
    run = queue.park(a_call(None, tool="send_mail", to="eve"))
    queue.decide("a1")
    under(queue.claim(run.id), queue, "start_call", call_id="c1")
    clock.move(seconds=61)
    with pytest.raises(InvalidTransition, match="uncertain"):
        queue.claim(run.id, OTHER)
    return run


# -- a request


def test_a_withdrawn_request_waits_no_longer_and_says_who_and_why(queue) -> None:
    queue.park(a_call(content="x"), a_call(content="y", call_id="c2"))

    request = withdraw(queue, "a1", reason="Asked twice.")

    (decision,) = request.decisions
    assert request.status == "withdrawn"
    assert (decision.decision, decision.decided_by, decision.reason) == ("withdraw", "eve", "Asked twice.")
    assert [waiting.id for waiting in queue.pending()] == ["a2"]


@pytest.mark.parametrize(
    ("given", "told"),
    [({"reason": "Asked twice."}, "Asked twice."), ({}, "This call was withdrawn. Nothing was written.")],
)
def test_a_run_without_its_last_request_goes_on_and_the_model_is_told(queue, given, told) -> None:
    run = queue.park(a_call(content="x"))

    withdraw(queue, "a1", **given)

    (verdict,) = queue.claim(run.id).verdicts
    assert (verdict.approved, verdict.message) == (False, told)


def test_a_request_that_was_decided_is_not_withdrawn(queue) -> None:
    queue.park(a_call(content="x"))
    queue.decide("a1", by="sam")
    before = dump(queue.memory._database)

    with pytest.raises(AlreadyDecided, match="sam"):
        withdraw(queue, "a1")

    assert dump(queue.memory._database) == before


def test_a_withdrawn_request_is_not_decided(queue) -> None:
    queue.park(a_call(content="x"))
    withdraw(queue, "a1")

    with pytest.raises(AlreadyDecided, match="withdraw"):
        queue.decide("a1")


# -- a run


def test_a_withdrawn_run_ends_with_its_requests(queue) -> None:
    run = queue.park(a_call(content="x"), a_call(content="y", call_id="c2"))
    queue.decide("a1")

    assert withdraw(queue, run.id).status == "withdrawn"

    assert [queue.show(request).status for request in run.requests] == ["withdrawn", "withdrawn"]
    assert queue.pending() == ()
    with pytest.raises(InvalidTransition):
        queue.claim(run.id)


def test_what_was_rejected_stays_rejected(queue) -> None:
    run = queue.park(a_call(content="x"), a_call(content="y", call_id="c2"))
    queue.decide("a1", "reject")

    withdraw(queue, run.id)

    assert [queue.show(request).status for request in run.requests] == ["rejected", "withdrawn"]


def test_a_withdrawn_call_cannot_be_performed(queue) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    withdraw(queue, run.id)

    with pytest.raises(InvalidTransition, match="withdrawn"):
        queue.perform("remember", {"content": "x"})

    assert queue.facts() == []


def test_each_open_call_gets_an_output_next_to_it(queue) -> None:
    queue.say("hello")
    called(queue, "c1", "c2")
    run = queue.park(a_call(content="x"), a_call(content="y", call_id="c2"))
    queue.say("Are you there?")

    withdraw(queue, run.id, reason="No longer needed.")

    assert conversation(queue) == [
        ("user", "hello"),
        ("function_call", "c1"),
        ("function_call_output", "c1"),
        ("function_call", "c2"),
        ("function_call_output", "c2"),
        ("user", "Are you there?"),
    ]
    assert set(outputs(queue).values()) == {f"{NOT_RUN} Reason: No longer needed."}


def test_a_call_that_has_an_output_gets_no_other(queue) -> None:
    called(queue, "c1", "c2")
    called(queue, "c2", kind="function_call_output")
    run = queue.park(a_call(content="x"))

    withdraw(queue, run.id)

    assert conversation(queue).count(("function_call_output", "c2")) == 1
    assert ("function_call_output", "c1") in conversation(queue)


def test_a_call_of_the_same_response_that_nobody_was_asked_about_is_answered_too(queue) -> None:
    called(queue, "c1", "c2")
    run = queue.park(a_call(content="x"))

    withdraw(queue, run.id)

    assert outputs(queue)["c2"] == "This call was withdrawn together with its run."


def test_the_call_of_a_nested_agent_closes_the_one_that_the_conversation_knows(queue) -> None:
    called(queue, "outer")
    run = queue.park(a_call(content="x", call_id="inner"))

    withdraw(queue, run.id)

    assert list(outputs(queue)) == ["outer"]


def test_the_calls_of_another_run_stay_open(queue) -> None:
    called(queue, "c1")
    first = queue.park(a_call(content="x"))
    called(queue, "c2")
    second = queue.park(a_call(content="y", call_id="c2"))

    withdraw(queue, first.id)

    assert list(outputs(queue)) == ["c1"]
    assert queue.get(second.id).status == "parked"


@pytest.mark.parametrize("kind", ["custom_tool_call", "apply_patch_call", "shell_call"])
def test_an_output_is_of_the_kind_of_its_call(queue, kind) -> None:
    called(queue, "c1", kind=kind)
    run = queue.park(a_call(None, tool="other"))

    withdraw(queue, run.id)

    assert conversation(queue) == [(kind, "c1"), (f"{kind}_output", "c1")]


def test_a_call_that_no_text_can_answer_is_taken_out(queue) -> None:
    queue.say("hello")
    called(queue, "c1", kind="computer_call")
    run = queue.park(a_call(None, tool="other"))

    withdraw(queue, run.id)

    assert conversation(queue) == [("user", "hello")]


def test_a_conversation_that_is_kept_elsewhere_is_not_touched(queue) -> None:
    called(queue, "c1")
    run = queue.park(a_call(content="x"), session_is_ours=False)

    assert withdraw(queue, run.id).status == "withdrawn"
    assert outputs(queue) == {}


def test_an_uncertain_run_can_be_withdrawn_and_says_that_nobody_knows(queue, clock) -> None:
    run = uncertain(queue, clock)

    withdrawn = withdraw(queue, run.id, reason="The mail arrived.")

    assert withdrawn.status == "withdrawn"
    assert outputs(queue)["c1"].startswith("This call began, and nobody knows what it did.")
    assert outputs(queue)["c1"].endswith("The mail arrived.")


def test_a_failed_run_can_be_withdrawn_and_what_it_wrote_is_said_to_stand(queue) -> None:
    called(queue, "c1")
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    claim = queue.claim(run.id)
    queue.perform("remember", {"content": "x"}, run_id=run.id, fence=claim.fence)
    under(claim, queue, "fail_run", error="ValueError")

    withdraw(queue, run.id)

    assert outputs(queue)["c1"].startswith("This call was carried out.")
    assert queue.show("a1").status == "done"
    assert queue.facts() == ["x"]


def test_what_a_lost_attempt_said_is_taken_back(queue, clock) -> None:
    run = uncertain(queue, clock)
    item = json.dumps({"role": "assistant", "content": "half an answer"})
    queue.memory.call("session_append", {"session_id": "conv", "items": [item]}, session_id="conv", run_id=run.id)

    withdraw(queue, run.id)

    assert conversation(queue) == [("function_call", "c1"), ("function_call_output", "c1")]


def test_a_run_that_is_being_resumed_is_not_withdrawn(queue) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    queue.claim(run.id)
    before = dump(queue.memory._database)

    with pytest.raises(InvalidTransition, match="resuming"):
        withdraw(queue, run.id)

    assert dump(queue.memory._database) == before


def test_a_run_that_is_over_is_not_withdrawn(queue) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    under(queue.claim(run.id), queue, "finish_run", result="done")

    with pytest.raises(InvalidTransition, match="finished"):
        withdraw(queue, run.id)


def test_a_run_that_stopped_again_is_withdrawn_at_its_newest_revision(queue) -> None:
    called(queue, "c1")
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    claim = queue.claim(run.id)
    queue.perform("remember", {"content": "x"}, run_id=run.id, fence=claim.fence)
    called(queue, "c1", kind="function_call_output")
    called(queue, "c2")
    under(claim, queue, "repark_run", **SAVED, current_agent="assistant", calls=[a_call(content="y", call_id="c2")])

    withdraw(queue, run.id)

    assert conversation(queue)[-2:] == [("function_call", "c2"), ("function_call_output", "c2")]
    assert len(conversation(queue)) == 4
    assert [queue.show(request).status for request in ("a1", "a2")] == ["done", "withdrawn"]


def test_a_withdrawal_is_on_the_audit_with_who_did_it(queue) -> None:
    run = queue.park(a_call(content="x"))

    withdraw(queue, run.id, by="eve")

    rows = [row for row in dump(queue.memory._database)["audit"] if row[2] == "withdraw"]
    assert sorted((row[3], row[4]) for row in rows) == [(["a1"], "eve"), (["n1"], "eve")]


@pytest.mark.parametrize(
    ("what", "error"), [("f1", InvalidInput), ("7", InvalidInput), ("a9", NotFound), ("n9", NotFound)]
)
def test_only_a_request_or_a_run_that_is_here_can_be_withdrawn(queue, what, error) -> None:
    with pytest.raises(error):
        withdraw(queue, what)


def test_what_belongs_to_a_sibling_namespace_is_not_found(queue) -> None:
    queue.park(a_call(content="x"))
    other = queue.memory.at_namespace("acme/osprey")

    for what in ("a1", "n1"):
        with pytest.raises(NotFound):
            other.call("withdraw", {"id": what, "by": "eve"})


@pytest.mark.parametrize("what", ["a1", "n1"])
def test_the_answer_is_the_same_after_json(queue, what) -> None:
    queue.park(a_call(content="x"))
    operation = operation_named("withdraw")

    result = withdraw(queue, what)

    assert operation.load(json.loads(json.dumps(operation.dump(result)))) == result
