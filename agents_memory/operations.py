"""The catalogue: everything that can be asked of a memory, one entry each, with JSON-able arguments and results.

`Memory`'s verbs, the SDK tools and the commands are renderings of these entries. A new ability is a new entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents_memory.errors import AgentsMemoryError, InvalidInput, NotFound
from agents_memory.graph import arguments as of_graph
from agents_memory.graph import entities, episodes, facts, provenance, reading, relations
from agents_memory.graph.arguments import Arguments
from agents_memory.graph.scope import Scope
from agents_memory.store.database import Database
from agents_memory.types import About, Caller, Entity, Episode, Fact, FactVersion, Provenance, Receipt


class Risk(StrEnum):
    """What a call of an operation can do."""

    READ = "read"
    WRITE = "write"
    DECIDE = "decide"
    INTERNAL = "internal"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One thing that can be asked.

    Attributes:
        name: Its name everywhere.
        description: One or two sentences, as a model or a person reads them.
        arguments: The model that its arguments are checked against.
        result: The type of what it returns.
        risk: What it can do.
        handler: What does it.
        tool_parameters: The arguments that an agent's tool offers, all flat; empty where there is no tool.
    """

    name: str
    description: str
    arguments: type[Arguments]
    result: Any
    risk: Risk
    handler: Callable[[Scope, Any], Any]
    tool_parameters: tuple[str, ...] = field(default=())

    def parse(self, arguments: Mapping[str, Any]) -> Arguments:
        """The checked arguments.

        Raises:
            InvalidInput: They do not fit; the message names each that does not, never its value.
        """
        try:
            return self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            raise _refusal(self, error) from None

    def dump(self, result: Any) -> Any:
        """A result as JSON-able data."""
        return self._adapter.dump_python(result, mode="json")

    def load(self, data: Any) -> Any:
        """A result again, of what `dump` gave."""
        return self._adapter.validate_python(data)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.result)


def call(database: Database, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
    """Do an operation and return its typed result.

    Raises:
        InvalidInput: The arguments do not fit, or there is no such operation.
        AgentsMemoryError: Whatever the operation says.
    """
    operation = operation_named(name)
    return operation.handler(Scope(database=database, caller=caller), operation.parse(arguments))


def call_json(database: Database, caller: Caller, name: str, arguments: str) -> str:
    """`call` with JSON texts on both sides."""
    result = call(database, caller, name, json.loads(arguments))
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


def _refusal(operation: Operation, error: ValidationError) -> InvalidInput:
    problems = []
    for problem in error.errors(include_url=False, include_input=False):
        cause = problem.get("ctx", {}).get("error")
        if isinstance(cause, AgentsMemoryError) and isinstance(cause, InvalidInput) and error.error_count() == 1:
            return type(cause)(f"{_place(problem['loc'])}: {cause}", **cause.details)
        problems.append(f"{_place(problem['loc'])}: {cause if cause is not None else problem['msg']}")
    return InvalidInput(f"{operation.name} cannot take these arguments. {'; '.join(problems)}.", problems=problems)


def _place(location: tuple[int | str, ...]) -> str:
    head, *rest = location or ("arguments",)
    return str(head) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)


_GRAPH = (
    Operation(
        name="remember",
        description="Store one new fact in long-term memory. A fact that is stored already is not stored twice.",
        arguments=of_graph.Remember,
        result=Receipt,
        risk=Risk.WRITE,
        handler=facts.remember,
        tool_parameters=("content", "entities", "kind", "valid_from", "valid_to"),
    ),
    Operation(
        name="supersede",
        description="Record that the world changed: a stored fact stopped holding and another holds from then on.",
        arguments=of_graph.Supersede,
        result=Receipt,
        risk=Risk.WRITE,
        handler=facts.supersede,
        tool_parameters=("fact_id", "content", "at", "reason", "entities"),
    ),
    Operation(
        name="correct",
        description="Record that memory was wrong: a stored fact should have said something else all along.",
        arguments=of_graph.Correct,
        result=Receipt,
        risk=Risk.WRITE,
        handler=facts.correct,
        tool_parameters=("fact_id", "content", "reason", "entities"),
    ),
    Operation(
        name="forget",
        description="Stop believing a stored fact. Its history stays.",
        arguments=of_graph.Forget,
        result=Receipt,
        risk=Risk.WRITE,
        handler=facts.forget,
        tool_parameters=("fact_id", "reason"),
    ),
    Operation(
        name="relate",
        description="Tie two entities by a named relation, such as 'Cy' 'maintains' 'ingest'.",
        arguments=of_graph.Relate,
        result=Receipt,
        risk=Risk.WRITE,
        handler=relations.relate,
        tool_parameters=("source", "predicate", "target", "valid_from", "valid_to"),
    ),
    Operation(
        name="unrelate",
        description="Record that a relation between two entities ended.",
        arguments=of_graph.Unrelate,
        result=Receipt,
        risk=Risk.WRITE,
        handler=relations.unrelate,
        tool_parameters=("source", "predicate", "target", "at"),
    ),
    Operation(
        name="get_fact",
        description="Read one fact by its id.",
        arguments=of_graph.OneFact,
        result=Fact,
        risk=Risk.READ,
        handler=reading.get_fact,
        tool_parameters=("fact_id",),
    ),
    Operation(
        name="history",
        description="Read every version of a fact: what was believed, when, and why it changed.",
        arguments=of_graph.OneFact,
        result=tuple[FactVersion, ...],
        risk=Risk.READ,
        handler=reading.history,
        tool_parameters=("fact_id",),
    ),
    Operation(
        name="provenance",
        description="Read where a fact comes from: who wrote it, on which words, and who approved it.",
        arguments=of_graph.OneFact,
        result=tuple[Provenance, ...],
        risk=Risk.READ,
        handler=provenance.provenance,
        tool_parameters=("fact_id",),
    ),
    Operation(
        name="about",
        description="Read what is known around a person, project or thing, following relations up to three hops.",
        arguments=of_graph.AboutEntity,
        result=About,
        risk=Risk.READ,
        handler=reading.about,
        tool_parameters=("entity", "hops"),
    ),
    Operation(
        name="get_entity",
        description="Read an entity and the names it answers to.",
        arguments=of_graph.OneEntity,
        result=Entity,
        risk=Risk.READ,
        handler=entities.get_entity,
        tool_parameters=("name",),
    ),
    Operation(
        name="add_alias",
        description="Let an entity answer to a further name.",
        arguments=of_graph.AddAlias,
        result=Receipt,
        risk=Risk.WRITE,
        handler=entities.add_alias,
        tool_parameters=("entity", "alias"),
    ),
    Operation(
        name="add_episode",
        description="Keep words verbatim as evidence for facts.",
        arguments=of_graph.AddEpisode,
        result=Episode,
        risk=Risk.WRITE,
        handler=episodes.add_episode,
        tool_parameters=("text", "source", "occurred_at"),
    ),
)

_RECALL: tuple[Operation, ...] = ()

_SESSIONS: tuple[Operation, ...] = ()

_APPROVALS: tuple[Operation, ...] = ()

CATALOGUE: Mapping[str, Operation] = MappingProxyType(
    {operation.name: operation for operation in (*_GRAPH, *_RECALL, *_SESSIONS, *_APPROVALS)}
)
"""Every operation by name."""
