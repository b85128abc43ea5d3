"""Parking: one request per call, and nobody is asked about a call that cannot work."""

import pytest

from agents_memory.errors import InvalidInput, NotFound, WrongNamespace
from tests.unit.approvals.conftest import a_call


def test_a_parked_run_waits_with_one_request_per_call(queue) -> None:
    run = queue.park(a_call(content="Cy owns ingest", call_id="c1"), a_call(content="Ada likes tea", call_id="c2"))

    assert (run.status, run.revision, run.attempt) == ("parked", 1, 0)
    assert [request.id for request in queue.pending()] == list(run.requests)


def test_a_parked_write_is_nowhere_in_memory(queue, memory) -> None:
    queue.park(a_call(content="Cy owns ingest", entities=["Cy"]))

    assert queue.facts() == []
    with pytest.raises(NotFound):
        memory.entity("Cy")


def test_a_request_shows_the_words_it_comes_from(queue) -> None:
    queue.say("Cy took ingest over.")

    queue.park(a_call(content="Cy owns ingest"))

    assert queue.pending()[0].words == "Cy took ingest over."


def test_nulls_of_a_strict_schema_are_no_arguments(queue) -> None:
    queue.park(a_call(content="Cy owns ingest", kind=None, valid_from=None))

    assert queue.pending()[0].arguments == '{"content": "Cy owns ingest"}'


@pytest.mark.parametrize(
    "call",
    [
        a_call("forget", fact_id="f99"),
        a_call(content=" "),
        a_call(content="x", pinned=True),
        a_call(content="x", tool_name="forget"),
        {**a_call(), "arguments": "{bad"},
        {**a_call(), "arguments": "[]"},
        {**a_call(), "arguments": '{"content": "\\ud800"}'},
        {**a_call(), "arguments": '{"content": NaN}'},
    ],
)
def test_a_call_that_cannot_work_is_rejected_at_once_and_nobody_is_asked(queue, call) -> None:
    run = queue.park(call)

    request = queue.show(run.requests[0])
    assert run.status == "ready"
    assert queue.pending() == ()
    assert request.status == "rejected"
    assert [(decision.decision, decision.decided_by) for decision in request.decisions] == [("reject", "agents_memory")]
    assert request.decisions[0].reason == request.preview.problem


def test_the_reason_of_a_call_that_cannot_work_is_what_the_model_is_told(queue) -> None:
    run = queue.park(a_call("forget", fact_id="f99"))

    (verdict,) = queue.claim(run.id).verdicts

    assert not verdict.approved
    assert "no fact f99" in verdict.message


def test_a_run_waits_while_one_of_its_calls_can_work(queue) -> None:
    run = queue.park(a_call("forget", fact_id="f99", call_id="c1"), a_call(content="Cy owns ingest", call_id="c2"))

    assert run.status == "parked"
    assert [request.call_id for request in queue.pending()] == ["c2"]


def test_a_foreign_tool_is_asked_about_as_it_is(queue) -> None:
    queue.park(a_call(None, tool="send_mail", to="eve"))

    (request,) = queue.pending()
    assert (request.tool, request.operation, request.preview.changes) == ("send_mail", None, ())


def test_only_a_tool_can_be_asked_about(queue) -> None:
    run = queue.park(a_call("decide", request_id="a1", decision="approve", by="me"))

    assert run.status == "ready"
    assert queue.show(run.requests[0]).status == "rejected"


def test_a_call_outside_of_the_namespace_is_not_parked(queue) -> None:
    with pytest.raises(WrongNamespace):
        queue.park({**a_call(content="x"), "namespace": "acme/other"})

    assert queue.pending() == ()


def test_a_call_below_the_namespace_is_reviewed_there(queue, memory) -> None:
    memory.at_namespace("acme/kestrel/main").remember("Cy owns ingest")

    run = queue.park({**a_call("forget", fact_id="f1"), "namespace": "acme/kestrel/main"})

    assert queue.pending()[0].namespace == "acme/kestrel/main"
    assert run.namespace == "acme/kestrel"


def test_nothing_is_parked_above_every_namespace(memory) -> None:
    from agents_memory import Memory
    from tests.unit.approvals.conftest import Queue

    with Memory.open(":memory:", namespace="") as above, pytest.raises(InvalidInput):
        Queue(above).park(a_call(content="x"))


def test_a_state_that_waits_already_is_not_parked_again(queue) -> None:
    first = queue.park(a_call(content="Cy likes tea"))

    again = queue.park(a_call(content="Cy likes tea"))

    assert again == first
    assert [request.id for request in queue.pending()] == ["a1"]


def test_the_same_words_in_another_conversation_are_another_run(queue) -> None:
    first = queue.park(a_call(content="Cy likes tea"))

    other = queue.park(a_call(content="Cy likes tea"), session_id="other")

    assert other.id != first.id
