"""Every operation of the queue is all or nothing: each of its statements is made to fail in turn."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from agents_memory import Memory
from agents_memory.testing.faults import Injected, failing_at
from tests.storage import dump
from tests.unit.approvals.conftest import SAVED, Queue, a_call

Work = Callable[[], Any]
CALLS = (("function_call", "c1"), ("computer_call", "c2"))


def parking(queue: Queue) -> Work:
    queue.say("Cy took ingest over.")
    return lambda: queue.park(a_call(content="Cy owns ingest"), a_call("forget", call_id="c2", fact_id="f99"))


def approving(queue: Queue) -> Work:
    parking(queue)()
    return lambda: queue.decide("a1")


def approving_first_of_two(queue: Queue) -> Work:
    queue.park(a_call(content="Cy owns ingest"), approvals=2)
    return lambda: queue.decide("a1")


def editing(queue: Queue) -> Work:
    parking(queue)()
    return lambda: queue.decide("a1", "edit", arguments={"content": "Cy owns intake"})


def rejecting(queue: Queue) -> Work:
    parking(queue)()
    return lambda: queue.decide("a1", "reject", reason="no")


def withdrawing_a_request(queue: Queue) -> Work:
    parking(queue)()
    return lambda: queue.memory.call("withdraw", {"id": "a1", "by": "eve"})


def withdrawing_a_run(queue: Queue) -> Work:
    items = [f'{{"type": "{kind}", "call_id": "{call_id}"}}' for kind, call_id in CALLS]
    queue.memory.call("session_append", {"session_id": "conv", "items": items}, session_id="conv")
    failing(queue)()
    return lambda: queue.memory.call("withdraw", {"id": "n1", "by": "eve"})


def expiring_a_request(queue: Queue) -> Work:
    parking(queue)()
    return lambda: queue.memory.call("expire", {"id": "a1", "by": "eve"})


def expiring_what_is_due(queue: Queue) -> Work:
    queue.park(a_call(content="Cy owns ingest"), expires_at="2026-03-02T09:00:00Z")
    return lambda: queue.memory.call("expire")


def claiming(queue: Queue) -> Work:
    approving(queue)()
    return lambda: queue.claim("n1")


def claiming_again(queue: Queue) -> Work:
    failing(queue)()
    return lambda: queue.claim("n1")


def performing(queue: Queue) -> Work:
    claim = claiming(queue)()
    under = {"run_id": "n1", "fence": claim.fence}
    return lambda: queue.perform("remember", {"content": "Cy owns ingest"}, **under)


def performing_an_edit(queue: Queue) -> Work:
    editing(queue)()
    under = {"run_id": "n1", "fence": queue.claim("n1").fence}
    return lambda: queue.perform("remember", {"content": "Cy owns ingest"}, **under)


def performing_freely(queue: Queue) -> Work:
    return lambda: queue.perform("remember", {"content": "Cy owns ingest", "entities": ["Cy"]})


def performing_for_review(queue: Queue) -> Work:
    return lambda: queue.perform("remember", {"content": "Cy owns ingest", "entities": ["Cy"]}, review=True)


def acknowledging(queue: Queue) -> Work:
    performing_for_review(queue)()
    return lambda: queue.memory.call("acknowledge", {"request_id": "a1", "by": "eve"})


def checkpointing(queue: Queue) -> Work:
    return _held(queue, "checkpoint_run", **SAVED, settled=["c1"])


def finishing(queue: Queue) -> Work:
    return _held(queue, "finish_run", result="done")


def failing(queue: Queue) -> Work:
    return _held(queue, "fail_run", error="ValueError")


def releasing(queue: Queue) -> Work:
    return _held(queue, "release_run")


def parking_again(queue: Queue) -> Work:
    return _held(queue, "repark_run", **SAVED, current_agent="assistant", calls=[a_call(content="y", call_id="c3")])


def claiming_in_part(queue: Queue) -> Work:
    queue.say("Cy took ingest over.")
    queue.park(a_call(content="Cy owns ingest"), a_call(content="Ada likes tea", call_id="c2"))
    queue.decide("a1")
    return lambda: queue.memory.call("claim_run", {"run_id": "n1", "owner": "elsewhere:1:a", "partial": True})


def parking_the_rest_again(queue: Queue) -> Work:
    claim = claiming_in_part(queue)()
    asked = {"calls": [a_call(content="Ada likes tea", call_id="c2"), a_call(content="y", call_id="c3")]}
    held = {"run_id": "n1", "fence": claim.fence, "waiting": ["a2"], "current_agent": "assistant"}
    return lambda: queue.memory.call("repark_run", {**SAVED, **asked, **held})


def _held(queue: Queue, operation: str, **given: Any) -> Work:
    claim = claiming(queue)()
    queue.memory.call(
        "session_append",
        {"session_id": "conv", "items": ['{"role": "assistant", "content": "half"}']},
        session_id="conv",
        run_id="n1",
    )
    return lambda: queue.memory.call(operation, {"run_id": "n1", "fence": claim.fence, **given})


@pytest.mark.parametrize(
    "prepare",
    [
        parking,
        approving,
        approving_first_of_two,
        editing,
        rejecting,
        withdrawing_a_request,
        withdrawing_a_run,
        expiring_a_request,
        expiring_what_is_due,
        claiming,
        claiming_again,
        performing,
        performing_an_edit,
        performing_freely,
        performing_for_review,
        acknowledging,
        checkpointing,
        finishing,
        failing,
        releasing,
        parking_again,
        claiming_in_part,
        parking_the_rest_again,
    ],
)
def test_an_operation_that_fails_at_any_statement_changed_nothing(memory: Memory, queue: Queue, prepare) -> None:
    work = prepare(queue)
    before, said = dump(memory._database), memory.call("session_items", {"session_id": "conv"})

    for number in range(100):
        with failing_at(memory._database, number) as countdown, suppress(Injected):
            work()
        if not countdown.fired or "commit" in countdown.seen[:-1]:
            break  # what follows the commit only reads the answer
        assert dump(memory._database) == before, countdown.seen[-1]
        assert memory.call("session_items", {"session_id": "conv"}) == said

    assert "commit" in countdown.seen
    assert number > 3
