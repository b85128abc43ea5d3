"""Who is named in what was said: found when it is said, and when the name is given later; decided when it is asked."""

import json
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_memory import Memory
from agents_memory.errors import NotFound
from agents_memory.sessions.types import TokenUsage
from agents_memory.text.names import _may_be_name
from agents_memory.text.tokens import whole_words


def say(
    memory: Memory, session_id: str, *texts: str, role: str = "user", branch: str = "main", **more: Any
) -> tuple[str, ...]:
    items = [json.dumps({"role": role, "content": text}) for text in texts]
    asked = {"session_id": session_id, "branch": branch, "items": items, **more}
    ids: tuple[str, ...] = memory.call("session_append", asked)
    return ids


def call(memory: Memory, session_id: str, tool: str) -> None:
    item = {"type": "function_call", "call_id": "c", "name": tool, "arguments": "{}"}
    memory.call("session_append", {"session_id": session_id, "items": [json.dumps(item)]})


def know(memory: Memory, *names: str) -> None:
    memory.remember(f"There are {names}.", entities=list(names))


def named(memory: Any, session_id: str = "s") -> dict[str, int]:
    """Each entity that a session names, with in how many messages."""
    return {one.name: one.items for one in memory.entities_mentioned(session_id)}


def spent(tokens: int) -> dict[str, int]:
    return {"requests": 1, "input_tokens": tokens - 1, "output_tokens": 1, "total_tokens": tokens}


# -- which words are a name ------------------------------------------------------------------------------------------

FOUND = [
    ("Go", "we use Go."),
    ("Will", "ask Will about it"),
    ("The Who", "they play the who tonight"),
    ("It", "It is the name of a film"),
    ("José", "JOSE and jose\u0301 are one"),
    ("Ångström", "in angstrom"),
    ("Дмитрий", "спросите ДМИТРИЙ!"),
    ("Ёлка", "елка стоит"),
    ("東京", "明日東京へ行く"),
    ("王", "我姓王"),
    ("さくら", "あのさくらです"),
    ("김철수", "어제 김철수를 만났다"),
    ("กรุงเทพ", "ฉันอยู่กรุงเทพครับ"),
    ("محمد", "قال مُحَمَّد ذلك"),
    ("שרה", "פגשתי את שרה אתמול"),
    ("राम", "कल राम आया"),
    ("🦊", "the 🦊 jumped"),
    ("node.js", "runs on Node.js 20"),
    ("ada@example.com", "write to ADA@example.com."),
    ("ingest-service", "the ingest service is up"),
    ("fi", "ﬁ is a ligature"),
    ("٣٤", "gate 34"),
]  # fmt: skip

NOT_FOUND = [
    ("Go", "Going, gone, ergo, go_to"),
    ("Will", "I will go"),
    ("It", "is it there"),
    ("Ан", "Анна и Иван"),
    ("مح", "محمد"),
    ("राम", "रामायण"),
    ("ing", "ingest"),
    ("Ada L", "Ada Lovelace"),
    ("10.1", "10.10 and 110.1"),
    ("🦊", "the 🐻 jumped"),
]


@pytest.mark.parametrize("first", ["said", "named"])
@pytest.mark.parametrize(("name", "text"), FOUND)
def test_a_name_is_found_whichever_came_first(memory: Memory, name: str, text: str, first: str) -> None:
    if first == "said":
        say(memory, "s", text)
    know(memory, name)
    if first == "named":
        say(memory, "s", text)

    assert list(named(memory).values()) == [1]


@pytest.mark.parametrize("first", ["said", "named"])
@pytest.mark.parametrize(("name", "text"), NOT_FOUND)
def test_other_words_are_no_name_whichever_came_first(memory: Memory, name: str, text: str, first: str) -> None:
    if first == "said":
        say(memory, "s", text)
    know(memory, name)
    if first == "named":
        say(memory, "s", text)

    assert named(memory) == {}


def test_names_that_overlap_are_all_found(memory: Memory) -> None:
    know(memory, "ingest", "ingest service", "service desk")

    say(memory, "s", "the ingest service desk")

    assert named(memory) == {"ingest": 1, "ingest service": 1, "service desk": 1}


def test_two_names_of_one_entity_in_a_message_count_once(memory: Memory) -> None:
    know(memory, "Cyrus")
    memory.add_alias("Cyrus", "Cy")
    say(memory, "s", "Cy, that is Cyrus", "Cy again")

    assert named(memory) == {"Cyrus": 2}


