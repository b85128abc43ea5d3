"""What a recall finds, in which order, and what it never shows."""

from datetime import UTC, datetime, timedelta

import pytest

from agents_memory import Memory, _clock
from agents_memory.errors import InvalidInput
from agents_memory.recall import engine
from agents_memory.recall.engine import recall
from agents_memory.types import Caller, Kind
from tests.storage import Clock, dump

MARCH, APRIL, JUNE = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 4, 6))


def contents(memory, query, **options):
    return [hit.fact.content for hit in memory.recall(query, **options).hits]


# -- words ------------------------------------------------------------------------------------------------------------

FOUND = [
    ("Москва столица России", "Москва"),
    ("阿达喜欢黑咖啡", "黑咖啡"),
    ("أحمد يحب القهوة السوداء", "القهوة"),
    ("मुझे चाय पसंद है", "चाय"),
    ("The launch 🚀 is on Friday", "🚀"),
    ("The meeting starts at 14:05", "14:05"),
    ("The badge number is 4821", "4821"),
    ("The gateway is 10.0.0.1", "10.0.0.1"),
    ("We met at the café", "cafe"),
    ("A naïve plan", "naive"),
    ("Ada was running", "run"),
    ("The config is in /etc/app/main.toml", "where is main.toml?"),
]


@pytest.mark.parametrize(("content", "query"), FOUND)
def test_words_of_any_script_numbers_and_identifiers_are_found(memory, content, query):
    memory.remember("Something else altogether")
    memory.remember(content)

    assert contents(memory, query) == [content]


def test_things_that_differ_in_a_digit_are_not_confused(memory):
    memory.remember("Tool t1 is idle")
    memory.remember("Tool t2 is idle")
    memory.remember("We can't go")

    assert contents(memory, "t1") == ["Tool t1 is idle"]


def test_a_question_typed_as_a_sentence_finds_its_answer_first(memory):
    memory.remember("Cy maintains the ingest service")
    memory.remember("Bo maintains the billing service")
    memory.remember("The service desk opens at nine")

    assert contents(memory, "Who is it that maintains the ingest service?")[0] == "Cy maintains the ingest service"


def test_full_text_syntax_in_a_question_is_plain_words(memory):
    memory.remember("Cy maintains ingest")

    assert contents(memory, 'ingest" AND (NOT * OR col:^~2 --;') == ["Cy maintains ingest"]


def test_every_hit_says_which_words_it_holds(memory):
    memory.remember("Cy maintains the ingest service")

    hit = memory.recall("Which services does Cy maintain?").hits[0]

    assert hit.retrievers == ("lexical",)
    assert set(hit.terms) == {"servic", "cy", "maintain"}
    assert hit.path == ()


# -- k ----------------------------------------------------------------------------------------------------------------


def test_k_is_honoured_to_any_size(memory):
    for number in range(160):
        memory.remember(f"Ticket {number} is open")

    assert len(memory.recall("ticket", k=150).hits) == 150
    assert len(memory.recall("ticket", k=10_000).hits) == 160
    assert len(memory.recall("ticket", k=1).hits) == 1


def test_a_k_below_one_is_refused(memory):
    with pytest.raises(InvalidInput):
        recall(memory._database, Caller(namespace="acme"), "ticket", k=0)


def test_the_live_facts_are_found_behind_any_number_of_superseded_ones(memory):
    fact = memory.remember("The deploy freeze ends on day 0").id
    for day in range(1, 21):
        fact = memory.supersede(fact, f"The deploy freeze ends on day {day}").id
    memory.remember("A deploy needs two reviews")

    assert contents(memory, "deploy freeze ends", k=5) == [
        "The deploy freeze ends on day 20",
        "A deploy needs two reviews",
    ]


# -- time -------------------------------------------------------------------------------------------------------------


def test_a_fact_of_the_future_is_hidden_until_then(memory):
    memory.remember("The office moves to Bergen", valid_from="2099-01-01")

    assert contents(memory, "office") == []
    assert contents(memory.as_of(valid_at="2099-01-01"), "office") == ["The office moves to Bergen"]


