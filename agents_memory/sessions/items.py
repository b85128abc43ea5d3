"""The operations on a session's items: add, read, take the last one away, clear.

An item is a JSON text, stored as it came and read back in one order (`conversation.py`). A batch is one statement, all
or nothing. Nothing is deleted: what is popped or cleared is closed, and stays readable as of an earlier moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import InvalidInput, NotFound
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import AppendItems, OneBranch, OneSession, ReadItems, Spent
from agents_memory.sessions.changes import ItemsAdded, ItemsClosed
from agents_memory.sessions.conversation import Conversation, Entry
from agents_memory.sessions.encoding import from_json, glance
from agents_memory.sessions.extract import Extract, extract
from agents_memory.sessions.guards import check_branch_exists, check_claim, check_nobody_waits
from agents_memory.sessions.live import Conversations, Key, conversations
from agents_memory.sessions.lost_calls import with_lost_calls
from agents_memory.sessions.mentions import names_in
from agents_memory.store.database import Transaction
from agents_memory.text.tokens import folded
from agents_memory.types import MAIN


def session_append(scope: Scope, arguments: AppendItems) -> tuple[str, ...]:
    """Add items at the end of a session, all or none, and return their ids.

    Raises:
        InvalidInput: An item is no JSON, or the session is there and continues another; nothing was written.
        LeaseLost: They come from a resumed run that somebody else has claimed meanwhile; nothing was written.
        NotFound: There is no such branch, or no such session to continue; nothing was written.
        SessionParked: They may begin a turn, and shall not while a run waits; nothing was written.
    """
    if not arguments.items:
        return ()
    extracts = extracts_of(arguments.items)
    key = key_of(scope, arguments)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        check_claim(scope, tx, arguments.fence)
        if arguments.while_parked == "refuse":
            check_nobody_waits(scope, tx, key, extracts)
        _begin(scope, tx, key, arguments.continues)
        items = arguments.items
        if scope.caller.run_id is not None:
            items = with_lost_calls(tx, key, _known(scope).get(key).open_calls, items, extracts)
            extracts = extracts if items is arguments.items else extracts_of(items)
        ids = add_batch(scope, tx, key, items, extracts, run_id=scope.caller.run_id, usage=arguments.usage)
    return tuple(to_text(IdKind.ITEM, number) for number in ids)


def session_items(scope: Scope, arguments: ReadItems) -> tuple[str, ...]:
    """The newest items of a session in the order of reading, as they were at the moment asked about.

    Raises:
        NoSuchBranch: There is no such branch.
    """
    key = key_of(scope, arguments)
    if arguments.turns is not None:
        return tuple(entry.item_json for entry in _newest_turns(scope, key, arguments.turns))
    return tuple(entry.item_json for entry in newest_entries(scope, key, arguments.limit))


def session_pop(scope: Scope, arguments: OneBranch) -> str | None:
    """Take the last item in the order of reading out of a session and return it; None when there is none.

    A stored text that is no JSON is taken out on the way, and not returned.

    Raises:
        NoSuchBranch: There is no such branch.
    """
    key = key_of(scope, arguments)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        while (known := _tail(scope, key)).tail:
            readable = list(dropwhile(_is_broken, reversed(known.tail)))
            closed = known.tail[max(len(readable) - 1, 0) :]
            close(scope, tx, key, [entry.item_id for entry in closed], left=known.without_last(len(closed)))
            if readable:
                return readable[0].item_json
    return None


def session_clear(scope: Scope, arguments: OneSession) -> int:
    """Take every item out of every branch of a session and return how many there were. The branches stay, empty."""
    key = Key(scope.namespace, arguments.session_id, MAIN)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        if not _known(scope).get(key).exists:
            return 0
        _known(scope).change_all(tx, key.namespace, key.session_id)
        return empty(tx, key.namespace, key.session_id, branch=None)


# -- parts of these and of what replaces items ---------------------------------------------------------------------


def key_of(scope: Scope, arguments: OneBranch) -> Key:
    """The branch that a call is about."""
    return Key(scope.namespace, arguments.session_id, arguments.branch)


def newest_entries(scope: Scope, key: Key, limit: int | None) -> tuple[Entry, ...]:
    """The newest items of a session in the order of reading, as they were at the moment asked about.

    Raises:
        NoSuchBranch: There is no such branch.
    """
    if scope.caller.known_at is None:
        known = _tail(scope, key).last(limit)
        if known is not None:
            return known
    return _read(scope, key, "session_items_known", limit=limit)


def check_branch_of(scope: Scope, key: Key) -> None:
    """Let nothing be read from a branch that is not there now.

    Raises:
        NoSuchBranch: It never was, or was deleted.
    """
    if scope.caller.known_at is None:
        _tail(scope, key)


def _newest_turns(scope: Scope, key: Key, count: int) -> tuple[Entry, ...]:
    if scope.caller.known_at is None:
        known = _tail(scope, key).last_turns(count)
        if known is not None:
            return known
    return _read(scope, key, "session_turns_known", turns=count) if count else ()


def _read(scope: Scope, key: Key, statement: str, **measure: int | None) -> tuple[Entry, ...]:
    _, known_at = scope.moments()
    rows = scope.database.rows(statement, **key._asdict(), known_at=known_at, **measure)
    return tuple(Entry(**row) for row in reversed(rows))


def extracts_of(items: Sequence[str]) -> list[Extract]:
    """The derived columns of a batch.

    Raises:
        InvalidInput: An item is no JSON.
    """
    return [_extract(index, item) for index, item in enumerate(items)]


def _begin(scope: Scope, tx: Transaction, key: Key, continues: str | None) -> None:
    """Make sure that the session is there, and continues the one it should.

    Raises:
        InvalidInput: It is there and continues another, or none though there is one.
        NotFound: The branch, or the session to continue, is not there.
    """
    known = _known(scope).get(key)
    if not known.exists:
        check_branch_exists(key, exists=key.branch == MAIN)
        if continues is not None and not _is_there(tx, key.namespace, continues):
            raise NotFound(f"There is no session {continues!r:.80} in {key.namespace!r} to continue.")
        new = {"namespace": key.namespace, "session_id": key.session_id}
        tx.run("insert_session", **new, created_at=tx.now, continues=continues)
        _known(scope).change(tx, key, replace(known, exists=True, continues=continues))
    elif continues not in (None, known.continues) and (
        known.continues is not None or _is_there(tx, key.namespace, continues)  # else it was deleted since
    ):
        raise InvalidInput(
            f"The session {key.session_id!r:.80} began without continuing {continues!r:.80}. Begin a new session, "
            "or leave continues= out."
        )


def _is_there(tx: Transaction, namespace: str, session_id: str) -> bool:
    return tx.one_or_none("session_exists", namespace=namespace, session_id=session_id) is not None


def add_batch(
    scope: Scope,
    tx: Transaction,
    key: Key,
    items: tuple[str, ...],
    extracts: list[Extract],
    *,
    run_id: str | None,
    usage: Spent | None = None,
) -> range:
    """Store a batch at the end of a session that exists, and return its ids."""
    known = _known(scope).get(key)
    ids = tx.new_ids(IdKind.ITEM, len(items))
    places, grown = known.with_batch(items, extracts, ids[0])
    tx.insert_last(
        "insert_session_items",
        {
            "item_id": ids,
            "place": places,
            "item_json": items,
            "type": [one.type for one in extracts],
            "role": [one.role for one in extracts],
            "call_id": [one.call_id for one in extracts],
            "tool": [one.tool for one in extracts],
            "text": [one.text for one in extracts],
            "names": names_in(scope, extracts),
            "folded": [folded(one.text) if one.role is not None and one.text is not None else None for one in extracts],
        },
        **key._asdict(),
        added_at=tx.now,
        run_id=None if run_id is None else to_number(IdKind.RUN, run_id),
        first_id=ids[0],
        usage=None if usage is None else usage.model_dump(),
    )
    _known(scope).change(tx, key, grown)
    tx.publish(
        ItemsAdded(
            **key._asdict(),
            item_ids=ids,
            texts=[one.text for one in extracts],
            speakers=[one.speaker for one in extracts],
            added_at=tx.now,
        )
    )
    return ids


def close(scope: Scope, tx: Transaction, key: Key, item_ids: list[int], *, left: Conversation | None) -> None:
    """Take items out of a session; what is `left` is read anew when it is None."""
    _known(scope).change(tx, key, left)
    closed = {**key._asdict(), "item_ids": item_ids, "removed_at": tx.now}
    tx.run("close_session_items", **closed)
    if key.branch != MAIN:
        tx.run("close_inherited_items", **closed)
    _publish_closed(tx, key.namespace, key.branch, item_ids)


def empty(tx: Transaction, namespace: str, session_id: str, *, branch: str | None) -> int:
    """Take every item out of a branch, or of all, and return how many were said there."""
    closed = {"namespace": namespace, "session_id": session_id, "branch": branch, "removed_at": tx.now}
    left = [row["item_id"] for row in tx.rows("close_inherited_of_session", **closed)]
    said = [row["item_id"] for row in tx.rows("close_items_of_session", **closed)]
    _publish_closed(tx, namespace, branch, [*left, *said])
    return len(said)


# -- for the code that parks and resumes runs ----------------------------------------------------------------------


def remove_after(tx: Transaction, key: Key, *, run_id: int, watermark: int) -> int:
    """Take the items out of a session that a parked run added above an item id, and return how many there were.

    Args:
        tx: The transaction to do it in.
        key: The session and branch.
        run_id: The run whose lost attempt is rolled back.
        watermark: The newest item that stays; `last_item_id` gave it.
    """
    tx.database.shared(conversations).change(tx, key, None)
    rows = tx.rows("close_items_of_run", **key._asdict(), run_id=run_id, watermark=watermark, removed_at=tx.now)
    _publish_closed(tx, key.namespace, key.branch, [row["item_id"] for row in rows])
    return len(rows)


def last_item_id(scope: Scope, session_id: str) -> int:
    """The newest item of the caller's branch, by when it was added; 0 for none. Costs no statement once it is known."""
    return _called(scope, session_id).last_item_id


