"""Relations live on both time axes like facts; the same relation over the same time is one."""

from datetime import UTC, datetime

import pytest

from agents_memory import Memory, MemoryView
from agents_memory.errors import InvalidTime, NotFound
from agents_memory.types import Effect, Relation, Status
from tests.storage import Clock, dump

CY_INGEST = ("Cy", "maintains", "ingest")


def ties(view: MemoryView, entity: str = "Cy", hops: int = 1) -> list[tuple[str, str, str]]:
    return [
        (relation.source, relation.predicate, relation.target) for relation in view.about(entity, hops=hops).relations
    ]


def test_a_relation_is_as_it_was_given(timed: Memory, clock: Clock) -> None:
    receipt = timed.relate(*CY_INGEST, valid_from="2026-03-01", valid_to="2027-03-01")

    assert (receipt.status, receipt.id, receipt.version, receipt.note) == (Status.CREATED, "r1", 1, None)
    assert [(change.effect, change.text) for change in receipt.changes] == [
        (Effect.ENTITY_CREATED, "Cy"),
        (Effect.ENTITY_CREATED, "ingest"),
        (Effect.RELATION_ADDED, "Cy maintains ingest"),
    ]
    assert timed.about("Cy").relations == (
        Relation(
            id="r1",
            version=1,
            namespace="main",
            source="Cy",
            predicate="maintains",
            target="ingest",
            valid_from=datetime(2026, 3, 1, tzinfo=UTC),
            valid_to=datetime(2027, 3, 1, tzinfo=UTC),
            tx_from=clock.moment,
            tx_to=None,
        ),
    )


def test_the_same_relation_twice_is_one(memory: Memory) -> None:
    first = memory.relate(*CY_INGEST)
    before = dump(memory._database)

    again = memory.relate("cy", "MAINTAINS", "Ingest")

    assert (again.status, again.id, again.version) == (Status.UNCHANGED, first.id, 1)
    assert [change.effect for change in again.changes] == [Effect.RELATION_KEPT]
    assert dump(memory._database) == before


@pytest.mark.parametrize(
    "other", [("Cy", "maintains", "billing"), ("Cy", "reviews", "ingest"), ("ingest", "maintains", "Cy")]
)
def test_another_end_predicate_or_direction_is_another_relation(memory: Memory, other: tuple[str, str, str]) -> None:
    first = memory.relate(*CY_INGEST)

    second = memory.relate(*other)

    assert second.status is Status.CREATED
    assert second.id != first.id


def test_a_relation_may_tie_an_entity_to_itself(memory: Memory) -> None:
    memory.relate("Cy", "manages", "cy")

    assert ties(memory, hops=0) == [("Cy", "manages", "Cy")]


def test_what_had_no_effect_is_said(memory: Memory) -> None:
    first = memory.relate(*CY_INGEST, valid_from="2026-01-01")

    again = memory.relate(*CY_INGEST, valid_from="2026-02-01", valid_to="2027-01-01")

    assert again.note == f"{first.id} said so already; it was kept as it is, and valid_from, valid_to had no effect."


def test_a_relation_that_was_to_hold_later_holds_once_it_is_said_to_hold_now(timed: Memory) -> None:
    later = timed.relate(*CY_INGEST, valid_from="2099-01-01")
    assert ties(timed) == []

    now = timed.relate(*CY_INGEST)

    assert now.status is Status.CREATED
    assert ties(timed) == [CY_INGEST]
    (tie,) = timed.as_of(valid_at="2099-01-01").about("Cy").relations
    assert tie.id == later.id


def test_a_relation_learnt_to_have_held_longer_is_one_at_every_moment(memory: Memory) -> None:
    memory.relate(*CY_INGEST, valid_from="2024-01-01")

    memory.relate(*CY_INGEST, valid_from="2020-01-01")

    for year, count in ((2019, 0), (2020, 1), (2023, 1), (2024, 1), (2026, 1)):
        assert len(ties(memory.as_of(valid_at=f"{year}-06-01"))) == count, year


def test_a_relation_can_hold_again_after_it_ended(memory: Memory) -> None:
    first = memory.relate(*CY_INGEST, valid_from="2020-01-01", valid_to="2021-01-01")

    second = memory.relate(*CY_INGEST, valid_from="2022-01-01")

    assert second.id != first.id
    assert ties(memory.as_of(valid_at="2021-06-01")) == []
    assert ties(memory) == [CY_INGEST]


