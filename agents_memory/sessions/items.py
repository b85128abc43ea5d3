"""The operations on a session's items: add, read, take the last one away, clear.

An item is a JSON text, stored as it came and read back in one order (`conversation.py`). A batch is one statement, all
or nothing. Nothing is deleted: what is popped or cleared is closed, and stays readable as of an earlier moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import InvalidInput
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import AppendItems, OneSession, ReadItems
from agents_memory.sessions.conversation import Conversation, Entry
from agents_memory.sessions.encoding import from_json
from agents_memory.sessions.extract import Extract, extract
from agents_memory.sessions.guards import check_claim, check_nobody_waits
from agents_memory.sessions.live import Conversations, Key, conversations
from agents_memory.sessions.lost_calls import with_lost_calls
from agents_memory.store.database import Transaction


def session_append(scope: Scope, arguments: AppendItems) -> tuple[str, ...]:
    """Add items at the end of a session, all or none, and return their ids.

    Raises:
        InvalidInput: An item is no JSON; nothing was written.
        LeaseLost: They come from a resumed run that somebody else has claimed meanwhile; nothing was written.
        SessionParked: They may begin a turn, and shall not while a run waits; nothing was written.
    """
    if not arguments.items:
        return ()
    extracts = extracts_of(arguments.items)
    key = Key(scope.namespace, arguments.session_id)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        check_claim(scope, tx, arguments.fence)
        if arguments.while_parked == "refuse":
            check_nobody_waits(scope, tx, key.session_id, extracts)
        items = arguments.items
        if scope.caller.run_id is not None:
            items = with_lost_calls(tx, key, _known(scope).get(key).open_calls, items, extracts)
            extracts = extracts if items is arguments.items else extracts_of(items)
        entries = add_batch(scope, tx, key, items, extracts, run_id=scope.caller.run_id)
    return tuple(to_text(IdKind.ITEM, entry.item_id) for entry in entries)


def session_items(scope: Scope, arguments: ReadItems) -> tuple[str, ...]:
    """The newest items of a session in the order of reading, as they were at the moment asked about."""
    return tuple(entry.item_json for entry in newest_entries(scope, arguments.session_id, arguments.limit))


def session_pop(scope: Scope, arguments: OneSession) -> str | None:
    """Take the last item in the order of reading out of a session and return it; None when there is none.

    A stored text that is no JSON is taken out on the way, and not returned.
    """
    key = Key(scope.namespace, arguments.session_id)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        while (known := _known(scope).tail_of(key)).tail:
            readable = list(dropwhile(_is_broken, reversed(known.tail)))
            closed = known.tail[max(len(readable) - 1, 0) :]
            close(scope, tx, key, [entry.item_id for entry in closed], left=known.without_last(len(closed)))
            if readable:
                return readable[0].item_json
    return None


def session_clear(scope: Scope, arguments: OneSession) -> int:
    """Take every item out of a session and return how many there were."""
    key = Key(scope.namespace, arguments.session_id)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        known = _known(scope).get(key)
        if not known.tail:
            return 0
        _known(scope).change(tx, key, Conversation(exists=known.exists))
        return len(tx.rows("close_session", namespace=key.namespace, session_id=key.session_id, removed_at=tx.now))


# -- parts of these and of what replaces items ---------------------------------------------------------------------


def newest_entries(scope: Scope, session_id: str, limit: int | None) -> tuple[Entry, ...]:
    """The newest items of a session in the order of reading, as they were at the moment asked about."""
    if scope.caller.known_at is None:
        known = _known(scope).tail_of(Key(scope.namespace, session_id))
        if known.is_whole or (limit is not None and limit <= len(known.tail)):
            return _last(known.tail, limit)
    _, known_at = scope.moments()
    rows = scope.database.rows(
        "session_items_known", namespace=scope.namespace, session_id=session_id, known_at=known_at, limit=limit
    )
    return tuple(Entry(**row) for row in reversed(rows))


def extracts_of(items: Sequence[str]) -> list[Extract]:
    """The derived columns of a batch.

    Raises:
        InvalidInput: An item is no JSON.
    """
    return [_extract(index, item) for index, item in enumerate(items)]


def add_batch(
    scope: Scope, tx: Transaction, key: Key, items: tuple[str, ...], extracts: list[Extract], *, run_id: str | None
) -> list[Entry]:
    """Store a batch at the end of a session, which exists from then on."""
    known = _known(scope).get(key)
    if not known.exists:
        tx.run("insert_session", namespace=key.namespace, session_id=key.session_id, created_at=tx.now)
    ids = tx.new_ids(IdKind.ITEM, len(items))
    places = known.places(extracts, ids[0])
    tx.run(
        "insert_session_items",
        item_ids=ids,
        namespace=key.namespace,
        session_id=key.session_id,
        places=places,
        items=items,
        types=[one.type for one in extracts],
        roles=[one.role for one in extracts],
        call_ids=[one.call_id for one in extracts],
        texts=[one.text for one in extracts],
        added_at=tx.now,
        run_id=None if run_id is None else to_number(IdKind.RUN, run_id),
    )
    entries = [Entry(*entry) for entry in zip(places, ids, items, strict=True)]
    _known(scope).change(tx, key, known.with_items(entries, extracts))
    return entries


def close(scope: Scope, tx: Transaction, key: Key, item_ids: list[int], *, left: Conversation | None) -> None:
    """Take items out of a session; what is `left` is read anew when it is None."""
    _known(scope).change(tx, key, left)
    tx.run(
        "close_session_items",
        namespace=key.namespace,
        session_id=key.session_id,
        item_ids=item_ids,
        removed_at=tx.now,
    )


# -- for the code that parks and resumes runs ----------------------------------------------------------------------


def remove_after(tx: Transaction, *, namespace: str, session_id: str, run_id: int, watermark: int) -> int:
    """Take the items out of a session that a parked run added above an item id, and return how many there were.

    Args:
        tx: The transaction to do it in.
        namespace: The session's namespace.
        session_id: The session.
        run_id: The run whose lost attempt is rolled back.
        watermark: The newest item that stays; `last_item_id` gave it.
    """
    key = Key(namespace, session_id)
    tx.database.shared(conversations).change(tx, key, None)
    return len(
        tx.rows(
            "close_items_of_run",
            namespace=namespace,
            session_id=session_id,
            run_id=run_id,
            watermark=watermark,
            removed_at=tx.now,
        )
    )


def rewritten(tx: Transaction, *, namespace: str, session_id: str) -> None:
    """Have a session read anew: for code that changes stored items by itself, which calls this before it does so."""
    tx.database.shared(conversations).change(tx, Key(namespace, session_id), None)


def last_item_id(scope: Scope, session_id: str) -> int:
    """The newest item of a session, by when it was added; 0 for none. Costs no statement once the session is known."""
    return _known(scope).get(Key(scope.namespace, session_id)).last_item_id


def open_calls(scope: Scope, session_id: str) -> Mapping[str, tuple[int, ...]]:
    """The items of a session whose call has no output, by call id. Costs no statement once the session is known."""
    return _known(scope).get(Key(scope.namespace, session_id)).open_calls


def latest_user_item(scope: Scope, session_id: str) -> tuple[int, str | None] | None:
    """The newest user item of a session and its words. Costs no statement once the session is known."""
    return _known(scope).get(Key(scope.namespace, session_id)).last_user


# ------------------------------------------------------------------------------------------------------------------


def _known(scope: Scope) -> Conversations:
    return scope.database.shared(conversations)


def _extract(index: int, item: str) -> Extract:
    try:
        return extract(from_json(item))
    except ValueError:
        raise InvalidInput(f"items[{index}] is no JSON text; nothing was written.") from None


def _last(tail: tuple[Entry, ...], limit: int | None) -> tuple[Entry, ...]:
    return tail if limit is None else tail[max(len(tail) - limit, 0) :]


def _is_broken(entry: Entry) -> bool:
    try:
        from_json(entry.item_json)
    except ValueError:
        return True
    return False