def open_calls(scope: Scope, session_id: str) -> Mapping[str, tuple[int, ...]]:
    """The items of the caller's branch whose call has no output, by call id. Costs no statement once it is known."""
    return _called(scope, session_id).open_calls


def latest_user_item(scope: Scope, session_id: str) -> tuple[int, str | None] | None:
    """The newest user item of the caller's branch and its words. Costs no statement once it is known."""
    return _called(scope, session_id).last_user


# ------------------------------------------------------------------------------------------------------------------


def _publish_closed(tx: Transaction, namespace: str, branch: str | None, item_ids: Sequence[int]) -> None:
    tx.publish(ItemsClosed(namespace=namespace, branch=branch, item_ids=item_ids, removed_at=tx.now))


def _known(scope: Scope) -> Conversations:
    return scope.database.shared(conversations)


def _called(scope: Scope, session_id: str) -> Conversation:
    return _known(scope).get(Key(scope.namespace, session_id, scope.caller.branch))


def _tail(scope: Scope, key: Key) -> Conversation:
    known = _known(scope).tail_of(key)
    check_branch_exists(key, exists=known.exists)
    return known


def _extract(index: int, item: str) -> Extract:
    try:
        return extract(glance(item))
    except ValueError:
        raise InvalidInput(f"items[{index}] is no JSON text; nothing was written.") from None


def _is_broken(entry: Entry) -> bool:
    try:
        from_json(entry.item_json)
    except ValueError:
        return True
    return False
