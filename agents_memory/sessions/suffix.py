"""Replacing the end of a session: what compaction does, in one step and only if nothing came between.

The end is compared with what the caller read, ids and texts. What is replaced is closed like anything that is taken out
of a session, and stays readable as of an earlier moment.
"""

from __future__ import annotations

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import NewestItems, ReplaceSuffix
from agents_memory.sessions.guards import check_claim
from agents_memory.sessions.items import add_batch, close, extracts_of, key_of, newest_entries


def session_suffix(scope: Scope, arguments: NewestItems) -> tuple[tuple[str, str], ...]:
    """The newest items of a session in the order of reading, each with its id.

    Raises:
        NoSuchBranch: There is no such branch.
    """
    entries = newest_entries(scope, key_of(scope, arguments), arguments.limit)
    return tuple((to_text(IdKind.ITEM, entry.item_id), entry.item_json) for entry in entries)


def session_replace_suffix(scope: Scope, arguments: ReplaceSuffix) -> bool:
    """Put items in the place of the end of a session, all at once, and say whether it was still as expected.

    The new items belong to no run: a claim that takes a lost attempt back must not take back what others said before.

    Raises:
        InvalidInput: An item is no JSON; nothing was written.
        LeaseLost: The call comes from a resumed run that somebody else has claimed meanwhile; nothing was written.
    """
    if not arguments.expected:
        return False
    extracts = extracts_of(arguments.items)
    key = key_of(scope, arguments)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        check_claim(scope, tx, arguments.fence)
        asked = NewestItems(session_id=key.session_id, branch=key.branch, limit=len(arguments.expected))
        found = session_suffix(scope, asked)
        if found != arguments.expected:
            return False
        dropped = (*arguments.drop, *(item_id for item_id, _ in arguments.expected))
        close(scope, tx, key, [to_number(IdKind.ITEM, item_id) for item_id in dropped], left=None)
        if arguments.items:
            add_batch(scope, tx, key, arguments.items, extracts, run_id=None)
    return True
