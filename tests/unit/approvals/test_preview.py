"""The preview of a request: everything that its call would change in memory, and what memory says already."""

import pytest

from agents_memory.approvals import preview
from agents_memory.errors import InvalidTransition, StaleRequest
from tests.unit.approvals.conftest import a_call

PORT = "The broker listens on port 5672."
OTHER_PORT = "The broker listens on port 5673."


def changes(queue, request_id="a1"):
    return [(change.effect.value, change.id, change.text) for change in queue.show(request_id).preview.changes]


def test_a_new_fact_shows_the_entities_it_matches_and_those_it_creates(queue, memory) -> None:
    memory.remember("Cy likes tea", entities=["Cy"])
    queue.park(a_call(content="Cy owns ingest", entities=["Cy", "ingest"]))

    assert changes(queue) == [
        ("entity matched", "e1", "Cy"),
        ("entity created", None, "ingest"),
        ("fact added", None, "Cy owns ingest"),
    ]


def test_a_supersede_shows_what_ends_what_begins_and_what_relations_stay(queue, memory) -> None:
    memory.remember("Bo owns ingest", relate=[("Bo", "owns", "ingest")], valid_from="2026-01-12")
    queue.park(a_call("supersede", fact_id="f1", content="Cy owns ingest"))

    assert changes(queue) == [
        ("fact ended", "f1", "Bo owns ingest"),
        ("fact added", None, "Cy owns ingest"),
        ("relation kept", "r1", "Bo owns ingest"),
    ]


def test_a_correction_shows_what_was_wrong(queue, memory) -> None:
    memory.remember("Bo owns ingest")
    queue.park(a_call("correct", fact_id="f1", content="Bo owns intake"))

    assert changes(queue) == [("fact corrected", "f1", "Bo owns ingest"), ("fact added", None, "Bo owns intake")]


def test_relations_that_end_with_a_fact_are_shown(queue, memory) -> None:
    memory.remember("Bo owns ingest", relate=[("Bo", "owns", "ingest")])
    memory.relate("Bo", "leads", "intake")
    queue.park(
        a_call("forget", fact_id="f1"),
        a_call("unrelate", "c2", source="Bo", predicate="leads", target="intake"),
        a_call("relate", "c3", source="Cy", predicate="leads", target="intake"),
    )

    assert changes(queue, "a1")[1:] == [("relation retracted", "r1", "Bo owns ingest")]
    assert changes(queue, "a2") == [("relation ended", "r2", "Bo leads intake")]
    assert changes(queue, "a3") == [("entity created", None, "Cy"), ("relation added", None, "Cy leads intake")]


def test_a_write_that_would_only_reinforce_says_so_and_names_the_fact(queue, memory) -> None:
    memory.remember(PORT, entities=["broker"])
    queue.park(a_call(content="the broker listens on port 5672", entities=["broker"]))

    shown = queue.show("a1").preview

    assert shown.duplicates == ("f1",)
    assert ("fact reinforced", "f1", PORT) in changes(queue)
    assert not any(effect == "fact added" for effect, _, _ in changes(queue))


@pytest.mark.parametrize(
    ("stored", "said", "differs_in"),
    [
        (PORT, OTHER_PORT, "number"),
        ("Deploys are allowed on Fridays.", "Deploys are not allowed on Fridays.", "negation"),
        ("Deploys are allowed on Fridays.", "Deploys are allowed on Mondays.", "name"),
    ],
)
def test_a_number_a_negation_or_a_name_that_differs_is_a_conflict_and_never_a_duplicate(
    queue, memory, stored, said, differs_in
) -> None:
    memory.remember(stored)
    queue.park(a_call(content=said))

    shown = queue.show("a1").preview

    assert shown.duplicates == ()
    assert [(one.id, one.text, one.differs_in.value) for one in shown.conflicts] == [("f1", stored, differs_in)]
    assert ("fact added", None, said) in changes(queue)


@pytest.mark.parametrize("operation", ["supersede", "correct"])
def test_a_change_shows_the_other_facts_that_it_would_contradict(queue, memory, operation) -> None:
    memory.remember("The broker is down.", entities=["broker"], valid_from="2026-01-01")
    memory.remember(PORT, entities=["broker"], valid_from="2026-01-01")
    queue.park(a_call(operation, fact_id="f1", content=OTHER_PORT))

    assert [one.id for one in queue.show("a1").preview.conflicts] == ["f2"]


def test_a_conflict_that_came_up_since_must_be_seen_before_it_is_approved(queue, memory) -> None:
    queue.park(a_call(content=OTHER_PORT, entities=["broker"]))
    memory.remember(PORT, entities=["broker"])

    with pytest.raises(StaleRequest):
        queue.decide("a1")

    assert queue.show("a1").stale
    assert queue.decide("a1", preview=queue.show("a1").preview.digest).status == "approved"


def test_a_preview_is_kept_as_it_was_decided_on(queue, memory) -> None:
    memory.remember(PORT, entities=["broker"])
    queue.park(a_call(content=OTHER_PORT, entities=["broker"]))
    seen = queue.show("a1").preview

    queue.decide("a1")

    assert queue.show("a1").preview == seen
    assert preview.from_json(preview.to_json(seen), seen.digest) == seen


def test_a_call_that_would_fail_by_now_is_marked_and_cannot_be_approved(queue, memory) -> None:
    memory.remember(PORT)
    queue.park(a_call("forget", fact_id="f1"))
    memory.forget("f1")

    shown = queue.show("a1")

    assert "forgotten" in shown.preview.problem
    assert shown.preview.changes == ()
    with pytest.raises(InvalidTransition):
        queue.decide("a1", preview=shown.preview.digest)