def test_an_alias_given_later_finds_what_was_said_before(memory: Memory) -> None:
    know(memory, "Cyrus")
    first, last = say(memory, "s", "Cy is here", "CY left")
    before = memory._database.now()
    memory.add_alias("Cyrus", "Cy")

    (found,) = memory.entities_mentioned("s")

    assert (found.name, found.items, found.first_item, found.last_item) == ("Cyrus", 2, first, last)
    assert found.first_at <= found.last_at
    assert named(memory.as_of(known_at=before)) == {}


def test_only_what_people_and_agents_say_counts(memory: Memory) -> None:
    know(memory, "Cy")
    say(memory, "s", "Cy?", role="assistant")
    say(memory, "s", "Cy", role="system")
    items: list[Any] = [
        {"type": "function_call_output", "call_id": "c", "output": "Cy, as memory says"},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Cy"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Cy"}, {"type": "input_image", "image_url": "Cy"}]},
    ]
    memory.call("session_append", {"session_id": "s", "items": [json.dumps(item) for item in items]})

    assert named(memory) == {"Cy": 3}


# -- namespaces ------------------------------------------------------------------------------------------------------


def test_a_name_means_the_nearest_entity(memory: Memory) -> None:
    below = memory.at_namespace("acme/kestrel")
    say(below, "s", "Bo is here")
    know(memory, "Bo")
    assert [(one.entity_id, one.name) for one in below.entities_mentioned("s")] == [("e1", "Bo")]
    before = memory._database.now()

    own = below.remember("Another Bo", entities=["Bo Near"])
    below.add_alias("Bo Near", "Bo")

    assert own.id == "f2"
    assert [(one.entity_id, one.name) for one in below.entities_mentioned("s")] == [("e2", "Bo Near")]
    assert [one.entity_id for one in below.as_of(known_at=before).entities_mentioned("s")] == ["e1"]
    assert [one.session_id for one in below.sessions_mentioning("Bo")] == ["s"]
    assert memory.sessions_mentioning("Bo") == ()


def test_a_name_given_above_finds_what_was_said_below_and_not_beside(memory: Memory) -> None:
    below, beside, like = (memory.at_namespace(name) for name in ("acme/a/b", "other", "acmeish"))
    for one in (below, beside, like, memory):
        say(one, "s", "Zed was here")

    know(memory, "Zed")

    assert [named(one) for one in (below, memory, beside, like)] == [{"Zed": 1}, {"Zed": 1}, {}, {}]
    for one in (below, beside):
        say(one, "s", "Zed again")
    assert [named(one) for one in (below, beside)] == [{"Zed": 2}, {}]
    with pytest.raises(NotFound):
        beside.sessions_mentioning("Zed")


# -- branches, and what is taken away --------------------------------------------------------------------------------


def test_a_message_that_branches_share_counts_once(memory: Memory) -> None:
    know(memory, "Cy")
    say(memory, "s", "Cy one", "Cy two")
    memory.call("create_branch", {"session_id": "s", "turn": 2, "name": "b"})
    say(memory, "s", "Cy on b", branch="b")

    assert named(memory) == {"Cy": 3}

    memory.call("session_pop", {"session_id": "s"})
    memory.call("session_pop", {"session_id": "s"})
    assert named(memory) == {"Cy": 2}  # the first is still in b

    memory.call("delete_branch", {"session_id": "s", "branch": "b"})
    assert named(memory) == {}


def test_names_given_later_are_found_in_what_was_popped_as_of_then(memory: Memory) -> None:
    say(memory, "s", "Cy was here", "nobody")
    memory.call("session_pop", {"session_id": "s"})
    know(memory, "Cy")
    then = memory._database.now()
    memory.call("session_pop", {"session_id": "s"})

    assert named(memory) == {}
    assert named(memory.as_of(known_at=then)) == {"Cy": 1}


def test_what_replaces_the_end_is_looked_through_too(memory: Memory) -> None:
    know(memory, "Cy", "Bo")
    say(memory, "s", "Cy said much", "and more")
    suffix = memory.call("session_suffix", {"session_id": "s"})
    items = [json.dumps({"role": "assistant", "content": "Bo sums up"})]

    memory.call("session_replace_suffix", {"session_id": "s", "expected": suffix, "items": items})

    assert named(memory) == {"Bo": 1}


# -- the order does not matter ---------------------------------------------------------------------------------------

PLACES = ("acme", "acme/kestrel")
NAMES = ("Go", "go to", "Will", "ingest", "ingest service", "Анна", "阿达", "C++", "José", "10.0.0.1", "🚀")
WORDS = (*NAMES, "Going", "will", "service", "the", "jose", "ANNA", "阿", "达人", "10.0.0.12", "c")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
STEPS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(PLACES), TEXTS),
    st.tuples(st.just("name"), st.sampled_from(PLACES), st.sampled_from(NAMES)),
    st.tuples(st.just("alias"), st.sampled_from(PLACES), st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))),
    st.tuples(st.just("forget"), st.just("acme"), st.none()),
)