@pytest.mark.parametrize("valid_to", ["2026-03-01", "2026-02-01"])
def test_an_empty_interval_is_refused(memory: Memory, valid_to: str) -> None:
    before = dump(memory._database)

    with pytest.raises(InvalidTime):
        memory.relate(*CY_INGEST, valid_from="2026-03-01", valid_to=valid_to)

    assert dump(memory._database) == before


# -- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("valid_at", "known_at", "expected"),
    [
        (None, None, []),
        ("2027-05-31", None, [CY_INGEST]),
        ("2027-06-01", None, []),
        ("2027-07-01", "2027-08-01", [CY_INGEST]),
        ("2027-02-01", None, []),
    ],
)
def test_a_relation_holds_until_it_ended(
    timed: Memory, clock: Clock, valid_at: str | None, known_at: str | None, expected: list[tuple[str, str, str]]
) -> None:
    clock.set("2027-04-01")
    timed.relate(*CY_INGEST, valid_from="2027-03-01")
    clock.set("2027-09-01")
    receipt = timed.unrelate(*CY_INGEST, at="2027-06-01")

    assert (receipt.status, receipt.id, receipt.version) == (Status.ENDED, "r1", 2)
    assert [change.effect for change in receipt.changes] == [Effect.RELATION_ENDED]
    assert ties(timed.as_of(valid_at=valid_at, known_at=known_at)) == expected


def test_a_relation_that_ended_cannot_end_again(memory: Memory) -> None:
    memory.relate(*CY_INGEST)
    memory.unrelate(*CY_INGEST)

    with pytest.raises(NotFound, match="No such relation"):
        memory.unrelate(*CY_INGEST)


def test_a_relation_cannot_end_before_it_began(memory: Memory) -> None:
    memory.relate(*CY_INGEST, valid_from="2026-03-01")

    with pytest.raises(InvalidTime, match="holds only since 2026-03-01"):
        memory.unrelate(*CY_INGEST, at="2026-03-01")


@pytest.mark.parametrize(
    "triple", [("Cy", "reviews", "ingest"), ("ingest", "maintains", "Cy"), ("Cy", "maintains", "x")]
)
def test_ending_what_is_not_there_is_not_found(memory: Memory, triple: tuple[str, str, str]) -> None:
    memory.relate(*CY_INGEST)
    before = dump(memory._database)

    with pytest.raises(NotFound):
        memory.unrelate(*triple)

    assert dump(memory._database) == before


# -- with facts -------------------------------------------------------------------------------------------------------


def test_superseding_moves_the_relations_at_the_same_moment(timed: Memory, clock: Clock) -> None:
    fact = timed.remember("Cy maintains ingest", relate=[CY_INGEST], valid_from="2026-03-01")
    clock.set("2027-09-01")

    timed.supersede(
        fact.id, "Bo maintains ingest", at="2027-06-01", relate=[("Bo", "maintains", "ingest")], unrelate=[CY_INGEST]
    )

    assert ties(timed.as_of(valid_at="2027-05-31"), "ingest") == [CY_INGEST]
    assert ties(timed.as_of(valid_at="2027-06-01"), "ingest") == [("Bo", "maintains", "ingest")]
    assert timed.about("ingest").relations[0].fact_id == "f2"


def test_superseding_says_which_relations_nobody_ended(memory: Memory) -> None:
    fact = memory.remember("Cy maintains ingest", relate=[CY_INGEST])

    receipt = memory.supersede(fact.id, "Bo maintains ingest")

    assert receipt.changes[-1].effect is Effect.RELATION_KEPT
    assert ties(memory) == [CY_INGEST]


