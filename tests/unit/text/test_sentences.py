"""Sentences are told apart by their marks, verbatim, in every script."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_memory.text.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cy left. Bo came! Who is next?", ["Cy left.", "Bo came!", "Who is next?"]),
        ("no mark at all", ["no mark at all"]),
        ("One\nTwo\r\n\n  Three  ", ["One", "Two", "Three"]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("It costs 3.50 at 10.0.0.1 in v1.2. Fine.", ["It costs 3.50 at 10.0.0.1 in v1.2.", "Fine."]),
        ("Use a cache, e.g. Redis, i.e. memory. Done.", ["Use a cache, e.g. Redis, i.e. memory.", "Done."]),
        ("Dr. Ada met J. Smith vs. Bo. They talked.", ["Dr. Ada met J. Smith vs. Bo.", "They talked."]),
        ("It took approx. two hours. Good.", ["It took approx. two hours.", "Good."]),
        ("1. Wash. 2. Dry.", ["1. Wash.", "2. Dry."]),
        ("Wait... what? Yes…", ["Wait...", "what?", "Yes…"]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("Кай ушёл. Бо пришёл! Кто дальше?", ["Кай ушёл.", "Бо пришёл!", "Кто дальше?"]),
        ("服务失败。为什么？「内存。」谢谢！", ["服务失败。", "为什么？", "「内存。」", "谢谢！"]),
        ("هل فشلت؟ نعم. شكرا۔ جيد", ["هل فشلت؟", "نعم.", "شكرا۔", "جيد"]),
        ("यह है। वह था॥ ठीक", ["यह है।", "वह था॥", "ठीक"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_text_falls_into_its_sentences(text, expected):
    assert sentences(text) == expected


@given(st.text(alphabet="aB.!? \n\"'1。？é", max_size=60))
def test_nothing_but_white_space_is_lost_or_changed(text):
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def test_long_runs_of_marks_cost_no_more_than_their_length():
    started = time.process_time()

    sentences("." * 200_000 + "a" + '"' * 200_000 + "!" * 200_000 + "。" * 200_000)

    assert time.process_time() - started < 2