def test_what_was_superseded_is_found_at_its_time_only(memory):
    fact = memory.remember("Ben lives in Oslo", valid_from=MARCH).id
    memory.supersede(fact, "Ben lives in Bergen", at=JUNE)

    assert contents(memory, "Where does Ben live?") == ["Ben lives in Bergen"]
    assert contents(memory.as_of(valid_at=APRIL), "Where does Ben live?") == ["Ben lives in Oslo"]


def test_what_was_corrected_is_found_in_the_beliefs_of_its_time_only(memory):
    fact = memory.remember("The store is MySQL", valid_from=MARCH)
    before = memory.get(fact.id).tx_from
    memory.correct(fact.id, "The store is PostgreSQL")

    assert contents(memory, "store") == ["The store is PostgreSQL"]
    assert contents(memory.as_of(known_at=before), "store") == ["The store is MySQL"]


def test_what_was_forgotten_is_found_only_where_it_was_believed(memory):
    fact = memory.remember("The code word is swordfish")
    before = memory.get(fact.id).tx_from
    memory.forget(fact.id)

    assert contents(memory, "swordfish") == []
    assert contents(memory.as_of(known_at=before), "swordfish") == ["The code word is swordfish"]


def test_a_hit_is_current_at_the_moment_asked_about(memory):
    fact = memory.remember("Ben lives in Oslo", valid_from=MARCH).id
    memory.supersede(fact, "Ben lives in Bergen", at=JUNE)

    assert [hit.fact.is_current for hit in memory.as_of(valid_at=APRIL).recall("Ben").hits] == [True]


def test_a_fact_ends_for_recall_when_its_time_is_over():
    clock = Clock(MARCH)
    with _clock.replaced_by(clock), Memory.open(":memory:") as memory:
        memory.remember("The guest badge is 17", valid_to=MARCH + timedelta(days=1))

        before = contents(memory, "badge")
        clock.move(days=1)

        assert (before, contents(memory, "badge")) == (["The guest badge is 17"], [])


# -- namespaces and kinds ---------------------------------------------------------------------------------------------


def test_a_namespace_reads_itself_and_its_ancestors_and_nobody_else(memory):
    for namespace in ("acme", "acme/kestrel", "acme/kestrel/main", "acme/osprey", "other", "acme2"):
        memory.at_namespace(namespace).remember(f"The salary of {namespace} is secret")

    found = contents(memory, "salary secret", k=99)

    assert sorted(found) == ["The salary of acme is secret", "The salary of acme/kestrel is secret"]


def test_another_namespaces_names_lead_nowhere(memory):
    memory.at_namespace("other").remember("Salaries are secret", entities=["Ada"], relate=[("Ada", "knows", "Bo")])

    assert memory.recall("Ada").seeds == ()


def test_what_others_store_moves_no_score(memory):
    memory.remember("Cy maintains ingest")
    memory.remember("Bo maintains billing")
    before = memory.recall("Cy maintains")
    for number in range(20):
        memory.at_namespace("other").remember(f"Cy maintains thing {number}")

    assert memory.recall("Cy maintains") == before


def test_equal_matches_come_nearest_namespace_first(memory):
    for namespace in ("acme", "acme/kestrel"):
        memory.at_namespace(namespace).remember("Reviews need two people")

    assert [hit.fact.namespace for hit in memory.recall("reviews").hits] == ["acme/kestrel", "acme"]


def test_kinds_are_filtered_before_the_best_are_taken(memory):
    for number in range(20):
        memory.remember(f"Coffee fact {number} about coffee", kind=Kind.FACT)
    memory.remember("Serve no milk with the coffee", kind=Kind.PREFERENCE)

    assert contents(memory, "coffee", k=3, kinds=["preference"]) == ["Serve no milk with the coffee"]


# -- the graph --------------------------------------------------------------------------------------------------------


