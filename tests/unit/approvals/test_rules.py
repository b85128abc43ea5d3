"""Who may decide and how many must agree: kept with the run, and held to in the transaction of the decision."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agents_memory import Memory
from agents_memory.approvals.rules import counting
from agents_memory.errors import AlreadyDecided, InvalidInput, InvalidTransition, MayNotDecide, StaleRequest
from tests.unit.approvals.conftest import Queue, a_call


def approved(queue, request_id="a1"):
    request = queue.show(request_id)
    return request.status.value, request.approved_by, request.approvals_needed


def test_one_approval_is_enough_by_default(queue) -> None:
    queue.park(a_call(content="x"), by="bo")

    queue.decide("a1", by="bo")

    assert approved(queue) == ("approved", ("bo",), 1)


@pytest.mark.parametrize("by", ["bo", "Bo ", "BO", "b\u200bo", "bot"])
@pytest.mark.parametrize("decision", ["approve", "reject", "edit"])
def test_who_asked_may_not_decide_however_the_name_is_written(queue, by, decision) -> None:
    queue.park(a_call(content="x"), by="bo", not_by_requester=True)
    given = {"arguments": {"content": "y"}} if decision == "edit" else {}

    with pytest.raises(MayNotDecide, match="withdraw it"):
        queue.decide("a1", decision, by=by, **given)

    assert approved(queue) == ("pending", (), 1)
    assert queue.decide("a1", decision, by="eve", **given).status in {"approved", "rejected"}


def test_who_asked_may_withdraw(queue) -> None:
    queue.park(a_call(content="x"), by="bo", not_by_requester=True)

    assert queue.memory.call("withdraw", {"id": "a1", "by": "bo"}).status == "withdrawn"


def test_a_rule_about_who_asked_needs_to_know_who_that_is() -> None:
    with Memory.open(":memory:") as memory:
        nobody = Queue(memory)

        with pytest.raises(InvalidInput, match="say who asks"):
            nobody.park(a_call(content="x"), not_by_requester=True)
        nobody.park(a_call(content="x"), not_by_requester=True, by="bo")
        with pytest.raises(MayNotDecide):
            nobody.decide("a1", by="bo")


def test_two_people_must_approve(queue) -> None:
    run = queue.park(a_call(content="x"), approvals=2)

    first = queue.decide("a1", by="eve")
    assert (first.status, first.approved_by, first.approvals_needed) == ("pending", ("eve",), 2)
    assert queue.get(run.id).status == "parked"
    assert [request.id for request in queue.pending()] == ["a1"]

    second = queue.decide("a1", by="sam")
    assert (second.status, second.approved_by) == ("approved", ("eve", "sam"))
    assert queue.get(run.id).status == "ready"
    assert [decision.decided_by for decision in second.decisions] == ["eve", "sam"]


@pytest.mark.parametrize("by", ["eve", "Eve", " eve"])
def test_the_same_person_is_not_two(queue, by) -> None:
    queue.park(a_call(content="x"), approvals=2)
    queue.decide("a1", by="eve")

    with pytest.raises(MayNotDecide, match="1 of 2") as caught:
        queue.decide("a1", by=by)

    assert (caught.value.details["approvals"], caught.value.details["approvals_needed"]) == (1, 2)
    assert approved(queue) == ("pending", ("eve",), 2)


def test_one_rejection_is_enough_whoever_approved_before(queue) -> None:
    queue.park(a_call(content="x"), approvals=2)
    queue.decide("a1", by="eve")

    assert queue.decide("a1", "reject", by="eve").status == "rejected"
    with pytest.raises(AlreadyDecided):
        queue.decide("a1", by="sam")


def test_an_edit_starts_the_count_anew_and_the_next_person_must_have_seen_it(queue) -> None:
    queue.park(a_call(content="Ada likes tea", kind="fact"), approvals=2)
    queue.decide("a1", by="eve")

    queue.decide("a1", "edit", by="sam", arguments={"content": "Ada likes tea", "kind": "preference"})
    assert approved(queue) == ("pending", ("sam",), 2)
    with pytest.raises(StaleRequest, match="edited it"):
        queue.decide("a1", by="eve")

    done = queue.decide("a1", by="eve", preview=queue.show("a1").preview.digest)
    assert (done.status, done.approved_by) == ("approved", ("sam", "eve"))
    assert done.arguments == '{"content": "Ada likes tea", "kind": "preference"}'


def test_an_edit_can_be_edited_again(queue) -> None:
    queue.park(a_call(content="Ada likes tea"), approvals=2)
    queue.decide("a1", "edit", by="eve", arguments={"content": "Ada likes decaf"})
    seen = queue.show("a1").preview.digest

    queue.decide("a1", "edit", by="sam", arguments={"content": "Ada likes mate"}, preview=seen)

    assert approved(queue) == ("pending", ("sam",), 2)
    with pytest.raises(StaleRequest):
        queue.decide("a1", by="eve", preview=seen)
    run = queue.get("n1")
    queue.decide("a1", by="eve", preview=queue.show("a1").preview.digest)
    claim = queue.claim(run.id)
    queue.perform("remember", {"content": "Ada likes tea"}, run_id=run.id, fence=claim.fence)
    assert queue.facts() == ["Ada likes mate"]


def test_an_approval_of_what_memory_was_before_counts_no_more(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    queue.park(a_call("forget", fact_id="f1"), approvals=2)
    queue.decide("a1", by="eve")
    memory.correct("f1", "Bob owns ingest")
    now = queue.show("a1").preview.digest

    assert approved(queue) == ("pending", (), 2)
    assert queue.decide("a1", by="sam", preview=now).status == "pending"
    assert queue.decide("a1", by="eve", preview=now).status == "approved"


def test_both_rules_hold_together(queue) -> None:
    queue.park(a_call(content="x"), approvals=2, not_by_requester=True, by="bo")
    queue.decide("a1", by="eve")

    with pytest.raises(MayNotDecide):
        queue.decide("a1", by="bo")

    assert queue.decide("a1", by="sam").status == "approved"


def test_of_two_people_who_approve_at_once_both_count(queue) -> None:
    queue.park(a_call(content="x"), approvals=2)

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda by: queue.decide("a1", by=by).status, ["eve", "sam"]))

    assert sorted(done) in (["approved", "approved"], ["approved", "pending"])
    assert approved(queue)[0] == "approved"


def test_the_same_person_at_once_counts_once(queue) -> None:
    queue.park(a_call(content="x"), approvals=2)

    def approve(_):
        try:
            return queue.decide("a1", by="eve").status.value
        except MayNotDecide:
            return "refused"

    with ThreadPoolExecutor(4) as pool:
        done = sorted(pool.map(approve, range(4)))

    assert done == ["pending", "refused", "refused", "refused"]


def test_the_rules_are_in_the_file_and_hold_after_a_resume_stopped_again(tmp_path: Path) -> None:
    from tests.unit.approvals.conftest import SAVED

    path = tmp_path / "team.duckdb"
    with Memory.open(path, namespace="acme", writer="bot") as memory:
        Queue(memory).park(a_call(content="x"), approvals=2, not_by_requester=True, by="bo")
    with Memory.open(path, namespace="acme", writer="other") as memory:
        queue = Queue(memory)
        queue.decide("a1", by="eve")
        queue.decide("a1", by="sam")
        claim = queue.claim("n1")
        asked = {"calls": [a_call(content="y", call_id="c2")], "current_agent": "assistant"}
        memory.call("repark_run", {"run_id": "n1", "fence": claim.fence, **SAVED, **asked})

        assert queue.decide("a2", by="eve").status == "pending"
        for by in ("eve", "bo", "other"):
            with pytest.raises(MayNotDecide):
                queue.decide("a2", by=by)


def test_parking_again_under_other_rules_is_refused(queue) -> None:
    run = queue.park(a_call(content="x"))

    with pytest.raises(InvalidTransition, match="other rules"):
        queue.park(a_call(content="x"), approvals=2)

    assert queue.park(a_call(content="x")).id == run.id


@pytest.mark.parametrize("approvals", [0, -1, 10, True, "2", 1.0])
def test_a_number_of_people_is_a_small_whole_number(queue, approvals) -> None:
    with pytest.raises(InvalidInput):
        queue.park(a_call(content="x"), approvals=approvals)


def test_only_approvals_of_the_newest_arguments_on_this_preview_count_one_a_person() -> None:
    def made(decision, by, digest="d"):
        return {"decision": decision, "decided_by": by, "preview_digest": digest}

    rows = [
        made("approve", "eve"),
        made("edit", "sam"),
        made("approve", "dan", "other"),
        made("approve", "Sam"),
        made("approve", "eve"),
        made("withdraw", "bo"),
    ]

    assert [row["decided_by"] for row in counting(rows, "d")] == ["sam", "eve"]
    assert counting([], "d") == []


def test_an_approval_for_always_is_kept_with_its_decision(queue) -> None:
    run = queue.park(a_call(content="x"), a_call(content="y", call_id="c2"))
    queue.decide("a1", always=True)
    queue.decide("a2")

    assert queue.show("a1").decisions[0].always
    assert [verdict.always for verdict in queue.claim(run.id).verdicts] == [True, False]


def test_of_two_people_both_must_say_always(queue) -> None:
    run = queue.park(a_call(content="x"), a_call(content="y", call_id="c2"), approvals=2)
    for request_id, always in (("a1", True), ("a2", False)):
        queue.decide(request_id, by="eve", always=True)
        queue.decide(request_id, by="sam", always=always)

    assert [verdict.always for verdict in queue.claim(run.id).verdicts] == [True, False]


@pytest.mark.parametrize("decision", ["reject", "edit"])
def test_only_an_approval_is_for_always(queue, decision) -> None:
    queue.park(a_call(content="x"))
    given = {"arguments": {"content": "y"}} if decision == "edit" else {}

    with pytest.raises(InvalidInput, match="always"):
        queue.decide("a1", decision, always=True, **given)

    assert queue.show("a1").status == "pending"
