"""Answering the calls of a run that does not go on, so that its conversation holds no call without an output.

Which calls those are is worked out here: the newest open ones of the ids asked for, and whatever was called in the same
breath. Where the answers are read is the session's own rule (`conversation.py`): next to their calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import AppendItems
from agents_memory.sessions.items import close, open_calls, session_append
from agents_memory.sessions.live import Key
from agents_memory.store.values import Row


def answer_calls(
    scope: Scope,
    session_id: str,
    *,
    run_id: str,
    asked_for: Sequence[str],
    until: datetime,
    say: Callable[[str], str],
) -> None:
    """Give each open call of a run an output. One of a kind that no text can answer is taken out instead.

    Args:
        scope: The session's namespace and branch; the caller has a transaction open.
        session_id: The session.
        run_id: The run, such as `n5`; its id is kept with the outputs.
        asked_for: The ids of the calls that the run waits for; a nested agent's are not in the session.
        until: When the run stopped; what was called later is another run's.
        say: The text of the output of a call.
    """
    waiting = [number for numbers in open_calls(scope, session_id).values() for number in numbers]
    if not waiting:
        return
    calls = scope.database.rows("calls_of_one_breath", item_ids=waiting, call_ids=list(asked_for), until=until)
    answers = [(call, _answer(call, say)) for call in calls]
    _take_out(scope, session_id, [call["item_id"] for call, answer in answers if answer is None])
    outputs = tuple(json.dumps(answer) for _, answer in answers if answer is not None)
    caller = replace(scope.caller, run_id=run_id)
    append = AppendItems(session_id=session_id, branch=caller.branch, items=outputs)
    session_append(replace(scope, caller=caller), append)


def _answer(call: Row, say: Callable[[str], str]) -> dict[str, Any] | None:
    text, of_call = say(call["call_id"]), {"type": f"{call['type']}_output", "call_id": call["call_id"]}
    match call["type"]:
        case "function_call" | "custom_tool_call":
            return {**of_call, "output": text}
        case "apply_patch_call":
            return {**of_call, "status": "failed", "output": text}
        case "shell_call":
            failed = {"type": "exit", "exit_code": 1}
            return {**of_call, "output": [{"stdout": "", "stderr": text, "outcome": failed}]}
    return None


def _take_out(scope: Scope, session_id: str, item_ids: list[int]) -> None:
    if not item_ids:
        return
    with scope.database.transaction() as tx:
        close(scope, tx, Key(scope.namespace, session_id, scope.caller.branch), item_ids, left=None)