def test_the_graph_brings_facts_that_no_word_reaches(memory):
    memory.relate("Cy", "maintains", "ingest")
    memory.relate("ingest", "runs on", "node-7")
    memory.remember("It restarts every night", entities=["ingest"])
    memory.remember("The rack is in Bergen", entities=["node-7"])
    memory.remember("Bo has a dog", entities=["Bo"])

    result = memory.recall("What should Cy watch?")

    assert [(hit.fact.content, hit.path) for hit in result.hits] == [
        ("It restarts every night", ("Cy", "ingest")),
        ("The rack is in Bergen", ("Cy", "ingest", "node-7")),
    ]
    assert result.seeds == ("Cy",)
    assert all(hit.retrievers == ("graph",) for hit in result.hits)


def test_a_relation_counts_only_while_it_holds(memory):
    memory.relate("Bo", "maintains", "ingest", valid_from=MARCH)
    memory.unrelate("Bo", "maintains", "ingest", at=JUNE)
    memory.remember("It restarts every night", entities=["ingest"], valid_from=MARCH)

    assert contents(memory, "Bo") == []
    assert contents(memory.as_of(valid_at=APRIL), "Bo") == ["It restarts every night"]


def test_a_step_that_the_question_names_leads_first(memory):
    memory.relate("Cy", "maintains", "ingest")
    memory.relate("Cy", "plays", "chess")
    memory.remember("It restarts every night", entities=["ingest"])
    memory.remember("The club meets on Monday", entities=["chess"])

    assert contents(memory, "What does Cy play?")[0] == "The club meets on Monday"
    assert contents(memory, "What does Cy maintain?")[0] == "It restarts every night"


def test_the_graph_does_not_prefer_what_is_new(memory):
    memory.remember("The report is due in May", entities=["Ada"], valid_from="2020-01-01")
    for number in range(10):
        memory.remember(f"Lunch {number} was soup", entities=["Ada"])

    assert contents(memory, "When is Ada's report due?")[0] == "The report is due in May"


def test_the_facts_of_a_hub_come_only_where_words_bring_them(memory):
    for number in range(60):
        memory.remember(f"Note {number} on topic {number * 7}", entities=["user"])
    memory.remember("Green tea is the favourite drink", entities=["user"])
    memory.relate("user", "owns", "notebook")

    assert contents(memory, "What is the favourite drink of the user?", k=10) == ["Green tea is the favourite drink"]
    assert contents(memory, "What is the shoe size of the user?", k=10) == []
    assert len(contents(memory, "the user", k=10)) == 10


def test_an_entity_is_found_by_an_alias_in_another_script(memory):
    memory.remember("Deploys on Fridays", entities=["Ada Lovelace"])
    memory.add_alias("Ada Lovelace", "阿达")

    hit = memory.recall("阿达做什么?").hits[0]

    assert (hit.fact.content, hit.path) == ("Deploys on Fridays", ("Ada Lovelace",))
    assert hit.fact.entities == ("Ada Lovelace",)


def test_an_entity_of_an_ancestor_leads_to_facts_below_it(memory):
    memory.at_namespace("acme").remember("She founded it", entities=["Ada"])
    memory.remember("Prefers the train", entities=["Ada"])

    result = memory.recall("Ada")

    assert sorted(hit.fact.content for hit in result.hits) == ["Prefers the train", "She founded it"]
    assert result.seeds == ("Ada",)


def test_entities_of_a_hit_keep_the_order_they_were_given_in(memory):
    memory.remember("Tea for two", entities=["Zoe", "Ada", "Mia"])

    assert memory.recall("tea").hits[0].fact.entities == ("Zoe", "Ada", "Mia")


# -- nothing ----------------------------------------------------------------------------------------------------------


def test_a_question_that_nothing_answers_gets_nothing_and_why(memory):
    for number in range(40):
        memory.remember(f"The user likes colour {number}")

    result = memory.recall("Quantum chromodynamics?")

    assert result.hits == ()
    assert result.explanation == "None of the 40 facts that can be seen matches the question."


def test_a_word_that_every_fact_holds_is_no_answer_to_the_rest_of_a_question(memory):
    for number in range(40):
        memory.remember(f"The user likes colour {number}")

    assert contents(memory, "Which blood group does the user have?") == []
    assert len(contents(memory, "user", k=5)) == 5


