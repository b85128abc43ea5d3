"""What is a token, in writing and in asking."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_memory.text.tokens import MAX_WRITTEN_CHARS, name_words, query_tokens, tokens, written_tokens
from agents_memory.text.words import IRREGULAR

SAME = [
    ("Москва столица России", "москва"),
    ("Он живёт в Москве", "Москва"),
    ("чёрный чай", "черный"),
    ("阿达喜欢黑咖啡", "黑咖啡"),
    ("我喜欢喝茶", "茶"),
    ("コーヒーが好き", "コーヒー"),
    ("ｺｰﾋｰ", "コーヒー"),
    ("그는 커피를 마신다", "커피"),
    ("ผมชอบกาแฟดำ", "กาแฟ"),
    ("أحمد يحب القهوة السوداء", "قهوة"),
    ("كَتَبَ الرسالة", "كتب"),
    ("मुझे चाय पसंद है", "चाय"),
    ("we ship 🚀 today", "🚀"),
    ("well done 👍🏽", "👍"),
    ("the meeting is at 14:05", "14:05"),
    ("badge 4821", "4821"),
    ("badge ٤٨٢١", "4821"),
    ("badge ４８２１", "4821"),
    ("gateway 10.0.0.1 answers", "10.0.0.1"),
    ("pinned to v1.2.3", "v1.2.3"),
    ("see src/main.py", "main.py"),
    ("see src/main.py", "src/main.py"),
    ("call getUserName first", "getUserName"),
    ("call getUserName first", "user name"),
    ("set max_open_files", "max_open_files"),
    ("set max_open_files", "files"),
    ("write to bob@example.com", "bob@example.com"),
    ("it costs 1,200 euros", "1200"),
    ("written in C++ and C#", "C#"),
    ("the café", "cafe"),
    ("a cafe", "café"),
    ("naïve", "naive"),
    ("Straße", "STRASSE"),
    ("she was running", "run"),
    ("she ran home", "running"),
    ("he bought bread", "buy"),
    ("Ada's bicycle", "Ada"),
    ("Ada’s bicycle", "ada"),
    ("Łódź", "lodz"),
    ("soft\u00adhyphen and zero\u200bwidth", "zerowidth"),
]


@pytest.mark.parametrize(("written", "asked"), SAME)
def test_what_is_asked_finds_what_is_written(written, asked):
    assert not set(query_tokens(asked)).isdisjoint(tokens(written))


DIFFERENT = [
    ("t1", "t2"),
    ("t1", "can't"),
    ("t2", "can't"),
    ("can't", "can"),
    ("port 5672", "5673"),
    ("10.0.0.1", "10.0.0.2"),
    ("14:05", "14:06"),
    ("v1.2.3", "v1.2.4"),
    ("2026-03-01", "2026-03-02"),
    ("кофе", "чай"),
    ("咖啡", "茶"),
    ("C++", "C#"),
    ("й", "и"),
]


@pytest.mark.parametrize(("written", "asked"), DIFFERENT)
def test_things_that_differ_have_no_token_in_common(written, asked):
    assert set(query_tokens(asked)).isdisjoint(tokens(written))


def test_a_compound_gives_itself_and_its_parts():
    assert tokens("10.0.0.1") == ["10.0.0.1", "10", "0", "0", "1"]
    assert tokens("src/main.py") == ["src/main.py", "main.py", "src", "main", "py"]
    assert tokens("10.0.0.1:5672")[:2] == ["10.0.0.1:5672", "10.0.0.1"]
    assert tokens("getUserName")[1:] == ["get", "user", "name"]


def test_a_question_loses_its_stop_words_and_a_text_keeps_them():
    assert query_tokens("What is the plan of Ada?") == ["plan", "ada"]
    assert tokens("What is the plan")[:3] == ["what", "is", "the"]


@pytest.mark.parametrize("question", ["The Who", "Will", "it"])
def test_a_question_of_stop_words_alone_is_taken_at_its_word(question):
    assert query_tokens(question) == tokens(question)


@pytest.mark.parametrize("text", ["", "   ", "?!", "...", "\n\t", "___", "\ufeff"])
def test_what_holds_no_word_has_no_token(text):
    assert [*tokens(text), *query_tokens(text), *name_words(text)] == []


@pytest.mark.parametrize(("form", "base"), [("went", "go"), ("thought", "think"), ("children", "child")])
def test_an_irregular_form_is_its_base_form(form, base):
    assert tokens(form) == tokens(base)


def test_no_irregular_form_is_another_verbs_base_form():
    assert not set(IRREGULAR) & set(IRREGULAR.values())


@given(st.text(max_size=200))
def test_any_text_is_found_by_itself(text):
    asked = query_tokens(text)

    assert set(asked) <= set(tokens(text))
    assert all(asked)


@given(st.text(max_size=200))
def test_case_makes_no_difference(text):
    ascii_only = text.encode("ascii", "ignore").decode()

    assert set(query_tokens(ascii_only.upper())) == set(query_tokens(ascii_only.lower()))


LONG = {
    "one endless word": "x" * 20_000_000,
    "one endless path": "a/" * 10_000_000,
    "Chinese without a stop": "汉字" * 10_000_000,
    "words": "the quick brown fox " * 1_000_000,
    "one endless number": "1" * 20_000_000,
    "apostrophes": "a'" * 10_000_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_the_work_for_one_text_is_bounded(text):
    started = time.process_time()

    count = sum(1 for _ in written_tokens(text))

    assert count <= 2 * MAX_WRITTEN_CHARS
    assert time.process_time() - started < 10
    assert all(len(token) <= 128 for token in set(written_tokens(text)))


def test_threads_stem_the_same_words_to_the_same_tokens():
    stems = [f"{first}{middle}" for first in "bcdfghjklmnp" for middle in ("allow", "imber", "orrid", "eckon")]
    texts = [" ".join(f"{stem}{ending}" for stem in stems) for ending in ("ing", "ed", "ally")]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(tokens, texts * 8))

    assert all(result == results[number % 3] for number, result in enumerate(results))
