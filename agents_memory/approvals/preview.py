"""A preview is a dry run of the very handler that would write, so that what is shown is what would happen.

Its digest covers what would change and what stands in the way, but neither times nor ids that do not exist yet: it
differs exactly when memory changed in a way that matters to the call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter

from agents_memory.approvals.calls import Verb, Verbs, checked, digest_of
from agents_memory.errors import AgentsMemoryError, InvalidInput, StorageError
from agents_memory.graph.scope import Scope
from agents_memory.types import Change, Effect, Preview, Receipt, Trial

_NEW: Final = frozenset({Effect.FACT_ADDED, Effect.ENTITY_CREATED, Effect.RELATION_ADDED})
_TOUCHED: Final = frozenset(
    {
        Effect.FACT_ENDED,
        Effect.FACT_CORRECTED,
        Effect.FACT_FORGOTTEN,
        Effect.RELATION_ENDED,
        Effect.RELATION_RETRACTED,
    }
)
_KEPT: Final = TypeAdapter(Preview)
FOREIGN: Final = Preview(changes=(), problem=None, digest=digest_of("foreign")[:12])
"""Of a tool that is not ours: what it would do is not known here."""


def try_verb(scope: Scope, verb: Verb, arguments: Mapping[str, Any]) -> Trial:
    """Run a verb without doing it. Must not be called inside a transaction, which it would join.

    Raises:
        StorageError: DuckDB failed; that says nothing about the call.
    """
    try:
        parsed = checked(verb, arguments)
        with scope.database.transaction(dry_run=True):
            result = verb.handler(scope, parsed)
    except StorageError:
        raise
    except AgentsMemoryError as error:
        return Trial(preview=impossible(str(error)), error=error.to_dict())
    return Trial(preview=_told(result, changes_of(result)))


def preview_of(verbs: Verbs, scope: Scope, operation: str | None, arguments: Mapping[str, Any]) -> Preview:
    """What a call would change, or why it cannot work."""
    if operation is None:
        return FOREIGN
    return try_verb(scope, tool_verb(verbs, operation), arguments).preview


def impossible(problem: str) -> Preview:
    """Of a call that cannot work."""
    return _digested(Preview(changes=(), problem=problem, digest=""))


def of_done(result: object) -> Preview:
    """Of a call that was carried out: what it did."""
    return _told(result, result.changes if isinstance(result, Receipt) else ())


def with_arguments(preview: Preview, arguments: str) -> Preview:
    """The preview of an edit, whose digest also tells the arguments apart: who decides next decides on those."""
    return replace(preview, digest=digest_of(preview.digest + arguments)[:12])


def tool_verb(verbs: Verbs, operation: str) -> Verb:
    """The verb behind a tool.

    Raises:
        InvalidInput: No tool shows it.
        NotFound: There is none.
    """
    verb = verbs(operation)
    if not verb.tool_parameters:
        raise InvalidInput(f"{operation} is no tool of an agent.")
    return verb


def changes_of(result: object) -> tuple[Change, ...]:
    """The changes that a verb reports, without the ids that it gave to new things."""
    if not isinstance(result, Receipt):
        return ()
    return tuple(replace(change, id=None) if change.effect in _NEW else change for change in result.changes)


def touched(changes: tuple[Change, ...]) -> list[tuple[str, str | None, str]]:
    """What stood in memory before and would no longer be believed as it is."""
    return sorted((change.effect.value, change.id, change.text) for change in changes if change.effect in _TOUCHED)


def to_json(preview: Preview) -> str:
    """A preview as it is kept with its request."""
    data: dict[str, Any] = _KEPT.dump_python(preview, mode="json")
    del data["digest"]
    return json.dumps(data)


def from_json(text: str, digest: str) -> Preview:
    """A kept preview."""
    return _KEPT.validate_python({**json.loads(text), "digest": digest})


def _told(result: object, changes: tuple[Change, ...]) -> Preview:
    if not isinstance(result, Receipt):
        return _digested(Preview(changes=changes, problem=None, digest=""))
    told = Preview(changes=changes, problem=None, digest="", duplicates=result.duplicates, conflicts=result.conflicts)
    return _digested(told)


def _digested(preview: Preview) -> Preview:
    return replace(preview, digest=digest_of(to_json(preview))[:12])
