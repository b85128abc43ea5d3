"""The queue from several threads, and as JSON, as another process would ask for it."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agents_memory.errors import AlreadyDecided, InvalidTransition
from agents_memory.operations import call_json, operation_named
from tests.unit.approvals.conftest import SAVED, a_call


def outcomes(work, times: int) -> list[Any]:
    """What calling `work` from as many threads at once gave, errors included."""

    def safely(number: int) -> Any:
        try:
            return work(number)
        except (AlreadyDecided, InvalidTransition) as error:
            return error

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(safely, range(times)))


def test_of_many_deciders_at_once_one_is_first_and_all_are_told_who(queue) -> None:
    queue.park(a_call(content="x"))

    results = outcomes(lambda number: queue.decide("a1", by=f"reviewer {number}"), 8)

    (decided,) = [result for result in results if not isinstance(result, Exception)]
    winner = decided.decisions[0].decided_by
    assert len(decided.decisions) == 1
    assert all(error.details["decided_by"] == winner for error in results if isinstance(error, AlreadyDecided))


def test_of_many_claims_at_once_one_wins(queue) -> None:
    run = queue.park(a_call(content="x"))
    queue.decide("a1")

    results = outcomes(lambda number: queue.claim(run.id, f"elsewhere:{number}:x"), 8)

    assert [isinstance(result, InvalidTransition) for result in results].count(False) == 1


def test_of_many_equal_calls_at_once_one_writes(queue) -> None:
    results = outcomes(lambda _number: queue.perform("remember", {"content": "x"}), 8)

    assert [result.repeated for result in results].count(False) == 1
    assert len({json.dumps(result.result) for result in results}) == 1
    assert queue.facts() == ["x"]


def test_the_queue_can_be_asked_in_json(memory) -> None:
    def ask(name: str, **arguments: Any) -> Any:
        return json.loads(call_json(memory._database, memory._caller, name, json.dumps(arguments)))

    run = ask("park_run", **SAVED, starting_agent="a", current_agent="a", calls=[a_call(content="x")])
    (request,) = ask("pending")
    shown = ask("show_request", request_id=request["id"])
    ask("decide", request_id="a1", decision="approve", by="eve", preview=shown["preview"]["digest"])
    claim = ask("claim_run", run_id=run["id"], owner="elsewhere:1:x", lease_s=60)
    held = {"run_id": run["id"], "fence": claim["fence"]}
    done = ask("perform", operation="remember", arguments={"content": "x"}, call_id="c1", approved=True, **held)
    finished = ask("finish_run", result="done", **held)

    assert claim["state"] == SAVED["state"]
    assert done["result"]["status"] == "created"
    assert finished["status"] == "finished"


def test_what_the_queue_answers_is_the_same_after_json(queue) -> None:
    run = queue.park(a_call(content="x"))
    decided = queue.decide("a1", "edit", arguments={"content": "y"})
    claim = queue.claim(run.id)
    done = queue.perform("remember", {"content": "x"}, run_id=run.id, fence=claim.fence)

    for name, result in {"decide": decided, "claim_run": claim, "perform": done, "park_run": run}.items():
        operation = operation_named(name)
        assert operation.load(json.loads(json.dumps(operation.dump(result)))) == result
