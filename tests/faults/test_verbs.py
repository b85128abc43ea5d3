"""Every verb is all or nothing: whichever of its statements fails, every row of the file is as it was."""

from collections.abc import Callable, Iterator

import pytest

from agents_memory import Memory
from agents_memory.errors import StaleVersion
from agents_memory.testing.faults import Injected, failing_at
from tests.storage import Dump, dump

CY_INGEST = ("Cy", "maintains", "ingest")
BO_INGEST = ("Bo", "maintains", "ingest")

VERBS: dict[str, Callable[[Memory], object]] = {
    "remember": lambda memory: memory.remember(
        "Dee maintains billing",
        entities=["Dee", "billing"],
        relate=[("Dee", "maintains", "billing"), ("Dee", "knows", "Cy")],
        evidence="Dee: billing is mine",
        episode="p1",
    ),
    "remember in a new namespace": lambda memory: memory.at_namespace("new").remember("First here", entities=["First"]),
    "reinforce": lambda memory: memory.remember(
        "cy maintains ingest.", entities=["Cy", "platform"], relate=[("Cy", "knows", "Bo")], evidence="Bo: Cy has it"
    ),
    "supersede": lambda memory: memory.supersede(
        "f1", "Bo maintains ingest", entities=["Bo", "ingest"], relate=[BO_INGEST], unrelate=[CY_INGEST], reason="Left"
    ),
    "correct": lambda memory: memory.correct(
        "f1", "Bo maintains ingest", entities=["Bo", "ingest"], relate=[BO_INGEST], unrelate=[CY_INGEST], reason="Wrong"
    ),
    "forget": lambda memory: memory.forget("f1", reason="Not ours to know"),
    "relate": lambda memory: memory.relate("Cy", "knows", "Fay"),
    "unrelate": lambda memory: memory.unrelate(*CY_INGEST),
    "add_alias": lambda memory: memory.add_alias("Cy", "Cyrus"),
    "add_episode": lambda memory: memory.add_episode("Cy went home", source="chat"),
}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", writer="ada") as memory:
        memory.remember(
            "Cy maintains ingest",
            entities=["Cy", "ingest"],
            valid_from="2026-01-01",
            relate=[CY_INGEST],
            evidence="Cy: ingest is mine",
        )
        yield memory


def read_back(memory: Memory) -> object:
    """What the public surface and the read index say."""
    return memory.history("f1"), memory.about("Cy", hops=3), memory.recall("Who maintains ingest?").hits


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_whose_statement_fails_leaves_no_trace(memory: Memory, verb: str) -> None:
    before, read_before = dump(memory._database), read_back(memory)
    failed: list[str] = []

    while True:
        with failing_at(memory._database, len(failed)) as countdown:
            try:
                VERBS[verb](memory)
            except Injected as failure:
                failed.append(str(failure))
        if not countdown.fired:
            break
        assert dump(memory._database) == before, failed
        if failed[-1] == "commit":
            assert read_back(memory) == read_before

    assert failed[0] == "begin"
    assert failed[-1] == "commit"
    assert len(failed) >= 4
    assert dump(memory._database) != before


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_does_the_same_after_a_failure_as_without_one(memory: Memory, verb: str) -> None:
    with Memory.open(":memory:", writer="ada") as spared:
        spared.remember(
            "Cy maintains ingest",
            entities=["Cy", "ingest"],
            valid_from="2026-01-01",
            relate=[CY_INGEST],
            evidence="Cy: ingest is mine",
        )
        with failing_at(spared._database, None) as countdown:
            VERBS[verb](spared)
        with failing_at(memory._database, len(countdown.seen) - 1), pytest.raises(Injected, match="commit"):
            VERBS[verb](memory)

        VERBS[verb](memory)

        assert shape(dump(memory._database)) == shape(dump(spared._database))


def shape(rows: Dump) -> dict[str, int]:
    """How many rows each table holds."""
    return {name: len(found) for name, found in rows.items()}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_is_only_tried_writes_nothing(memory: Memory, verb: str) -> None:
    before, read_before = dump(memory._database), read_back(memory)

    with memory._database.transaction(dry_run=True):
        VERBS[verb](memory)

    assert dump(memory._database) == before
    assert read_back(memory) == read_before


def test_a_verb_costs_a_known_number_of_statements(memory: Memory) -> None:
    def count(verb: Callable[[], object]) -> int:
        with failing_at(memory._database, None) as countdown:
            verb()
        return len(countdown.seen)

    few = count(lambda: memory.remember("About two", entities=["A1", "A2"]))
    many = count(lambda: memory.remember("About thirty", entities=[f"B{number}" for number in range(30)]))

    # begin, find, two for new entities, what was said of them before, the duplicate, the fact, its audit row, commit
    assert many == few <= 9


def test_a_failure_in_one_of_two_joined_verbs_undoes_both(memory: Memory) -> None:
    before = dump(memory._database)

    def both() -> None:
        with memory._database.transaction():
            memory.remember("Written first", entities=["First"])
            memory.forget("f1")
            memory.correct("f1", "Too late")

    with pytest.raises(StaleVersion):
        both()

    assert dump(memory._database) == before
