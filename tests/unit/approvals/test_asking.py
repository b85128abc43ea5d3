"""Asking without a run: it waits as any other request, and approving it writes it, once, in the decision itself."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agents_memory import Memory
from agents_memory.approvals import asking
from agents_memory.errors import (
    AgentsMemoryError,
    AlreadyDecided,
    InvalidInput,
    InvalidTime,
    InvalidTransition,
    MayNotDecide,
    NotFound,
    StaleRequest,
)
from agents_memory.graph.scope import Scope
from agents_memory.operations import CATALOGUE, Risk, call_json, operation_named
from agents_memory.types import Episode, Receipt
from tests.storage import broken_links, dump, line_from, start_python
from tests.unit.approvals.conftest import Queue, a_call

WHAT = {"content": "Cy owns ingest", "entities": ["Cy"]}


@pytest.fixture
def asked(memory):
    return memory.request_approval("remember", WHAT)


def contents(memory):
    return [fact.content for fact in memory.facts()]


# -- asking ----------------------------------------------------------------------------------------------------------


def test_it_waits_in_the_queue_and_writes_nothing(queue, memory) -> None:
    memory.request_approval("remember", WHAT, by="mail-reader", reason="A mail said so", words="Cy: mine now")

    (request,) = queue.pending()
    assert (request.id, request.status, request.run_id, request.tool) == ("a1", "pending", None, "remember")
    assert (request.requested_by, request.reason, request.words) == ("mail-reader", "A mail said so", "Cy: mine now")
    assert [change.text for change in request.preview.changes] == ["Cy", "Cy owns ingest"]
    assert json.loads(request.arguments) == WHAT
    assert request.receipt is None
    assert contents(memory) == []


def test_who_asks_is_the_handles_writer_unless_said(memory) -> None:
    assert memory.request_approval("remember", WHAT).requested_by == "bot"
    assert memory.request_approval("remember", WHAT, by="bo").requested_by == "bo"


def test_every_argument_of_the_operation_can_be_asked_for(queue, memory) -> None:
    memory.request_approval(
        "remember", {"content": "x", "relate": [("Cy", "owns", "ingest")], "importance": 0.9, "pinned": True}
    )
    queue.decide("a1")

    assert memory.get("f1").pinned
    assert memory.about("Cy").relations[0].predicate == "owns"


def test_what_is_asked_for_is_kept_as_json_whatever_it_was_given_as(memory, clock) -> None:
    request = memory.request_approval(
        "remember", {"content": "x", "valid_from": clock.moment, "entities": ("  Cy ", "cy"), "kind": None}
    )

    assert json.loads(request.arguments) == {
        "content": "x",
        "valid_from": "2026-03-02T09:00:00Z",
        "entities": ["Cy"],
    }


@pytest.mark.parametrize(
    ("operation", "arguments", "error"),
    [
        ("forget", {"fact_id": "f9"}, NotFound),
        ("forget", {"fact_id": 9}, InvalidInput),
        ("remember", {"content": " "}, InvalidInput),
        ("remember", {"content": "x", "colour": "red"}, InvalidInput),
        ("remember", {"content": "x", "episode": "p9"}, NotFound),
        ("remember", {"content": "x", "valid_from": "2026-03-02T09:00:00"}, InvalidTime),
        ("remember", {"content": "\ud800"}, InvalidInput),
        ("remember", [], InvalidInput),
        ("recall", {"query": "x"}, InvalidInput),
        ("decide", {"request_id": "a1", "decision": "approve", "by": "eve"}, InvalidInput),
        ("request_approval", {"operation": "remember", "arguments": WHAT}, InvalidInput),
        ("session_clear", {"session_id": "conv"}, InvalidInput),
        ("remind", {}, NotFound),
    ],
)
def test_nobody_is_asked_about_what_cannot_work(memory, operation, arguments, error) -> None:
    before = dump(memory._database)

    with pytest.raises(error):
        memory.request_approval(operation, arguments)

    assert dump(memory._database) == before


@pytest.mark.parametrize(
    "given",
    [
        {"expires_at": "2026-03-02T08:59:00Z"},
        {"expires_at": "2026-03-02T10:00:00"},
        {"approvals": 0},
        {"by": " "},
        {"words": ""},
        {"session_id": " "},
        {"session_id": 3},
    ],
)
def test_a_request_that_could_not_be_decided_is_refused(memory, given) -> None:
    before = dump(memory._database)

    with pytest.raises(InvalidInput):
        memory.request_approval("remember", WHAT, **given)

    assert dump(memory._database) == before


def test_a_handle_that_cannot_write_asks_for_nothing(memory) -> None:
    with pytest.raises(InvalidInput, match="read-only"):
        memory.as_of(known_at="2026-03-01").call("request_approval", {"operation": "remember", "arguments": WHAT})
    with Memory.open(":memory:", namespace="") as above, pytest.raises(InvalidInput, match="above"):
        above.request_approval("remember", WHAT)


def test_the_very_same_that_waits_is_not_asked_twice(queue, memory, clock) -> None:
    first = memory.request_approval("remember", WHAT, expires_at="2026-03-02T10:00:00Z")

    assert memory.request_approval("remember", dict(reversed(WHAT.items()))) == first
    others = [
        memory.request_approval("remember", WHAT, by="bo"),
        memory.request_approval("remember", WHAT, approvals=2),
        memory.request_approval("remember", WHAT, words="Cy: mine now"),
        memory.request_approval("remember", WHAT, session_id="conv"),
        memory.at_namespace("acme/other").request_approval("remember", WHAT),
    ]
    assert [request.id for request in others] == ["a2", "a3", "a4", "a5", "a6"]

    clock.move(hours=2)
    assert memory.request_approval("remember", WHAT).id == "a7"
    queue.decide("a7", "reject")
    assert memory.request_approval("remember", WHAT).id == "a8"


# -- deciding --------------------------------------------------------------------------------------------------------


def test_approving_writes_it_at_once_and_says_what_was_written(queue, memory, asked) -> None:
    decided = queue.decide(asked.id)

    assert decided.status == "done"
    assert (decided.receipt.status, decided.receipt.id) == ("created", "f1")
    assert contents(memory) == ["Cy owns ingest"]
    assert queue.pending() == ()
    assert queue.show(asked.id).receipt == decided.receipt


def test_the_second_decider_is_told_who_was_first_and_writes_nothing(queue, memory, asked) -> None:
    queue.decide(asked.id, by="eve")

    for decision in ("approve", "reject"):
        with pytest.raises(AlreadyDecided, match="'eve': approve"):
            queue.decide(asked.id, decision, by="bob")
    with pytest.raises(AlreadyDecided):
        memory.call("withdraw", {"id": asked.id, "by": "bob"})

    assert contents(memory) == ["Cy owns ingest"]
    assert len(memory.provenance("f1")) == 1


def test_an_edit_writes_the_reviewers_arguments(queue, memory, asked) -> None:
    decided = queue.decide(asked.id, "edit", arguments={"content": "Cy reviews ingest", "importance": 0.9})

    assert decided.status == "done"
    assert json.loads(decided.arguments) == {"content": "Cy reviews ingest", "importance": 0.9}
    assert contents(memory) == ["Cy reviews ingest"]
    assert memory.get("f1").importance == 0.9


@pytest.mark.parametrize("arguments", [{"content": ""}, {"content": "x", "tool": "forget"}, {}])
def test_an_edit_that_does_not_fit_leaves_it_waiting(queue, memory, asked, arguments) -> None:
    with pytest.raises(InvalidInput):
        queue.decide(asked.id, "edit", arguments=arguments)

    assert queue.show(asked.id).status == "pending"
    assert contents(memory) == []


@pytest.mark.parametrize("refuse", ["reject", "withdraw", "expire", "time"])
def test_what_is_not_approved_writes_nothing(queue, memory, clock, refuse) -> None:
    memory.request_approval("remember", WHAT, words="Cy: mine", expires_at="2026-03-02T10:00:00Z")
    if refuse == "reject":
        queue.decide("a1", "reject", reason="no")
    elif refuse == "time":
        clock.move(hours=2)
    else:
        memory.call(refuse, {"id": "a1", "by": "eve"})

    expected = {"reject": "rejected", "withdraw": "withdrawn"}.get(refuse, "expired")
    assert queue.show("a1").status == expected
    rows = dump(memory._database)
    assert [table for table in ("fact_versions", "episodes", "entities", "evidence", "effects") if rows[table]] == []


def test_an_approval_for_always_needs_a_run(queue, asked) -> None:
    with pytest.raises(InvalidInput, match="no run"):
        queue.decide(asked.id, always=True)


def test_it_is_decided_and_not_acknowledged(queue, memory, asked) -> None:
    with pytest.raises(InvalidTransition, match="Decide it"):
        memory.call("acknowledge", {"request_id": asked.id, "by": "eve"})


def test_every_write_that_can_be_asked_for_says_what_it_did(queue, memory) -> None:
    memory.remember("Bo owns ingest", entities=["Bo", "ingest"], relate=[("Bo", "owns", "ingest")])
    wanted = {
        "remember": WHAT,
        "correct": {"fact_id": "f1", "content": "Bob owns ingest"},
        "supersede": {"fact_id": "f1", "content": "Cy owns ingest now"},
        "relate": {"source": "Cy", "predicate": "knows", "target": "Bo"},
        "unrelate": {"source": "Cy", "predicate": "knows", "target": "Bo"},
        "add_alias": {"entity": "Cy", "alias": "Cyrus"},
        "add_episode": {"text": "Cy: mine"},
        "forget": {"fact_id": "f1"},
    }

    receipts = {}
    for name, arguments in wanted.items():
        request = memory.request_approval(name, arguments)
        receipts[name] = queue.decide(request.id).receipt

    gated = {name for name, entry in CATALOGUE.items() if entry.risk is Risk.WRITE and entry.tool_parameters}
    assert receipts.keys() == gated
    kinds = {name: Episode if name == "add_episode" else Receipt for name in gated}
    assert all(type(receipt) is kinds[name] for name, receipt in receipts.items())


# -- what was decided is what was seen -------------------------------------------------------------------------------


def test_what_changed_since_it_was_asked_is_not_approved_unseen(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    memory.request_approval("forget", {"fact_id": "f1"})
    memory.correct("f1", "Bob owns ingest")

    with pytest.raises(StaleRequest):
        queue.decide("a1")

    assert queue.show("a1").stale
    assert contents(memory) == ["Bob owns ingest"]
    assert queue.decide("a1", preview=queue.show("a1").preview.digest).receipt.status == "forgotten"


def test_what_was_said_meanwhile_is_not_said_twice_unseen(queue, memory, asked) -> None:
    memory.remember("Cy owns ingest")

    with pytest.raises(StaleRequest):
        queue.decide(asked.id)

    assert queue.show(asked.id).preview.duplicates == ("f1",)


def test_a_write_that_would_do_something_else_than_was_decided_on_is_not_made(queue, memory, asked) -> None:
    scope = Scope(database=memory._database, caller=memory._caller)
    (row,) = memory._database.rows(
        "requests_of", namespace="acme/kestrel", descendants=True, request_ids=[1], run_id=None, status="pending"
    )
    seen = replace(asked.preview, changes=asked.preview.changes[1:])
    before = dump(memory._database)

    with pytest.raises(StaleRequest, match="being decided"), memory._database.transaction() as tx:
        asking.carry_out(operation_named, scope, tx, row, row["arguments"], seen)

    assert dump(memory._database) == before


def test_it_is_not_stale_while_what_it_would_change_stands(queue, memory, asked, clock) -> None:
    memory.remember("Something else", entities=["Bo"])
    clock.move(days=3)

    assert not queue.show(asked.id).stale
    assert queue.decide(asked.id).status == "done"


def test_a_fact_that_somebody_superseded_meanwhile_is_not_superseded_at_an_earlier_moment(queue, memory, clock) -> None:
    memory.remember("Bo owns ingest")
    clock.move(minutes=1)
    memory.request_approval("supersede", {"fact_id": "f1", "content": "Cy owns ingest"})
    clock.move(minutes=1)
    memory.supersede("f1", "Ada owns ingest")

    with pytest.raises(InvalidTransition, match="Supersede f2 instead"):
        queue.decide("a1")

    assert contents(memory) == ["Ada owns ingest"]


def test_now_is_when_it_was_asked(queue, memory, clock) -> None:
    memory.remember("Bo owns ingest")
    clock.move(hours=1)
    request = memory.request_approval("supersede", {"fact_id": "f1", "content": "Cy owns ingest"})
    clock.move(hours=3)

    queue.decide(request.id)

    assert memory.get("f2").valid_from == memory.get("f1").valid_to == request.requested_at
    assert memory.get("f2").tx_from > request.requested_at


# -- where it comes from ---------------------------------------------------------------------------------------------


def test_provenance_names_who_asked_who_approved_and_the_words(queue, memory) -> None:
    request = memory.request_approval("remember", WHAT, by="mail-reader", words="Cy: ingest is mine")
    queue.decide(request.id, by="eve")

    (entry,) = memory.provenance("f1")
    assert (entry.writer, entry.approved_by, entry.request_id, entry.run_id) == ("mail-reader", "eve", "a1", None)
    (words,) = entry.evidence
    assert (words.text, words.source) == ("Cy: ingest is mine", "mail-reader")
    assert words.occurred_at == request.requested_at


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("correct", {"fact_id": "f1", "content": "Bob owns ingest"}),
        ("supersede", {"fact_id": "f1", "content": "Cy owns ingest"}),
        ("remember", {"content": "Bo owns ingest"}),
        ("remember", {"content": "Cy owns ingest", "episode": "p1"}),
    ],
)
def test_the_words_are_evidence_of_the_fact_whatever_the_write(queue, memory, operation, arguments) -> None:
    memory.remember("Bo owns ingest", evidence="Bo: mine")
    memory.request_approval(operation, arguments, words="Cy: no, mine")
    receipt = queue.decide("a1").receipt

    cited = [one.text for one in memory.provenance(receipt.id)[0].evidence]
    assert cited.count("Cy: no, mine") == 1
    assert None not in cited


def test_a_relation_keeps_its_words_with_the_request(queue, memory) -> None:
    memory.request_approval("relate", {"source": "Cy", "predicate": "owns", "target": "ingest"}, words="Cy: mine")

    assert queue.decide("a1").words == "Cy: mine"


def test_what_was_said_in_the_conversation_is_cited(queue, memory) -> None:
    queue.say("Ada: I like tea.")
    memory.request_approval("remember", {"content": "Ada likes tea"}, session_id="conv")
    queue.say("Something else.")
    assert queue.pending()[0].words == "Ada: I like tea."

    queue.decide("a1", by="eve")

    (fact,) = memory.facts_written("conv")
    assert (fact.content, fact.approved_by, fact.request_id) == ("Ada likes tea", "eve", "a1")
    assert memory.provenance("f1")[0].evidence[0].text == "Ada: I like tea."


def test_asking_deciding_and_writing_are_in_the_audit_chain(queue, memory, asked) -> None:
    queue.decide(asked.id, by="eve")

    rows = memory._database._cursor().execute("SELECT operation, ids, actor FROM audit ORDER BY number").fetchall()
    assert rows == [("request_approval", ["a1"], "bot"), ("approve", ["a1"], "eve"), ("remember", ["f1"], "bot")]
    assert broken_links(memory._database) == []


def test_a_reviewer_above_decides_and_it_is_written_where_it_was_asked_for(queue, memory, asked) -> None:
    with pytest.raises(NotFound):
        Queue(memory.at_namespace("acme/other")).decide(asked.id)

    Queue(memory.at_namespace("acme", writer="boss")).decide(asked.id)

    fact = memory.get("f1")
    assert fact.namespace == "acme/kestrel"
    assert memory.provenance("f1")[0].writer == "bot"
    assert memory.at_namespace("acme").facts() == ()


def test_a_models_call_does_not_use_it(queue, memory) -> None:
    memory.call("request_approval", {"operation": "remember", "arguments": WHAT, "session_id": "conv", "call_id": "c1"})

    with pytest.raises(InvalidTransition, match="needs approval"):
        queue.perform("remember", WHAT, approved=False)

    assert queue.perform("remember", WHAT).request_id is None
    assert queue.show("a1").status == "pending"


# -- who may decide --------------------------------------------------------------------------------------------------


def test_two_people_must_approve_when_it_says_so(queue, memory) -> None:
    memory.request_approval("remember", WHAT, approvals=2)

    first = queue.decide("a1", by="eve")
    assert (first.status, first.approved_by, first.approvals_needed, first.receipt) == ("pending", ("eve",), 2, None)
    assert contents(memory) == []
    with pytest.raises(MayNotDecide):
        queue.decide("a1", by="Eve")

    assert queue.decide("a1", by="sam").receipt.id == "f1"


def test_the_second_person_approves_the_edit_that_was_seen(queue, memory) -> None:
    memory.request_approval("remember", WHAT, approvals=2)
    queue.decide("a1", "edit", by="eve", arguments={"content": "Cy reviews ingest"})

    with pytest.raises(StaleRequest):
        queue.decide("a1", by="sam")
    queue.decide("a1", by="sam", preview=queue.show("a1").preview.digest)

    assert contents(memory) == ["Cy reviews ingest"]


@pytest.mark.parametrize("by", ["bot", " BOT"])
def test_who_asked_may_not_decide_when_it_says_so(queue, memory, by) -> None:
    memory.request_approval("remember", WHAT, not_by_requester=True)

    with pytest.raises(MayNotDecide):
        queue.decide("a1", by=by)

    assert queue.decide("a1", by="eve").status == "done"


def test_a_rule_about_who_asked_needs_to_know_who_that_is() -> None:
    with Memory.open(":memory:") as nobody:
        with pytest.raises(InvalidInput, match="say who asks"):
            nobody.request_approval("remember", WHAT, not_by_requester=True)
        assert nobody.request_approval("remember", WHAT, not_by_requester=True, by="bo").id == "a1"


# -- once ------------------------------------------------------------------------------------------------------------


def test_of_many_who_approve_at_once_one_writes(queue, memory, asked) -> None:
    def approve(number):
        try:
            return queue.decide(asked.id, by=f"reviewer {number}").receipt
        except AlreadyDecided as error:
            return error.details["decided_by"]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(approve, range(8)))

    (winner,) = [f"reviewer {number}" for number, result in enumerate(results) if isinstance(result, Receipt)]
    assert [result for result in results if not isinstance(result, Receipt)] == [winner] * 7
    assert len(memory.history("f1")) == 1
    assert len(queue.show(asked.id).decisions) == 1
    assert len(dump(memory._database)["effects"]) == 1


DECIDE = """
import sys
from agents_memory import Memory
from agents_memory.errors import AgentsMemoryError
print("ready", flush=True)
sys.stdin.readline()
with Memory.open(sys.argv[1], namespace="acme", wait_s=30) as memory:
    try:
        decided = memory.call("decide", {"request_id": "a1", "decision": "approve", "by": sys.argv[2]})
        print(decided.receipt.id, flush=True)
    except AgentsMemoryError as error:
        print(error.code, error.details["decided_by"], flush=True)