def holds(text: str, name: str) -> bool:
    """Whether the words of a name stand in a text, one after the other."""
    words, wanted = whole_words(text), [word.key for word in whole_words(name)]
    spans = (words[at : at + len(wanted)] for at in range(len(words)))
    return any([word.key for word in span] == wanted and _may_be_name(span) for span in spans)


@settings(max_examples=50)
@given(st.lists(STEPS, max_size=12))
def test_mentions_are_what_all_texts_and_all_names_say_in_whatever_order_they_came(steps: list[Any]) -> None:
    with Memory.open(":memory:", namespace="acme") as memory:
        said: dict[str, list[str]] = {place: [] for place in PLACES}
        names: dict[str, dict[str, str]] = {place: {} for place in PLACES}
        for kind, place, what in steps:
            handle = memory.at_namespace(place)
            seen = {
                name: entity for above in PLACES[: PLACES.index(place) + 1] for name, entity in names[above].items()
            }
            if kind == "say":
                say(handle, "s", what)
                said[place].append(what)
            elif kind == "name":
                know(handle, what)
                names[place] |= {} if what in seen else {what: f"{place} {what}"}
            elif kind == "alias" and what[0] in names[place] and what[1] not in seen:
                handle.add_alias(*what)
                names[place][what[1]] = names[place][what[0]]
            elif kind == "forget":
                for subscriber in memory._database._subscribers:
                    subscriber.reset()

        for at, place in enumerate(PLACES):
            meant = {name: entity for above in PLACES[: at + 1] for name, entity in names[above].items()}
            expected: dict[str, int] = {}
            for text in said[place]:
                for entity in {entity for name, entity in meant.items() if holds(text, name)}:
                    expected[entity] = expected.get(entity, 0) + 1
            handle = memory.at_namespace(place)
            found = {one.entity_id: one.items for one in handle.entities_mentioned("s")}
            assert found == {handle_of(memory, entity): count for entity, count in expected.items()}


def handle_of(memory: Memory, entity: str) -> str:
    """The id of an entity, by the namespace that it was named in first and its name there."""
    place, name = entity.split(" ", 1)
    return memory.at_namespace(place).entity(name).id


# -- questions that join ---------------------------------------------------------------------------------------------


@pytest.fixture
def team(memory: Memory) -> Memory:
    """Ada knows Bo, who maintains ingest, which feeds billing; and what was said of each."""
    for source, predicate, target in (
        ("Ada", "knows", "Bo"),
        ("Bo", "maintains", "ingest"),
        ("ingest", "feeds", "billing"),
    ):
        memory.remember(
            f"{source} {predicate} {target}.", entities=[source, target], relate=[(source, predicate, target)]
        )
    say(memory, "one", "Ada is in", "Bo is out", "ingest is down", "billing waits", "nobody")
    say(memory, "two", "Bo and billing")
    return memory


@pytest.mark.parametrize(
    ("hops", "expected"),
    [
        (0, [(0, "Ada", "Ada is in")]),
        (1, [(0, "Ada", "Ada is in"), (1, "Bo", "Bo and billing"), (1, "Bo", "Bo is out")]),
        (
            2,
            [
                (0, "Ada", "Ada is in"),
                (1, "Bo", "Bo and billing"),
                (1, "Bo", "Bo is out"),
                (2, "ingest", "ingest is down"),
            ],
        ),
        (
            3,
            [
                (0, "Ada", "Ada is in"),
                (1, "Bo", "Bo and billing"),
                (1, "Bo", "Bo is out"),
                (2, "ingest", "ingest is down"),
                (3, "billing", "billing waits"),
            ],
        ),
    ],
)
def test_items_about_go_as_far_as_asked_nearest_first(team: Memory, hops: int, expected: list[Any]) -> None:
    found = team.items_about("Ada", hops=hops)

    assert [(one.hops, one.entity, one.item.text) for one in found] == expected
    assert team.items_about("Ada", hops=hops, limit=1) == found[:1]


def test_items_about_follow_relations_as_of_the_moment(team: Memory) -> None:
    before = team._database.now()
    team.unrelate("Ada", "knows", "Bo")

    assert [one.entity for one in team.items_about("Ada", hops=3)] == ["Ada"]
    assert len(team.as_of(valid_at=before, known_at=before).items_about("Ada", hops=3)) == 5


