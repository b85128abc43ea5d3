"""Episodes: verbatim words kept as evidence. The same words from the same source are kept once."""

from __future__ import annotations

from datetime import datetime

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import NotFound
from agents_memory.graph import audit
from agents_memory.graph.arguments import AddEpisode
from agents_memory.graph.names import content_key
from agents_memory.graph.scope import Scope
from agents_memory.store.database import Transaction
from agents_memory.store.values import Row
from agents_memory.types import Episode


def add_episode(scope: Scope, arguments: AddEpisode) -> Episode:
    """Keep words as evidence; the episode that holds them already is returned as it is."""
    with scope.database.transaction() as tx:
        scope.writing(tx)
        return keep(scope, tx, arguments.text, arguments.source, arguments.occurred_at)


def keep(
    scope: Scope, tx: Transaction, text: str, source: str | None = None, occurred_at: datetime | None = None
) -> Episode:
    """`add_episode` inside a transaction that is open already."""
    key = content_key(text)
    same = tx.one_or_none("same_episode", text_key=key, namespace=scope.namespace, text=text, source=source)
    if same is not None:
        return _from_row(same)
    origin = scope.origin()
    episode_id = tx.new_id(IdKind.EPISODE)
    tx.run(
        "insert_episode",
        episode_id=episode_id,
        namespace=scope.namespace,
        text=text,
        source=source,
        occurred_at=occurred_at or tx.now,
        session_id=origin["session_id"],
        item_id=origin["item_id"],
        tx_from=tx.now,
        writer=origin["writer"],
        text_key=key,
    )
    episode = Episode(
        id=to_text(IdKind.EPISODE, episode_id),
        namespace=scope.namespace,
        text=text,
        source=source,
        occurred_at=occurred_at or tx.now,
    )
    audit.record(tx, "add_episode", [episode.id], namespace=scope.namespace, actor=scope.caller.writer)
    return episode


def get_episode(scope: Scope, episode_id: str) -> Episode:
    """A stored episode.

    Raises:
        NotFound: None of that id is visible.
    """
    _, known_at = scope.moments()
    number = to_number(IdKind.EPISODE, episode_id)
    row = scope.database.one_or_none("episode_by_id", episode_id=number, visible=list(scope.visible), known_at=known_at)
    if row is None:
        raise NotFound(f"There is no episode {episode_id} visible from {scope.namespace!r}.")
    return _from_row(row)


def _from_row(row: Row) -> Episode:
    return Episode(
        id=to_text(IdKind.EPISODE, row["episode_id"]),
        namespace=row["namespace"],
        text=row["text"],
        source=row["source"],
        occurred_at=row["occurred_at"],
    )
