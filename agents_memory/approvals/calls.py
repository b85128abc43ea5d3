"""A model's call: its arguments in one canonical form, checked against what the tool of its verb offers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NoReturn, Protocol

from agents_memory.errors import InvalidInput
from agents_memory.graph.arguments import Arguments
from agents_memory.graph.scope import Scope


class Verb(Protocol):
    """An entry of the catalogue, as far as the queue needs it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def tool_parameters(self) -> tuple[str, ...]:
        """The arguments that a tool offers."""

    @property
    def handler(self) -> Callable[[Scope, Any], Any]:
        """What does it."""

    def parse(self, arguments: Mapping[str, Any]) -> Arguments:
        """The checked arguments."""

    def dump(self, result: Any) -> Any:
        """A result as JSON-able data."""


Verbs = Callable[[str], Verb]
"""The catalogue, handed in from above."""
Check = Callable[[Verb, Mapping[str, Any]], Arguments]
"""Checks the arguments of a call."""


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say something: a strict tool schema makes a model send null for what it leaves out."""
    return {name: value for name, value in arguments.items() if value is not None}


def canonical(arguments: Mapping[str, Any]) -> str:
    """One JSON text for equal arguments, whatever their order and spacing."""
    return json.dumps(given(arguments), sort_keys=True, separators=(",", ":"))


def readable(arguments: Mapping[str, Any]) -> str:
    """The arguments as a person reads them, in the model's order.

    Raises:
        InvalidInput: They hold something that is no JSON data.
    """
    try:
        return json.dumps(given(arguments), ensure_ascii=False)
    except TypeError as error:
        raise InvalidInput(f"The arguments must be JSON data: {error}. Write a time as an ISO 8601 string.") from None


def digest_of(text: str) -> str:
    """A fingerprint of a canonical text."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def arguments_digest(text: str) -> str:
    """A fingerprint of a call's arguments as the model gave them, equal for texts of equal arguments."""
    try:
        return digest_of(canonical(read(text)))
    except InvalidInput:
        return digest_of(text)


def read(text: str) -> dict[str, Any]:
    """The arguments in a model's text.

    Raises:
        InvalidInput: It is no JSON object.
    """
    try:
        arguments = json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        raise InvalidInput("The arguments are not valid JSON. Send one JSON object.") from None
    if not isinstance(arguments, dict):
        raise InvalidInput("The arguments are no JSON object. Send one JSON object.")
    return arguments


def checked(verb: Verb, arguments: Mapping[str, Any]) -> Arguments:
    """The checked arguments of a tool call, which may use only what the tool offers.

    Raises:
        InvalidInput: They do not fit, or name an argument that the tool does not have.
    """
    unknown = sorted(name for name in arguments if name not in verb.tool_parameters)
    if unknown:
        raise InvalidInput(
            f"{verb.name} has no argument {', '.join(map(ascii, unknown))}. It has: {', '.join(verb.tool_parameters)}.",
            unknown=unknown,
        )
    return verb.parse(given(arguments))


def checked_whole(verb: Verb, arguments: Mapping[str, Any]) -> Arguments:
    """The checked arguments of a write that no model's tool asks for, which may use all that the verb takes.

    Raises:
        InvalidInput: They do not fit.
    """
    return verb.parse(given(arguments))


def dated(verb: Verb, used: Mapping[str, Any], requested_at: datetime) -> dict[str, Any]:
    """The arguments with the moment that "now" meant when the call was made, not when it was carried out."""
    moment = next((name for name in ("at", "valid_from", "occurred_at") if name in verb.tool_parameters), None)
    if moment is None or moment in used or "valid_to" in used:
        return dict(used)
    return {**used, moment: requested_at.isoformat()}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
