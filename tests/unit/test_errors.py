"""One tree of errors, a stable code each, and JSON-able facts about the failure."""

import json

import pytest

from agents_memory import errors
from agents_memory.errors import AgentsMemoryError


def tree(root: type[AgentsMemoryError] = AgentsMemoryError) -> list[type[AgentsMemoryError]]:
    return [root, *(found for child in root.__subclasses__() for found in tree(child))]


ERRORS = [error for error in tree() if error.__module__ == errors.__name__]


def test_every_code_is_used_once() -> None:
    codes = [error.code for error in ERRORS]

    assert len(codes) > 20
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_is_json_able(error: type[AgentsMemoryError]) -> None:
    raised = error("What happened. What to do.", fact_id="f1", number=3)

    assert json.loads(json.dumps(raised.to_dict())) == {
        "code": error.code,
        "message": "What happened. What to do.",
        "retryable": error.retryable,
        "details": {"fact_id": "f1", "number": 3},
    }


def test_only_what_may_go_better_next_time_is_retryable() -> None:
    assert {error.code for error in ERRORS if error.retryable} == {"store_locked", "write_conflict"}


@pytest.mark.parametrize("error", ERRORS)
def test_errors_can_be_caught_as_what_python_calls_them(error: type[AgentsMemoryError]) -> None:
    assert issubclass(error, ValueError) == issubclass(error, errors.InvalidInput)
    assert issubclass(error, LookupError) == issubclass(error, errors.NotFound)
