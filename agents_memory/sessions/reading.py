"""Reading conversations as people do: with who said what and when, a page at a time, at any moment."""

from __future__ import annotations

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import NotFound
from agents_memory.graph.rows import optional_id
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import ListSessions, OneItem, OneSession, ReadPage
from agents_memory.sessions.items import check_branch_of, key_of
from agents_memory.sessions.types import ItemInContext, SessionItem, SessionSummary
from agents_memory.store.values import Row


def read_session(scope: Scope, arguments: ReadPage) -> tuple[SessionItem, ...]:
    """The items of a branch in the order of reading: all, those of its last turns, or a page of them.

    Raises:
        NoSuchBranch: There is no such branch.
        NotFound: The page is asked for by an item that was never in the branch.
    """
    _, known_at = scope.moments()
    backwards = arguments.limit is not None and arguments.after is None and arguments.before is not None
    rows = scope.database.rows(
        "read_session",
        **key_of(scope, arguments)._asdict(),
        turns=arguments.turns,
        limit=arguments.limit,
        after=_number(arguments.after),
        before=_number(arguments.before),
        backwards=backwards,
        known_at=known_at,
    )
    if not rows:
        check_branch_of(scope, key_of(scope, arguments))
        for item_id in filter(None, (arguments.after, arguments.before)):
            _check_was_there(scope, arguments, item_id)
    return tuple(item_from_row(row) for row in (reversed(rows) if backwards else rows))


def get_item(scope: Scope, arguments: OneItem) -> ItemInContext:
    """An item with its neighbours.

    Raises:
        NotFound: No conversation of this namespace held it then.
    """
    _, known_at = scope.moments()
    number = to_number(IdKind.ITEM, arguments.item_id)
    rows = scope.database.rows(
        "item_in_context",
        namespace=scope.namespace,
        item_id=number,
        around=arguments.around,
        branch=arguments.branch,
        known_at=known_at,
    )
    items = [item_from_row(row) for row in rows]
    at = next((at for at, item in enumerate(items) if item.id == arguments.item_id), None)
    if at is None:
        raise NotFound(f"No conversation of {scope.namespace!r} holds {arguments.item_id}. It may have been taken out.")
    return ItemInContext(item=items[at], before=tuple(items[:at]), after=tuple(items[at + 1 :]))


def thread(scope: Scope, arguments: OneSession) -> tuple[SessionItem, ...]:
    """The items of a session and of those that it continues, the oldest session first."""
    _, known_at = scope.moments()
    rows = scope.database.rows("thread", namespace=scope.namespace, session_id=arguments.session_id, known_at=known_at)
    return tuple(item_from_row(row) for row in rows)


def sessions(scope: Scope, arguments: ListSessions) -> tuple[SessionSummary, ...]:
    """The sessions of the namespace, oldest first, cleared ones too, a page at a time.

    Raises:
        NotFound: The page is asked for by a session that is not there.
    """
    _, known_at = scope.moments()
    one = {"namespace": scope.namespace, "session_id": arguments.after}
    rows = scope.database.rows(
        "list_sessions", namespace=scope.namespace, limit=arguments.limit, after=arguments.after, known_at=known_at
    )
    if not rows and arguments.after is not None and not scope.database.rows("session_exists", **one):
        raise NotFound(f"There is no session {arguments.after!r:.80} in {scope.namespace!r}. List from the beginning.")
    return tuple(SessionSummary(**row) for row in rows)


def item_from_row(row: Row) -> SessionItem:
    """An item as it is read."""
    item_id, run_id = to_text(IdKind.ITEM, row.pop("item_id")), optional_id(IdKind.RUN, row.pop("run_id"))
    return SessionItem(id=item_id, run_id=run_id, **row)


def _number(item_id: str | None) -> int | None:
    return None if item_id is None else to_number(IdKind.ITEM, item_id)


def _check_was_there(scope: Scope, arguments: ReadPage, item_id: str) -> None:
    key = key_of(scope, arguments)
    if not scope.database.rows("item_was_in", **key._asdict(), item_id=_number(item_id)):
        raise NotFound(f"{item_id} was never in the branch {key.branch!r:.80} of {key.session_id!r:.80}.")
