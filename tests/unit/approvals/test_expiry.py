"""Expiring: what is due, and what a person names before its time."""

import pytest

from agents_memory.errors import AlreadyDecided, InvalidId, InvalidTransition, NotFound
from tests.unit.approvals.conftest import Queue, a_call

TEN = "2026-03-02T10:00:00Z"


def expire(queue: Queue, **given: str) -> list[str]:
    return [request.id for request in queue.memory.call("expire", given)]


def test_what_is_due_expires_and_what_is_not_waits(queue, clock) -> None:
    due = queue.park(a_call(content="x"), expires_at=TEN)
    later = queue.park(a_call(content="y"), expires_at="2026-03-02T12:00:00Z")
    never = queue.park(a_call(content="z"))
    clock.move(hours=1)

    assert expire(queue) == ["a1"]
    assert expire(queue) == []
    assert [queue.get(run.id).status for run in (due, later, never)] == ["ready", "parked", "parked"]


def test_what_expired_is_returned_as_it_stands(queue, clock) -> None:
    queue.park(a_call(content="x"), expires_at=TEN)
    clock.move(hours=2)

    (request,) = queue.memory.call("expire")

    assert request.status == "expired"
    assert [(one.decision, one.decided_by) for one in request.decisions] == [("expire", "agents_memory")]


def test_only_what_is_here_or_below_is_told(queue, memory, clock) -> None:
    queue.park(a_call(content="x"), expires_at=TEN)
    sibling = Queue(memory.at_namespace("acme/osprey"))
    sibling.park(a_call(content="y"), expires_at=TEN)
    clock.move(hours=2)

    assert expire(sibling) == ["a2"]


def test_a_request_can_be_expired_before_its_time(queue) -> None:
    run = queue.park(a_call(content="x", call_id="c1"), a_call(content="y", call_id="c2"))

    assert expire(queue, id="a1", by="eve") == ["a1"]

    assert queue.show("a1").decisions[0].decided_by == "eve"
    assert queue.get(run.id).status == "parked"
    assert "expired" not in queue.show("a2").status


def test_a_run_that_is_expired_goes_on_with_what_was_decided(queue) -> None:
    run = queue.park(a_call(content="x", call_id="c1"), a_call(content="y", call_id="c2"))
    queue.decide("a1")

    assert expire(queue, id=run.id, by="eve") == ["a2"]

    claim = queue.claim(run.id)
    assert [(verdict.approved, verdict.message is None) for verdict in claim.verdicts] == [(True, True), (False, False)]


def test_what_became_due_meanwhile_is_no_error(queue, clock) -> None:
    run = queue.park(a_call(content="x"), expires_at=TEN)
    queue.park(a_call(content="y"), expires_at=TEN)
    clock.move(hours=2)

    assert expire(queue, id="a1", by="eve") == ["a1"]
    with pytest.raises(AlreadyDecided, match="expire"):
        expire(queue, id="a2", by="eve")
    with pytest.raises(InvalidTransition, match="is ready; nothing of it waits"):
        expire(queue, id=run.id, by="eve")


def test_a_decided_request_cannot_expire(queue) -> None:
    queue.park(a_call(content="x"))
    queue.decide("a1", by="sam")

    with pytest.raises(AlreadyDecided, match="'sam': approve"):
        expire(queue, id="a1")

    assert queue.show("a1").status == "approved"


def test_what_a_sibling_owns_cannot_be_expired(queue, memory) -> None:
    run = queue.park(a_call(content="x"))
    sibling = Queue(memory.at_namespace("acme/osprey"))

    for named in ("a1", run.id, "a9", "n9"):
        with pytest.raises(NotFound):
            expire(sibling, id=named)
    with pytest.raises(InvalidId):
        expire(sibling, id="f1")

    assert queue.show("a1").status == "pending"


def test_the_history_of_a_request_that_is_due_says_that_it_expired(queue, clock) -> None:
    queue.park(a_call(content="x"), expires_at=TEN)
    clock.move(hours=2)

    (decision,) = queue.memory.call("request_history", {"request_id": "a1"})

    assert decision.decision == "expire"


def test_a_check_marks_the_requests_that_are_stale(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    queue.park(a_call("forget", call_id="c1", fact_id="f1"), a_call(content="y", call_id="c2"))
    memory.correct("f1", "Bo owned ingest")

    assert [request.stale for request in memory.call("check_pending")] == [True, False]
    assert [request.stale for request in queue.pending()] == [False, False]
