"""A summary is made of a conversation's own sentences, and is never older than the conversation."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from agents_memory.errors import InvalidInput
from agents_memory.operations import operation_named
from agents_memory.recall import summary as module
from agents_memory.recall.summary import Summaries
from agents_memory.testing.faults import failing_at

TALK = (
    ("user", "Hello! The ingest service has been failing since the release of Monday."),
    ("assistant", "Which error does the ingest service show since the release?\nI can look into the log."),
    ("user", "The ingest service runs out of memory when the nightly batch begins. Nice weather here."),
    ("assistant", "Then the nightly batch needs more memory, or the ingest service smaller batches."),
    ("user", "Thanks!"),
)


def say(memory, *talk, session_id="conv-1", branch="main"):
    items = [json.dumps({"role": role, "content": text}) for role, text in talk]
    return memory.call("session_append", {"session_id": session_id, "branch": branch, "items": items})


def texts(memory, **options):
    return [sentence.text for sentence in memory.summarize_session("conv-1", **options).sentences]


def statements_of(memory, call):
    with failing_at(memory._database, None) as countdown:
        call()
    return countdown.seen


def test_a_summary_is_sentences_as_they_were_said_in_the_order_of_reading(memory):
    ids = say(memory, *TALK)

    summary = memory.summarize_session("conv-1", sentences=3)

    assert [sentence.text for sentence in summary.sentences] == [
        "The ingest service has been failing since the release of Monday.",
        "The ingest service runs out of memory when the nightly batch begins.",
        "Then the nightly batch needs more memory, or the ingest service smaller batches.",
    ]
    assert [sentence.item_id for sentence in summary.sentences] == [ids[0], ids[2], ids[3]]
    assert [sentence.role for sentence in summary.sentences] == ["user", "user", "assistant"]
    assert (summary.items, summary.items_before) == (5, 0)


def test_what_says_the_same_is_not_chosen_twice(memory):
    say(memory, *[("user", "The ingest service is down again today.")] * 4)
    say(memory, ("user", "The ingest service is down again, today, too."), ("assistant", "Billing has moved to Oslo."))

    assert texts(memory) == ["The ingest service is down again today.", "Billing has moved to Oslo."]


def test_what_tools_gave_back_is_no_part_of_it(memory):
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "Ingest runs on host seven."}
    memory.call("session_append", {"session_id": "conv-1", "items": [json.dumps(call), json.dumps(output)]})

    assert memory.summarize_session("conv-1").sentences == ()


@pytest.mark.parametrize(
    "text",
    [
        "服务在周一发布后一直失败。夜间批处理需要更多内存！谢谢。",
        "Служба приёма падает после выпуска. Ночной пакет требует больше памяти! Спасибо.",
        "خدمة الاستقبال تفشل منذ يوم الاثنين. هل تحتاج الدفعة الليلية إلى ذاكرة أكبر؟ شكرا.",
    ],
)
def test_every_script_gives_whole_sentences(memory, text):
    say(memory, ("user", text))

    found = texts(memory, sentences=2)

    assert len(found) == 2
    assert all(sentence in text and sentence[-1] in "。！.!؟" for sentence in found)


def test_asking_again_costs_no_statement(memory):
    say(memory, *TALK)

    first = statements_of(memory, lambda: texts(memory))
    again = statements_of(memory, lambda: texts(memory))
    other_length = statements_of(memory, lambda: texts(memory, sentences=1))

    assert first == other_length == ["newest_messages"]
    assert again == []


@pytest.mark.parametrize("change", ["add", "pop", "clear", "replace", "rename", "delete", "other handle"])
def test_a_summary_is_never_older_than_its_conversation(memory, change):
    say(memory, *TALK[:4])
    texts(memory)

    if change == "add":
        say(memory, ("user", "Make the batches of the ingest service smaller then."))
    elif change == "pop":
        memory.call("session_pop", {"session_id": "conv-1"})
    elif change == "clear":
        memory.call("session_clear", {"session_id": "conv-1"})
    elif change == "replace":
        new = json.dumps({"role": "assistant", "content": "The batches of the ingest service became smaller."})
        end = memory.call("session_suffix", {"session_id": "conv-1", "limit": 2})
        assert memory.call("session_replace_suffix", {"session_id": "conv-1", "expected": end, "items": [new]})
    elif change == "rename":
        memory.rename_session("conv-1", "conv-2")
    elif change == "delete":
        memory.delete_session("conv-1")
    else:
        say(memory.at_namespace(memory.namespace), ("user", "Make the batches of the ingest service smaller then."))
    kept = memory.summarize_session("conv-1")
    memory._database.shared(Summaries).reset()

    assert memory.summarize_session("conv-1") == kept
    assert kept.items == {"pop": 3, "replace": 3, "clear": 0, "rename": 0, "delete": 0}.get(change, 5)


def test_a_summary_made_while_the_conversation_changed_is_not_kept(memory):
    say(memory, *TALK[:2])

    def after_reading(name):
        memory._database.on_statement = None
        with ThreadPoolExecutor(1) as pool:
            pool.submit(say, memory, *TALK[2:]).result(timeout=30)

    memory._database.on_statement = after_reading
    memory.summarize_session("conv-1")

    assert memory.summarize_session("conv-1").items == 5


def test_what_is_not_committed_is_summed_up_for_its_own_transaction_only(memory):
    say(memory, *TALK[:2])

    with pytest.raises(KeyboardInterrupt), memory._database.transaction():  # noqa: PT012
        say(memory, *TALK[2:])
        assert memory.summarize_session("conv-1").items == 5
        raise KeyboardInterrupt

    assert memory.summarize_session("conv-1").items == 2


def test_an_earlier_moment_is_summed_up_as_it_was(memory):
    say(memory, *TALK[:2])
    before, then = texts(memory), memory._database.now()
    say(memory, *TALK[2:])
    memory.call("session_clear", {"session_id": "conv-1"})

    past = memory.as_of(known_at=then)

    assert texts(past) == before
    assert texts(memory) == []


def test_a_branch_is_summed_up_with_what_it_began_with(memory):
    say(memory, *TALK[:3])
    memory.call("create_branch", {"session_id": "conv-1", "turn": 2, "name": "other"})
    say(memory, ("user", "Forget the ingest service and look at billing."), branch="other")

    summary = memory.summarize_session("conv-1", branch="other")

    assert summary.items == 3
    assert summary.sentences[-1].text == "Forget the ingest service and look at billing."


def test_of_a_long_conversation_the_newest_messages_are_looked_at_and_it_says_so(memory, monkeypatch):
    monkeypatch.setattr(module, "MAX_MESSAGES", 2)
    monkeypatch.setattr(module, "MAX_CHARS", 60)
    say(memory, *TALK[:2], ("user", "The nightly batch is too large now. " * 3), ("user", "Make it much smaller then."))

    summary = memory.summarize_session("conv-1")

    assert (summary.items, summary.items_before) == (2, 2)
    assert texts(memory) == ["The nightly batch is too large now.", "Make it much smaller then."]


def test_a_conversation_of_short_words_is_summed_up_all_the_same(memory):
    say(memory, ("user", "Tea?"), ("assistant", "Yes."))

    assert texts(memory) == ["Tea?", "Yes."]


def test_short_sentences_are_chosen_from_only_where_longer_ones_are_too_few(memory):
    say(memory, *[("user", f"Wow, tea {number}!") for number in range(5)], *TALK[:4])

    assert not any("Wow" in text for text in texts(memory, sentences=3))
    assert any("Wow" in text for text in texts(memory, sentences=20))


@pytest.mark.parametrize("count", [0, 101, "3", True])
def test_a_number_of_sentences_that_cannot_be_is_refused(memory, count):
    with pytest.raises(InvalidInput):
        memory.summarize_session("conv-1", sentences=count)


def test_a_result_survives_json(memory):
    say(memory, *TALK)
    operation = operation_named("summarize_session")

    summary = memory.summarize_session("conv-1")

    assert operation.load(json.loads(json.dumps(operation.dump(summary)))) == summary
