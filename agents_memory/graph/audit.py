"""The audit chain: one row a change or decision, never any text.

A row holds a salted commitment to what was written. The salt lives with the version, so that erasing the version
leaves a commitment nobody can test guesses against. `hash` covers the row and the hash before it, a namespace each.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from agents_memory.store.database import Transaction

SALT_BYTES = 16


def new_salt() -> bytes:
    """Random bytes to commit with."""
    return os.urandom(SALT_BYTES)


def commitment(salt: bytes, *texts: str | None) -> str:
    """What a salt and some texts commit to, as hex."""
    digest = hashlib.sha256(salt)
    for text in texts:
        part = (text or "").encode()
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def record(
    tx: Transaction,
    operation: str,
    ids: Sequence[str],
    *,
    namespace: str,
    actor: str | None,
    commitment: str | None = None,
) -> None:
    """Append one row to the namespace's chain, in the transaction of the change itself."""
    tx.run(
        "insert_audit",
        namespace=namespace,
        operation=operation,
        ids=list(ids),
        actor=actor,
        recorded_at=tx.now,
        commitment=commitment,
    )
