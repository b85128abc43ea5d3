"""Deciding: once, by a person who saw what would happen."""

import pytest

from agents_memory.errors import AlreadyDecided, InvalidInput, InvalidTransition, NotFound, StaleRequest
from tests.unit.approvals.conftest import Queue, a_call


def test_the_oldest_request_is_listed_first(queue, clock) -> None:
    queue.park(a_call(content="first"))
    clock.move(hours=1)
    queue.park(a_call(content="second"))

    assert [request.id for request in queue.pending()] == ["a1", "a2"]


def test_a_reviewer_sees_the_namespace_and_below(queue, memory) -> None:
    queue.park(a_call(content="x"))
    Queue(memory.at_namespace("acme/other")).park(a_call(content="y"))
    Queue(memory.at_namespace("acme/kestrel2")).park(a_call(content="z"))

    assert len(Queue(memory.at_namespace("acme")).pending()) == 3
    assert len(queue.pending()) == 1
    assert Queue(memory.at_namespace("acme/kestrel/main")).pending() == ()


def test_a_request_of_a_sibling_is_not_found(queue, memory) -> None:
    queue.park(a_call(content="x"))
    sibling = Queue(memory.at_namespace("acme/other"))

    with pytest.raises(NotFound):
        sibling.decide("a1")
    with pytest.raises(NotFound):
        sibling.show("a1")
    with pytest.raises(NotFound):
        sibling.get("n1")
    with pytest.raises(NotFound):
        sibling.claim("n1")


def test_the_second_decider_is_told_who_was_first(queue) -> None:
    queue.park(a_call(content="x"))
    queue.decide("a1", "reject", by="eve")

    with pytest.raises(AlreadyDecided, match="'eve': reject") as caught:
        queue.decide("a1", "approve", by="bob")

    assert caught.value.details["decided_by"] == "eve"
    assert queue.show("a1").status == "rejected"


def test_the_last_decision_makes_the_run_ready(queue) -> None:
    run = queue.park(a_call(content="x", call_id="c1"), a_call(content="y", call_id="c2"))

    queue.decide("a1")
    assert queue.get(run.id).status == "parked"

    queue.decide("a2", "reject")
    assert queue.get(run.id).status == "ready"


def test_a_decision_keeps_who_why_and_when(queue, clock) -> None:
    queue.park(a_call(content="x"))

    queue.decide("a1", "reject", by="eve", reason="not ours to keep")

    (decision,) = queue.memory.call("request_history", {"request_id": "a1"})
    assert (decision.decided_by, decision.decision, decision.reason) == ("eve", "reject", "not ours to keep")
    assert (decision.decided_at - clock.moment).total_seconds() < 1


def test_every_decision_is_in_the_audit_chain(queue, memory) -> None:
    queue.park(a_call(content="x"))
    queue.decide("a1", by="eve")

    rows = memory._database._cursor().execute("SELECT operation, ids, actor FROM audit ORDER BY number").fetchall()

    assert rows == [("park", ["n1", "a1"], "bot"), ("approve", ["a1"], "eve")]


def test_what_was_decided_is_what_was_seen(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    queue.park(a_call("forget", fact_id="f1"))
    seen = queue.show("a1").preview.digest
    memory.correct("f1", "Bo owned ingest")

    with pytest.raises(StaleRequest):
        queue.decide("a1", preview=seen)

    assert queue.show("a1").stale
    assert queue.decide("a1", preview=queue.show("a1").preview.digest).status == "approved"


def test_a_request_is_not_stale_while_what_it_would_change_stands(queue, memory, clock) -> None:
    queue.park(a_call(content="Cy owns ingest", entities=["Cy"]))
    memory.remember("Something else", entities=["Bo"])
    clock.move(days=3)

    shown = queue.show("a1")

    assert not shown.stale
    assert shown.preview.digest == queue.pending()[0].preview.digest


def test_looking_writes_nothing(queue, memory) -> None:
    from tests.storage import dump

    memory.remember("Bo owns ingest")
    queue.park(a_call("supersede", fact_id="f1", content="Cy owns ingest"))
    before = dump(memory._database)

    queue.show("a1")
    queue.pending()

    assert dump(memory._database) == before


def test_a_call_that_cannot_work_any_more_cannot_be_approved(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    queue.park(a_call("forget", fact_id="f1"))
    memory.forget("f1")

    with pytest.raises(InvalidTransition, match="Edit or reject"):
        queue.decide("a1")

    assert queue.decide("a1", "reject").status == "rejected"


def test_an_edit_shows_and_keeps_the_reviewers_arguments(queue) -> None:
    queue.park(a_call(content="Ada likes tea"))

    decided = queue.decide("a1", "edit", arguments={"content": "Ada likes decaf"})

    assert decided.status == "approved"
    assert decided.arguments == '{"content": "Ada likes decaf"}'
    assert [change.text for change in decided.preview.changes] == ["Ada likes decaf"]
    assert decided.decisions[0].arguments == '{"content": "Ada likes decaf"}'


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "x", "tool": "forget"},
        {"content": "x", "operation": "forget"},
        {"content": "x", "pinned": True},
        {"content": ""},
        {"content": 3},
        {},
        None,
    ],
)
def test_an_edit_that_does_not_fit_the_tool_is_refused_and_the_request_waits(queue, arguments) -> None:
    queue.park(a_call(content="Ada likes tea"))

    with pytest.raises(InvalidInput):
        queue.decide("a1", "edit", **({} if arguments is None else {"arguments": arguments}))

    assert queue.show("a1").status == "pending"