@pytest.mark.parametrize(
    ("query", "kinds", "moment", "words"),
    [
        ("tea", None, "2001-01-01", "holds at that moment"),
        ("tea", ["task"], None, "of a kind"),
        ("tea", [], None, "of a kind"),
        ("what is it about?", None, None, "no word"),
        ("?!", None, None, "no word"),
        ("coffee", None, None, "None of the 1 facts"),
    ],
)
def test_an_empty_result_says_why(memory, query, kinds, moment, words):
    memory.remember("Ada likes tea")

    result = memory.as_of(valid_at=moment).recall(query, kinds=kinds)

    assert result.hits == ()
    assert words in result.explanation


def test_a_namespace_that_holds_nothing_is_said_to(memory):
    memory.remember("Ada likes tea")

    explanation = memory.at_namespace("acme2").recall("tea").explanation

    assert explanation == "Nothing is stored in the namespace 'acme2', nor above it."


# -- the same again ---------------------------------------------------------------------------------------------------


def test_the_ranking_is_the_same_however_often_it_is_asked_and_nothing_is_written(memory):
    for number in range(30):
        memory.remember(f"Coffee note {number % 7} number {number}", entities=["Ada"])
    before = dump(memory._database)

    first = memory.recall("Ada coffee note 3", k=20)

    assert all(memory.recall("Ada coffee note 3", k=20) == first for _ in range(50))
    assert dump(memory._database) == before


def test_equal_scores_come_in_the_order_of_their_ids(memory):
    for number in range(30):
        memory.remember(f"Coffee {number + 100}")

    ids = [int(hit.fact.id[1:]) for hit in memory.recall("coffee", k=30).hits]

    assert ids == sorted(ids)


def test_the_order_is_the_same_after_a_reopen(tmp_path):
    path = tmp_path / "memory.duckdb"
    with Memory.open(path) as memory:
        memory.recall("warm the index")
        fact = memory.remember("Coffee is served at nine", entities=["Ada", "kitchen"]).id
        memory.supersede(fact, "Coffee is served at ten")
        memory.remember("Tea is served at nine", entities=["kitchen"])
        memory.relate("Ada", "runs", "kitchen")
        grown = memory.recall("When does Ada serve coffee?")

    with Memory.open(path) as memory:
        assert memory.recall("When does Ada serve coffee?").hits == grown.hits
    assert len(grown.hits) == 2


def test_importance_decides_between_equal_matches_and_not_between_unequal_ones(memory):
    memory.remember("Coffee is at nine sharp in room one", importance=0.1)
    memory.remember("Coffee is at nine sharp in room two", importance=0.9)
    memory.remember("Coffee", importance=1.0)

    found = contents(memory, "coffee at nine sharp in the room")

    assert found[0] == "Coffee is at nine sharp in room two"
    assert found[-1] == "Coffee"


def test_fusion_by_rank_finds_the_same_facts(memory):
    for number in range(9):
        memory.remember(f"Coffee note {number}", entities=["Ada"])
    database, caller = memory._database, Caller(namespace=memory.namespace)

    by_score = recall(database, caller, "Ada coffee", k=9)
    by_rank = recall(database, caller, "Ada coffee", k=9, fuse=engine.by_rank)

    assert {hit.fact.id for hit in by_rank.hits} == {hit.fact.id for hit in by_score.hits}
    assert len(by_rank.hits) == 9


# -- size -------------------------------------------------------------------------------------------------------------


def test_one_huge_fact_is_found_by_its_last_word_and_moves_no_other_answer(memory):
    memory.remember("The badge number is 4821")
    memory.remember("lorem ipsum dolor sit amet " * 80_000 + "needle")

    assert contents(memory, "badge number") == ["The badge number is 4821"]
    assert len(memory.recall("needle").hits) == 1


def test_a_name_means_the_nearest_entity_that_has_it(memory):
    project = memory.at_namespace("acme/falcons")
    project.remember("Falcon is written in Rust.", entities=["Falcon"])
    team = memory.at_namespace("acme")
    team.remember("Falcon ships on Mondays.", entities=["Falcon"])
    team.remember("Mondays are quiet.", entities=["Falcon"])

    found = project.recall("Falcon")

    assert found.seeds == ("Falcon",)
    assert not any(hit.fact.content == "Mondays are quiet." for hit in found.hits)
