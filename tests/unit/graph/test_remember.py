"""`remember` stores a fact once; said again it is reinforced, and the receipt says what happened to each part."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from agents_memory import Memory
from agents_memory.errors import InvalidTime, NotFound
from agents_memory.types import Change, Effect, Kind, Status
from tests.storage import Clock, dump


def effects(changes: tuple[Change, ...]) -> list[Effect]:
    return [change.effect for change in changes]


# -- a new fact -------------------------------------------------------------------------------------------------------


def test_a_new_fact_is_as_it_was_given(timed: Memory, clock: Clock) -> None:
    receipt = timed.remember(
        "Cy maintains ingest",
        entities=["Cy", "ingest"],
        kind="decision",
        importance=0.9,
        confidence=0.25,
        pinned=True,
        valid_from="2026-03-01",
        valid_to="2027-01-01T00:00:00+01:00",
    )
    fact = timed.get(receipt.id)

    assert (fact.id, fact.version, fact.namespace, fact.content) == ("f1", 1, "main", "Cy maintains ingest")
    assert (fact.kind, fact.importance, fact.confidence, fact.pinned) == (Kind.DECISION, 0.9, 0.25, True)
    assert fact.entities == ("Cy", "ingest")
    assert fact.valid_from == datetime(2026, 3, 1, tzinfo=UTC)
    assert fact.valid_to == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert (fact.tx_from, fact.tx_to, fact.is_current, fact.supersedes) == (clock.moment, None, True, None)


def test_what_is_left_out_is_a_plain_fact_from_now_on(timed: Memory, clock: Clock) -> None:
    fact = timed.get(timed.remember("Cy maintains ingest").id)

    assert (fact.kind, fact.importance, fact.confidence, fact.pinned) == (Kind.FACT, 0.5, 1.0, False)
    assert (fact.entities, fact.valid_from, fact.valid_to) == ((), clock.moment, None)


def test_the_receipt_names_every_thing_that_came_to_be(memory: Memory) -> None:
    memory.remember("Cy is an engineer", entities=["Cy"])

    receipt = memory.remember(
        "Cy maintains ingest",
        entities=["CY", "ingest"],
        relate=[("Cy", "maintains", "ingest")],
        evidence="I own it now",
    )

    assert receipt.status is Status.CREATED
    assert effects(receipt.changes) == [
        Effect.ENTITY_MATCHED,
        Effect.ENTITY_CREATED,
        Effect.FACT_ADDED,
        Effect.RELATION_ADDED,
    ]
    assert [change.text for change in receipt.changes] == ["Cy", "ingest", "Cy maintains ingest", "Cy maintains ingest"]
    assert receipt.changes[2].id == receipt.id
    assert receipt.note is None


@pytest.mark.parametrize(
    "content",
    [
        "Москва столица России",
        "阿达喜欢黑咖啡",
        "تعيش آدا في لندن",
        "🦆 is a duck",
        "a\0b",
        "x" * 2_000_000,
        " spaces stay ",
    ],
)
def test_any_text_comes_back_to_the_letter(memory: Memory, content: str) -> None:
    assert memory.get(memory.remember(content).id).content == content


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2))),
        "2026-03-01T09:00:00.123456+02:00",
        "2026-03-01T07:00:00.123456Z",
    ],
)
def test_times_come_back_to_the_microsecond(memory: Memory, moment: datetime | str) -> None:
    fact = memory.get(memory.remember("Cy maintains ingest", valid_from=moment).id)

    assert fact.valid_from == datetime(2026, 3, 1, 7, 0, 0, 123456, tzinfo=UTC)
    assert fact.valid_from.utcoffset() == timedelta(0)


@pytest.mark.parametrize("day", [date(2026, 3, 1), "2026-03-01"])
def test_a_date_is_its_midnight_utc(memory: Memory, day: date | str) -> None:
    fact = memory.get(memory.remember("Cy maintains ingest", valid_from=day).id)

    assert fact.valid_from == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_fact_of_the_past_needs_both_its_ends(timed: Memory) -> None:
    with pytest.raises(InvalidTime, match="Give both"):
        timed.remember("Cy maintained ingest", valid_to="2026-01-01")

    fact = timed.remember("Cy maintained ingest", valid_from="2025-01-01", valid_to="2026-01-01")
    assert not timed.get(fact.id).is_current


@pytest.mark.parametrize("valid_to", ["2026-03-01", "2026-02-28", "2026-03-01T01:00:00+01:00"])
def test_an_empty_interval_is_refused(memory: Memory, valid_to: str) -> None:
    with pytest.raises(InvalidTime):
        memory.remember("Never", valid_from="2026-03-01", valid_to=valid_to)


def test_entities_named_twice_are_one(memory: Memory) -> None:
    receipt = memory.remember("Ada met Ada", entities=["Ada", "ADA ", "ada"])

    assert memory.get(receipt.id).entities == ("Ada",)


# -- said again -------------------------------------------------------------------------------------------------------


def test_the_same_statement_is_stored_once(memory: Memory) -> None:
    first = memory.remember("Cy maintains the ingest service")

    receipts = [
        memory.remember(text) for text in ("cy  maintains the ingest service.", "CY MAINTAINS THE INGEST SERVICE!")
    ]

    assert {receipt.id for receipt in receipts} == {first.id}
    assert {receipt.status for receipt in receipts} == {Status.REINFORCED}
    assert memory.get(first.id).content == "Cy maintains the ingest service"
    assert len(memory.history(first.id)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("It listens on port 5672", "It listens on port 5673"), ("Deploys are allowed", "Deploys are not allowed")],
)
def test_a_statement_that_says_something_else_is_stored(memory: Memory, one: str, other: str) -> None:
    first, second = memory.remember(one), memory.remember(other)

    assert second.status is Status.CREATED
    assert second.id != first.id


def test_reinforcing_adds_the_entities_that_were_missing(memory: Memory) -> None:
    first = memory.remember("Cy maintains ingest", entities=["Cy"])

    again = memory.remember("Cy maintains ingest", entities=["ingest", "cy"])

    assert (again.id, again.version) == (first.id, 2)
    assert effects(again.changes)[-2:] == [Effect.FACT_REINFORCED, Effect.FACT_UPDATED]
    assert memory.get(first.id).entities == ("Cy", "ingest")
    assert [version.change for version in memory.history(first.id)] == ["created", "updated"]
    assert [version.closed_as for version in memory.history(first.id)] == ["updated", None]


def test_reinforcing_adds_its_evidence_and_relations(memory: Memory) -> None:
    first = memory.remember("Cy maintains ingest", evidence="Cy: I took it over")

    again = memory.remember("Cy maintains ingest", evidence="Bo: Cy has it", relate=[("Cy", "maintains", "ingest")])

    (entry,) = memory.provenance(first.id)
    assert [(cited.text, cited.reinforces) for cited in entry.evidence] == [
        ("Cy: I took it over", False),
        ("Bo: Cy has it", True),
    ]
    assert effects(again.changes)[-1] is Effect.RELATION_ADDED
    assert memory.about("Cy").relations[0].fact_id == first.id


def test_reinforcing_says_which_arguments_had_no_effect(memory: Memory) -> None:
    first = memory.remember("Cy maintains ingest", importance=0.5, kind="fact", valid_from="2026-01-01")

    again = memory.remember(
        "Cy maintains ingest", importance=0.9, kind="decision", confidence=1.0, valid_from="2026-02-01"
    )

    assert (
        again.note
        == f"{first.id} said so already; it was kept as it is, and kind, importance, valid_from had no effect."
    )
    assert memory.get(first.id).importance == 0.5


def test_reinforcing_counts_every_thread(memory: Memory) -> None:
    fact = memory.remember("Cy maintains ingest")

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda _: memory.remember("cy maintains ingest"), range(8)))

    (entry,) = memory.provenance(fact.id)
    assert {receipt.id for receipt in receipts} == {fact.id}
    assert sum(cited.reinforces for cited in entry.evidence) == 8


def test_threads_that_remember_the_same_at_once_store_it_once(memory: Memory) -> None:
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda _: memory.remember("Cy maintains ingest", entities=["Cy"]), range(8)))

    assert len({receipt.id for receipt in receipts}) == 1
    assert sorted(receipt.status for receipt in receipts) == ["created"] + ["reinforced"] * 7


def test_threads_share_one_handle_without_losing_a_write(memory: Memory) -> None:
    def work(thread: int) -> list[str]:
        ids = [memory.remember(f"Fact {number} of thread {thread}", entities=["All"]).id for number in range(8)]
        assert [memory.get(fact).content for fact in ids] == [f"Fact {n} of thread {thread}" for n in range(8)]
        return ids

    with ThreadPoolExecutor(8) as pool:
        ids = [fact for found in pool.map(work, range(8)) for fact in found]

    assert {fact.id for fact in memory.about("all", hops=0).facts} == set(ids)
    assert len(set(ids)) == 64


def test_the_same_statement_over_another_time_is_another_fact(memory: Memory) -> None:
    first = memory.remember("Cy leads", valid_from="2020-01-01", valid_to="2021-01-01")

    second = memory.remember("Cy leads", valid_from="2021-01-01")

    assert second.status is Status.CREATED
    assert second.id != first.id


def test_a_fact_that_was_to_hold_later_holds_once_it_is_said_to_hold_now(timed: Memory, clock: Clock) -> None:
    later = timed.remember("The office is closed", valid_from="2099-01-01")
    clock.move(days=1)

    again = timed.remember("The office is closed")

    assert (again.status, again.id) == (Status.REINFORCED, later.id)
    assert timed.get(later.id).is_current
    assert timed.get(later.id).valid_from == clock.moment
    assert [version.fact.valid_from.year for version in timed.history(later.id)] == [2099, 2026]


def test_a_fact_of_the_future_is_hidden_until_then_and_can_be_changed(timed: Memory, clock: Clock) -> None:
    fact = timed.remember("The lease ends", entities=["lease"], valid_from="2099-01-01")

    assert not timed.get(fact.id).is_current
    assert timed.about("lease").facts == ()
    assert [found.id for found in timed.as_of(valid_at="2099-01-01").about("lease").facts] == [fact.id]

    timed.correct(fact.id, "The lease is renewed")
    assert timed.get(fact.id).content == "The lease is renewed"
    clock.set("2099-01-01")
    assert timed.get(fact.id).is_current
    timed.forget(fact.id)
    assert timed.about("lease").facts == ()


def test_forgotten_and_said_again_is_a_new_fact(memory: Memory) -> None:
    first = memory.remember("Cy maintains ingest", entities=["Cy"])
    memory.forget(first.id)

    second = memory.remember("Cy maintains ingest", entities=["Cy"])

    assert second.status is Status.CREATED
    assert second.id != first.id
    assert [fact.id for fact in memory.about("Cy").facts] == [second.id]


# -- evidence ---------------------------------------------------------------------------------------------------------


def test_the_same_words_from_the_same_source_are_one_episode(memory: Memory) -> None:
    first = memory.add_episode("We picked PostgreSQL", source="minutes", occurred_at="2026-02-05")
    before = dump(memory._database)

    again = memory.add_episode("We picked PostgreSQL", source="minutes")

    assert again == first
    assert dump(memory._database) == before


def test_other_words_or_another_source_are_another_episode(memory: Memory) -> None:
    episodes = [
        memory.add_episode("We picked PostgreSQL", source="minutes"),
        memory.add_episode("we picked PostgreSQL", source="minutes"),
        memory.add_episode("We picked PostgreSQL", source="chat"),
        memory.add_episode("We picked PostgreSQL"),
    ]

    assert len({episode.id for episode in episodes}) == 4


def test_an_episode_keeps_when_its_words_were_said(timed: Memory, clock: Clock) -> None:
    dated = timed.add_episode("We picked PostgreSQL", occurred_at="2026-02-05")
    clock.move(hours=1)
    undated = timed.add_episode("We picked it again")

    assert dated.occurred_at == datetime(2026, 2, 5, tzinfo=UTC)
    assert undated.occurred_at == clock.moment


def test_a_fact_cites_a_stored_episode_and_new_words(memory: Memory) -> None:
    episode = memory.add_episode("We picked PostgreSQL", source="minutes")

    fact = memory.remember("The team uses PostgreSQL", episode=episode.id, evidence="PostgreSQL it is")

    (entry,) = memory.provenance(fact.id)
    assert [(cited.text, cited.source) for cited in entry.evidence] == [
        ("We picked PostgreSQL", "minutes"),
        ("PostgreSQL it is", None),
    ]
    assert entry.evidence[0].episode_id == episode.id


def test_an_episode_that_does_not_exist_is_not_found_and_nothing_is_written(memory: Memory) -> None:
    before = dump(memory._database)

    with pytest.raises(NotFound, match="p999999"):
        memory.remember("The team uses PostgreSQL", entities=["team"], episode="p999999")

    assert dump(memory._database) == before


def test_a_fact_that_ended_and_is_said_to_hold_is_a_new_fact(memory: Memory) -> None:
    first = memory.remember("Ada works at Acme.", valid_from="2020-01-01", valid_to="2021-01-01")

    again = memory.remember("Ada works at Acme.", valid_from="2020-06-01")

    assert (first.status, again.status) == ("created", "created")
    assert [fact.id for fact in memory.facts()] == [again.id]


def test_a_known_end_is_kept_and_said(memory: Memory) -> None:
    first = memory.remember("Ada works at Acme.", valid_to="2999-01-01")

    again = memory.remember("Ada works at Acme.")

    assert again.status == "reinforced"
    assert again.note == f"{first.id} is known to end at 2999-01-01T00:00:00+00:00."
