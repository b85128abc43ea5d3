"""Effects: a call writes once, with what its reviewer approved, under the newest claim."""

import pytest

from agents_memory.errors import InvalidInput, InvalidTransition, LeaseLost, NotFound, StaleRequest
from tests.unit.approvals.conftest import OTHER, Queue, a_call


def under(claim, **given):
    """The arguments of a call that is made under a claim."""
    return {"run_id": claim.run.id, "fence": claim.fence, **given}


def test_a_call_that_is_made_twice_writes_once(queue) -> None:
    first = queue.perform("remember", {"content": "Cy owns ingest"})
    again = queue.perform("remember", {"content": "Cy owns ingest", "kind": None})

    assert queue.facts() == ["Cy owns ingest"]
    assert (first.repeated, again.repeated) == (False, True)
    assert again.result == first.result


def test_the_same_call_id_with_other_arguments_is_another_call(queue) -> None:
    queue.perform("remember", {"content": "Cy owns ingest"})
    queue.perform("remember", {"content": "Ada likes tea"})

    assert sorted(queue.facts()) == ["Ada likes tea", "Cy owns ingest"]


def test_the_same_call_id_in_another_session_is_another_call(queue) -> None:
    queue.perform("relate", {"source": "Cy", "predicate": "owns", "target": "ingest"}, session_id="one")
    other = queue.perform("relate", {"source": "Cy", "predicate": "owns", "target": "ingest"}, session_id="two")

    assert not other.repeated


def test_a_write_carries_the_words_and_the_call_it_comes_from(queue, memory) -> None:
    queue.say("Cy took ingest over.")

    done = queue.perform("remember", {"content": "Cy owns ingest"})

    (entry,) = memory.provenance(done.result["id"])
    assert (entry.call_id, entry.evidence[0].text) == ("c1", "Cy took ingest over.")


def test_a_reviewed_write_names_its_reviewer_and_its_words(queue, memory) -> None:
    queue.say("Cy took ingest over.")
    run = queue.park(a_call(content="Cy owns ingest"))
    queue.say("Something else entirely.")
    queue.decide("a1", by="eve")

    done = queue.perform("remember", {"content": "Cy owns ingest"}, **under(queue.claim(run.id)))

    (entry,) = memory.provenance(done.result["id"])
    assert (entry.run_id, entry.request_id, entry.approved_by) == ("n1", "a1", "eve")
    assert entry.evidence[0].text == "Cy took ingest over."
    assert queue.show("a1").status == "done"


def test_a_call_that_nobody_approved_is_not_written(queue) -> None:
    with pytest.raises(InvalidTransition, match="needs approval"):
        queue.perform("remember", {"content": "x"}, approved=False)

    assert queue.facts() == []


def test_a_call_that_waits_in_the_queue_is_not_written_whatever_the_sdk_says(queue) -> None:
    queue.park(a_call(content="x"))

    with pytest.raises(InvalidTransition, match="pending"):
        queue.perform("remember", {"content": "x"}, approved=True)

    assert queue.facts() == []


@pytest.mark.parametrize("session_id", ["conv", None])
def test_a_rejected_call_is_not_written_whatever_the_sdk_says(queue, session_id) -> None:
    queue.park(a_call(content="x"))
    queue.decide("a1", "reject")

    with pytest.raises(InvalidTransition, match="rejected"):
        queue.perform("remember", {"content": "x"}, approved=True, session_id=session_id)

    assert queue.facts() == []


def test_an_approved_call_is_written_once_inside_and_outside_of_its_run(queue) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")

    bare = queue.perform("remember", {"content": "x"})
    resumed = queue.perform("remember", {"content": "x"}, **under(queue.claim(run.id)))

    assert queue.facts() == ["x"]
    assert (bare.repeated, resumed.repeated) == (False, True)


def test_an_edited_call_writes_the_reviewers_arguments_and_says_so(queue) -> None:
    run = queue.park(a_call(content="Ada likes tea", kind="fact"))
    queue.decide("a1", "edit", by="eve", reason="she switched", arguments={"content": "Ada likes decaf"})

    done = queue.perform("remember", {"content": "Ada likes tea", "kind": "fact"}, **under(queue.claim(run.id)))

    assert queue.facts() == ["Ada likes decaf"]
    assert (done.reviewed_by, done.reason) == ("eve", "she switched")
    assert {edit.argument: (edit.asked, edit.used) for edit in done.edits} == {
        "content": ("Ada likes tea", "Ada likes decaf"),
        "kind": ("fact", None),
    }


def test_a_repeat_of_what_a_reviewer_changed_is_answered_and_not_written(queue) -> None:
    run = queue.park(a_call(content="Ada likes tea"))
    queue.decide("a1", "edit", arguments={"content": "Ada likes decaf"})
    claim = queue.claim(run.id)
    first = queue.perform("remember", {"content": "Ada likes tea"}, **under(claim))

    asked = {"operation": "remember", "arguments": {"content": "Ada likes tea"}, "run_id": run.id}
    trial = queue.memory.call("try_call", asked)
    again = queue.perform("remember", {"content": "Ada likes tea"}, **under(claim, call_id="c9", approved=False))

    assert trial.handled_by == "a1"
    assert (again.repeated, again.result) == (True, first.result)
    assert queue.facts() == ["Ada likes decaf"]


