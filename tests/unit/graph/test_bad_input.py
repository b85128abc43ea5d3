"""What cannot be used is refused before anything is written, by an error of ours that says so and quotes nothing."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agents_memory import Memory
from agents_memory.errors import AgentsMemoryError, InvalidInput, InvalidTime
from agents_memory.types import Kind
from tests.storage import Dump, dump

NAIVE = datetime(2026, 3, 1, 9)  # noqa: DTZ001 - the point of it
LATE = datetime.max.replace(tzinfo=UTC)
OUTSIDE = datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))

NO_CONTENT = ["", "   ", "\u200b\u00ad", "\n\t", 123, b"abc", ["text"], 1.5, True, "lone \ud800", "\udfff"]
NO_NAME = ["", "  ", "\u200b", 4242, b"ada", ["Ada"], "\ud800", "x" * 513]
NO_LIST = ["Ada", b"Ada", 7, {"Ada": 1}, 1.5]
NO_ID = [
    1,
    1.0,
    "1",
    "f0",
    "f01",
    "F1",
    "f-1",
    " f1",
    "f1 ",
    "f1\n",
    "f",
    "e1",
    "abc",
    "",
    "f٣",
    "f" + "9" * 30,
    b"f1",
    True,
]
NO_TIME = [
    NAIVE,
    "2026-03-01 09:00",
    "2026-03-01T09:00:00",
    "yesterday",
    "2026-13-01",
    "2026",
    "",
    0,
    1e9,
    float("nan"),
    LATE,
    OUTSIDE,
    "9999-12-31",
]
NO_FRACTION = [-0.1, 1.1, float("nan"), float("inf"), 2**40, 10**400, "0.5", True, [0.5]]
NO_KIND = ["unknown", "", "FACT", 7, "fact "]
NO_HOPS = [-1, 4, 1.0, "1", True, 2**40]
NO_TRIPLES = [
    ("Cy", "maintains", "ingest"),
    [("Cy", "maintains")],
    [("Cy", "maintains", "ingest", "x")],
    ["Cyx"],
    [("Cy", "", "ingest")],
    [("Cy", "maintains", 7)],
    [None],
    "Cy",
    7,
]

CASES: dict[str, tuple[Callable[[Memory, Any], object], list[Any]]] = {
    "remember content": (lambda memory, bad: memory.remember(bad), [*NO_CONTENT, None]),
    "remember entities": (lambda memory, bad: memory.remember("New", entities=bad), NO_LIST),
    "remember an entity": (lambda memory, bad: memory.remember("New", entities=["New one", bad]), [*NO_NAME, None]),
    "remember kind": (lambda memory, bad: memory.remember("New", kind=bad), NO_KIND),
    "remember importance": (lambda memory, bad: memory.remember("New", importance=bad), NO_FRACTION),
    "remember confidence": (lambda memory, bad: memory.remember("New", confidence=bad), NO_FRACTION),
    "remember pinned": (lambda memory, bad: memory.remember("New", pinned=bad), [1, 0, "yes", "true"]),
    "remember valid_from": (lambda memory, bad: memory.remember("New", valid_from=bad), NO_TIME),
    "remember valid_to": (lambda memory, bad: memory.remember("New", valid_to=bad), [*NO_TIME, "2000-01-01"]),
    "remember relate": (lambda memory, bad: memory.remember("New", relate=bad), NO_TRIPLES),
    "remember evidence": (lambda memory, bad: memory.remember("New", evidence=bad), NO_CONTENT),
    "remember episode": (lambda memory, bad: memory.remember("New", episode=bad), [1, "f1", "p0", "4"]),
    "supersede fact": (lambda memory, bad: memory.supersede(bad, "New"), [*NO_ID, None]),
    "supersede content": (lambda memory, bad: memory.supersede("f1", bad), [*NO_CONTENT, None]),
    "supersede at": (lambda memory, bad: memory.supersede("f1", "New", at=bad), NO_TIME),
    "supersede reason": (lambda memory, bad: memory.supersede("f1", "New", reason=bad), NO_CONTENT),
    "supersede relate": (lambda memory, bad: memory.supersede("f1", "New", relate=bad), NO_TRIPLES),
    "supersede entities": (lambda memory, bad: memory.supersede("f1", "New", entities=bad), NO_LIST),
    "correct fact": (lambda memory, bad: memory.correct(bad, "New"), NO_ID),
    "correct content": (lambda memory, bad: memory.correct("f1", bad), NO_CONTENT),
    "correct unrelate": (lambda memory, bad: memory.correct("f1", "New", unrelate=bad), NO_TRIPLES),
    "forget fact": (lambda memory, bad: memory.forget(bad), NO_ID),
    "forget reason": (lambda memory, bad: memory.forget("f1", reason=bad), NO_CONTENT),
    "get": (lambda memory, bad: memory.get(bad), NO_ID),
    "history": (lambda memory, bad: memory.history(bad), NO_ID),
    "provenance": (lambda memory, bad: memory.provenance(bad), NO_ID),
    "relate source": (lambda memory, bad: memory.relate(bad, "maintains", "ingest"), NO_NAME),
    "relate predicate": (lambda memory, bad: memory.relate("New", bad, "ingest"), NO_NAME),
    "relate target": (lambda memory, bad: memory.relate("New", "maintains", bad), NO_NAME),
    "relate valid_from": (lambda memory, bad: memory.relate("New", "is", "it", valid_from=bad), NO_TIME),
    "relate valid_to": (lambda memory, bad: memory.relate("New", "is", "it", valid_to=bad), NO_TIME),
    "unrelate source": (lambda memory, bad: memory.unrelate(bad, "maintains", "ingest"), NO_NAME),
    "unrelate at": (lambda memory, bad: memory.unrelate("Cy", "maintains", "ingest", at=bad), NO_TIME),
    "alias entity": (lambda memory, bad: memory.add_alias(bad, "New"), NO_NAME),
    "alias": (lambda memory, bad: memory.add_alias("Cy", bad), NO_NAME),
    "episode text": (lambda memory, bad: memory.add_episode(bad), NO_CONTENT),
    "episode source": (lambda memory, bad: memory.add_episode("New", source=bad), NO_CONTENT),
    "episode occurred_at": (lambda memory, bad: memory.add_episode("New", occurred_at=bad), NO_TIME),
    "about entity": (lambda memory, bad: memory.about(bad), NO_NAME),
    "about hops": (lambda memory, bad: memory.about("Cy", hops=bad), NO_HOPS),
    "entity": (lambda memory, bad: memory.entity(bad), NO_NAME),
    "view valid_at": (lambda memory, bad: memory.as_of(valid_at=bad), NO_TIME),
    "view known_at": (lambda memory, bad: memory.as_of(known_at=bad), NO_TIME),
    "namespace": (lambda memory, bad: memory.at_namespace(bad), ["", " ", "a//b", 7, None, 2**40, "a\ud800"]),
}


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[Memory, Dump]]:
    """A memory with something of each kind, and all of its rows."""
    with Memory.open(":memory:") as memory:
        memory.remember("Cy maintains ingest", entities=["Cy"], relate=[("Cy", "maintains", "ingest")], evidence="I do")
        yield memory, dump(memory._database)


@pytest.mark.parametrize(
    ("name", "bad"),
    [pytest.param(name, bad, id=f"{name}: {bad!r:.30}") for name, (_, bads) in CASES.items() for bad in bads],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(
    filled: tuple[Memory, Dump], name: str, bad: object
) -> None:
    memory, before = filled

    with pytest.raises(InvalidInput) as refusal:
        CASES[name][0](memory, bad)

    assert refusal.value.code in {"invalid_input", "invalid_id", "invalid_time"}
    assert not refusal.value.retryable
    assert dump(memory._database) == before


@pytest.mark.parametrize("bad", [NAIVE, "2026-03-01T09:00:00"])
def test_a_naive_time_is_refused_with_the_way_out(filled: tuple[Memory, Dump], bad: Any) -> None:
    memory, _ = filled
    calls: list[Callable[[], object]] = [
        lambda: memory.remember("New", valid_from=bad),
        lambda: memory.supersede("f1", "New", at=bad),
        lambda: memory.add_episode("New", occurred_at=bad),
        lambda: memory.as_of(known_at=bad),
    ]

    for call in calls:
        with pytest.raises(InvalidTime, match="naive time; say the zone") as refusal:
            call()
        assert refusal.value.code == "invalid_time"


def test_a_refusal_names_every_argument_that_does_not_fit_and_no_value(filled: tuple[Memory, Dump]) -> None:
    memory, _ = filled

    with pytest.raises(InvalidInput) as refusal:
        memory.call(
            "remember", {"content": "", "kind": "swordfish", "relate": [["a", "b", ""]], "importance": "swordfish"}
        )

    message = str(refusal.value)
    assert all(place in message for place in ("content:", "kind:", "relate[0][2]:", "importance:"))
    assert "swordfish" not in message
    assert len(refusal.value.details["problems"]) == 4


@pytest.mark.parametrize("content", ["swordfish \ud800", ["swordfish"], {"swordfish": 1}])
def test_no_refusal_quotes_the_content(filled: tuple[Memory, Dump], content: Any) -> None:
    memory, _ = filled

    with pytest.raises(AgentsMemoryError) as refusal:
        memory.remember(content)

    assert "swordfish" not in str(refusal.value.to_dict())


def test_an_argument_that_there_is_not_is_refused(filled: tuple[Memory, Dump]) -> None:
    memory, before = filled

    with pytest.raises(InvalidInput, match="colour"):
        memory.call("remember", {"content": "New", "colour": "red"})

    assert dump(memory._database) == before


def test_a_view_cannot_write(filled: tuple[Memory, Dump]) -> None:
    memory, before = filled
    views = [memory.as_of(valid_at="2026-01-01"), memory.as_of(known_at="2099-01-01")]

    for view in views:
        with pytest.raises(InvalidInput, match="read-only"):
            view.call("remember", {"content": "New"})
    assert dump(memory._database) == before


@pytest.mark.parametrize("kind", [*Kind, *(kind.value for kind in Kind)])
def test_every_kind_is_taken_by_name_or_as_itself(memory: Memory, kind: Kind | str) -> None:
    assert memory.get(memory.remember("Cy maintains ingest", kind=kind).id).kind is Kind(kind)


@pytest.mark.parametrize("entities", [("Cy", "Bo"), ["Cy", "Bo"], {"Cy": 1, "Bo": 2}.keys(), (n for n in ("Cy", "Bo"))])
def test_any_collection_of_names_is_taken(memory: Memory, entities: Any) -> None:
    assert memory.get(memory.remember("They met", entities=entities).id).entities == ("Cy", "Bo")
