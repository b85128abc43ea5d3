"""Which runs it is time to resume: ready ones, lost ones, and failed ones after a while, a bounded number of times."""

import pytest

from agents_memory.approvals.claims import RETRY_WAITS_S
from tests.unit.approvals.conftest import OWNER, SAVED, Queue, a_call


@pytest.fixture
def ready(queue):
    run = queue.park(a_call(content="Cy owns ingest"))
    queue.decide(run.requests[0])
    return run


def due(queue: Queue) -> list[str]:
    return [run.id for run in queue.memory.call("runs_to_resume")]


def fail(queue: Queue, run_id: str = "n1") -> None:
    claim = queue.claim(run_id)
    queue.memory.call("fail_run", {"run_id": run_id, "fence": claim.fence, "error": "ValueError"})


def test_a_run_is_due_once_it_is_decided(queue) -> None:
    queue.park(a_call(content="x"))

    assert due(queue) == []
    queue.decide("a1", "reject")
    assert due(queue) == ["n1"]


def test_a_run_whose_time_is_over_is_due(queue, clock) -> None:
    queue.park(a_call(content="x"), expires_at="2026-03-02T10:00:00Z")
    clock.move(hours=2)

    assert due(queue) == ["n1"]


def test_a_run_that_is_being_resumed_is_due_when_its_lease_ran_out(queue, ready, clock) -> None:
    queue.claim(ready.id, lease_s=60)

    assert due(queue) == []
    clock.move(seconds=61)
    assert due(queue) == ["n1"]


def test_a_failed_run_is_tried_again_later_and_later_and_then_left(queue, ready, clock) -> None:
    for wait in RETRY_WAITS_S:
        fail(queue)
        clock.move(seconds=wait - 1)
        assert due(queue) == []
        clock.move(seconds=2)
        assert due(queue) == ["n1"]

    fail(queue)
    clock.move(days=30)

    assert due(queue) == []
    assert queue.get(ready.id).failures == len(RETRY_WAITS_S) + 1
    assert queue.claim(ready.id).run.status == "resuming"  # a person still can


def test_a_claim_taken_from_a_lost_attempt_counts_as_a_failure(queue, ready, clock) -> None:
    queue.claim(ready.id)
    clock.move(seconds=61)

    assert queue.claim(ready.id).run.failures == 1


def test_a_run_that_stops_again_begins_to_count_anew(queue, ready, clock) -> None:
    fail(queue)
    claim = queue.claim(ready.id)

    again = [a_call(content="y", call_id="c2")]
    given = {**SAVED, "run_id": ready.id, "fence": claim.fence, "current_agent": "assistant", "calls": again}
    assert queue.memory.call("repark_run", given).failures == 0


def test_a_claim_that_is_given_back_counts_for_nothing(queue, ready) -> None:
    claim = queue.claim(ready.id)
    queue.memory.call("release_run", {"run_id": ready.id, "fence": claim.fence})

    assert queue.get(ready.id).failures == 0
    assert due(queue) == ["n1"]


def test_only_runs_here_or_below_are_due(queue, memory, ready) -> None:
    sibling = Queue(memory.at_namespace("acme/osprey"))
    sibling.park(a_call(content="y"))
    sibling.decide("a2")

    assert due(sibling) == ["n2"]
    assert due(Queue(memory.at_namespace("acme"))) == ["n1", "n2"]


def test_a_run_that_failed_with_a_part_of_the_decisions_is_due_once_all_are_made(queue, clock) -> None:
    queue.park(a_call(content="x"), a_call(content="y", call_id="c2"))
    queue.decide("a1")
    claim = queue.memory.call("claim_run", {"run_id": "n1", "owner": OWNER, "partial": True})
    queue.memory.call("fail_run", {"run_id": "n1", "fence": claim.fence, "error": "ValueError"})
    clock.move(days=1)

    assert due(queue) == []
    queue.decide("a2")
    assert due(queue) == ["n1"]
