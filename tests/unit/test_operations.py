"""Every operation takes JSON and gives JSON, and what it gave can be read back."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents_memory import Memory, operations
from agents_memory.errors import InvalidInput, NotFound
from agents_memory.operations import CATALOGUE, Operation, Risk, operation_named
from agents_memory.types import Caller
from tests.storage import dump

ARGUMENTS: dict[str, dict[str, Any]] = {
    "remember": {
        "content": "Cy maintains billing",
        "entities": ["Cy", "billing"],
        "kind": "decision",
        "importance": 0.7,
        "valid_from": "2026-03-01",
        "valid_to": "2999-03-01T09:00:00+02:00",
        "relate": [["Cy", "maintains", "billing"]],
        "evidence": "Cy: I took it",
    },
    "supersede": {"fact_id": "f1", "content": "Bo maintains ingest", "unrelate": [["Cy", "maintains", "ingest"]]},
    "correct": {"fact_id": "f1", "content": "Cy reviews ingest", "reason": "Misheard"},
    "forget": {"fact_id": "f1"},
    "relate": {"source": "Cy", "predicate": "knows", "target": "Bo"},
    "unrelate": {"source": "Cy", "predicate": "maintains", "target": "ingest"},
    "get_fact": {"fact_id": "f1"},
    "list_facts": {"entity": "Cy", "limit": 5},
    "history": {"fact_id": "f1"},
    "provenance": {"fact_id": "f1"},
    "about": {"entity": "Cy", "hops": 2},
    "get_entity": {"name": "cy"},
    "add_alias": {"entity": "Cy", "alias": "Cyrus"},
    "add_episode": {"text": "Cy: mine ☕", "source": "chat", "occurred_at": "2026-03-01T09:00:00.123456Z"},
}
GRAPH = [operation_named(name) for name in ARGUMENTS]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", writer="ada") as memory:
        memory.remember(
            "Cy maintains ingest",
            entities=["Cy", "ingest"],
            valid_from="2026-01-01",
            relate=[("Cy", "maintains", "ingest")],
            evidence="Cy: ingest is mine",
        )
        memory.add_alias("Cy", "Cyril")
        yield memory


def test_every_verb_of_the_graph_is_tried_here() -> None:
    handled = {name for name, entry in CATALOGUE.items() if entry.handler.__module__.startswith("agents_memory.graph.")}

    assert handled == ARGUMENTS.keys()


@pytest.mark.parametrize("operation", GRAPH, ids=lambda operation: operation.name)
def test_a_result_survives_json(memory: Memory, operation: Operation) -> None:
    result = memory.call(operation.name, ARGUMENTS[operation.name])

    again = operation.load(json.loads(json.dumps(operation.dump(result))))

    assert again == result
    assert type(again) is type(result)


@pytest.mark.parametrize("operation", GRAPH, ids=lambda operation: operation.name)
def test_an_operation_can_be_called_with_json_texts(memory: Memory, operation: Operation) -> None:
    caller = Caller(namespace="main", writer="ada")

    text = operations.call_json(memory._database, caller, operation.name, json.dumps(ARGUMENTS[operation.name]))

    assert json.loads(text) == operation.dump(operation.load(json.loads(text)))


@pytest.mark.parametrize(
    "operation", [entry for entry in GRAPH if entry.risk is Risk.READ], ids=lambda entry: entry.name
)
def test_a_read_writes_nothing(memory: Memory, operation: Operation) -> None:
    before = dump(memory._database)

    memory.call(operation.name, ARGUMENTS[operation.name])

    assert dump(memory._database) == before


@pytest.mark.parametrize(
    "operation", [entry for entry in GRAPH if entry.risk is Risk.WRITE], ids=lambda entry: entry.name
)
def test_a_write_leaves_its_line_in_the_audit(memory: Memory, operation: Operation) -> None:
    before = len(dump(memory._database)["audit"])

    memory.call(operation.name, ARGUMENTS[operation.name])

    rows = sorted(dump(memory._database)["audit"])[before:]
    assert operation.name in [row[2] for row in rows]


def test_what_is_text_stays_text_in_json(memory: Memory) -> None:
    text = operations.call_json(
        memory._database, Caller(namespace="main"), "add_episode", json.dumps(ARGUMENTS["add_episode"])
    )

    assert "☕" in text


def test_an_operation_that_there_is_not_is_not_found(memory: Memory) -> None:
    with pytest.raises(NotFound, match=r"no operation 'remind'\. Known: .*remember"):
        memory.call("remind", {})


@pytest.mark.parametrize("operation", CATALOGUE.values(), ids=lambda operation: operation.name)
def test_every_entry_says_what_it_does_and_takes_no_unknown_argument(operation: Operation) -> None:
    with pytest.raises(InvalidInput, match="nonsense"):
        operation.parse({"nonsense": 1})

    assert operation.description.endswith(".")
    assert CATALOGUE[operation.name] is operation


@pytest.mark.parametrize("operation", CATALOGUE.values(), ids=lambda operation: operation.name)
def test_a_tool_offers_arguments_that_there_are_flat_and_at_most_five(operation: Operation) -> None:
    schema = operation.arguments.model_json_schema()["properties"]

    assert set(operation.tool_parameters) <= schema.keys()
    assert len(operation.tool_parameters) <= 5
    assert all(schema[name].get("description") for name in operation.tool_parameters)


def test_the_catalogue_cannot_be_changed() -> None:
    change: Callable[[], object] = lambda: CATALOGUE.update({})  # type: ignore[attr-defined]  # noqa: E731

    with pytest.raises(AttributeError):
        change()


@pytest.mark.parametrize("text", ["{", "[]", '"f1"', "null"])
def test_arguments_that_are_no_json_object_are_refused(text: str) -> None:
    with Memory.open(":memory:") as memory, pytest.raises(InvalidInput):
        operations.call_json(memory._database, memory._caller, "get_fact", text)


def test_a_call_cannot_say_that_it_comes_from_another_namespace() -> None:
    with Memory.open(":memory:", namespace="mine") as memory, pytest.raises(TypeError, match="comes from"):
        memory.call("remember", {"content": "Cy likes tea."}, namespace="yours")  # type: ignore[call-arg]
