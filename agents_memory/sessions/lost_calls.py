"""Bringing back a call that was popped or cleared away while its run waited.

A resumed run adds the outputs of its calls. An output whose call is gone would make the conversation one that no
provider accepts, so the call comes back with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents_memory.sessions.extract import Extract
from agents_memory.sessions.live import Key
from agents_memory.store.database import Transaction


def with_lost_calls(
    tx: Transaction, key: Key, open_calls: Mapping[str, Sequence[int]], items: tuple[str, ...], extracts: list[Extract]
) -> tuple[str, ...]:
    """The batch, with the stored call put before each output that has none in the conversation.

    Costs a statement only where a call is missing.
    """
    known = set(open_calls)
    lost = []
    for one in extracts:
        if one.is_call and one.call_id is not None:
            known.add(one.call_id)
        elif one.is_output and one.call_id not in known:
            lost.append(one.call_id)
    if not lost:
        return items
    rows = tx.rows("lost_calls", **key._asdict(), call_ids=lost)
    found = {row["call_id"]: row["item_json"] for row in rows}
    batch: list[str] = []
    for item, one in zip(items, extracts, strict=True):
        if one.is_output and one.call_id in lost and one.call_id in found:
            batch.append(found[one.call_id])
        batch.append(item)
    return tuple(batch)