def test_who_lost_the_claim_writes_nothing(queue, clock) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    lost = queue.claim(run.id)
    clock.move(seconds=61)
    queue.claim(run.id, OTHER)

    with pytest.raises(LeaseLost):
        queue.perform("remember", {"content": "x"}, **under(lost))
    with pytest.raises(LeaseLost):
        queue.perform("remember", {"content": "another"}, **under(lost, call_id="c2"))

    assert queue.facts() == []


def test_a_call_that_came_with_another_id_after_a_lost_attempt_is_written_once(queue, clock) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    first = queue.perform("remember", {"content": "y"}, **under(queue.claim(run.id), call_id="c2"))
    clock.move(seconds=61)
    claim = queue.claim(run.id, OTHER)

    adopted = queue.perform("remember", {"content": "y"}, **under(claim, call_id="c7"))
    genuine = queue.perform("remember", {"content": "y"}, **under(claim, call_id="c8"))

    assert (adopted.repeated, adopted.result) == (True, first.result)
    assert not genuine.repeated


def test_an_effect_that_a_checkpoint_knows_is_nobody_elses(queue, clock) -> None:
    from tests.unit.approvals.conftest import SAVED

    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    claim = queue.claim(run.id)
    queue.perform("remember", {"content": "y"}, **under(claim, call_id="c2"))
    queue.memory.call("checkpoint_run", {**under(claim), **SAVED, "settled": ["c2"]})
    clock.move(seconds=61)

    again = queue.perform("remember", {"content": "y"}, **under(queue.claim(run.id, OTHER), call_id="c7"))

    assert not again.repeated


def test_an_approved_write_that_would_end_another_fact_than_was_seen_is_refused(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    run = queue.park(a_call("forget", fact_id="f1"))
    queue.decide("a1")
    memory.correct("f1", "Bo owned ingest until March")

    with pytest.raises(StaleRequest):
        queue.perform("forget", {"fact_id": "f1"}, **under(queue.claim(run.id)))

    assert memory.get("f1").content == "Bo owned ingest until March"


def test_what_a_sibling_created_meanwhile_does_not_stop_an_approved_write(queue) -> None:
    run = queue.park(
        a_call(content="Cy owns ingest", entities=["Cy"], call_id="c1"),
        a_call(content="Cy lives in Oslo", entities=["Cy"], call_id="c2"),
    )
    queue.decide("a1")
    queue.decide("a2")
    claim = queue.claim(run.id)

    queue.perform("remember", {"content": "Cy owns ingest", "entities": ["Cy"]}, **under(claim))
    queue.perform("remember", {"content": "Cy lives in Oslo", "entities": ["Cy"]}, **under(claim, call_id="c2"))

    assert len(queue.facts()) == 2


def test_an_approved_write_that_could_not_be_done_is_withdrawn_with_its_run(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    run = queue.park(a_call("forget", fact_id="f1"))
    queue.decide("a1")
    memory.forget("f1")
    claim = queue.claim(run.id)

    queue.memory.call("finish_run", {**under(claim), "result": "done"})

    request = queue.show("a1")
    assert request.status == "withdrawn"
    assert [decision.decision for decision in request.decisions] == ["approve", "withdraw"]


def test_a_write_goes_to_the_namespace_that_was_reviewed(queue, memory) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")
    claim = queue.claim(run.id)

    with pytest.raises(NotFound):
        Queue(memory.at_namespace("acme/other")).perform("remember", {"content": "x"}, **under(claim))


def test_only_the_arguments_of_the_tool_can_be_used(queue) -> None:
    with pytest.raises(InvalidInput, match="no argument 'pinned'"):
        queue.perform("remember", {"content": "x", "pinned": True})


@pytest.mark.parametrize("operation", ["decide", "park_run", "perform", "session_append"])
def test_only_a_tool_can_be_performed(queue, operation) -> None:
    with pytest.raises(InvalidInput, match="no tool"):
        queue.perform(operation, {})


def test_a_run_that_does_not_exist_lends_no_claim(queue) -> None:
    with pytest.raises((LeaseLost, NotFound)):
        queue.perform("remember", {"content": "x"}, run_id="n99", fence=1)


def test_now_in_a_call_means_when_it_was_made_not_when_it_was_approved(queue, memory, clock) -> None:
    asked = clock.moment
    run = queue.park(a_call(content="Cy owns ingest"))
    clock.move(days=9)
    queue.decide("a1")
    claim = queue.claim(run.id)

    done = queue.perform("remember", {"content": "Cy owns ingest"}, run_id=run.id, fence=claim.fence)

    fact = memory.get(done.result["id"])
    assert abs((fact.valid_from - asked).total_seconds()) < 1
    assert (fact.tx_from - asked).days == 9
