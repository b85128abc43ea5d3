"""`supersede` says the world changed, `correct` that we were wrong, `forget` that we no longer believe.

Each is checked on both time axes: what held then, and what was believed then.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from agents_memory import Memory, MemoryView
from agents_memory.errors import AgentsMemoryError, InvalidInput, InvalidTime, NotFound, StaleVersion
from agents_memory.types import Effect, Receipt, Status
from tests.storage import Clock, dump


def said(view: MemoryView, entity: str = "Ben") -> set[str]:
    return {fact.content for fact in view.about(entity, hops=0).facts}


# -- supersede: the world changed -------------------------------------------------------------------------------------


@pytest.fixture
def moved(timed: Memory, clock: Clock) -> Memory:
    """Ben lived in Oslo from March (learnt in April), and in Bergen from June (learnt in September)."""
    clock.set("2027-04-01")
    timed.remember("Ben lives in Oslo", entities=["Ben"], valid_from="2027-03-01", evidence="Ben: Oslo is great")
    clock.set("2027-09-01")
    timed.supersede("f1", "Ben lives in Bergen", at="2027-06-01", reason="He moved")
    clock.set("2027-10-01")
    return timed


@pytest.mark.parametrize(
    ("valid_at", "known_at", "expected"),
    [
        (None, None, {"Ben lives in Bergen"}),
        ("2027-05-01", None, {"Ben lives in Oslo"}),
        (None, "2027-05-01", {"Ben lives in Oslo"}),
        ("2027-07-01", "2027-05-01", {"Ben lives in Oslo"}),
        ("2027-07-01", "2027-09-01", {"Ben lives in Bergen"}),
        ("2027-02-28", None, set()),
        ("2027-03-01", None, {"Ben lives in Oslo"}),
        ("2027-05-31T23:59:59.999999Z", None, {"Ben lives in Oslo"}),
        ("2027-06-01", None, {"Ben lives in Bergen"}),
        ("2027-05-01", "2027-08-31T23:59:59.999999Z", {"Ben lives in Oslo"}),
    ],
)
def test_a_superseded_fact_holds_until_the_world_changed(
    moved: Memory, valid_at: str | None, known_at: str | None, expected: set[str]
) -> None:
    assert said(moved.as_of(valid_at=valid_at, known_at=known_at)) == expected


def test_before_it_was_known_nothing_was(moved: Memory) -> None:
    for call in (lambda view: view.about("Ben"), lambda view: view.get("f1"), lambda view: view.history("f1")):
        with pytest.raises(NotFound):
            call(moved.as_of(known_at="2027-03-15"))


def test_superseding_ends_the_old_fact_and_names_it_in_the_new_one(moved: Memory) -> None:
    old, new = moved.get("f1"), moved.get("f2")

    assert (old.version, old.valid_to, old.is_current) == (2, datetime(2027, 6, 1, tzinfo=UTC), False)
    assert (new.version, new.valid_from, new.valid_to) == (1, datetime(2027, 6, 1, tzinfo=UTC), None)
    assert (new.supersedes, new.is_current) == ("f1", True)
    assert [(v.change, v.closed_as, v.close_reason) for v in moved.history("f1")] == [
        ("created", "superseded", "He moved"),
        ("superseded", None, None),
    ]


def test_the_receipt_of_a_supersede_names_both_facts(timed: Memory) -> None:
    timed.remember("Ben lives in Oslo", entities=["Ben"])

    receipt = timed.supersede("f1", "Ben lives in Bergen")

    assert (receipt.status, receipt.id, receipt.version) == (Status.SUPERSEDED, "f2", 1)
    assert [(change.effect, change.id, change.text) for change in receipt.changes] == [
        (Effect.FACT_ENDED, "f1", "Ben lives in Oslo"),
        (Effect.FACT_ADDED, "f2", "Ben lives in Bergen"),
    ]


def test_superseding_keeps_what_it_is_not_told_to_change(memory: Memory) -> None:
    old = memory.remember(
        "Ben likes tea", entities=["Ben"], kind="preference", importance=0.9, confidence=0.6, pinned=True
    )

    new = memory.get(memory.supersede(old.id, "Ben likes coffee").id)

    assert (new.kind, new.importance, new.confidence, new.pinned) == ("preference", 0.9, 0.6, True)
    assert new.entities == ("Ben",)


def test_superseding_can_change_what_it_is_about(memory: Memory) -> None:
    old = memory.remember("Cy maintains ingest", entities=["Cy", "ingest"])

    new = memory.supersede(old.id, "Bo maintains ingest", entities=["Bo", "ingest"])

    assert memory.get(new.id).entities == ("Bo", "ingest")
    assert memory.get(old.id).entities == ("Cy", "ingest")


def test_superseding_a_fact_whose_end_is_known_keeps_that_end(memory: Memory) -> None:
    old = memory.remember("Cy is on call", valid_from="2027-01-01", valid_to="2027-03-01")

    new = memory.get(memory.supersede(old.id, "Bo is on call", at="2027-02-01").id)

    assert (new.valid_from, new.valid_to) == (datetime(2027, 2, 1, tzinfo=UTC), datetime(2027, 3, 1, tzinfo=UTC))


def test_learning_later_what_happened_in_between_takes_its_place(moved: Memory) -> None:
    between = moved.supersede("f1", "Ben lives in Voss", at="2027-05-01")

    assert said(moved.as_of(valid_at="2027-04-15")) == {"Ben lives in Oslo"}
    assert said(moved.as_of(valid_at="2027-05-15")) == {"Ben lives in Voss"}
    assert said(moved) == {"Ben lives in Bergen"}
    assert moved.get(between.id).valid_to == datetime(2027, 6, 1, tzinfo=UTC)


def test_a_fact_that_ended_already_cannot_be_superseded_and_its_successor_is_named(moved: Memory) -> None:
    before = dump(moved._database)

    with pytest.raises(StaleVersion, match=r"superseded by f2\. Supersede f2 instead") as refusal:
        moved.supersede("f1", "Ben lives in Voss")

    assert refusal.value.details == {"fact_id": "f1", "superseded_by": "f2"}
    assert dump(moved._database) == before


@pytest.mark.parametrize("at", ["2027-03-01", "2027-02-01"])
def test_a_fact_cannot_end_before_it_began(moved: Memory, at: str) -> None:
    with pytest.raises(InvalidTime, match="Give a later 'at'"):
        moved.supersede("f1", "Ben lives in Voss", at=at)


def test_a_fact_is_not_superseded_by_itself(memory: Memory) -> None:
    fact = memory.remember("Ben lives in Oslo")

    with pytest.raises(InvalidInput, match="says that already"):
        memory.supersede(fact.id, "ben lives in oslo.")


def test_of_two_concurrent_supersedes_one_wins_and_the_other_is_told(memory: Memory) -> None:
    fact = memory.remember("Ben lives in Oslo", entities=["Ben"])

    def supersede(city: str) -> Receipt | AgentsMemoryError:
        try:
            return memory.supersede(fact.id, f"Ben lives in {city}")
        except AgentsMemoryError as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(supersede, ["Bergen", "Voss"]))

    (won,) = [outcome for outcome in outcomes if isinstance(outcome, Receipt)]
    (lost,) = [outcome for outcome in outcomes if isinstance(outcome, StaleVersion)]
    assert lost.details["superseded_by"] == won.id
    assert [found.id for found in memory.about("Ben").facts] == [won.id]


def test_a_long_chain_of_supersedes_has_one_current_fact(memory: Memory) -> None:
    current = memory.remember("Version 0", entities=["release"]).id

    for number in range(1, 12):
        current = memory.supersede(current, f"Version {number}").id

    assert said(memory, "release") == {"Version 11"}


# -- correct: we were wrong -------------------------------------------------------------------------------------------


@pytest.fixture
def corrected(timed: Memory, clock: Clock) -> Memory:
    """Learnt in April that the team picked PostgreSQL in February; found wrong in September: it was MySQL."""
    clock.set("2027-04-01")
    timed.remember("The team picked PostgreSQL", entities=["team"], valid_from="2027-02-05")
    clock.set("2027-09-01")
    timed.correct("f1", "The team picked MySQL", reason="Misheard")
    clock.set("2027-10-01")
    return timed


@pytest.mark.parametrize(
    ("valid_at", "known_at", "expected"),
    [
        (None, None, {"The team picked MySQL"}),
        ("2027-02-05", None, {"The team picked MySQL"}),
        (None, "2027-05-01", {"The team picked PostgreSQL"}),
        ("2027-03-01", "2027-05-01", {"The team picked PostgreSQL"}),
        ("2027-03-01", "2027-09-01", {"The team picked MySQL"}),
        ("2027-02-04", None, set()),
    ],
)
def test_a_corrected_fact_was_never_what_we_believed(
    corrected: Memory, valid_at: str | None, known_at: str | None, expected: set[str]
) -> None:
    assert said(corrected.as_of(valid_at=valid_at, known_at=known_at), "team") == expected


def test_correcting_keeps_the_fact_and_its_time_in_the_world(corrected: Memory) -> None:
    fact = corrected.get("f1")

    assert (fact.id, fact.version, fact.content) == ("f1", 2, "The team picked MySQL")
    assert (fact.valid_from, fact.valid_to) == (datetime(2027, 2, 5, tzinfo=UTC), None)


def test_history_says_what_was_believed_when_and_why_it_changed(corrected: Memory) -> None:
    first, second = corrected.history("f1")

    assert (first.fact.content, first.change, first.closed_as) == ("The team picked PostgreSQL", "created", "corrected")
    assert (first.close_reason, first.closed_by) == ("Misheard", "ada")
    assert (second.fact.content, second.change, second.closed_as) == ("The team picked MySQL", "corrected", None)
    assert (second.reason, second.writer) == ("Misheard", "ada")
    assert first.fact.tx_to == second.fact.tx_from == datetime(2027, 9, 1, tzinfo=UTC)


def test_history_as_known_earlier_ends_there(corrected: Memory) -> None:
    (only,) = corrected.as_of(known_at="2027-05-01").history("f1")

    assert only.fact.tx_to is None
    assert (only.fact.content, only.closed_as, only.closed_by, only.close_reason) == (
        "The team picked PostgreSQL",
        None,
        None,
        None,
    )


def test_a_past_event_learnt_today_is_dated_when_it_happened(timed: Memory, clock: Clock) -> None:
    clock.set("2027-09-01")
    episode = timed.add_episode("We picked PostgreSQL", occurred_at="2027-02-05")
    clock.set("2027-09-02")
    fact = timed.remember("The team uses PostgreSQL", entities=["team"], valid_from="2027-02-05", episode=episode.id)

    found = timed.get(fact.id)

    assert (found.valid_from, found.tx_from) == (datetime(2027, 2, 5, tzinfo=UTC), datetime(2027, 9, 2, tzinfo=UTC))
    assert said(timed.as_of(valid_at="2027-03-01"), "team") == {"The team uses PostgreSQL"}
    with pytest.raises(NotFound):
        timed.as_of(known_at="2027-03-01").about("team")


def test_the_receipt_of_a_correction_says_what_was_and_what_is(memory: Memory) -> None:
    fact = memory.remember("Ben likes tea")

    receipt = memory.correct(fact.id, "Ben likes coffee")

    assert (receipt.status, receipt.id, receipt.version) == (Status.CORRECTED, fact.id, 2)
    assert [(change.effect, change.text) for change in receipt.changes] == [
        (Effect.FACT_CORRECTED, "Ben likes tea"),
        (Effect.FACT_ADDED, "Ben likes coffee"),
    ]


def test_correcting_to_the_same_is_refused(memory: Memory) -> None:
    fact = memory.remember("Ben likes tea", entities=["Ben"])

    with pytest.raises(InvalidInput, match="nothing to correct"):
        memory.correct(fact.id, "Ben likes tea", entities=["ben"])


def test_correcting_the_wording_or_the_entities_alone_is_a_correction(memory: Memory) -> None:
    fact = memory.remember("ben likes tea", entities=["Ben"])

    assert memory.correct(fact.id, "Ben likes tea.").version == 2
    assert memory.correct(fact.id, "Ben likes tea.", entities=["Ben", "tea"]).version == 3
    assert memory.get(fact.id).entities == ("Ben", "tea")


def test_correcting_an_ended_fact_corrects_the_past(moved: Memory) -> None:
    moved.correct("f1", "Ben lives in Lillehammer")

    assert said(moved.as_of(valid_at="2027-04-15")) == {"Ben lives in Lillehammer"}
    assert said(moved) == {"Ben lives in Bergen"}


# -- forget: we no longer believe -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("valid_at", "known_at", "expected"),
    [
        (None, None, set()),
        ("2027-05-01", None, set()),
        (None, "2027-08-31", {"Ben lives in Oslo"}),
        ("2027-03-01", "2027-08-31", {"Ben lives in Oslo"}),
        ("2027-02-01", "2027-08-31", set()),
    ],
)
def test_a_forgotten_fact_is_believed_at_no_time_from_then_on(
    timed: Memory, clock: Clock, valid_at: str | None, known_at: str | None, expected: set[str]
) -> None:
    clock.set("2027-04-01")
    timed.remember("Ben lives in Oslo", entities=["Ben"], valid_from="2027-03-01")
    clock.set("2027-09-01")
    timed.forget("f1")

    assert said(timed.as_of(valid_at=valid_at, known_at=known_at)) == expected


def test_the_history_of_a_forgotten_fact_stays(memory: Memory) -> None:
    fact = memory.remember("Ben lives in Oslo")

    receipt = memory.forget(fact.id, reason="Not ours to know")

    assert (receipt.status, receipt.id, receipt.version) == (Status.FORGOTTEN, fact.id, 1)
    assert [(change.effect, change.text) for change in receipt.changes] == [
        (Effect.FACT_FORGOTTEN, "Ben lives in Oslo")
    ]
    with pytest.raises(NotFound):
        memory.get(fact.id)
    (version,) = memory.history(fact.id)
    assert (version.closed_as, version.closed_by, version.close_reason) == ("forgotten", "ada", "Not ours to know")
    assert version.fact.content == "Ben lives in Oslo"


@pytest.mark.parametrize("verb", ["supersede", "correct", "forget"])
def test_a_forgotten_fact_cannot_be_changed(memory: Memory, verb: str) -> None:
    fact = memory.remember("Ben lives in Oslo")
    memory.forget(fact.id)
    before = dump(memory._database)
    content = () if verb == "forget" else ("Something else",)

    with pytest.raises(StaleVersion, match="was forgotten at") as refusal:
        getattr(memory, verb)(fact.id, *content)

    assert refusal.value.details == {"fact_id": fact.id}
    assert dump(memory._database) == before


def test_forgetting_the_successor_leaves_the_old_fact_ended(moved: Memory) -> None:
    moved.forget("f2")

    assert said(moved) == set()
    assert said(moved.as_of(valid_at="2027-05-01")) == {"Ben lives in Oslo"}


# -- views ------------------------------------------------------------------------------------------------------------


def test_get_finds_what_was_believed_then_whether_or_not_it_held(moved: Memory) -> None:
    then = moved.as_of(valid_at="2027-05-01")

    assert then.get("f1").is_current
    assert not then.get("f2").is_current
    assert moved.as_of(known_at="2027-05-01").get("f1").version == 1
    with pytest.raises(NotFound):
        moved.as_of(known_at="2027-05-01").get("f2")


def test_an_axis_that_is_left_out_stands_at_now(moved: Memory, clock: Clock) -> None:
    view = moved.as_of()

    assert said(view) == {"Ben lives in Bergen"}
    clock.move(days=1)
    moved.supersede("f2", "Ben lives in Voss")
    assert said(view) == {"Ben lives in Voss"}


def test_the_successor_that_is_named_is_the_one_that_ended_the_fact(timed: Memory, clock: Clock) -> None:
    first = timed.remember("A one", valid_from="2020-01-01").id
    timed.supersede(first, "A late", at="2099-01-01")
    second = timed.supersede(first, "A early", at="2021-01-01").id

    with pytest.raises(StaleVersion) as refused:
        timed.supersede(first, "A now")

    assert refused.value.details["superseded_by"] == second
