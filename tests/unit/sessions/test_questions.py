"""Questions that join conversations and knowledge: one statement each."""

import json
from typing import Any

import pytest

from agents_memory import Memory, operations
from agents_memory.errors import NotFound
from agents_memory.sessions.types import FactStatus


def say(memory: Memory, session_id: str, *texts: str, role: str = "user") -> tuple[str, ...]:
    items = [json.dumps({"role": role, "content": text}) for text in texts]
    ids: tuple[str, ...] = memory.call("session_append", {"session_id": session_id, "items": items})
    return ids


def remember(memory: Memory, content: str, session_id: str = "s", **origin: Any) -> str:
    return str(memory.call("remember", {"content": content}, session_id=session_id, **origin).id)


def is_mentioned(memory: Memory, name: str, text: str) -> bool:
    memory.remember(f"There is {name}.", entities=[name])
    say(memory, "s", text)
    return bool(memory.sessions_mentioning(name))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Go", "we use Go."),
        ("Go", "GO"),
        ("go", "(Go)"),
        ("Bo", "that is Bo's idea"),
        ("O'Brien", "ask o’brien about it"),
        ("ingest service", "the Ingest\u00a0\n Service is down"),
        ("Café", "the cafe\u0301 is closed"),
        ("Straße", "in der STRASSE"),
        ("STRASSE", "in der Straße"),
        ("Москва", "В МОСКВА-Сити"),
        ("ΟΔΟΣ", "η οδος"),
        ("阿达", "我觉得阿达喜欢咖啡"),
        ("Go", "我用Go写代码"),
        ("アダ", "アダは元気"),
        ("محمد", "رأيت محمد أمس"),
        ("C++", "written in c++, mostly"),
        ("10.0.0.1", "ping 10.0.0.1!"),
        ("zero", "ze\u200bro"),
        ("🚀", "launch 🚀!"),
        ("a.b|c", "the key a.b|c is set"),
        ("Go", "one\x00Go\x00two"),
    ],
)
def test_a_name_is_found_as_whole_words_in_any_script_and_case(memory: Memory, name: str, text: str) -> None:
    assert is_mentioned(memory, name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Go", "Going, ergo, cargo, go_to, göttlich"),
        ("Bo", "Bob and Ebo"),
        ("ingest service", "ingest this service"),
        ("C", "C++ and C#"),
        ("10.0.0.1", "10.0.0.12 and 110.0.0.1 and 10.0.0.1.5"),
        ("Ан", "Анна"),
        ("アダ", "アダム"),
        ("阿达", "阿 and 达 apart"),
        ("%", "100 per cent"),
        ("_o", "Bo"),
        ("a.b", "axb"),
    ],
)
def test_a_part_of_a_word_is_no_mention(memory: Memory, name: str, text: str) -> None:
    assert not is_mentioned(memory, name, text)


def test_mentions_count_messages_by_any_name_with_first_and_last(memory: Memory) -> None:
    memory.remember("Cy maintains the ingest service.", entities=["ingest service"])
    memory.add_alias("ingest service", "ingest")
    first, *_, last = say(memory, "one", "ingest is slow", "what?", "the ingest service, the ingest service!")
    say(memory, "two", "nothing")
    say(memory, "three", "Ingest again", role="assistant")
    tool = {"type": "function_call_output", "call_id": "c", "output": "ingest, as memory says"}
    memory.call("session_append", {"session_id": "two", "items": [json.dumps(tool)]})

    one, three = memory.sessions_mentioning("INGEST")

    assert (one.session_id, one.items, one.first_item, one.last_item) == ("one", 2, first, last)
    assert one.first_at <= one.last_at
    assert (three.session_id, three.items) == ("three", 1)


def test_mentions_of_nobody_known_are_no_empty_answer(memory: Memory) -> None:
    say(memory, "s", "who is Zed?")

    with pytest.raises(NotFound):
        memory.sessions_mentioning("Zed")
    memory.remember("Zed exists.", entities=["Zed Smith"])
    assert memory.sessions_mentioning("Zed Smith") == ()


def test_an_entity_of_an_ancestor_is_found_in_the_conversations_of_this_namespace_only(memory: Memory) -> None:
    memory.remember("Bo leads.", entities=["Bo"])
    say(memory, "above", "Bo")
    below, beside = memory.at_namespace("acme/kestrel"), memory.at_namespace("acme/osprey")
    say(below, "below", "Bo")

    assert [mention.session_id for mention in below.sessions_mentioning("Bo")] == ["below"]
    assert beside.sessions_mentioning("Bo") == ()
    assert [session.session_id for session in below.sessions()] == ["below"]
    assert below.read_session("above") == ()


def test_popped_items_are_no_mention_but_were_one(memory: Memory) -> None:
    memory.remember("Bo leads.", entities=["Bo"])
    say(memory, "s", "Bo")
    before = memory._database.now()
    memory.call("session_pop", {"session_id": "s"})

    assert memory.sessions_mentioning("Bo") == ()
    assert len(memory.as_of(known_at=before).sessions_mentioning("Bo")) == 1


