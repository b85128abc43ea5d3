"""The clock: aware, in UTC, and replaceable for the length of a block."""

from datetime import UTC, datetime, timedelta

import pytest

from agents_memory import _clock
from tests.storage import Clock

MOMENT = datetime(2026, 9, 1, tzinfo=UTC)


def test_the_present_is_aware_and_in_utc() -> None:
    assert _clock.now().utcoffset() == timedelta(0)


def test_time_passes() -> None:
    before = _clock.now()

    assert _clock.now() >= before > datetime(2026, 1, 1, tzinfo=UTC)


def test_another_clock_holds_inside_the_block_alone() -> None:
    with _clock.replaced_by(Clock(MOMENT)):
        inside = _clock.now()

    assert inside == MOMENT
    assert _clock.now() != MOMENT


def test_the_clock_comes_back_after_an_error() -> None:
    with pytest.raises(ValueError, match="on purpose"), _clock.replaced_by(Clock(MOMENT)):
        raise ValueError("on purpose")

    assert _clock.now() != MOMENT


def test_blocks_nest() -> None:
    later = MOMENT + timedelta(days=1)

    with _clock.replaced_by(Clock(MOMENT)):
        with _clock.replaced_by(Clock(later)):
            assert _clock.now() == later
        assert _clock.now() == MOMENT
