"""Where a fact comes from: every version of it and of what it superseded, its words, and who wrote each."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from agents_memory import Memory
from agents_memory.errors import InvalidId, NotFound
from tests.storage import Clock, broken_links, dump


def test_the_chain_runs_from_the_newest_version_to_the_first_words(timed: Memory, clock: Clock) -> None:
    episode = timed.add_episode("I live in Oslo", source="chat", occurred_at="2026-03-01")
    timed.remember("Ben lives in Olso", entities=["Ben"], episode=episode.id)
    clock.move(days=1)
    timed.correct("f1", "Ben lives in Oslo")
    clock.move(days=1)
    timed.supersede("f1", "Ben lives in Bergen")

    chain = timed.provenance("f2")

    assert [(entry.fact_id, entry.version, entry.change, entry.content) for entry in chain] == [
        ("f2", 1, "created", "Ben lives in Bergen"),
        ("f1", 3, "superseded", "Ben lives in Oslo"),
        ("f1", 2, "corrected", "Ben lives in Oslo"),
        ("f1", 1, "created", "Ben lives in Olso"),
    ]
    assert {entry.writer for entry in chain} == {"ada"}
    (cited,) = chain[-1].evidence
    assert (cited.text, cited.source, cited.occurred_at, cited.episode_id, cited.reinforces) == (
        "I live in Oslo",
        "chat",
        datetime(2026, 3, 1, tzinfo=UTC),
        "p1",
        False,
    )


def test_the_chain_of_an_old_fact_does_not_run_to_what_came_after(memory: Memory) -> None:
    old = memory.remember("Ben lives in Oslo")
    memory.supersede(old.id, "Ben lives in Bergen")

    assert {entry.fact_id for entry in memory.provenance(old.id)} == {old.id}


def test_the_chain_as_known_earlier_ends_there(timed: Memory, clock: Clock) -> None:
    timed.remember("Ben lives in Oslo", evidence="Oslo!")
    known = clock.moment
    clock.move(days=1)
    timed.remember("Ben lives in Oslo", evidence="Oslo, as I said")
    timed.correct("f1", "Ben lives in Bergen")

    (entry,) = timed.as_of(known_at=known).provenance("f1")

    assert entry.content == "Ben lives in Oslo"
    assert [cited.text for cited in entry.evidence] == ["Oslo!"]


def test_a_forgotten_fact_still_says_where_it_came_from(memory: Memory) -> None:
    fact = memory.remember("Ben lives in Oslo", evidence="Oslo!")
    memory.forget(fact.id)

    (entry,) = memory.provenance(fact.id)

    assert [cited.text for cited in entry.evidence] == ["Oslo!"]


def test_a_fact_that_is_not_there_comes_from_nowhere(memory: Memory) -> None:
    with pytest.raises(NotFound):
        memory.provenance("f999999")


def test_a_write_says_which_call_of_which_run_and_request_it_was(memory: Memory) -> None:
    origin = {"session_id": "conv-1", "item_id": "i3", "run_id": "n5", "call_id": "call_1", "request_id": "a9"}

    receipt = memory.call("remember", {"content": "Ben lives in Oslo"}, **origin)

    (entry,) = memory.provenance(receipt.id)
    assert (entry.run_id, entry.call_id, entry.request_id, entry.approved_by) == ("n5", "call_1", "a9", None)
    (said,) = entry.evidence
    assert (said.session_id, said.source, said.item_id, said.text) == ("conv-1", "conv-1", "i3", None)


@pytest.mark.parametrize("origin", [{"item_id": "3"}, {"run_id": "a5"}, {"request_id": 9}])
def test_an_origin_that_is_no_id_is_refused_and_nothing_is_written(memory: Memory, origin: dict[str, Any]) -> None:
    before = dump(memory._database)

    with pytest.raises(InvalidId):
        memory.call("remember", {"content": "Ben lives in Oslo", "entities": ["Ben"]}, **origin)

    assert dump(memory._database) == before


# -- the audit chain --------------------------------------------------------------------------------------------------


def test_every_change_is_one_row_of_an_unbroken_chain(timed: Memory) -> None:
    timed.remember("Ben lives in Oslo", entities=["Ben"])
    timed.remember("Ben lives in Oslo")
    timed.correct("f1", "Ben lives in Olso")
    timed.supersede("f1", "Ben lives in Bergen")
    timed.forget("f2")
    timed.relate("Ben", "knows", "Cy")
    timed.unrelate("Ben", "knows", "Cy")
    timed.add_alias("Ben", "Benjamin")
    timed.add_episode("Ben moved")
    timed.at_namespace("other").remember("Elsewhere")

    rows = [row for row in sorted(dump(timed._database)["audit"]) if row[1] == "main"]

    assert [(row[2], row[3]) for row in rows] == [
        ("remember", ["f1"]),
        ("reinforce", ["f1"]),
        ("correct", ["f1"]),
        ("supersede", ["f2", "f1"]),
        ("forget", ["f2"]),
        ("relate", ["r1"]),
        ("unrelate", ["r1"]),
        ("add_alias", ["e1"]),
        ("add_episode", ["p1"]),
    ]
    assert {row[4] for row in rows} == {"ada"}
    assert broken_links(timed._database) == []


def test_a_row_that_was_changed_breaks_the_chain(timed: Memory) -> None:
    for number in range(3):
        timed.remember(f"Fact {number}")
    timed._database._cursor().execute("UPDATE audit SET actor = 'mallory' WHERE number = 2")

    assert broken_links(timed._database) == [2]


def test_the_chain_holds_no_text_and_a_commitment_to_it(timed: Memory) -> None:
    timed.remember("The launch code is swordfish", evidence="swordfish, he said")

    rows = dump(timed._database)["audit"]
    (salt,) = [row[-4] for row in dump(timed._database)["fact_versions"]]

    assert "swordfish" not in str(rows)
    content = b"The launch code is swordfish"
    committed = hashlib.sha256(salt + len(content).to_bytes(8, "big") + content).hexdigest()
    assert committed in [row[6] for row in rows]
