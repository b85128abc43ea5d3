"""A name means one entity: the nearest that answers to it, whatever its spelling."""

import pytest

from agents_memory import Memory
from agents_memory.errors import Conflict, NotFound
from agents_memory.types import Effect, Status
from tests.storage import Clock, dump


@pytest.mark.parametrize(
    "spelling", ["caf\u00e9 kranz", "CAFE\u0301 KRANZ", "Ｃafé\u00a0Kranz", " Café  Kranz ", "Café\u200b Kranz"]
)
def test_every_spelling_of_a_name_means_the_same_entity(memory: Memory, spelling: str) -> None:
    memory.remember("The Café Kranz is closed", entities=["Café Kranz"])

    receipt = memory.remember("It was good", entities=[spelling])

    assert receipt.changes[0].effect is Effect.ENTITY_MATCHED
    assert memory.entity(spelling).name == "Café Kranz"
    assert len(memory.about(spelling).facts) == 2


def test_an_entity_keeps_the_name_it_was_first_given(memory: Memory) -> None:
    memory.remember("First", entities=["Straße"])
    memory.remember("Second", entities=["STRASSE"])

    assert (memory.entity("strasse").name, memory.entity("strasse").aliases) == ("Straße", ())


def test_an_alias_means_the_entity_it_was_given_to(memory: Memory) -> None:
    memory.remember("Cy maintains ingest", entities=["Cy Young"])

    receipt = memory.add_alias("cy young", "Cyrus")

    entity = memory.entity("CYRUS")
    assert (receipt.status, receipt.id) == (Status.CREATED, entity.id)
    assert [(change.effect, change.text) for change in receipt.changes] == [(Effect.ALIAS_ADDED, "Cyrus")]
    assert (entity.name, entity.aliases) == ("Cy Young", ("Cyrus",))
    assert memory.remember("Cyrus is away", entities=["cyrus"]).changes[0].id == entity.id
    assert len(memory.about("Cyrus").facts) == 2


def test_an_alias_given_twice_is_there_once(memory: Memory) -> None:
    memory.remember("Cy maintains ingest", entities=["Cy Young"])
    memory.add_alias("Cy Young", "Cyrus")
    before = dump(memory._database)

    again = memory.add_alias("Cy Young", "CYRUS")

    assert again.status is Status.UNCHANGED
    assert memory.add_alias("Cyrus", "Cy Young").status is Status.UNCHANGED
    assert dump(memory._database) == before


def test_a_name_cannot_mean_two_entities(memory: Memory) -> None:
    memory.relate("Cy", "knows", "Bo")
    before = dump(memory._database)

    with pytest.raises(Conflict) as refusal:
        memory.add_alias("Cy", "bo")

    assert refusal.value.details == {"entity": memory.entity("Bo").id}
    assert dump(memory._database) == before


def test_an_alias_of_nobody_is_not_found(memory: Memory) -> None:
    with pytest.raises(NotFound):
        memory.add_alias("Nobody", "Somebody")


def test_an_alias_is_known_from_when_it_was_given(timed: Memory, clock: Clock) -> None:
    timed.remember("Cy maintains ingest", entities=["Cy"])
    clock.move(days=2)
    timed.add_alias("Cy", "Cyrus")
    before = timed.as_of(known_at="2026-09-02")

    assert before.entity("Cy").aliases == ()
    with pytest.raises(NotFound):
        before.entity("Cyrus")
    assert timed.entity("Cyrus").aliases == ("Cyrus",)


def test_a_name_means_the_teams_entity_where_the_project_has_none(memory: Memory) -> None:
    project = memory.at_namespace(f"{memory.namespace}/kestrel")
    memory.remember("Cy joined", entities=["Cy"])
    memory.add_alias("Cy", "Cyrus")

    receipt = project.remember("Cy maintains ingest", entities=["cyrus"])

    assert receipt.changes[0].id == memory.entity("Cy").id
    assert len(project.about("Cy").facts) == 2
    assert len(memory.about("Cy").facts) == 1


def test_a_name_means_the_nearest_entity(memory: Memory) -> None:
    project = memory.at_namespace(f"{memory.namespace}/kestrel")
    project.remember("The project's Kit", entities=["Kit"])
    memory.remember("The team's Kit", entities=["Kit"])

    assert project.entity("Kit").namespace == project.namespace
    assert memory.entity("Kit").namespace == memory.namespace


def test_siblings_have_entities_of_their_own(memory: Memory) -> None:
    one, other = (memory.at_namespace(f"{memory.namespace}/{name}") for name in ("kestrel", "merlin"))
    one.remember("Kit is a person", entities=["Kit"])
    other.remember("Kit is a tool", entities=["Kit"])

    assert one.entity("Kit").id != other.entity("Kit").id


def test_a_project_may_use_a_name_of_the_team_for_another_entity(memory: Memory) -> None:
    project = memory.at_namespace(f"{memory.namespace}/kestrel")
    memory.remember("Ann leads the team", entities=["Lead"])
    project.remember("Bo leads the project", entities=["Bo"])

    project.add_alias("Bo", "Lead")

    assert project.entity("lead").name == "Bo"
    assert memory.entity("lead").name == "Lead"


def test_one_entity_is_one_entity_though_threads_name_it_at_once(memory: Memory) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: memory.remember(f"Fact {number}", entities=["Ada", "ADA "]), range(8)))

    assert len(memory.about("ada").facts) == 8
