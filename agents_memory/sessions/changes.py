"""What a committed transaction changed in conversations, as told to the read indexes of the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsAdded:
    """Items were stored in a branch; `texts` and `speakers` hold one entry an item."""

    namespace: str
    session_id: str
    branch: str
    item_ids: Sequence[int]
    texts: Sequence[str | None]
    speakers: Sequence[str | None]
    added_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsInherited:
    """A branch began with items of another."""

    namespace: str
    branch: str
    item_ids: Sequence[int]
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsClosed:
    """Items left a branch, or every branch when it is None."""

    namespace: str
    branch: str | None
    item_ids: Sequence[int]
    removed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsRewritten:
    """Rows of conversations went from the file, or say something else at every moment: read the namespace anew."""

    namespace: str
