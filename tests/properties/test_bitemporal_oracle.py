"""Both time axes against a pure-Python oracle: after every step, at every (valid, known) moment that could matter.

The oracle knows nothing of the code: rows with two intervals, and what each verb means for them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from agents_memory import Memory, _clock
from agents_memory.errors import AgentsMemoryError, InvalidInput, InvalidTime, NotFound, StaleVersion
from agents_memory.types import Receipt
from tests.storage import Clock

FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
Outcome = str | type[AgentsMemoryError]

# -- the oracle -------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One version: what it says, over which time in the world, believed over which time."""

    id: str
    text: str
    start: datetime
    end: datetime
    since: datetime
    until: datetime = FOREVER
    supersedes: str | None = None


@dataclass
class Oracle:
    """What should be in memory. A verb returns the status or the error that is due; `new` is the id of a new row."""

    facts: list[Row] = field(default_factory=list)
    ties: list[Row] = field(default_factory=list)

    def believed(self, fact: str) -> Row | None:
        return next((row for row in self.facts if row.id == fact and row.until == FOREVER), None)

    def close(self, row: Row, now: datetime, **changes: object) -> None:
        row.until = now
        rows = self.ties if row in self.ties else self.facts
        if changes:
            rows.append(replace(row, since=now, until=FOREVER, **changes))  # type: ignore[arg-type]

    def remember(self, text: str, start: datetime | None, end: datetime | None, now: datetime, new: str) -> Outcome:
        first, last = start or now, end or FOREVER
        if last <= first:
            return InvalidTime
        for row in sorted(self.facts, key=lambda row: int(row.id[1:])):  # a correction may have made two the same
            lasts = row.end > now if end is None else row.end >= last
            if row.text == text and row.until == FOREVER and row.start < last and first < row.end and lasts:
                if start is None and now < row.start:
                    self.close(row, now, start=now)
                return f"reinforced {row.id}"
        self.facts.append(Row(new, text, first, last, now))
        return f"created {new}"

    def supersede(self, fact: str, text: str, at: datetime | None, now: datetime, new: str) -> Outcome:
        row, moment = self.believed(fact), at or now
        if row is None:
            return StaleVersion
        if moment <= row.start:
            return InvalidTime
        if moment >= row.end:
            return StaleVersion
        if text == row.text:
            return InvalidInput
        self.close(row, now, end=moment)
        self.facts.append(Row(new, text, moment, row.end, now, supersedes=fact))
        return f"superseded {new}"

    def correct(self, fact: str, text: str, now: datetime) -> Outcome:
        row = self.believed(fact)
        if row is None:
            return StaleVersion
        if text == row.text:
            return InvalidInput
        self.close(row, now, text=text)
        return f"corrected {fact}"

    def forget(self, fact: str, now: datetime) -> Outcome:
        row = self.believed(fact)
        if row is None:
            return StaleVersion
        self.close(row, now)
        return f"forgotten {fact}"

    def relate(self, tie: str, start: datetime | None, end: datetime | None, now: datetime, new: str) -> Outcome:
        first, last = start or now, end or FOREVER
        if last <= first:
            return InvalidTime
        same = [row for row in self.ties if row.text == tie and row.until == FOREVER]
        same = sorted((row for row in same if row.start < last and first < row.end), key=lambda row: row.start)
        missing, since = [], first
        for row in same:
            if since < row.start:
                missing.append((since, row.start))
            since = last if row.end > now and end is None else max(since, row.end)
        if since < last:
            missing.append((since, last))
        for number, (begins, ends) in enumerate(missing, start=int(new[1:])):
            self.ties.append(Row(f"r{number}", tie, begins, ends, now))
        return f"created {new}" if missing else f"unchanged {same[0].id}"

    def unrelate(self, tie: str, at: datetime | None, now: datetime) -> Outcome:
        moment = at or now
        same = [row for row in self.ties if row.text == tie and row.until == FOREVER and moment < row.end]
        if not same:
            return NotFound
        row = min(same, key=lambda row: row.start)
        if moment <= row.start:
            return InvalidTime
        self.close(row, now, end=moment)
        return f"ended {row.id}"


