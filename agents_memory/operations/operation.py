"""One entry of the catalogue: what it takes, what it gives, what it can do, and what does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents_memory.errors import AgentsMemoryError, InvalidInput
from agents_memory.graph.arguments import Arguments
from agents_memory.graph.scope import Scope


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
        stands_alone: Whether it is no part of a greater transaction: it tries calls without doing them, or keeps
            something although it refuses.
        may_repeat: Whether doing it again does nothing more, for what is no read.
    """

    name: str
    description: str
    arguments: type[Arguments]
    result: Any
    risk: Risk
    handler: Callable[[Scope, Any], Any]
    tool_parameters: tuple[str, ...] = field(default=())
    stands_alone: bool = False
    may_repeat: bool = False

    def parse(self, arguments: Mapping[str, Any]) -> Arguments:
        """The checked arguments.

        Raises:
            InvalidInput: They do not fit; the message names each that does not, never its value.
        """
        if not isinstance(arguments, Mapping):
            raise InvalidInput(f"{self.name} takes an object of arguments, not {type(arguments).__name__}.")
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
