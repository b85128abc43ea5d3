"""Claims: one process resumes a run, and one that died does not keep it."""

import json
import os
import socket

import pytest

from agents_memory.errors import InvalidTransition, LeaseLost, NotFound, Undecided
from tests.storage import dump, run_python
from tests.unit.approvals.conftest import OTHER, SAVED, a_call


@pytest.fixture
def ready(queue):
    """A run that was decided, in a conversation with one item."""
    queue.say("Cy took ingest over.")
    run = queue.park(a_call(content="Cy owns ingest"))
    queue.decide(run.requests[0])
    return run


def added(queue, claim, text: str) -> None:
    """An item that a resumed run adds to its conversation."""
    item = json.dumps({"role": "assistant", "content": text})
    given = {"session_id": "conv", "items": [item]}
    queue.memory.call("session_append", given, session_id="conv", run_id=claim.run.id)


def said(queue) -> list[str]:
    return [json.loads(item)["content"] for item in queue.memory.call("session_items", {"session_id": "conv"})]


def end(queue, claim, operation: str, **given):
    return queue.memory.call(operation, {"run_id": claim.run.id, "fence": claim.fence, **given})


def test_an_undecided_run_cannot_be_claimed(queue) -> None:
    run = queue.park(a_call(content="x", call_id="c1"), a_call(content="y", call_id="c2"))
    queue.decide("a1")

    with pytest.raises(Undecided) as caught:
        queue.claim(run.id)

    assert caught.value.details["requests"] == ["a2"]
    assert queue.get(run.id).status == "parked"


def test_the_second_claim_loses(queue, ready) -> None:
    claim = queue.claim(ready.id)

    with pytest.raises(InvalidTransition, match="being resumed"):
        queue.claim(ready.id, OTHER)

    assert claim.run.status == "resuming"
    assert claim.run.attempt == 1


def test_a_claim_brings_the_state_and_the_verdicts(queue, ready) -> None:
    claim = queue.claim(ready.id)

    (verdict,) = claim.verdicts
    assert claim.state == SAVED["state"]
    assert (verdict.request_id, verdict.call_id, verdict.tool, verdict.approved) == ("a1", "c1", "remember", True)


def test_a_lost_lease_can_be_claimed_with_a_newer_token(queue, ready, clock) -> None:
    first = queue.claim(ready.id, lease_s=60)
    clock.move(seconds=61)

    second = queue.claim(ready.id, OTHER)

    assert second.fence > first.fence
    assert second.run.attempt == 2


def test_a_renewed_lease_is_not_lost(queue, ready, clock) -> None:
    claim = queue.claim(ready.id, lease_s=60)
    clock.move(seconds=50)
    end(queue, claim, "renew_lease", lease_s=60)
    clock.move(seconds=50)

    with pytest.raises(InvalidTransition):
        queue.claim(ready.id, OTHER)


def test_the_lease_of_a_process_that_died_here_is_lost_at_once(queue, ready) -> None:
    dead = run_python("import os; print(os.getpid())").stdout.strip()
    queue.claim(ready.id, f"{socket.gethostname()}:{dead}:x")

    assert queue.claim(ready.id, OTHER).run.attempt == 2


def test_the_lease_of_a_living_process_stands(queue, ready) -> None:
    queue.claim(ready.id, f"{socket.gethostname()}:{os.getpid()}:x")

    with pytest.raises(InvalidTransition):
        queue.claim(ready.id, OTHER)


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("renew_lease", {}),
        ("finish_run", {"result": "done"}),
        ("fail_run", {"error": "ValueError"}),
        ("release_run", {}),
        ("start_call", {"call_id": "c1"}),
        ("checkpoint_run", {**SAVED, "settled": []}),
        ("repark_run", {**SAVED, "current_agent": "assistant", "calls": []}),
    ],
)
def test_who_lost_the_claim_can_do_nothing(queue, ready, clock, operation, given) -> None:
    lost = queue.claim(ready.id)
    clock.move(seconds=61)
    held = queue.claim(ready.id, OTHER)

    with pytest.raises(LeaseLost):
        end(queue, lost, operation, **given)

    assert queue.get(ready.id) == held.run


def test_a_later_claim_takes_back_what_the_lost_attempt_added(queue, ready, clock) -> None:
    added(queue, queue.claim(ready.id), "half an answer")
    clock.move(seconds=61)

    second = queue.claim(ready.id, OTHER)
    added(queue, second, "the answer")
    end(queue, second, "finish_run", result="the answer")

    assert said(queue) == ["Cy took ingest over.", "the answer"]


def test_what_others_said_meanwhile_stays(queue, ready, clock) -> None:
    added(queue, queue.claim(ready.id), "half an answer")
    queue.say("Are you there?")
    clock.move(seconds=61)

    queue.claim(ready.id, OTHER)

    assert said(queue) == ["Cy took ingest over.", "Are you there?"]


