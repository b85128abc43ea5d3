"""A memory, and runs parked in it without the SDK."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from agents_memory import Memory, _clock
from agents_memory.approvals.calls import digest_of
from agents_memory.types import ParkedRun
from tests.storage import Clock

OWNER = "elsewhere:1:a"
OTHER = "elsewhere:2:b"


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    with _clock.replaced_by(clock):
        yield clock


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    with Memory.open(":memory:", namespace="acme/kestrel", writer="bot") as opened:
        yield opened


class Queue:
    """The operations of the queue, as tests call them."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def park(self, *calls: dict[str, Any], session_id: str | None = "conv", **given: Any) -> ParkedRun:
        arguments = {
            **SAVED,
            "digest": digest_of(json.dumps(calls)),
            "starting_agent": "assistant",
            "current_agent": "assistant",
            "session_id": session_id,
            "session_is_ours": session_id is not None,
            "calls": list(calls),
            **given,
        }
        run: ParkedRun = self.memory.call("park_run", arguments)
        return run

    def decide(self, request_id: str, decision: str = "approve", by: str = "eve", **given: Any) -> Any:
        return self.memory.call("decide", {"request_id": request_id, "decision": decision, "by": by, **given})

    def show(self, request_id: str) -> Any:
        return self.memory.call("show_request", {"request_id": request_id})

    def pending(self) -> Any:
        return self.memory.call("pending")

    def claim(self, run_id: str, owner: str = OWNER, lease_s: float = 60) -> Any:
        return self.memory.call("claim_run", {"run_id": run_id, "owner": owner, "lease_s": lease_s})

    def get(self, run_id: str) -> ParkedRun:
        run: ParkedRun = self.memory.call("get_run", {"run_id": run_id})
        return run

    def perform(self, operation: str, arguments: dict[str, Any], **given: Any) -> Any:
        call = {"call_id": "c1", "session_id": "conv", "approved": True, **given}
        return self.memory.call("perform", {"operation": operation, "arguments": arguments, **call})

    def say(self, text: str) -> None:
        item = json.dumps({"role": "user", "content": text})
        self.memory.call("session_append", {"session_id": "conv", "items": [item]}, session_id="conv")

    def facts(self) -> list[str]:
        found = self.memory.call("facts_written", {"session_id": "conv"})
        return [fact.content for fact in found]


SAVED = {
    "state": base64.b64encode(b"a state").decode(),
    "digest": "d",
    "sdk_version": "0.24.0",
    "schema_version": "1.21",
    "tools": "{}",
}


@pytest.fixture
def queue(memory: Memory) -> Queue:
    return Queue(memory)


def a_call(operation: str | None = "remember", call_id: str = "c1", tool: str | None = None, **arguments: Any) -> Any:
    """A call that waits."""
    return {
        "tool": tool or operation or "send_mail",
        "operation": operation,
        "arguments": json.dumps(arguments),
        "call_id": call_id,
        "agent": "assistant",
    }
