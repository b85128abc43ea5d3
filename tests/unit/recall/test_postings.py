"""Postings give what was put in, however it was put in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_memory.recall import postings as module
from agents_memory.recall.postings import Postings

ROWS = st.lists(st.dictionaries(st.integers(0, 6), st.integers(1, 3), max_size=4), max_size=30)


def filled(rows, loaded):
    """Postings of `rows`, the first `loaded` of them at once."""
    made = Postings()
    entries = [(key, row, count) for row, keys in enumerate(rows[:loaded]) for key, count in keys.items()]
    columns = np.array(entries, np.int64).reshape(-1, 3)
    made.load(columns[:, 0], columns[:, 1], columns[:, 2])
    for row, keys in enumerate(rows[loaded:], start=min(loaded, len(rows))):
        made.append(row, keys)
    return made


@pytest.fixture(autouse=True)
def often_folded(monkeypatch):
    monkeypatch.setattr(module, "_LATE_AT_LEAST", 8)


@given(ROWS, st.integers(0, 30))
def test_loaded_and_appended_rows_come_back_in_order(rows, loaded):
    made = filled(rows, loaded)

    for key in range(8):
        found, counts = made.of(key)
        expected = [(row, keys[key]) for row, keys in enumerate(rows) if key in keys]
        assert list(zip(found.tolist(), counts.tolist(), strict=True)) == expected


@given(ROWS, st.integers(0, 30), st.lists(st.integers(0, 7), max_size=5, unique=True))
def test_many_keys_give_what_each_gives(rows, loaded, keys):
    made = filled(rows, loaded)

    positions, found = made.of_many(keys)

    expected = [(at, row) for at, key in enumerate(keys) for row in made.of(key)[0].tolist()]
    assert sorted(zip(positions.tolist(), found.tolist(), strict=True)) == expected


def test_what_was_read_does_not_change_when_rows_are_added():
    made = filled([{1: 1}], 1)
    before, _ = made.of(1)

    for row in range(1, 50):
        made.append(row, {1: 1})

    assert before.tolist() == [0]
    assert made.of(1)[0].tolist() == list(range(50))
