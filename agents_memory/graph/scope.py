"""The scope of one call: the file, and who asks, from which namespace, as of when."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents_memory._ids import IdKind, to_number
from agents_memory.config import ROOT
from agents_memory.errors import InvalidInput, WrongNamespace
from agents_memory.store.database import Database, Transaction
from agents_memory.types import Caller

_SEGMENT = re.compile(r"[^/\x00-\x1f\x7f\ud800-\udfff]{1,64}")


def check_namespace(namespace: object) -> str:
    """`namespace` itself, when it is a path of segments of 1 to 64 characters joined by `/`.

    Raises:
        InvalidInput: It is not; `namespace_of` makes a segment of any text.
    """
    if not isinstance(namespace, str) or any(
        not _SEGMENT.fullmatch(segment) or segment != segment.strip() for segment in namespace.split("/")
    ):
        raise InvalidInput(
            f"{namespace!r:.80} is no namespace. Use segments of 1 to 64 printable characters joined by '/', such as "
            "'acme/kestrel'; namespace_of(text) makes one of any text.",
        )
    return namespace


def namespace_of(*parts: str) -> str:
    """A namespace of any texts, such as user ids, one segment each; different texts give different segments.

    Args:
        *parts: Any non-blank strings. What may not stand in a segment is percent-encoded; a text that would be too
            long is cut and ends in a digest of the whole.

    Raises:
        InvalidInput: A part is blank or no string.
    """
    return check_namespace("/".join(_segment_of(part) for part in parts))


def _segment_of(part: object) -> str:
    if not isinstance(part, str) or not part.strip():
        raise InvalidInput("A namespace cannot be made of a blank text; pass the user's or project's id.")
    escaped = "".join(
        char
        if char.isalnum() or char in "-_.@+="
        else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        for char in part
    )
    if len(escaped) <= 64:
        return escaped
    return f"{escaped[:31]}~{hashlib.sha256(part.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def visible_namespaces(namespace: str) -> tuple[str, ...]:
    """The namespaces a handle on `namespace` reads, nearest first: itself, then its ancestors."""
    segments = namespace.split("/")
    return tuple("/".join(segments[:length]) for length in range(len(segments), 0, -1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One call's surroundings."""

    database: Database
    caller: Caller

    @property
    def namespace(self) -> str:
        """The namespace that is written in."""
        return self.caller.namespace

    @property
    def visible(self) -> tuple[str, ...]:
        """The namespaces that are read, nearest first."""
        return visible_namespaces(self.caller.namespace)

    def moments(self) -> tuple[datetime, datetime]:
        """(valid_at, known_at), with an axis that was left out standing at now."""
        now = self.database.now()
        return self.caller.valid_at or now, self.caller.known_at or now

    def origin(self) -> dict[str, Any]:
        """The columns that say where a written row comes from."""
        caller = self.caller
        return {
            "writer": caller.writer,
            "session_id": caller.session_id,
            "item_id": _number(IdKind.ITEM, caller.item_id),
            "run_id": _number(IdKind.RUN, caller.run_id),
            "call_id": caller.call_id,
            "request_id": _number(IdKind.REQUEST, caller.request_id),
        }

    def own(self, what: str, namespace: str) -> None:
        """Refuse to change a thing of another namespace.

        Raises:
            WrongNamespace: `namespace` is not the one this handle writes in.
        """
        if namespace != self.namespace:
            raise WrongNamespace(
                f"{what} belongs to the namespace {namespace!r}. Change it through a handle on that namespace.",
                namespace=namespace,
            )

    def writing(self, tx: Transaction) -> None:
        """Make sure that the namespace exists; call it first in everything that writes.

        Raises:
            InvalidInput: This handle is above every namespace, or looks at another moment.
        """
        if self.namespace == ROOT:
            raise InvalidInput("Nothing is written above every namespace. Open the memory with a namespace.")
        if self.caller.valid_at is not None or self.caller.known_at is not None:
            raise InvalidInput("A view of another moment is read-only. Write through the memory itself.")
        if self.namespace not in tx.database.shared(_known_namespaces):
            tx.run("add_namespace", namespace=self.namespace, created_at=tx.now)
            tx.publish(NamespaceCreated(namespace=self.namespace))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceCreated:
    """A namespace was written in for the first time."""

    namespace: str


class _KnownNamespaces(set[str]):
    """The namespaces that the file is known to hold."""

    def committed(self, changes: Sequence[object]) -> None:
        """Take in new ones."""
        self.update(change.namespace for change in changes if isinstance(change, NamespaceCreated))

    def reset(self) -> None:
        """Forget all; the next write looks again."""
        self.clear()


def _number(kind: IdKind, text: str | None) -> int | None:
    return None if text is None else to_number(kind, text)


def _known_namespaces(database: Database) -> _KnownNamespaces:
    known = _KnownNamespaces()
    database.subscribe(known)
    return known
