"""What the SDK's compaction asks a session for: its end, and a way to replace exactly that end at once.

The hook is private to the SDK; where it is missing, compaction falls back to clearing and adding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

from agents import TResponseInputItem
from agents.memory import session as sdk_session

from agents_memory import _threads
from agents_memory.memory import Memory
from agents_memory.sdk.current import run_kept_with
from agents_memory.sessions.encoding import from_json, to_json

Expired = Callable[[TResponseInputItem], bool]
_Stored = Sequence[tuple[str, str]]

_snapshot_type: Any = getattr(sdk_session, "_CompactionSnapshot", None)


async def snapshot_of(memory: Memory, session_id: str, branch: str, limit: int, *, prune_prefix: Expired | None) -> Any:
    """The newest `limit` items as the SDK's snapshot; None when it has none, or when a stored item is unreadable.

    Args:
        memory: The memory the session is kept in.
        session_id: The session.
        branch: Its branch.
        limit: How many items.
        prune_prefix: Says of an item that it is expired; the expired beginning of the session goes with a replacement.
    """
    if _snapshot_type is None:
        return None
    stored = await _threads.in_thread(_suffix, memory, session_id, branch, limit + 1)
    rows = stored[max(len(stored) - limit, 0) :]
    try:
        items = [from_json(text) for _, text in rows]
    except ValueError:
        return None

    async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
        return await _threads.in_thread(_replace, memory, session_id, branch, rows[start:], output, prune_prefix)

    return _snapshot_type(items, len(stored) <= limit, replace_suffix)


async def replace_end(
    memory: Memory, session_id: str, branch: str, output: list[TResponseInputItem], *, limit: int | None
) -> bool:
    """Put `output` in the place of the last `limit` items that are there at one moment; False when there is none.

    What lies before was not read, so not summed up, and stays.
    """
    while stored := await _threads.in_thread(_suffix, memory, session_id, branch, limit):
        if await _threads.in_thread(_replace, memory, session_id, branch, stored, output, None):
            return True
    return False


def _suffix(memory: Memory, session_id: str, branch: str, limit: int | None) -> _Stored:
    found: _Stored = memory.call("session_suffix", {"session_id": session_id, "branch": branch, "limit": limit})
    return found


def _replace(
    memory: Memory,
    session_id: str,
    branch: str,
    expected: _Stored,
    output: list[TResponseInputItem],
    expired: Expired | None,
) -> bool:
    run = run_kept_with(memory)
    replaced: bool = memory.call(
        "session_replace_suffix",
        {
            "session_id": session_id,
            "branch": branch,
            "expected": list(expected),
            "items": [to_json(item) for item in output],
            "drop": _expired_beginning(memory, session_id, branch, expected, expired),
            "fence": None if run is None else run.fence,
        },
        run_id=None if run is None else run.run_id,
    )
    return replaced


def _expired_beginning(
    memory: Memory, session_id: str, branch: str, suffix: _Stored, expired: Expired | None
) -> list[str]:
    """The ids of the items at the beginning of a session, before `suffix`, that are all expired."""
    if expired is None or not suffix:
        return []
    kept = {item_id for item_id, _ in suffix}
    before = takewhile(lambda row: row[0] not in kept, _suffix(memory, session_id, branch, None))
    return [item_id for item_id, _ in takewhile(lambda row: _is_expired(row[1], expired), before)]


def _is_expired(text: str, expired: Expired) -> bool:
    try:
        return expired(from_json(text))
    except ValueError:
        return False