def test_correcting_retracts_what_was_never_true(timed: Memory, clock: Clock) -> None:
    fact = timed.remember("Cy maintains ingest", relate=[CY_INGEST], valid_from="2026-03-01")
    clock.set("2027-09-01")

    receipt = timed.correct(
        fact.id, "Bo maintains ingest", relate=[("Bo", "maintains", "ingest")], unrelate=[CY_INGEST]
    )

    assert [change.effect for change in receipt.changes][-3:] == [
        Effect.RELATION_RETRACTED,
        Effect.ENTITY_CREATED,
        Effect.RELATION_ADDED,
    ]
    assert ties(timed.as_of(valid_at="2026-06-01"), "ingest") == [("Bo", "maintains", "ingest")]
    assert ties(timed.as_of(valid_at="2026-10-01", known_at="2026-10-01"), "ingest") == [CY_INGEST]


def test_correcting_leaves_what_held_at_another_time(memory: Memory) -> None:
    memory.relate(*CY_INGEST, valid_from="2020-01-01", valid_to="2021-01-01")
    fact = memory.remember("Cy maintains ingest", valid_from="2025-01-01", relate=[CY_INGEST])

    memory.correct(fact.id, "Cy reviews ingest", unrelate=[CY_INGEST])

    assert ties(memory) == []
    assert ties(memory.as_of(valid_at="2020-06-01")) == [CY_INGEST]


def test_forgetting_a_fact_retracts_what_it_states(timed: Memory, clock: Clock) -> None:
    fact = timed.remember("Cy maintains ingest", relate=[CY_INGEST])
    timed.relate("Cy", "reviews", "billing")
    clock.move(days=1)
    known = clock.moment
    clock.move(days=1)

    receipt = timed.forget(fact.id)

    assert [(change.effect, change.text) for change in receipt.changes] == [
        (Effect.FACT_FORGOTTEN, "Cy maintains ingest"),
        (Effect.RELATION_RETRACTED, "Cy maintains ingest"),
    ]
    assert ties(timed) == [("Cy", "reviews", "billing")]
    assert CY_INGEST in ties(timed.as_of(known_at=known))


@pytest.mark.parametrize("verb", ["supersede", "correct"])
def test_a_relation_to_end_that_is_not_there_undoes_the_whole(memory: Memory, verb: str) -> None:
    fact = memory.remember("Cy maintains ingest", entities=["Cy", "ingest"])
    before = dump(memory._database)

    with pytest.raises(NotFound):
        getattr(memory, verb)(fact.id, "Bo maintains ingest", entities=["Bo"], unrelate=[CY_INGEST])

    assert dump(memory._database) == before


# -- around an entity -------------------------------------------------------------------------------------------------


@pytest.fixture
def chain(memory: Memory) -> Memory:
    """Ann - Bo - Cy - Dee - Eve, tied in alternating directions, each with a fact."""
    people = ["Ann", "Bo", "Cy", "Dee", "Eve"]
    for number, name in enumerate(people):
        memory.remember(f"{name} is number {number}", entities=[name], valid_from=f"2020-01-0{number + 1}")
    memory.relate("Ann", "knows", "Bo")
    memory.relate("Cy", "knows", "Bo")
    memory.relate("Cy", "knows", "Dee")
    memory.relate("Eve", "knows", "Dee")
    return memory


@pytest.mark.parametrize(
    ("hops", "reached"),
    [(0, []), (1, [("Bo", 1)]), (2, [("Bo", 1), ("Cy", 2)]), (3, [("Bo", 1), ("Cy", 2), ("Dee", 3)])],
)
def test_hops_follow_relations_in_either_direction(chain: Memory, hops: int, reached: list[tuple[str, int]]) -> None:
    found = chain.about("ann", hops=hops)

    assert [(neighbour.entity.name, neighbour.hops) for neighbour in found.neighbours] == reached
    assert [fact.content for fact in found.facts] == [
        f"{name} is number {number}" for number, name in enumerate(["Ann", "Bo", "Cy", "Dee"][: hops + 1])
    ]
    assert len(found.relations) == hops


def test_one_hop_is_followed_when_none_are_named(chain: Memory) -> None:
    assert chain.about("Ann") == chain.about("Ann", hops=1)


def test_the_shortest_way_counts(chain: Memory) -> None:
    chain.relate("Dee", "knows", "Ann")

    found = chain.about("Ann", hops=3)

    assert {neighbour.entity.name: neighbour.hops for neighbour in found.neighbours} == {
        "Bo": 1,
        "Dee": 1,
        "Cy": 2,
        "Eve": 2,
    }


