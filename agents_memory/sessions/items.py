"""The operations on a session's items: add, read, take the last one away, clear.

An item is a JSON text, stored as it came and read back in one order (`conversation.py`). A batch is one statement, all
or nothing. Nothing is deleted: what is popped or cleared is closed, and stays readable as of an earlier moment.
"""

from __future__ import annotations

from itertools import dropwhile

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import InvalidInput, LeaseLost
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import AppendItems, OneSession, ReadItems
from agents_memory.sessions.conversation import Conversation, Entry
from agents_memory.sessions.encoding import from_json
from agents_memory.sessions.extract import Extract, extract
from agents_memory.sessions.live import Conversations, Key, conversations
from agents_memory.store.database import Transaction


def session_append(scope: Scope, arguments: AppendItems) -> tuple[str, ...]:
    """Add items at the end of a session, all or none, and return their ids.

    Raises:
        InvalidInput: An item is no JSON; nothing was written.
        LeaseLost: They come from a resumed run that somebody else has claimed meanwhile; nothing was written.
    """
    if not arguments.items:
        return ()
    extracts = [_extract(index, item) for index, item in enumerate(arguments.items)]
    key = Key(scope.namespace, arguments.session_id)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        _check_claim(scope, tx, arguments.fence)
        known = _known(scope).get(key)
        if not known.exists:
            tx.run("insert_session", namespace=key.namespace, session_id=key.session_id, created_at=tx.now)
        entries = _insert(scope, tx, key, known, arguments.items, extracts)
        _known(scope).change(tx, key, known.with_items(entries, extracts))
    return tuple(to_text(IdKind.ITEM, entry.item_id) for entry in entries)


def session_items(scope: Scope, arguments: ReadItems) -> tuple[str, ...]:
    """The newest items of a session in the order of reading, as they were at the moment asked about."""
    limit = arguments.limit
    if scope.caller.known_at is None:
        known = _known(scope).get(Key(scope.namespace, arguments.session_id))
        if known.is_whole or (limit is not None and limit <= len(known.tail)):
            return tuple(entry.item_json for entry in _last(known.tail, limit))
    _, known_at = scope.moments()
    rows = scope.database.rows(
        "session_items_known",
        namespace=scope.namespace,
        session_id=arguments.session_id,
        known_at=known_at,
        limit=limit,
    )
    return tuple(row["item_json"] for row in reversed(rows))


def session_pop(scope: Scope, arguments: OneSession) -> str | None:
    """Take the last item in the order of reading out of a session and return it; None when there is none.

    A stored text that is no JSON is taken out on the way, and not returned.
    """
    key = Key(scope.namespace, arguments.session_id)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        while (known := _known(scope).get(key)).tail:
            readable = list(dropwhile(_is_broken, reversed(known.tail)))
            closed = known.tail[max(len(readable) - 1, 0) :]
            _known(scope).change(tx, key, None)
            tx.run(
                "close_session_items",
                namespace=key.namespace,
                session_id=key.session_id,
                item_ids=[entry.item_id for entry in closed],
                removed_at=tx.now,
            )
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


def _check_claim(scope: Scope, tx: Transaction, fence: int | None) -> None:
    run_id = scope.caller.run_id
    if fence is None or run_id is None:
        return
    if tx.one_or_none("held_run", run_id=to_number(IdKind.RUN, run_id), fence=fence) is None:
        raise LeaseLost(f"{run_id} was claimed by somebody else. Nothing was added to its session.", run_id=run_id)


def _insert(
    scope: Scope, tx: Transaction, key: Key, known: Conversation, items: tuple[str, ...], extracts: list[Extract]
) -> list[Entry]:
    ids = tx.new_ids(IdKind.ITEM, len(items))
    places = known.places(extracts, ids[0])
    run_id = scope.caller.run_id
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
    return [Entry(*entry) for entry in zip(places, ids, items, strict=True)]


def _last(tail: tuple[Entry, ...], limit: int | None) -> tuple[Entry, ...]:
    return tail if limit is None else tail[max(len(tail) - limit, 0) :]


def _is_broken(entry: Entry) -> bool:
    try:
        from_json(entry.item_json)
    except ValueError:
        return True
    return False
