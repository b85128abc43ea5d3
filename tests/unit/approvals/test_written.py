"""Writes that nobody was asked about: made at once and once, and listed until somebody acknowledges them."""

import pytest

from agents_memory.errors import AlreadyDecided, InvalidTransition, NotFound
from tests.unit.approvals.conftest import OTHER, Queue, a_call

WHAT = {"content": "Cy owns ingest", "entities": ["Cy"]}


def listed(queue):
    return [request.id for request in queue.memory.call("written")]


def acknowledge(queue, request_id="a1", by="eve", **given):
    return queue.memory.call("acknowledge", {"request_id": request_id, "by": by, **given})


def test_a_write_for_review_is_made_once_and_listed_once(queue) -> None:
    first = queue.perform("remember", WHAT, review=True)
    again = queue.perform("remember", WHAT, review=True)

    assert (first.repeated, again.repeated) == (False, True)
    assert first.request_id == "a1"
    assert queue.facts() == ["Cy owns ingest"]
    assert listed(queue) == ["a1"]


def test_a_free_write_is_not_listed(queue) -> None:
    queue.perform("remember", WHAT)

    assert listed(queue) == []


def test_a_write_for_review_shows_what_it_did_with_the_ids_it_gave(queue) -> None:
    queue.memory.remember("Cy owns Billing", entities=["Cy", "Billing"])
    queue.perform("remember", {"content": "Cy owns Ingest", "entities": ["Cy"]}, review=True)

    request = queue.show("a1")

    assert [(change.effect.value, change.id) for change in request.preview.changes] == [
        ("entity matched", "e1"),
        ("fact added", "f2"),
    ]
    assert [conflict.id for conflict in request.preview.conflicts] == ["f1"]


def test_it_is_not_decided_but_acknowledged_once(queue) -> None:
    queue.perform("remember", WHAT, review=True)

    for decision in ("approve", "reject"):
        with pytest.raises(InvalidTransition, match="Acknowledge"):
            queue.decide("a1", decision)
    with pytest.raises(InvalidTransition, match="Acknowledge"):
        queue.memory.call("withdraw", {"id": "a1", "by": "eve"})
    assert acknowledge(queue).status == "done"
    with pytest.raises(AlreadyDecided, match="'eve': acknowledge"):
        acknowledge(queue, by="bob")
    assert listed(queue) == []


def test_what_was_asked_about_is_not_acknowledged(queue) -> None:
    queue.park(a_call(content="x"))

    with pytest.raises(InvalidTransition):
        acknowledge(queue)


def test_an_acknowledgement_is_in_the_audit_chain_with_its_reason(queue, memory) -> None:
    queue.perform("remember", WHAT, review=True)

    done = acknowledge(queue, reason="as it should be")

    rows = memory._database._cursor().execute("SELECT operation, ids, actor FROM audit ORDER BY number").fetchall()
    assert rows[-1] == ("acknowledge", ["a1"], "eve")
    assert done.decisions[0].reason == "as it should be"


def test_a_sibling_sees_and_acknowledges_nothing_and_who_stands_above_does(queue, memory) -> None:
    queue.perform("remember", WHAT, review=True)
    sibling, above = Queue(memory.at_namespace("acme/other")), Queue(memory.at_namespace("acme"))

    assert (listed(sibling), listed(above)) == ([], ["a1"])
    with pytest.raises(NotFound):
        acknowledge(sibling)


def test_the_same_call_of_another_conversation_is_another_write(queue) -> None:
    queue.perform("remember", WHAT, review=True)
    acknowledge(queue)

    other = queue.perform("remember", WHAT, session_id=None)

    assert not other.repeated


def test_a_lost_attempts_write_for_review_is_adopted(queue, clock) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    claim = queue.claim(run.id)
    queue.perform("remember", WHAT, review=True, run_id=run.id, fence=claim.fence, call_id="c2")
    clock.move(seconds=61)

    again = queue.claim(run.id, OTHER)
    adopted = queue.perform("remember", WHAT, review=True, run_id=run.id, fence=again.fence, call_id="c7")

    assert adopted.repeated
    assert listed(queue) == ["a2"]
    assert queue.get(run.id).requests == ("a1",)


def test_a_write_that_fails_lists_nothing(queue) -> None:
    with pytest.raises(NotFound):
        queue.perform("forget", {"fact_id": "f99"}, review=True)

    assert listed(queue) == []


def test_words_kept_as_evidence_are_listed_by_their_arguments(queue) -> None:
    queue.perform("add_episode", {"text": "Cy: mine"}, review=True)

    assert queue.show("a1").arguments == '{"text": "Cy: mine"}'
