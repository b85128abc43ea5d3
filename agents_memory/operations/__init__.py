"""The catalogue: everything that can be asked of a memory, one entry each, with JSON-able arguments and results.

`Memory`'s verbs, the SDK tools and the commands are renderings of these entries. A new ability is a new entry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agents_memory.errors import InvalidInput, NotFound
from agents_memory.graph.arguments import Arguments
from agents_memory.graph.scope import Scope
from agents_memory.operations.of_approvals import approvals
from agents_memory.operations.of_graph import GRAPH
from agents_memory.operations.of_recall import RECALL
from agents_memory.operations.of_sessions import SESSIONS
from agents_memory.operations.operation import Operation, Risk
from agents_memory.store.database import Database
from agents_memory.types import Caller

__all__ = ["CATALOGUE", "Operation", "Risk", "call", "call_json", "checked", "gated_named", "operation_named"]


def call(database: Database, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
    """Do an operation and return its typed result.

    Raises:
        InvalidInput: The arguments do not fit, or a view was asked to write.
        NotFound: There is no such operation.
        AgentsMemoryError: Whatever the operation says.
    """
    operation, parsed = checked(caller, name, arguments)
    return operation.handler(Scope(database=database, caller=caller), parsed)


def checked(caller: Caller, name: str, arguments: Mapping[str, Any]) -> tuple[Operation, Arguments]:
    """What a call asks for, as far as that can be checked without the file.

    Raises:
        InvalidInput: The arguments do not fit, or a view was asked to write.
        NotFound: There is no such operation.
    """
    operation = operation_named(name)
    if operation.risk is not Risk.READ and (caller.valid_at is not None or caller.known_at is not None):
        raise InvalidInput(f"A view of another moment is read-only. Call {name} on the memory itself.")
    return operation, operation.parse(arguments)


def call_json(database: Database, caller: Caller, name: str, arguments: str) -> str:
    """`call` with JSON texts on both sides.

    Raises:
        InvalidInput: `arguments` is no JSON object.
        AgentsMemoryError: Whatever the operation says.
    """
    try:
        given = json.loads(arguments)
    except ValueError:
        raise InvalidInput(f"The arguments of {name} are no JSON text.") from None
    result = call(database, caller, name, given)
    return json.dumps(operation_named(name).dump(result), ensure_ascii=False)


def operation_named(name: str) -> Operation:
    """The entry of that name.

    Raises:
        NotFound: There is none.
    """
    try:
        return CATALOGUE[name]
    except KeyError:
        raise NotFound(f"There is no operation {name!r}. Known: {', '.join(sorted(CATALOGUE))}.") from None


def gated_named(name: str) -> Operation:
    """The entry of a write that people can be asked about.

    Raises:
        InvalidInput: It is none.
        NotFound: There is no operation of that name.
    """
    operation = operation_named(name)
    if operation.risk is not Risk.WRITE or not operation.tool_parameters:
        raise InvalidInput(f"{name!r} is no write of an agent, so that nobody is asked about it.")
    return operation


_ENTRIES = (*GRAPH, *RECALL, *SESSIONS, *approvals(operation_named, gated_named))

CATALOGUE: Mapping[str, Operation] = MappingProxyType({operation.name: operation for operation in _ENTRIES})
"""Every operation by name."""
