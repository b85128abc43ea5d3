"""A handle reads its namespace and those above it, and writes in its own alone."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_memory import Memory, namespace_of
from agents_memory.errors import InvalidInput, NotFound, WrongNamespace
from agents_memory.graph.scope import check_namespace, visible_namespaces
from tests.storage import dump

# -- paths ------------------------------------------------------------------------------------------------------------

texts = st.text(min_size=1, max_size=200).filter(str.strip)


@given(st.lists(texts, min_size=1, max_size=4), st.lists(texts, min_size=1, max_size=4))
def test_different_texts_give_different_namespaces(one: list[str], other: list[str]) -> None:
    assert (namespace_of(*one) == namespace_of(*other)) == (one == other)


@given(st.lists(texts, min_size=1, max_size=4))
def test_every_text_gives_a_namespace_of_as_many_segments(parts: list[str]) -> None:
    namespace = namespace_of(*parts)

    assert check_namespace(namespace) == namespace
    assert len(namespace.split("/")) == len(parts)


def test_ids_that_look_alike_give_different_namespaces() -> None:
    users = [
        "a_b",
        "a:b",
        "a/b",
        "a b",
        "a%b",
        "a%2Fb",
        "A_b",
        "ä_b",
        "🦆",
        "x" * 64,
        "x" * 65,
        "x" * 300,
        "x" * 301,
        "é" * 99,
    ]

    assert len({namespace_of(user) for user in users}) == len(users)


def test_plain_ids_stay_readable() -> None:
    assert namespace_of("acme", "ada@example.org") == "acme/ada@example.org"


@pytest.mark.parametrize("part", ["", " ", "\t\n", None, 7, b"a", ["a"], 2**40])
def test_a_namespace_of_nothing_is_refused(part: object) -> None:
    with pytest.raises(InvalidInput):
        namespace_of(part)  # type: ignore[arg-type]


def test_a_namespace_of_no_parts_is_refused() -> None:
    with pytest.raises(InvalidInput):
        namespace_of()


def test_the_nearest_namespace_is_read_first() -> None:
    assert visible_namespaces("acme/kestrel/main") == ("acme/kestrel/main", "acme/kestrel", "acme")


# -- what is seen -----------------------------------------------------------------------------------------------------


@pytest.fixture
def team(memory: Memory) -> Memory:
    return memory


@pytest.fixture
def project(team: Memory) -> Memory:
    return team.at_namespace(f"{team.namespace}/kestrel")


@pytest.fixture
def sibling(team: Memory) -> Memory:
    return team.at_namespace(f"{team.namespace}/merlin")


def test_a_fact_of_the_team_is_read_in_the_project(team: Memory, project: Memory) -> None:
    fact = team.remember("Deploys stop on Fridays", entities=["deploys"])

    assert project.get(fact.id).namespace == team.namespace
    assert [found.id for found in project.about("deploys").facts] == [fact.id]


def test_a_fact_of_the_project_is_not_read_in_the_team(team: Memory, project: Memory) -> None:
    fact = project.remember("Kestrel runs on ARM", entities=["Kestrel"])

    with pytest.raises(NotFound):
        team.get(fact.id)
    with pytest.raises(NotFound):
        team.about("Kestrel")


def test_a_name_that_starts_the_same_is_no_ancestor(team: Memory) -> None:
    fact = team.remember("Only here")
    longer = team.at_namespace(f"{team.namespace}2")

    with pytest.raises(NotFound):
        longer.get(fact.id)


VERBS: dict[str, Callable[[Memory, str, str], object]] = {
    "get": lambda memory, fact, episode: memory.get(fact),
    "history": lambda memory, fact, episode: memory.history(fact),
    "provenance": lambda memory, fact, episode: memory.provenance(fact),
    "supersede": lambda memory, fact, episode: memory.supersede(fact, "Something else"),
    "correct": lambda memory, fact, episode: memory.correct(fact, "Something else"),
    "forget": lambda memory, fact, episode: memory.forget(fact),
    "remember": lambda memory, fact, episode: memory.remember("New", episode=episode),
    "about": lambda memory, fact, episode: memory.about("Kestrel"),
    "entity": lambda memory, fact, episode: memory.entity("Kestrel"),
    "unrelate": lambda memory, fact, episode: memory.unrelate("Cy", "maintains", "Kestrel"),
    "add_alias": lambda memory, fact, episode: memory.add_alias("Kestrel", "K"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_in_another_namespace_is_not_found_by_any_verb(project: Memory, sibling: Memory, verb: str) -> None:
    fact = project.remember("Kestrel runs on ARM", entities=["Kestrel"], relate=[("Cy", "maintains", "Kestrel")])
    episode = project.add_episode("Kestrel moved to ARM last week")
    before = dump(project._database)

    with pytest.raises(NotFound) as refusal:
        VERBS[verb](sibling, fact.id, episode.id)

    assert "ARM" not in str(refusal.value)
    assert dump(project._database) == before


@pytest.mark.parametrize("verb", ["supersede", "correct", "forget", "unrelate", "add_alias"])
def test_what_belongs_to_an_ancestor_is_changed_there_alone(team: Memory, project: Memory, verb: str) -> None:
    fact = team.remember("Kestrel runs on ARM", entities=["Kestrel"], relate=[("Cy", "maintains", "Kestrel")])
    before = dump(team._database)

    with pytest.raises(WrongNamespace) as refusal:
        VERBS[verb](project, fact.id, "p1")

    assert refusal.value.details == {"namespace": team.namespace}
    assert dump(team._database) == before


def test_the_same_statement_in_the_project_is_the_projects_own(team: Memory, project: Memory) -> None:
    above = team.remember("Deploys stop on Fridays")

    below = project.remember("Deploys stop on Fridays")

    assert below.status == "created"
    assert below.id != above.id
    assert project.get(below.id).namespace == project.namespace


def test_a_relation_of_the_team_does_not_stand_in_for_the_projects(team: Memory, project: Memory) -> None:
    above = team.relate("Cy", "maintains", "ingest")

    below = project.relate("Cy", "maintains", "ingest")
    project.unrelate("Cy", "maintains", "ingest")

    assert below.status == "created"
    assert [relation.id for relation in team.about("Cy").relations] == [above.id]
    assert [relation.id for relation in project.about("Cy").relations] == [above.id]


def test_a_relation_that_the_projects_fact_states_wrongly_is_retracted_there(team: Memory, project: Memory) -> None:
    above = team.relate("Cy", "maintains", "ingest")
    fact = project.remember("Cy maintains ingest", relate=[("Cy", "maintains", "ingest")])

    project.correct(fact.id, "Cy reviews ingest", unrelate=[("Cy", "maintains", "ingest")])

    assert [relation.id for relation in project.about("Cy").relations] == [above.id]


def test_nothing_is_written_above_every_namespace(root: Memory) -> None:
    above = Memory(root._access, root._caller.__class__(namespace=""), owns=False)

    for call in (lambda: above.remember("x"), lambda: above.relate("a", "b", "c"), lambda: above.add_episode("x")):
        with pytest.raises(InvalidInput, match="above every namespace"):
            call()


@pytest.mark.parametrize("letter", ["e", "r", "p", "a", "n", "i"])
def test_an_id_of_another_kind_is_refused_with_the_right_form(memory: Memory, letter: str) -> None:
    memory.remember("Cy maintains ingest")

    with pytest.raises(InvalidInput, match="such as 'f12'") as refusal:
        memory.get(f"{letter}1")

    assert refusal.value.code == "invalid_id"


def test_an_id_that_was_never_given_is_not_found(memory: Memory) -> None:
    for number in (10**6, 10**17):
        with pytest.raises(NotFound, match=f"f{number}"):
            memory.get(f"f{number}")


def test_namespaces_are_many_in_one_file(memory: Memory) -> None:
    numbers = count()
    handles = [memory.at_namespace(f"{memory.namespace}/n{next(numbers)}") for _ in range(20)]

    for handle in handles:
        handle.remember("The same everywhere", entities=["Everything"])

    assert {len(handle.about("everything").facts) for handle in handles} == {1}


def test_a_shortened_segment_cannot_be_spelt_by_another_text() -> None:
    shortened = namespace_of("u" * 100)

    assert "~" in shortened
    assert "~" not in namespace_of("a~b")
    assert namespace_of(shortened) != shortened
