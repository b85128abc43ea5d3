"""Fusion is arithmetic: what it may change, and by how much."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_memory.recall.fusion import best, fuse_ranks, fuse_scores, multipliers
from agents_memory.types import Kind

SCORES = st.lists(st.integers(0, 1000), min_size=1, max_size=20).map(lambda scores: np.array(scores) / 7)
DAY_US = 86_400_000_000


def factor(*, importance=0.5, kind=Kind.FACT, days=0, distance=0):
    made = multipliers(
        importance=np.array([importance]),
        kinds=[kind],
        age_us=np.array([days * DAY_US]),
        distance=np.array([distance]),
    )
    return float(made[0])


@given(SCORES)
def test_a_base_alone_keeps_its_order(scores):
    fused = fuse_scores(scores, [(np.zeros(len(scores)), 0.3)])

    assert best(fused, np.arange(len(scores)), 99).tolist() == best(scores, np.arange(len(scores)), 99).tolist()


def test_what_only_the_graph_found_stays_below_the_best_word_match():
    fused = fuse_scores(np.array([12.0, 0.0]), [(np.array([0.0, 9.0]), 0.3)])

    assert fused.tolist() == [1.0, 0.3]


def test_the_graph_alone_orders_what_no_word_found():
    fused = fuse_scores(np.zeros(3), [(np.array([0.1, 0.4, 0.2]), 0.3)])

    assert best(fused, np.arange(3), 3).tolist() == [1, 2, 0]


def test_ranks_count_only_for_what_was_found():
    fused = fuse_ranks([np.array([5.0, 3.0, 0.0]), np.array([0.0, 2.0, 0.0])])

    assert fused.tolist() == [1 / 61, 1 / 62 + 1 / 61, 0.0]


def test_equal_scores_share_a_rank():
    assert fuse_ranks([np.array([2.0, 2.0, 1.0])]).tolist() == [1 / 61, 1 / 61, 1 / 63]


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0]), max_size=30), st.integers(1, 40))
def test_the_best_are_those_of_a_full_sort_with_ties_by_id(scores, count):
    ids = np.arange(len(scores))[::-1]

    found = best(np.array(scores), ids, count).tolist()

    assert found == sorted(range(len(scores)), key=lambda at: (-scores[at], ids[at]))[:count]


@given(st.floats(0, 1), st.sampled_from(Kind), st.integers(-1000, 100_000), st.integers(0, 50))
def test_multipliers_are_bounded(importance, kind, days, distance):
    assert 0.68 < factor(importance=importance, kind=kind, days=days, distance=distance) <= 1.1


def test_importance_raises_and_distance_lowers():
    assert factor(importance=0.9) > factor() > factor(importance=0.1)
    assert factor() == pytest.approx(1.0)
    assert factor() > factor(distance=1) > factor(distance=2)


def test_a_task_ages_and_a_preference_does_not():
    assert factor(kind=Kind.TASK, days=365) < factor(kind=Kind.EVENT, days=365) < 1
    assert factor(kind=Kind.PREFERENCE, days=3650) == pytest.approx(1.0)