def test_a_failed_run_is_taken_back_and_can_be_resumed_again(queue, ready) -> None:
    claim = queue.claim(ready.id)
    added(queue, claim, "half an answer")

    failed = end(queue, claim, "fail_run", error="ValueError")

    assert (failed.status, failed.error) == ("failed", "ValueError")
    assert said(queue) == ["Cy took ingest over."]
    assert queue.claim(ready.id, OTHER).run.status == "resuming"


def test_a_claim_that_is_given_back_leaves_the_run_ready(queue, ready) -> None:
    assert end(queue, queue.claim(ready.id), "release_run").status == "ready"
    assert queue.claim(ready.id, OTHER).run.status == "resuming"


def test_a_finished_run_cannot_be_claimed(queue, ready) -> None:
    finished = end(queue, queue.claim(ready.id), "finish_run", result="done")

    assert (finished.status, finished.result) == ("finished", "done")
    with pytest.raises(InvalidTransition):
        queue.claim(ready.id)


def test_a_run_that_stops_again_waits_at_its_next_revision(queue, ready) -> None:
    claim = queue.claim(ready.id)
    stopped = {**SAVED, "current_agent": "helper", "calls": [a_call(content="y", call_id="c2")]}

    again = end(queue, claim, "repark_run", **stopped)

    assert (again.status, again.revision, again.current_agent) == ("parked", 2, "helper")
    assert again.requests == ("a2",)
    with pytest.raises(Undecided):
        queue.claim(ready.id)


def test_items_of_an_earlier_revision_stay(queue, ready) -> None:
    claim = queue.claim(ready.id)
    added(queue, claim, "an output")
    end(queue, claim, "repark_run", **SAVED, current_agent="assistant", calls=[a_call(content="y", call_id="c2")])
    queue.decide("a2")

    claim = queue.claim(ready.id)
    added(queue, claim, "half an answer")
    end(queue, claim, "fail_run", error="ValueError")

    assert said(queue) == ["Cy took ingest over.", "an output"]


def test_a_later_attempt_begins_at_the_checkpoint(queue, ready, clock) -> None:
    claim = queue.claim(ready.id)
    added(queue, claim, "an output")
    end(queue, claim, "checkpoint_run", **{**SAVED, "digest": "later"}, settled=["c1"])
    added(queue, claim, "half an answer")
    clock.move(seconds=61)

    second = queue.claim(ready.id, OTHER)

    assert second.digest == "later"
    assert said(queue) == ["Cy took ingest over.", "an output"]


def test_a_foreign_call_that_began_and_never_ended_makes_the_run_uncertain(queue, clock) -> None:
    run = queue.park(a_call(None, tool="send_mail", to="eve"))
    queue.decide("a1")
    end(queue, queue.claim(run.id), "start_call", call_id="c1")
    clock.move(seconds=61)

    with pytest.raises(InvalidTransition, match="send_mail"):
        queue.claim(run.id, OTHER)

    assert queue.get(run.id).status == "uncertain"


def test_a_foreign_call_that_never_began_can_be_made_by_a_later_attempt(queue, clock) -> None:
    run = queue.park(a_call(None, tool="send_mail", to="eve"))
    queue.decide("a1")
    queue.claim(run.id)
    clock.move(seconds=61)

    assert queue.claim(run.id, OTHER).verdicts[0].approved


def test_a_foreign_call_whose_output_a_checkpoint_knows_is_certain(queue, clock) -> None:
    run = queue.park(a_call(None, tool="send_mail", to="eve"))
    queue.decide("a1")
    claim = queue.claim(run.id)
    end(queue, claim, "start_call", call_id="c1")
    end(queue, claim, "checkpoint_run", **SAVED, settled=["c1"])
    clock.move(seconds=61)

    assert queue.claim(run.id, OTHER).run.status == "resuming"
    assert queue.show("a1").status == "done"


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("renew_lease", {"lease_s": 60}),
        ("start_call", {"call_id": "c1"}),
        ("checkpoint_run", {**SAVED, "settled": []}),
        ("finish_run", {"result": "forged"}),
        ("fail_run", {"error": "Forged"}),
        ("release_run", {}),
    ],
)
def test_a_claim_cannot_be_used_from_another_namespace(queue, memory, operation, given) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    claim = queue.claim(run.id)
    before = dump(memory._database)

    with pytest.raises((NotFound, LeaseLost)):
        memory.at_namespace("acme/other").call(operation, {"run_id": run.id, "fence": claim.fence, **given})

    assert dump(memory._database) == before


def test_what_a_reviewer_wrote_is_not_read_from_another_namespace(queue, memory) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1", "edit", arguments={"content": "Ada's salary is 90k"})
    claim = queue.claim(run.id)
    queue.perform("remember", {"content": "x"}, run_id=run.id, fence=claim.fence)

    trial = memory.at_namespace("acme/other").call(
        "try_call", {"operation": "remember", "arguments": {"content": "x"}, "run_id": run.id}
    )

    assert trial.handled_by is None
