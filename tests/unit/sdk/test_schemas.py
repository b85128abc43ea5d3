"""A tool's parameters are flat and strict, whatever the argument model is."""

import pytest
from agents.strict_schema import ensure_strict_json_schema

from agents_memory.operations import CATALOGUE, operation_named
from agents_memory.sdk.schemas import tool_schema

TOOLS = [name for name, operation in CATALOGUE.items() if operation.tool_parameters]
FLAT = {"string", "number", "integer", "boolean"}


@pytest.mark.parametrize("name", TOOLS)
def test_every_parameter_is_flat_required_and_described(name) -> None:
    schema = tool_schema(operation_named(name))

    assert schema["required"] == list(schema["properties"]) == list(operation_named(name).tool_parameters)
    assert schema["additionalProperties"] is False
    for parameter in schema["properties"].values():
        (kind,) = {parameter["type"]} if isinstance(parameter["type"], str) else set(parameter["type"]) - {"null"}
        assert kind in FLAT or (kind == "array" and parameter["items"]["type"] in FLAT)
        assert parameter["description"]


@pytest.mark.parametrize("name", TOOLS)
def test_the_sdk_takes_the_schema_as_strict(name) -> None:
    schema = tool_schema(operation_named(name))

    assert ensure_strict_json_schema(dict(schema)) == schema


def test_what_may_be_left_out_takes_null() -> None:
    properties = tool_schema(operation_named("remember"))["properties"]

    assert properties["content"]["type"] == "string"
    assert properties["entities"]["type"] == ["array", "null"]
    assert None in properties["kind"]["enum"]
    assert "ISO 8601" in properties["valid_from"]["description"]


def test_an_agent_gets_at_most_five_parameters_a_tool() -> None:
    assert all(len(CATALOGUE[name].tool_parameters) <= 5 for name in TOOLS)
