"""The table of moves and the schema name the same states."""

import re
from itertools import product

import pytest

from agents_memory.approvals.moves import REQUEST_MOVES, RUN_MOVES, before_request, before_run
from agents_memory.store.queries import migrations
from agents_memory.types import RequestStatus, RunStatus


def states_in_schema(table: str) -> set[str]:
    sql = next(step.sql for step in migrations() if step.name == "approvals")
    found = re.search(
        rf"CREATE TABLE {table} .*?status\s+VARCHAR NOT NULL CHECK \(status IN\s*\((.*?)\)\)", sql, re.DOTALL
    )
    assert found is not None
    return set(re.findall(r"'(\w+)'", found.group(1)))


@pytest.mark.parametrize(
    ("table", "moves", "states"),
    [("parked_runs", RUN_MOVES, RunStatus), ("approval_requests", REQUEST_MOVES, RequestStatus)],
)
def test_the_table_of_moves_names_the_states_of_the_schema(table, moves, states) -> None:
    assert states_in_schema(table) == {state.value for state in states} == {state.value for state in moves}


def test_a_move_can_start_exactly_where_the_table_says() -> None:
    for start, end in product(RequestStatus, RequestStatus):
        assert (start.value in before_request(end)) == (end in REQUEST_MOVES[start])
    for begin, stop in product(RunStatus, RunStatus):
        assert (begin.value in before_run(stop)) == (stop in RUN_MOVES[begin])


def test_nothing_leaves_an_erased_state() -> None:
    assert not REQUEST_MOVES[RequestStatus.ERASED]
    assert not RUN_MOVES[RunStatus.ERASED]
