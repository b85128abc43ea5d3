"""Sessions as wholes: renamed, exported, and really deleted.

Deleting takes rows out of the file: the items of a session, those that were popped or cleared before, its branches, and
the saved states of its runs, which hold its words. Its requests and decisions stay as a record, without what was asked
for, unless memory learnt it. What it wrote into memory stays, without the words it came from.
"""

from __future__ import annotations

from dataclasses import replace

from agents_memory._ids import IdKind
from agents_memory.errors import Conflict, NotFound
from agents_memory.graph import audit
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import DeleteOld, ListSessions, OneBranch, OneSession, RenameSession
from agents_memory.sessions.branches import list_branches
from agents_memory.sessions.changes import SessionsRewritten
from agents_memory.sessions.guards import check_at_rest
from agents_memory.sessions.live import conversations
from agents_memory.sessions.questions import facts_written
from agents_memory.sessions.reading import item_from_row, sessions
from agents_memory.sessions.turns import session_turns
from agents_memory.sessions.types import DeletedSessions, SessionExport
from agents_memory.store.database import Transaction

_NAMING = (
    "rename_sessions", "rename_branches", "rename_items", "rename_inherited", "rename_facts",
    "rename_relations", "rename_episodes", "rename_evidence", "rename_runs", "rename_requests", "rename_effects",
)  # fmt: skip

_LEAVING = (
    "delete_inherited", "delete_branches", "delete_sessions", "empty_runs", "empty_decisions",
    "empty_requests",
)  # fmt: skip


def rename_session(scope: Scope, arguments: RenameSession) -> None:
    """Give a session another id, wherever the file names it.

    Raises:
        Conflict: There is a session of that id already; nothing was written.
        NotFound: There is no such session.
        SessionParked: A run of it waits, which knows it by the old id; nothing was written.
    """
    old, new = arguments.session_id, arguments.to
    with scope.database.transaction() as tx:
        scope.writing(tx)
        _check_exists(scope, tx, old)
        check_at_rest(tx, scope.namespace, old)
        if tx.one_or_none("session_exists", namespace=scope.namespace, session_id=new) is not None:
            raise Conflict(f"There is a session {new!r:.80} in {scope.namespace!r} already. Choose another id.")
        names = {"namespace": scope.namespace, "old": old, "new": new}
        _read_anew(scope, tx, [old, new])
        _read_anew(scope, tx, [row["session_id"] for row in tx.rows("rename_continued", **names)])
        for statement in _NAMING:
            tx.run(statement, **names)
        tx.publish(SessionsRewritten(namespace=scope.namespace))
        audit.record(tx, "rename_session", [], namespace=scope.namespace, actor=scope.caller.writer)


def delete_session(scope: Scope, arguments: OneSession) -> DeletedSessions:
    """Take a session out of the file.

    Raises:
        NotFound: There is no such session.
        SessionParked: A run of it waits; nothing was deleted.
    """
    with scope.database.transaction() as tx:
        scope.writing(tx)
        _check_exists(scope, tx, arguments.session_id)
        check_at_rest(tx, scope.namespace, arguments.session_id)
        _keep_last_id(tx)
        items, states = _delete(scope, tx, [arguments.session_id])
        audit.record(tx, "delete_session", [], namespace=scope.namespace, actor=scope.caller.writer)
    return DeletedSessions(sessions=(arguments.session_id,), items=items, run_states=states)


def delete_old_sessions(scope: Scope, arguments: DeleteOld) -> DeletedSessions:
    """Take out of the file the sessions that nothing was added to since a moment, and what was taken away before it.

    A session with a run that waits is left as it is, and named.
    """
    with scope.database.transaction(dry_run=arguments.dry_run) as tx:
        scope.writing(tx)
        rows = tx.rows("old_sessions", namespace=scope.namespace, before=arguments.before)
        old = [row["session_id"] for row in rows if not row["waits"]]
        _keep_last_id(tx)
        items, states = _delete(scope, tx, old) if old else (0, 0)
        gone = tx.rows("delete_taken_away", namespace=scope.namespace, before=arguments.before)
        left = tx.rows("delete_left_branches", namespace=scope.namespace, before=arguments.before)
        if gone or left:
            tx.publish(SessionsRewritten(namespace=scope.namespace))
        if old or gone:
            audit.record(tx, "delete_old_sessions", [], namespace=scope.namespace, actor=scope.caller.writer)
    return DeletedSessions(
        sessions=tuple(old),
        items=items + len(gone),
        run_states=states,
        waiting=tuple(row["session_id"] for row in rows if row["waits"]),
        is_dry_run=arguments.dry_run,
    )


def export_session(scope: Scope, arguments: OneSession) -> SessionExport:
    """All that the file holds of a session, as it was at one moment.

    Raises:
        NotFound: There is no such session.
    """
    valid_at, known_at = scope.moments()
    then = replace(scope, caller=replace(scope.caller, valid_at=valid_at, known_at=known_at))
    one = {"namespace": scope.namespace, "session_id": arguments.session_id}
    found = next((each for each in sessions(then, ListSessions()) if each.session_id == arguments.session_id), None)
    if found is None:
        raise NotFound(f"There is no session {arguments.session_id!r:.80} in {scope.namespace!r}.")
    branches = list_branches(then, arguments)
    rows = scope.database.rows("export_items", **one, known_at=known_at)
    return SessionExport(
        namespace=scope.namespace,
        session=found,
        branches=branches,
        items=tuple(item_from_row(row) for row in rows),
        turns=tuple(
            turn
            for branch in branches
            for turn in session_turns(then, OneBranch(session_id=arguments.session_id, branch=branch.branch))
        ),
        facts_written=facts_written(then, arguments),
    )


def _delete(scope: Scope, tx: Transaction, session_ids: list[str]) -> tuple[int, int]:
    these = {"namespace": scope.namespace, "session_ids": session_ids}
    _read_anew(scope, tx, session_ids)
    _read_anew(scope, tx, [row["session_id"] for row in tx.rows("end_continuing", **these)])
    items = tx.rows("delete_items", **these)
    states = tx.rows("delete_states_of_sessions", **these)
    for statement in _LEAVING:
        tx.run(statement, **these)
    tx.publish(SessionsRewritten(namespace=scope.namespace))
    return len(items), len(states)


def _read_anew(scope: Scope, tx: Transaction, session_ids: list[str]) -> None:
    for session_id in session_ids:
        scope.database.shared(conversations).change_all(tx, scope.namespace, session_id)


def _keep_last_id(tx: Transaction) -> None:
    """Remember the highest item id, so that none is ever given twice."""
    tx.run("keep_last_id", kind=IdKind.ITEM.value)


def _check_exists(scope: Scope, tx: Transaction, session_id: str) -> None:
    if tx.one_or_none("session_exists", namespace=scope.namespace, session_id=session_id) is None:
        raise NotFound(f"There is no session {session_id!r:.80} in {scope.namespace!r}.")
