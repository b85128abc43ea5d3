"""Who writes is told which stored facts say the same, and which may contradict it; both are kept."""

import pytest

from agents_memory import Memory
from agents_memory.graph.conflicts import MAX_COMPARED
from agents_memory.testing.faults import failing_at

PORT = "The broker listens on port 5672."
OTHER_PORT = "The broker listens on port 5673."


def conflicts(receipt):
    return [(conflict.id, conflict.differs_in.value) for conflict in receipt.conflicts]


@pytest.mark.parametrize(
    ("one", "other", "entity", "differs_in"),
    [
        (PORT, OTHER_PORT, "broker", "number"),
        ("Deploys are allowed on Fridays.", "Deploys are not allowed on Fridays.", "deploys", "negation"),
        ("Ben lives in Oslo.", "Ben lives in Bergen.", "Ben", "name"),
    ],
)
def test_a_statement_that_differs_in_one_value_is_a_conflict_and_both_are_kept(
    memory: Memory, one, other, entity, differs_in
) -> None:
    first = memory.remember(one, entities=[entity])

    receipt = memory.remember(other, entities=[entity])

    assert receipt.status == "created"
    assert conflicts(receipt) == [(first.id, differs_in)]
    assert receipt.conflicts[0].text == one
    assert receipt.duplicates == ()
    assert receipt.note is not None
    assert receipt.note.startswith(f"May contradict {first.id}.")
    assert {fact.content for fact in memory.facts()} == {one, other}


def test_what_agrees_with_memory_has_no_conflict(memory: Memory) -> None:
    memory.remember(PORT, entities=["broker"])

    receipt = memory.remember("The broker runs in Oslo.", entities=["broker"])

    assert (receipt.conflicts, receipt.duplicates, receipt.note) == ((), (), None)


def test_an_exact_duplicate_names_the_fact_that_says_so(memory: Memory) -> None:
    first = memory.remember(PORT, entities=["broker"])

    again = memory.remember("the broker listens on  port 5672", entities=["broker"])

    assert (again.status, again.duplicates, again.conflicts) == ("reinforced", (first.id,), ())


@pytest.mark.parametrize("entities", [([], []), (["broker"], []), ([], ["broker"])])
def test_where_a_fact_names_no_entity_the_same_beginning_counts(memory: Memory, entities) -> None:
    first = memory.remember(PORT, entities=entities[0])
    memory.remember("Our cache listens on port 6379.")

    assert conflicts(memory.remember(OTHER_PORT, entities=entities[1])) == [(first.id, "number")]


def test_facts_about_different_things_do_not_conflict(memory: Memory) -> None:
    memory.remember("The service listens on port 5672.", entities=["broker"])

    assert memory.remember("The service listens on port 6379.", entities=["cache"]).conflicts == ()


def test_an_alias_is_the_same_entity(memory: Memory) -> None:
    first = memory.remember(PORT, entities=["broker"])
    memory.add_alias("broker", "RabbitMQ")

    assert conflicts(memory.remember(OTHER_PORT, entities=["RabbitMQ"])) == [(first.id, "number")]


def test_what_ended_or_was_forgotten_does_not_conflict(memory: Memory) -> None:
    memory.remember(PORT, entities=["broker"], valid_from="2020-01-01", valid_to="2021-01-01")
    memory.forget(memory.remember("The broker listens on port 5674.", entities=["broker"]).id)

    assert memory.remember(OTHER_PORT, entities=["broker"]).conflicts == ()


def test_a_conflict_of_the_past_is_found_there(memory: Memory) -> None:
    first = memory.remember(PORT, entities=["broker"], valid_from="2020-01-01", valid_to="2021-01-01")

    past = memory.remember(OTHER_PORT, entities=["broker"], valid_from="2020-06-01", valid_to="2020-07-01")

    assert conflicts(past) == [(first.id, "number")]


def test_an_ancestors_fact_conflicts_and_a_siblings_does_not(memory: Memory) -> None:
    first = memory.remember(PORT, entities=["broker"])
    below, sibling = (memory.at_namespace(f"{memory.namespace}/{name}") for name in ("main", "other"))
    sibling.remember("The broker listens on port 5674.", entities=["broker"])

    assert conflicts(below.remember(OTHER_PORT, entities=["broker"])) == [(first.id, "number")]


def test_a_superseded_or_corrected_fact_does_not_conflict_with_its_successor(memory: Memory) -> None:
    first = memory.remember(PORT, entities=["broker"], valid_from="2026-01-01")

    moved = memory.supersede(first.id, OTHER_PORT, at="2026-03-01")
    corrected = memory.correct(moved.id, "The broker listens on port 5674.")

    assert (moved.conflicts, corrected.conflicts) == ((), ())


@pytest.mark.parametrize("verb", ["supersede", "correct"])
def test_a_change_is_told_of_the_other_facts_that_say_otherwise_or_the_same(memory: Memory, verb) -> None:
    first = memory.remember("Bo lives in Oslo.", entities=["Bo"], valid_from="2026-01-01")
    other = memory.remember("Bo lives in Bergen.", entities=["Bo"], valid_from="2026-01-01")
    change = getattr(memory, verb)

    receipt = change(first.id, "Bo lives in Bergen.")
    assert (receipt.duplicates, receipt.conflicts) == ((other.id,), ())

    again = change(receipt.id, "Bo lives in Tromsø.")
    assert conflicts(again) == [(other.id, "name")]


def test_two_events_do_not_conflict(memory: Memory) -> None:
    memory.remember("Ada paid 30 EUR for lunch.", entities=["Ada"], kind="event")

    assert memory.remember("Ada paid 40 EUR for lunch.", entities=["Ada"], kind="event").conflicts == ()
    assert memory.remember("Ada paid 50 EUR for lunch.", entities=["Ada"]).conflicts != ()


def test_of_many_facts_about_an_entity_the_likest_are_compared(memory: Memory) -> None:
    first = memory.remember(PORT, entities=["broker"])
    for number in range(3 * MAX_COMPARED):
        memory.remember(f"Fact {number} says something else entirely.", entities=["broker"], kind="event")

    assert conflicts(memory.remember(OTHER_PORT, entities=["broker"])) == [(first.id, "number")]


@pytest.mark.parametrize("content", ["阿达喜欢黑咖啡", "is it so", "?!", "%_' OR 1=1", "🙂"])
def test_any_text_can_be_compared(memory: Memory, content) -> None:
    memory.remember(content + "1")

    assert memory.remember(content).status == "created"


def test_looking_for_conflicts_costs_one_statement(memory: Memory) -> None:
    memory.remember("Warm")

    with failing_at(memory._database, None) as countdown:
        memory.remember("Something new")

    assert countdown.seen == ["begin", "same_fact", "insert_fact_version", "insert_audit", "facts_like", "commit"]
