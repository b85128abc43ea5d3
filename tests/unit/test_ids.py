"""Ids: an integer inside, a letter and that integer at every boundary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import InvalidId


@given(st.sampled_from(IdKind), st.integers(1, 10**18 - 1))
def test_an_id_survives_the_boundary(kind: IdKind, number: int) -> None:
    assert to_number(kind, to_text(kind, number)) == number


@given(st.sampled_from(IdKind), st.integers(1, 10**9), st.sampled_from(IdKind))
def test_an_id_of_another_kind_is_refused(kind: IdKind, number: int, other: IdKind) -> None:
    if kind is other:
        assert to_number(other, to_text(kind, number)) == number
    else:
        with pytest.raises(InvalidId, match=f"such as '{other.value}12'"):
            to_number(other, to_text(kind, number))


@given(st.text(max_size=5))
def test_a_text_is_an_id_only_if_it_is_spelled_as_one(text: str) -> None:
    try:
        number = to_number(IdKind.FACT, text)
    except InvalidId:
        return
    assert to_text(IdKind.FACT, number) == text


@pytest.mark.parametrize("value", [12, 12.0, True, None, b"f12", ["f12"], "f0", "f012", "F12", " f12", "f12\n", "f१२"])
def test_what_is_no_id_is_refused(value: object) -> None:
    with pytest.raises(InvalidId) as refusal:
        to_number(IdKind.FACT, value)

    assert refusal.value.details == {"expected": "f"}


def test_a_long_text_is_not_repeated_in_the_refusal() -> None:
    with pytest.raises(InvalidId) as refusal:
        to_number(IdKind.FACT, "x" * 10_000)

    assert len(str(refusal.value)) < 250


def test_no_two_kinds_share_a_letter() -> None:
    assert len({kind.value for kind in IdKind}) == len(IdKind)
    assert all(len(kind.value) == 1 for kind in IdKind)
