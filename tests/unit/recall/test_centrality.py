"""Central sentences: against LexRank as the paper has it, and what the choice promises."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from agents_memory.recall.centrality import ALIKE, DAMPING, _Words, central

SENTENCES = [
    ["ingest", "fail", "monday"],
    ["ingest", "memory", "batch"],
    ["batch", "memory", "night"],
    ["weather", "nice"],
    ["ingest", "batch", "small"],
]


def lexrank(sentences: list[list[str]]) -> list[float]:
    """Continuous LexRank, written out: cosine similarities, rows that sum to one, the power method."""
    holding = Counter(word for words in sentences for word in words)
    idf = {word: math.log1p((len(sentences) - n + 0.5) / (n + 0.5)) for word, n in holding.items()}
    norms = [math.sqrt(sum(idf[word] ** 2 for word in words)) for words in sentences]
    likeness = np.array(
        [
            [sum(idf[w] ** 2 for w in set(one) & set(other)) / norms[i] / norms[j] for j, other in enumerate(sentences)]
            for i, one in enumerate(sentences)
        ]
    )
    walk = likeness / likeness.sum(axis=1, keepdims=True)
    scores = np.full(len(sentences), 1 / len(sentences))
    for _ in range(200):
        scores = DAMPING / len(sentences) + (1 - DAMPING) * walk.T @ scores
    found: list[float] = scores.tolist()
    return found


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_lexrank(seed):
    chosen = random.Random(seed)
    sentences = [chosen.sample("abcdefghijklmnop", chosen.randint(1, 6)) for _ in range(25)]

    assert _Words(sentences).lexrank() == pytest.approx(lexrank(sentences), abs=1e-5)


def test_the_most_central_come_first_and_are_given_in_their_order():
    scores = lexrank(SENTENCES)

    assert central(SENTENCES, 1) == [scores.index(max(scores))]
    assert central(SENTENCES, 99) == sorted(central(SENTENCES, 99))


def test_no_two_chosen_ones_are_alike():
    sentences = [*SENTENCES, ["ingest", "fail", "monday", "too"], ["batch", "memory", "night", "long"]]

    chosen = central(sentences, 99)

    words = _Words(sentences)
    assert all(words.likeness(one)[other] < ALIKE for one in chosen for other in chosen if one != other)
    assert {0, 5} - set(chosen)
    assert {2, 6} - set(chosen)


def test_equally_central_ones_are_taken_in_the_order_of_reading():
    assert central([["a", "b"], ["c", "d"], ["e", "f"]], 2) == [0, 1]


def test_one_sentence_is_central():
    assert central([["tea"]], 5) == [0]