def test_an_edit_cannot_point_at_what_does_not_exist(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    queue.park(a_call("forget", fact_id="f1"))

    with pytest.raises(InvalidTransition):
        queue.decide("a1", "edit", arguments={"fact_id": "f99"})

    assert queue.show("a1").status == "pending"


def test_the_arguments_of_a_foreign_tool_cannot_be_edited(queue) -> None:
    queue.park(a_call(None, tool="send_mail", to="eve"))

    with pytest.raises(InvalidInput, match="cannot be edited"):
        queue.decide("a1", "edit", arguments={"to": "bob"})

    assert queue.decide("a1").status == "approved"


def test_only_an_edit_takes_arguments(queue) -> None:
    queue.park(a_call(content="x"))

    with pytest.raises(InvalidInput):
        queue.decide("a1", "approve", arguments={"content": "y"})

    assert queue.show("a1").status == "pending"


def test_a_request_whose_time_is_over_expires_and_the_model_is_told(queue, clock) -> None:
    run = queue.park(a_call(content="x"), expires_at="2026-03-02T10:00:00Z")
    clock.move(minutes=61)

    with pytest.raises(AlreadyDecided):
        queue.decide("a1")

    request = queue.show("a1")
    assert request.status == "expired"
    assert request.decisions[0].decided_by == "agents_memory"
    assert "expired" in queue.claim(run.id).verdicts[0].message
    assert queue.facts() == []


def test_a_request_is_decided_until_its_time_is_over(queue, clock) -> None:
    queue.park(a_call(content="x"), expires_at="2026-03-02T10:00:00Z")
    clock.move(minutes=59)

    assert queue.decide("a1").status == "approved"


def test_expiry_is_in_the_audit_chain(queue, memory, clock) -> None:
    queue.park(a_call(content="x"), expires_at="2026-03-02T10:00:00Z")
    clock.move(minutes=61)

    assert queue.pending() == ()

    rows = memory._database._cursor().execute("SELECT operation, actor FROM audit ORDER BY number").fetchall()
    assert rows[-1] == ("expire", "agents_memory")


def test_a_request_whose_change_is_another_by_now_is_not_approved_unseen(queue, memory) -> None:
    fact = memory.remember("Bo owns ingest.").id
    queue.park(a_call("supersede", fact_id=fact, content="Cy owns ingest."))
    memory.correct(fact, "Bob owns ingest.")

    with pytest.raises(StaleRequest):
        queue.decide("a1")

    assert queue.decide("a1", preview=queue.show("a1").preview.digest).status == "approved"


def test_a_view_of_another_moment_decides_nothing(queue, memory) -> None:
    queue.park(a_call(content="x"))

    with pytest.raises(InvalidInput, match="read-only"):
        memory.as_of(known_at="2026-03-02").call("decide", {"request_id": "a1", "decision": "reject", "by": "eve"})


def test_without_descendants_only_requests_of_the_very_namespace_are_listed(queue, memory) -> None:
    queue.park(a_call(content="here"))
    below = Queue(memory.at_namespace("acme/kestrel/docs"))
    below.park(a_call(content="below"))
    above = memory.at_namespace("acme")

    assert [request.id for request in memory.call("pending")] == ["a1", "a2"]
    assert [request.id for request in memory.call("pending", {"descendants": False})] == ["a1"]
    assert [request.id for request in below.memory.call("pending", {"descendants": False})] == ["a2"]
    assert above.call("pending", {"descendants": False}) == ()
