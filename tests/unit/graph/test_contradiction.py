"""When two statements may contradict each other: the words say nearly the same, and one thing differs."""

import pytest

from agents_memory.graph.contradiction import Statement, difference


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("The broker listens on port 5672.", "The broker listens on port 5673.", "number"),
        ("Ada has 5 years' experience", "Ada has 6 years' experience", "number"),
        ("Ada has five years of experience", "Ada has six years of experience", "number"),
        ("The limit is 1,000 requests", "The limit is 2000 requests", "number"),
        ("Python 3.11 is required", "Python 3.12 is required", "number"),
        ("The gateway is 10.0.0.1", "The gateway is 10.0.0.2", "number"),
        ("Deploys are allowed on Fridays", "Deploys are not allowed on Fridays", "negation"),
        ("Deploys are allowed on Fridays", "Deploys aren't allowed on Fridays", "negation"),
        ("Cy is the owner of ingest", "Cy is no longer the owner of ingest", "negation"),
        ("Cy never reviews ingest", "Cy reviews ingest", "negation"),
        ("Ben lives in Oslo", "Ben lives in Bergen", "name"),
        ("Ben lives in Oslo", "BEN LIVES IN BERGEN", "name"),
        ("Staging is deployed every Friday.", "Staging is deployed every Thursday.", "name"),
        ("Cy maintains the ingest service.", "Bo maintains the ingest service.", "name"),
    ],
)
def test_what_differs_in_a_number_a_negation_or_a_name_may_conflict(one, other, expected) -> None:
    assert difference(Statement(one), Statement(other)) == expected
    assert difference(Statement(other), Statement(one)) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ben lives in Oslo", "Ben lives in Oslo"),
        ("Ben lives in Oslo", "ben lives in Oslo."),
        ("Ben lives in Oslo", "Ben lives in Oslo since 2019"),
        ("Ada likes tea", "Ada likes coffee"),
        ("Cy owns ingest", "Cy lives in Oslo"),
        ("Cy is not in Oslo", "Cy is in Bergen"),
        ("The limit is 1,000 requests", "The limit is 1000 requests"),
        ("Deploys are never not announced", "Deploys are announced"),
        ("The broker listens on port 5672", "Bo was born in 1984"),
        ("", "..."),
        ("阿达喜欢黑咖啡", "阿达喜欢红茶"),
    ],
)
def test_what_may_well_both_be_true_is_no_conflict(one, other) -> None:
    assert difference(Statement(one), Statement(other)) is None
    assert difference(Statement(other), Statement(one)) is None


@pytest.mark.parametrize(
    ("content", "subject"),
    [("The Broker's port is 5672", "the broker's"), ("5672", "5672"), ("It is so", "it is so"), ("", "")],
)
def test_the_subject_is_the_beginning_up_to_the_first_word_that_says_something(content, subject) -> None:
    assert Statement(content).subject == subject