def visible(rows: Iterable[Row], valid: datetime, known: datetime) -> set[tuple[str, str]]:
    return {(row.id, row.text) for row in rows if row.start <= valid < row.end and row.since <= known < row.until}


# -- the machine ------------------------------------------------------------------------------------------------------

TEXTS = st.sampled_from(["Ben lives in Oslo", "Ben lives in Bergen", "Ben lives in Voss", "Ben likes tea"])
TIES = st.sampled_from(["Ben knows Cy", "Ben knows Dee", "Ben likes Cy"])
DAYS = st.none() | st.integers(-6, 6)
TICK = timedelta(microseconds=1)
_numbers = count()


class Memories(RuleBasedStateMachine):
    """Does the same to a memory and to the oracle, and compares."""

    memory: Memory  # one file for all runs, a namespace for each
    clock: Clock

    @initialize()
    def begin(self) -> None:
        self.here = self.memory.at_namespace(f"n{next(_numbers)}")
        self.day = self.clock.move(days=50)
        self.here.remember("Ben exists", entities=["Ben"], valid_from="1900-01-01", valid_to="1900-01-02")
        self.oracle = Oracle()
        self.ids: list[str] = []

    def at(self, day: int | None) -> datetime | None:
        return None if day is None else self.day + timedelta(days=day)

    def fact(self, number: int) -> str | None:
        return self.ids[number % len(self.ids)] if self.ids else None

    def done(self, verb: str, *arguments: object, **named: object) -> tuple[datetime, str, Outcome]:
        """The moment of the call, the id in its receipt, and its outcome in the oracle's words."""
        given = {name: value for name, value in named.items() if value is not None}
        now = max(self.clock(), self.memory._database._last_moment + TICK)
        try:
            receipt: Receipt = getattr(self.here, verb)(*arguments, **given)
        except AgentsMemoryError as error:
            return now, "", type(error)
        if receipt.id.startswith("f") and receipt.id not in self.ids:
            self.ids.append(receipt.id)
        return now, receipt.id, f"{receipt.status.value} {receipt.id}"

    @rule(hours=st.sampled_from([0, 0, 1, 30, 72, -20]))
    def let_time_pass(self, hours: int) -> None:
        self.clock.move(hours=hours)

    @rule(text=TEXTS, start=DAYS, end=DAYS)
    def remember(self, text: str, start: int | None, end: int | None) -> None:
        interval = {"valid_from": self.at(start), "valid_to": self.at(end)}
        now, new, outcome = self.done("remember", text, entities=["Ben"], **interval)
        assert outcome == self.oracle.remember(text, self.at(start), self.at(end), now, new)

    @rule(number=st.integers(0, 9), text=TEXTS, day=DAYS)
    def supersede(self, number: int, text: str, day: int | None) -> None:
        if fact := self.fact(number):
            now, new, outcome = self.done("supersede", fact, text, at=self.at(day))
            assert outcome == self.oracle.supersede(fact, text, self.at(day), now, new)

    @rule(number=st.integers(0, 9), text=TEXTS)
    def correct(self, number: int, text: str) -> None:
        if fact := self.fact(number):
            now, _, outcome = self.done("correct", fact, text)
            assert outcome == self.oracle.correct(fact, text, now)

    @rule(number=st.integers(0, 9))
    def forget(self, number: int) -> None:
        if fact := self.fact(number):
            now, _, outcome = self.done("forget", fact)
            assert outcome == self.oracle.forget(fact, now)

    @rule(tie=TIES, start=DAYS, end=DAYS)
    def relate(self, tie: str, start: int | None, end: int | None) -> None:
        interval = {"valid_from": self.at(start), "valid_to": self.at(end)}
        now, new, outcome = self.done("relate", *tie.split(), **interval)
        assert outcome == self.oracle.relate(tie, self.at(start), self.at(end), now, new)

    @rule(tie=TIES, day=DAYS)
    def unrelate(self, tie: str, day: int | None) -> None:
        now, _, outcome = self.done("unrelate", *tie.split(), at=self.at(day))
        assert outcome == self.oracle.unrelate(tie, self.at(day), now)

    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        """Ask the public surface at one of the moments."""
        valid, known = data.draw(st.sampled_from(self.moments()))
        found = self.here.as_of(valid_at=valid, known_at=known).about("Ben", hops=1)
        facts = {(fact.id, fact.content) for fact in found.facts}
        ties = {(tie.id, f"{tie.source} {tie.predicate} {tie.target}") for tie in found.relations}
        assert facts == visible(self.oracle.facts, valid, known)
        assert ties == visible(self.oracle.ties, valid, known)

    @invariant()
    def every_moment_agrees(self) -> None:
        """Ask the file, in one statement, at every start and end on both axes and just before each."""
        moments = self.moments()
        expected = {
            (valid, known): visible(self.oracle.facts, valid, known) | visible(self.oracle.ties, valid, known)
            for valid, known in moments
        }
        cursor = self.memory._database._cursor()
        valids, knowns = ([moment.replace(tzinfo=None) for moment in axis] for axis in zip(*moments, strict=True))
        rows = cursor.execute(EVERYTHING, {"here": self.here.namespace, "valids": valids, "knowns": knowns}).fetchall()
        found: dict[tuple[datetime, datetime], set[tuple[str, str]]] = {moment: set() for moment in moments}
        for valid, known, row, text in rows:
            found[valid.replace(tzinfo=UTC), known.replace(tzinfo=UTC)].add((row, text))
        assert found == expected

    def moments(self) -> list[tuple[datetime, datetime]]:
        rows = [*self.oracle.facts, *self.oracle.ties]
        now = self.memory._database.now()
        valids = {now, *(row.start for row in rows), *(row.end for row in rows)} - {FOREVER}
        knowns = {now, *(row.since for row in rows), *(row.until for row in rows)} - {FOREVER}
        both = [sorted({moment - step for moment in axis for step in (TICK, 0 * TICK)}) for axis in (valids, knowns)]
        return [(valid, known) for valid in both[0] for known in both[1] if known >= self.day]  # Ben is known since


