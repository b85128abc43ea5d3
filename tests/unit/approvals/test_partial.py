"""Resuming with a part of the decisions: what is decided is done, what waits goes along under its id."""

import pytest

from agents_memory.errors import InvalidTransition, Undecided
from tests.unit.approvals.conftest import OTHER, OWNER, SAVED, a_call

FIRST = a_call(content="Cy owns ingest", call_id="c1")
SECOND = a_call(content="Ada likes tea", call_id="c2")
MAIL = a_call(None, "c3", tool="send_mail", to="eve")


def claim(queue, run_id="n1", owner=OWNER):
    return queue.memory.call("claim_run", {"run_id": run_id, "owner": owner, "partial": True})


def repark(queue, held, *calls, waiting=None):
    asked = {"calls": list(calls), "current_agent": "assistant"}
    left = held.waiting if waiting is None else waiting
    return queue.memory.call(
        "repark_run", {"run_id": held.run.id, "fence": held.fence, "waiting": list(left), **SAVED, **asked}
    )


def end(queue, held, operation, **given):
    return queue.memory.call(operation, {"run_id": held.run.id, "fence": held.fence, **given})


def test_a_run_waits_for_every_decision_by_default(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")

    with pytest.raises(Undecided) as caught:
        queue.claim("n1")

    assert caught.value.details["requests"] == ["a2"]


def test_a_partial_claim_knows_what_is_decided_and_what_waits(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")

    held = claim(queue)

    assert [verdict.request_id for verdict in held.verdicts] == ["a1"]
    assert held.waiting == ("a2",)
    assert held.run.status == "resuming"


def test_a_run_of_which_nothing_is_decided_is_not_claimed_in_part(queue) -> None:
    queue.park(FIRST, SECOND)

    with pytest.raises(Undecided):
        claim(queue)

    assert queue.get("n1").status == "parked"


def test_a_decided_run_is_claimed_whole_either_way(queue) -> None:
    queue.park(FIRST)
    queue.decide("a1")

    assert claim(queue).waiting == ()


def test_a_partial_claim_is_a_claim(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")
    claim(queue)

    with pytest.raises(InvalidTransition, match="being resumed"):
        claim(queue, owner=OTHER)


def test_what_waits_goes_along_under_its_id_with_its_words(queue) -> None:
    queue.say("Ada: I like tea.")
    queue.park(FIRST, SECOND)
    queue.say("Something else.")
    queue.decide("a1")
    held = claim(queue)
    queue.perform("remember", {"content": "Cy owns ingest"}, run_id="n1", fence=held.fence)

    run = repark(queue, held, SECOND)

    assert (run.status, run.revision, run.requests) == ("parked", 2, ("a2",))
    assert queue.show("a1").status == "done"
    (waiting,) = queue.pending()
    assert (waiting.id, waiting.words) == ("a2", "Ada: I like tea.")
    queue.decide("a2")
    assert queue.get("n1").status == "ready"
    again = queue.claim("n1")
    assert [verdict.request_id for verdict in again.verdicts] == ["a2"]
    queue.perform("remember", {"content": "Ada likes tea"}, call_id="c2", run_id="n1", fence=again.fence)
    assert queue.facts() == ["Cy owns ingest", "Ada likes tea"]


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_what_is_decided_while_the_rest_runs_counts(queue, decision) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")
    held = claim(queue)
    queue.decide("a2", decision)

    run = repark(queue, held, SECOND)

    assert (run.status, run.requests) == ("ready", ("a2",))
    (verdict,) = queue.claim("n1").verdicts
    assert (verdict.request_id, verdict.approved) == ("a2", decision == "approve")


def test_a_first_of_two_approvals_goes_along(queue) -> None:
    queue.park(FIRST, SECOND, approvals=2)
    for by in ("eve", "sam"):
        queue.decide("a1", by=by)
    queue.decide("a2", by="eve")

    repark(queue, claim(queue), SECOND)

    assert queue.show("a2").approved_by == ("eve",)
    assert queue.decide("a2", by="sam").status == "approved"


def test_a_call_that_came_up_meanwhile_is_asked_about_beside_what_waits(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")

    run = repark(queue, claim(queue), SECOND, a_call(content="new", call_id="c9"))

    assert run.requests == ("a2", "a3")


def test_the_same_call_that_had_been_decided_is_a_new_request(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1", "reject")

    run = repark(queue, claim(queue), SECOND, FIRST)

    assert run.requests == ("a2", "a3")
    assert queue.show("a1").status == "rejected"


def test_what_waits_for_a_call_that_is_gone_is_withdrawn(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")
    held = claim(queue)

    end(queue, held, "finish_run", result="done")

    request = queue.show("a2")
    assert request.status == "withdrawn"
    assert request.decisions[0].reason == "Its run went on without it."
    assert queue.pending() == ()


def test_a_claim_that_is_given_back_waits_as_before(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")

    assert end(queue, claim(queue), "release_run").status == "parked"
    queue.decide("a2")
    assert queue.get("n1").status == "ready"


def test_all_that_was_decided_before_a_claim_is_given_back_makes_the_run_ready(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")
    held = claim(queue)
    queue.decide("a2")

    assert end(queue, held, "release_run").status == "ready"


def test_a_failed_part_can_be_tried_again_and_writes_once(queue) -> None:
    queue.park(FIRST, SECOND)
    queue.decide("a1")
    held = claim(queue)
    queue.perform("remember", {"content": "Cy owns ingest"}, run_id="n1", fence=held.fence)
    end(queue, held, "fail_run", error="ValueError")

    again = claim(queue)
    repeated = queue.perform("remember", {"content": "Cy owns ingest"}, run_id="n1", fence=again.fence)

    assert (repeated.repeated, again.waiting) == (True, ("a2",))
    assert queue.facts() == ["Cy owns ingest"]


def test_an_approval_for_always_does_not_decide_what_waits(queue) -> None:
    queue.park(FIRST, SECOND, MAIL)
    queue.decide("a1", always=True)

    with pytest.raises(Undecided, match="always would decide a2") as caught:
        claim(queue)

    assert caught.value.details["requests"] == ["a2"]
    queue.decide("a2", "reject")
    assert claim(queue).waiting == ("a3",)


def test_a_foreign_call_that_ran_is_done_and_the_rest_waits(queue) -> None:
    queue.park(MAIL, SECOND)
    queue.decide("a1")
    held = claim(queue)
    end(queue, held, "start_call", call_id="c3")

    repark(queue, held, SECOND)

    assert queue.show("a1").status == "done"
    assert [request.id for request in queue.pending()] == ["a2"]