"""


def test_of_two_processes_that_approve_at_once_one_writes(tmp_path: Path) -> None:
    path = tmp_path / "team.duckdb"
    with Memory.open(path, namespace="acme") as memory:
        memory.request_approval("remember", WHAT)

    with start_python(DECIDE, path, "eve") as eve, start_python(DECIDE, path, "sam") as sam:
        assert [line_from(one) for one in (eve, sam)] == ["ready", "ready"]
        for one in (eve, sam):
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        said = {"eve": line_from(eve), "sam": line_from(sam)}

    winner = next(name for name, line in said.items() if line == "f1")
    loser = next(line for line in said.values() if line != "f1")
    assert loser == f"already_decided {winner}"
    with Memory.open(path, namespace="acme") as memory:
        assert contents(memory) == ["Cy owns ingest"]


# -- json ------------------------------------------------------------------------------------------------------------


def test_it_can_be_asked_and_decided_in_json(memory) -> None:
    def ask(name, **arguments):
        return json.loads(call_json(memory._database, memory._caller, name, json.dumps(arguments)))

    request = ask("request_approval", operation="remember", arguments=WHAT, agent="voice", call_id="c1")
    decided = ask("decide", request_id=request["id"], decision="approve", by="eve")

    assert (request["agent"], request["call_id"]) == ("voice", "c1")
    assert decided["receipt"]["id"] == "f1"
    again = operation_named("decide").load(decided)
    assert isinstance(again.receipt, Receipt)


def test_a_refused_request_never_quotes_what_it_was_to_write(memory) -> None:
    with pytest.raises(AgentsMemoryError) as caught:
        memory.request_approval("remember", {"content": "swordfish", "entities": "swordfish"})

    assert "swordfish" not in str(caught.value)


def test_a_request_of_a_run_has_its_receipt_once_it_was_carried_out(queue) -> None:
    queue.park(a_call(content="x"))
    assert queue.decide("a1").receipt is None
    claim = queue.claim("n1")
    queue.perform("remember", {"content": "x"}, run_id="n1", fence=claim.fence)

    assert queue.show("a1").receipt.id == "f1"
