"""When two names are one name, and two statements one statement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_memory.graph.names import content_key, fold


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Caf\u00e9", "Cafe\u0301"),
        ("Straße", "STRASSE"),
        ("ＡＤＡ", "ada"),
        ("Ada\u00a0Byron", "ada byron"),
        ("Ada \t\n Byron", "ada byron"),
        ("Ad\u200ba", "ada"),
        ("\ufeffAda\u200d", "ada"),
        ("Ⅳ", "iv"),
        ("ﬁle", "file"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ],
)
def test_names_that_differ_in_form_only_are_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"), [("C++", "C"), ("C#", "C"), ("Café", "Cafe"), ("node-1", "node 1"), ("v1.2", "v12"), ("и", "й")]
)
def test_names_that_differ_in_a_character_are_two(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    "wording",
    [
        "cy maintains the ingest service.",
        "CY MAINTAINS THE INGEST SERVICE",
        "Cy maintains the ingest service!",
        "Cy  maintains\tthe ingest\nservice",
        "  Cy maintains the ingest service . . ".replace(" . . ", " !"),
        '"Cy maintains the ingest service."',
        "“Cy maintains the ingest service”.",
        "Cy maintains the 'ingest' service",
        "Cy maintains (the ingest service)",
        "Cy maintains the ingest service...",
        "Cy, maintains; the: ingest service…",
    ],
)
def test_wordings_that_differ_in_case_spacing_and_closing_marks_are_one(wording: str) -> None:
    assert content_key(wording) == content_key("Cy maintains the ingest service")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It listens on port 5672", "It listens on port 5673"),
        ("Deploys are allowed on Fridays", "Deploys are not allowed on Fridays"),
        ("Cy can deploy", "Cy can't deploy"),
        ("Ada writes C++", "Ada writes C"),
        ("Ada writes C#", "Ada writes C"),
        ("The limit is 3.5", "The limit is 35"),
        ("The limit is .5", "The limit is 5"),
        ("The limit is -5", "The limit is 5"),
        ("The check is x != 3", "The check is x = 3"),
        ("Read ../config", "Read /config"),
        ("Run cd ..", "Run cd ."),
        ("It returns int[]", "It returns int"),
        ("The board is 5' long", 'The board is 5" long'),
        ("Is it ready?", "It is ready"),
        ("It is ready?", "It is ready"),
        ("Costs 10%", "Costs 10"),
        ("Costs $10", "Costs €10"),
        ("10.0.0.1 is down", "10.0.0.11 is down"),
        ("Call it a.b", "Call it a b"),
        ("!", ";"),
        ("Москва", "Минск"),
        ("阿达喜欢黑咖啡", "阿达喜欢咖啡"),
    ],
)
def test_statements_that_differ_in_what_they_say_are_two(one: str, other: str) -> None:
    assert content_key(one) != content_key(other)


def test_a_typographic_apostrophe_is_an_apostrophe() -> None:
    assert content_key("Cy can’t deploy") == content_key("Cy can't deploy")


@given(st.text())
def test_a_key_fits_a_signed_64_bit_column(text: str) -> None:
    assert -(2**63) <= content_key(text.encode("utf-8", "ignore").decode()) < 2**63


@pytest.mark.parametrize(
    "hostile", ["'a " * 20_000, ")" * 50_000 + "a", "." * 50_000 + "a", "(" * 50_000, '"' * 50_001]
)
def test_no_text_takes_long_to_fold(hostile: str) -> None:
    assert isinstance(content_key(hostile), int)
