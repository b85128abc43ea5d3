"""The parameters of a tool as flat, strict JSON schema: what a model can fill in and every provider accepts.

All parameters are required, as strict schemas demand; one that may be left out takes null. Times are ISO strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agents_memory.operations import Operation

_KEPT: Final = ("type", "enum", "items", "minimum", "maximum")


def tool_schema(operation: Operation) -> dict[str, Any]:
    """The JSON schema of an operation's tool."""
    schema = operation.arguments.model_json_schema()
    required = schema.get("required", ())
    definitions = schema.get("$defs", {})
    properties = {
        name: _parameter(schema["properties"][name], definitions, is_optional=name not in required)
        for name in operation.tool_parameters
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _parameter(field: Mapping[str, Any], definitions: Mapping[str, Any], *, is_optional: bool) -> dict[str, Any]:
    plain = _plain(field, definitions)
    if is_optional:
        plain["type"] = [plain["type"], "null"]
        if "enum" in plain:
            plain["enum"] = [*plain["enum"], None]
    return {**plain, "description": _description(field, definitions)}


def _plain(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The type of a field, as long as it is a text, a number, a truth value or a list of those."""
    kind = _resolved(field, definitions)
    plain = {name: kind[name] for name in _KEPT if name in kind}
    if "items" in plain:
        plain["items"] = _plain(plain["items"], definitions)
    if "type" not in plain or plain["type"] == "object":
        raise TypeError(f"a tool cannot have a parameter of the form {sorted(kind)}")
    return plain


def _description(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    text = str(field.get("description", ""))
    if _resolved(field, definitions).get("format") != "date-time":
        return text
    return f"{text} An ISO 8601 date, or a time with its zone, such as 2026-03-02 or 2026-03-02T09:00:00+02:00."


def _resolved(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    kinds: list[Mapping[str, Any]] = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    (kind,) = kinds
    reference = kind.get("$ref") or (kind["allOf"][0]["$ref"] if "allOf" in kind else None)
    if reference is None:
        return kind
    named: Mapping[str, Any] = definitions[reference.rsplit("/", 1)[-1]]
    return named