def test_items_about_nobody_known_are_no_empty_answer(team: Memory) -> None:
    know(team, "Quiet")

    assert team.items_about("Quiet") == ()
    with pytest.raises(NotFound):
        team.items_about("Zed")


def test_an_item_about_is_read_where_it_is_still_there(team: Memory) -> None:
    team.call("create_branch", {"session_id": "one", "turn": 2, "name": "b"})
    assert team.items_about("Ada", hops=0)[0].item.branch == "main"
    team.call("session_clear", {"session_id": "two"})
    for _ in range(5):
        team.call("session_pop", {"session_id": "one"})

    (found,) = team.items_about("Ada", hops=3)

    assert (found.item.branch, found.item.text, found.item.turn) == ("b", "Ada is in", 1)


def test_sessions_behind_a_fact_tell_its_whole_line(memory: Memory) -> None:
    def write(operation: str, session_id: str, text: str, **arguments: Any) -> str:
        (item_id,) = say(memory, session_id, text)
        return str(memory.call(operation, arguments, session_id=session_id, item_id=item_id).id)

    first = write("remember", "monday", "Bo has ingest", content="Bo maintains ingest.")
    write("remember", "tuesday", "yes, Bo has it", content="bo maintains ingest")
    write("correct", "wednesday", "Bob, not Bo", fact_id=first, content="Bob maintains ingest.")
    second = write("supersede", "thursday", "Cy took over", fact_id=first, content="Cy maintains ingest.")
    memory.remember("Unrelated.")

    found = [(one.session_id, one.fact_id, one.version, one.change, one.text) for one in memory.sessions_behind(second)]

    assert found == [
        ("monday", first, 1, "created", "Bo has ingest"),
        ("tuesday", first, 1, "reinforced", "yes, Bo has it"),
        ("wednesday", first, 2, "corrected", "Bob, not Bo"),
        ("thursday", second, 1, "created", "Cy took over"),
    ]
    assert [one.session_id for one in memory.sessions_behind(first)] == ["monday", "tuesday", "wednesday"]
    assert memory.sessions_behind("f3") == ()
    with pytest.raises(NotFound):
        memory.sessions_behind("f99")
    with pytest.raises(NotFound):
        memory.at_namespace("other").sessions_behind(first)
    assert [one.session_id for one in memory.at_namespace("acme/kestrel").sessions_behind(second)][-1] == "thursday"


def test_usage_by_entity_adds_up_the_turns_that_name_it(memory: Memory) -> None:
    know(memory, "Ada", "Bo", "Quiet")
    say(memory, "one", "Ada?", usage=spent(10))
    call(memory, "one", "look")
    call(memory, "one", "look")
    say(memory, "one", "Ada, and Bo", role="assistant", usage=spent(20))
    say(memory, "one", "Bo", usage=spent(100))
    call(memory, "one", "note")
    say(memory, "two", "bo again", usage=spent(1000))
    say(memory, "two", "nobody", usage=spent(10_000))

    bo, ada = memory.usage_by_entity()

    assert (bo.name, bo.sessions, bo.turns, bo.usage.total_tokens, dict(bo.tools)) == (
        "Bo", 2, 3, 1130, {"look": 2, "note": 1},
    )  # fmt: skip
    assert (ada.name, ada.sessions, ada.turns, ada.usage.total_tokens, dict(ada.tools)) == (
        "Ada", 1, 1, 30, {"look": 2},
    )  # fmt: skip
    assert bo.usage == TokenUsage(requests=4, input_tokens=1126, output_tokens=4, total_tokens=1130)


def test_a_turn_that_branches_share_costs_once(memory: Memory) -> None:
    know(memory, "Ada")
    say(memory, "s", "Ada one", usage=spent(10))
    say(memory, "s", "Ada two", usage=spent(20))
    memory.call("create_branch", {"session_id": "s", "turn": 2, "name": "b"})
    say(memory, "s", "Ada on b", branch="b", usage=spent(40))
    memory.call("create_branch", {"session_id": "s", "turn": 2, "branch": "b", "name": "a"})

    (ada,) = memory.usage_by_entity()

    assert (ada.turns, ada.usage.total_tokens) == (3, 70)
    assert memory.session_usage("s").usage.total_tokens == 70
    assert memory.session_usage("s").turns == 3
    assert [(turn.branch, turn.said_in, turn.usage.total_tokens) for turn in memory.session_turns("s", branch="b")] == [
        ("b", "main", 10),
        ("b", "b", 40),
    ]
    assert sum(astuple(memory.session_turns("s", branch="a")[0].usage)[3:4]) == 10
