"""Branches: further ways that a conversation takes, each beginning with what was said before a turn.

A branch shares the items that it begins with: nothing is copied, and an item keeps its id in all of them. What is then
said in one is not in the others, and what is taken out of one stays in the others. A name is never used twice.
"""

from __future__ import annotations

from itertools import count

from agents_memory.errors import InvalidInput, NoSuchBranch
from agents_memory.graph.scope import Scope
from agents_memory.sessions.arguments import NewBranch, OneBranch, OneSession
from agents_memory.sessions.changes import ItemsInherited
from agents_memory.sessions.conversation import Conversation
from agents_memory.sessions.guards import check_at_rest, check_branch_exists
from agents_memory.sessions.items import empty, key_of
from agents_memory.sessions.live import Key, conversations
from agents_memory.sessions.types import Branch
from agents_memory.store.database import Transaction
from agents_memory.types import MAIN


def create_branch(scope: Scope, arguments: NewBranch) -> str:
    """Begin a branch with what was said before a turn, and return its name.

    Raises:
        InvalidInput: The name was used before; nothing was written.
        NoSuchBranch: There is no such session, branch or turn; nothing was written.
    """
    key = key_of(scope, arguments)
    with scope.database.transaction() as tx:
        scope.writing(tx)
        live = scope.database.shared(conversations)
        _check_exists(live.get(key), key)
        begin = tx.one_or_none("begin_of_turn", **key._asdict(), turn=arguments.turn)
        if begin is None:
            raise NoSuchBranch(
                f"The branch {key.branch!r:.80} has no turn {arguments.turn}. Name one that a user item begins."
            )
        name = _unused_name(tx, key, arguments)
        new = Key(key.namespace, key.session_id, name)
        live.change(tx, new, None)
        tx.run("insert_branch", **new._asdict(), parent=key.branch, from_turn=arguments.turn, created_at=tx.now)
        inherited = tx.rows(
            "inherit_items",
            **new._asdict(),
            parent=key.branch,
            since=tx.now,
            before_place=begin["place"],
            before_id=begin["item_id"],
        )
        item_ids = [row["item_id"] for row in inherited]
        tx.publish(ItemsInherited(namespace=key.namespace, branch=name, item_ids=item_ids, since=tx.now))
    return name


def delete_branch(scope: Scope, arguments: OneBranch) -> int:
    """End a branch and return how many items were said in it alone; those it began with stay where they came from.

    Raises:
        InvalidInput: It is main, which a session is cleared or deleted with.
        NoSuchBranch: There is no such branch.
        SessionParked: A run of it waits; nothing was changed.
    """
    key = key_of(scope, arguments)
    if key.branch == MAIN:
        raise InvalidInput("The branch 'main' cannot be deleted. Clear the session, or delete it as a whole.")
    with scope.database.transaction() as tx:
        scope.writing(tx)
        check_at_rest(tx, *key)
        scope.database.shared(conversations).change(tx, key, None)
        if tx.one_or_none("delete_branch", **key._asdict(), deleted_at=tx.now) is None:
            check_branch_exists(key, exists=False)
        return empty(tx, key.namespace, key.session_id, branch=key.branch)


def list_branches(scope: Scope, arguments: OneSession) -> tuple[Branch, ...]:
    """The branches of a session, main first, then in the order in which they began; none where there is no session."""
    _, known_at = scope.moments()
    rows = scope.database.rows(
        "list_branches", namespace=scope.namespace, session_id=arguments.session_id, known_at=known_at
    )
    return tuple(Branch(**row) for row in rows)


def _check_exists(known: Conversation, key: Key) -> None:
    check_branch_exists(key, exists=known.exists)
    if not known.exists:
        raise NoSuchBranch(f"There is no session {key.session_id!r:.80} in {key.namespace!r}.")


def _unused_name(tx: Transaction, key: Key, arguments: NewBranch) -> str:
    rows = tx.rows("branch_names", namespace=key.namespace, session_id=key.session_id)
    used = {MAIN, *(row["branch"] for row in rows)}
    if arguments.name is None:
        stem = f"turn-{arguments.turn}"
        return next(name for number in count(1) if (name := stem if number == 1 else f"{stem}-{number}") not in used)
    if arguments.name in used:
        raise InvalidInput(f"The name {arguments.name!r:.80} was used in this session before. Choose another.")
    return arguments.name