def test_sessions_are_listed_with_their_size_and_time(memory: Memory) -> None:
    say(memory, "one", "q1", "q2")
    say(memory, "one", "a", role="assistant")
    say(memory, "two", "q")
    memory.call("session_clear", {"session_id": "two"})

    one, two = memory.sessions()

    assert (one.session_id, one.items, one.turns) == ("one", 3, 2)
    assert one.first_at is not None
    assert one.last_at is not None
    assert one.created_at == one.first_at < one.last_at
    assert (two.session_id, two.items, two.turns, two.first_at) == ("two", 0, 0, None)


def test_a_session_is_read_with_its_turns(memory: Memory) -> None:
    say(memory, "s", "be kind", role="system")
    say(memory, "s", "q1")
    say(memory, "s", "a1", role="assistant")
    say(memory, "s", "q2")

    assert [(item.text, item.turn) for item in memory.read_session("s")] == [
        ("be kind", 0),
        ("q1", 1),
        ("a1", 1),
        ("q2", 2),
    ]
    assert [item.text for item in memory.read_session("s", turns=1)] == ["q2"]
    assert [item.text for item in memory.read_session("s", turns=5)] == ["be kind", "q1", "a1", "q2"]
    assert memory.read_session("no such session") == ()


def test_facts_written_say_what_became_of_each(memory: Memory) -> None:
    [item_id] = say(memory, "s", "all of it")
    ids = [remember(memory, f"Statement {n}.", item_id=item_id, call_id=f"c{n}") for n in range(4)]
    remember(memory, "Elsewhere.", session_id="t")
    memory.supersede(ids[1], "Another world.")
    memory.correct(ids[2], "Right this time.")
    memory.forget(ids[3])
    memory.call("remember", {"content": "Later.", "valid_from": "2999-01-01"}, session_id="s")
    memory.call("remember", {"content": "Over.", "valid_from": "2001-01-01", "valid_to": "2002-01-01"}, session_id="s")

    written = memory.facts_written("s")

    assert [(fact.content, fact.status) for fact in written] == [
        ("Statement 0.", FactStatus.CURRENT),
        ("Statement 1.", FactStatus.SUPERSEDED),
        ("Statement 2.", FactStatus.CORRECTED),
        ("Statement 3.", FactStatus.FORGOTTEN),
        ("Later.", FactStatus.UPCOMING),
        ("Over.", FactStatus.ENDED),
    ]
    assert [fact.fact_id for fact in written[:4]] == ids
    assert (written[0].item_id, written[0].call_id, written[0].approved_by) == (item_id, "c0", None)


def test_a_correction_is_written_by_the_session_that_made_it(memory: Memory) -> None:
    fact_id = remember(memory, "Wrong.", session_id="one")
    memory.call("correct", {"fact_id": fact_id, "content": "Right."}, session_id="two")

    [wrong], [right] = memory.facts_written("one"), memory.facts_written("two")

    assert (wrong.status, wrong.change) == (FactStatus.CORRECTED, "created")
    assert (right.status, right.change, right.fact_id) == (FactStatus.CURRENT, "corrected", fact_id)


def test_facts_written_as_of_before_know_nothing_of_later(memory: Memory) -> None:
    fact_id = remember(memory, "It holds.")
    before = memory._database.now()
    memory.forget(fact_id)

    assert [fact.status for fact in memory.as_of(known_at=before).facts_written("s")] == [FactStatus.CURRENT]
    assert [fact.status for fact in memory.facts_written("s")] == [FactStatus.FORGOTTEN]


def test_every_question_is_one_statement(memory: Memory) -> None:
    remember(memory, "Bo leads.")
    memory.remember("Bo leads on.", entities=["Bo"])
    say(memory, "s", "Bo")
    ran: list[str] = []
    memory._database.on_statement = ran.append

    memory.sessions_mentioning("Bo")
    memory.facts_written("s")
    memory.sessions()
    memory.read_session("s", turns=1)

    assert ran == ["sessions_mentioning", "facts_written_in", "list_sessions", "read_session"]


def test_answers_travel_as_json(memory: Memory) -> None:
    memory.remember("Bo leads.", entities=["Bo"])
    remember(memory, "Cy follows.")
    say(memory, "s", "Bo")
    for name, arguments in (
        ("sessions", {}),
        ("sessions_mentioning", {"entity": "Bo"}),
        ("facts_written", {"session_id": "s"}),
        ("read_session", {"session_id": "s"}),
        ("session_items", {"session_id": "s"}),
    ):
        text = operations.call_json(memory._database, memory._caller, name, json.dumps(arguments))

        assert operations.operation_named(name).load(json.loads(text)) == memory.call(name, arguments)
        assert len(json.loads(text)) == 1
