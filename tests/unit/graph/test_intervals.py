"""What of an interval is covered by others, moment by moment."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from agents_memory.graph.intervals import Interval, outside, overlap, uncovered

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = range(14)

bounds = st.tuples(st.integers(0, 9), st.none() | st.integers(1, 5))
intervals = bounds.map(
    lambda pair: (START + pair[0] * DAY, None if pair[1] is None else START + (pair[0] + pair[1]) * DAY)
)


def holds(interval: Interval, moment: datetime) -> bool:
    return interval[0] <= moment and (interval[1] is None or moment < interval[1])


def moments() -> list[datetime]:
    return [START + day * DAY for day in DAYS]


@given(intervals, intervals)
def test_two_intervals_overlap_when_some_moment_is_in_both(one: Interval, other: Interval) -> None:
    assert overlap(one, other) == any(holds(one, moment) and holds(other, moment) for moment in moments())


@given(intervals, intervals)
def test_what_lies_outside_is_the_rest(whole: Interval, cut: Interval) -> None:
    rest = outside(whole, cut) if overlap(whole, cut) else [whole]

    for moment in moments():
        assert any(holds(part, moment) for part in rest) == (holds(whole, moment) and not holds(cut, moment))


@given(intervals.filter(lambda asked: asked[1] is not None), st.lists(intervals, max_size=4))
def test_the_uncovered_parts_are_what_no_other_interval_covers(asked: Interval, known: list[Interval]) -> None:
    parts = uncovered(asked, [one for one in known if overlap(one, asked)], now=START)

    for moment in moments():
        missing = holds(asked, moment) and not any(holds(one, moment) for one in known)
        assert any(holds(part, moment) for part in parts) == missing


def test_an_open_end_is_covered_by_what_still_holds() -> None:
    asked, known = (START, None), (START, START + 5 * DAY)

    assert uncovered(asked, [known], now=START + DAY) == []
    assert uncovered(asked, [known], now=START + 9 * DAY) == [(START + 5 * DAY, None)]