def test_of_facts_equally_near_the_newest_comes_first(memory: Memory) -> None:
    for year in (2020, 2022, 2021):
        memory.remember(f"Cy in {year}", entities=["Cy"], valid_from=f"{year}-01-01")

    assert [fact.content for fact in memory.about("Cy").facts] == ["Cy in 2022", "Cy in 2021", "Cy in 2020"]


def test_a_relation_that_does_not_hold_then_is_not_followed(chain: Memory) -> None:
    assert chain.about("Ann", hops=3).neighbours != ()

    assert chain.as_of(valid_at="2019-01-01").about("Ann", hops=3).neighbours == ()


def test_a_name_that_nobody_has_is_not_found(memory: Memory) -> None:
    with pytest.raises(NotFound, match="Check its spelling"):
        memory.about("Nobody")


def test_a_relation_of_a_successor_ends_when_the_successor_does(memory: Memory) -> None:
    fact = memory.remember("Cy is on call", valid_from="2027-01-01", valid_to="2027-03-01")

    memory.supersede(fact.id, "Bo is on call", at="2027-02-01", relate=[("Bo", "is on", "call")])

    (tie,) = memory.as_of(valid_at="2027-02-15").about("Bo").relations
    assert (tie.valid_from, tie.valid_to) == (datetime(2027, 2, 1, tzinfo=UTC), datetime(2027, 3, 1, tzinfo=UTC))


def test_a_relation_that_two_facts_state_outlives_one_of_them(timed: Memory, clock: Clock) -> None:
    triple = ("Cy", "maintains", "ingest")
    first = timed.remember("Cy maintains ingest.", relate=[triple]).id
    second = timed.remember("Ingest is Cy's.", relate=[triple]).id

    kept = timed.forget(first)
    still = timed.about("ingest").relations
    gone = timed.forget(second)

    assert [change.effect for change in kept.changes] == ["fact forgotten", "relation kept"]
    assert [relation.source for relation in still] == ["Cy"]
    assert [change.effect for change in gone.changes] == ["fact forgotten", "relation retracted"]
    assert timed.about("ingest").relations == ()


def test_a_relation_that_was_also_related_by_itself_outlives_the_fact_that_stated_it(timed: Memory) -> None:
    fact = timed.remember("Cy maintains ingest.", relate=[("Cy", "maintains", "ingest")]).id
    timed.relate("Cy", "maintains", "ingest")

    timed.forget(fact)

    assert [relation.source for relation in timed.about("ingest").relations] == ["Cy"]


def test_superseding_says_which_relations_are_still_believed(timed: Memory, clock: Clock) -> None:
    fact = timed.remember("Bo maintains ingest.", relate=[("Bo", "maintains", "ingest")]).id
    clock.move(days=1)

    receipt = timed.supersede(fact, "Cy maintains ingest.")

    assert receipt.note == "Still believed: r1. Unrelate what ended, too."


def test_a_change_into_what_another_fact_says_is_noted(timed: Memory, clock: Clock) -> None:
    timed.remember("Cy maintains ingest.")
    wrong = timed.remember("Bo maintains ingest.").id

    receipt = timed.correct(wrong, "cy maintains ingest")

    assert receipt.note is not None
    assert receipt.note.startswith("f1 says the same")


def test_a_relation_that_ended_and_is_said_to_hold_goes_on(timed: Memory) -> None:
    timed.relate("Ada", "works at", "Acme", valid_from="2020-01-01", valid_to="2021-01-01")

    receipt = timed.relate("Ada", "works at", "Acme", valid_from="2020-06-01")

    assert receipt.status == "created"
    assert [relation.valid_from.year for relation in timed.about("Ada").relations] == [2021]


def test_correcting_a_part_of_a_relations_time_leaves_the_rest(timed: Memory) -> None:
    timed.relate("Ada", "works at", "Beta", valid_from="2020-01-01")
    fact = timed.remember("Ada works at Beta.", valid_from="2024-01-01", valid_to="2025-01-01").id

    timed.correct(fact, "Ada was away.", unrelate=[("Ada", "works at", "Beta")])

    held = {year: len(timed.as_of(valid_at=f"{year}-06-01").about("Ada").relations) for year in (2021, 2024, 2026)}
    assert held == {2021: 1, 2024: 0, 2026: 1}