EVERYTHING = """
WITH moments AS (SELECT unnest($valids::TIMESTAMP[]) AS valid, unnest($knowns::TIMESTAMP[]) AS known)
SELECT valid, known, concat('f', fact_id), content
FROM moments JOIN fact_versions v ON v.namespace = $here AND v.content <> 'Ben exists'
 AND holds(v.valid_from, v.valid_to, v.tx_from, v.tx_to, valid, known)
UNION ALL
SELECT valid, known, concat('r', relation_id), concat_ws(' ', s.name, predicate, t.name)
FROM moments JOIN relation_versions v ON v.namespace = $here
 AND holds(v.valid_from, v.valid_to, v.tx_from, v.tx_to, valid, known)
JOIN entities s ON s.entity_id = v.source_id JOIN entities t ON t.entity_id = v.target_id
"""


def run(examples: int, steps: int) -> None:
    clock = Clock(datetime(2026, 9, 1, tzinfo=UTC))
    with _clock.replaced_by(clock), Memory.open(":memory:") as memory:
        machine = type("Memories", (Memories,), {"memory": memory, "clock": clock})
        run_state_machine_as_test(
            machine, settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None)
        )


def test_both_axes_agree_with_the_oracle() -> None:
    run(examples=15, steps=20)


@pytest.mark.slow
def test_both_axes_agree_with_the_oracle_at_length() -> None:
    run(examples=150, steps=40)
