"""What was said is found the moment it is committed, once, and only where and when it could be read."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from agents_memory import Memory
from agents_memory.errors import InvalidInput
from agents_memory.operations import operation_named
from agents_memory.recall import items as module
from agents_memory.recall import slots
from agents_memory.recall.items import ItemIndex
from agents_memory.testing.faults import failing_at


def say(memory, text, *, session_id="conv-1", role="user", branch="main"):
    item = json.dumps({"role": role, "content": text})
    return memory.call("session_append", {"session_id": session_id, "branch": branch, "items": [item]})[0]


def tool_says(memory, text, *, session_id="conv-1"):
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"tea": 1}'}
    output = {"type": "function_call_output", "call_id": "c1", "output": text}
    memory.call("session_append", {"session_id": session_id, "items": [json.dumps(call), json.dumps(output)]})


def found(memory, query, **options):
    return [hit.item.text for hit in memory.search_items(query, **options).hits]


def statements_of(memory, call):
    with failing_at(memory._database, None) as countdown:
        call()
    return countdown.seen


def in_another_thread(call):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(timeout=30)


def test_a_search_is_one_statement_once_the_index_is_loaded(memory):
    say(memory, "Ada likes tea")

    assert statements_of(memory, lambda: memory.search_items("tea")) == ["index_items", "found_items"]
    assert statements_of(memory, lambda: memory.search_items("tea", k=1000)) == ["found_items"]
    assert statements_of(memory, lambda: memory.search_items("coffee")) == []


def test_what_is_said_is_followed_without_reading_it_again(memory):
    memory.search_items("tea")
    say(memory, "Ada likes tea")

    seen = statements_of(memory, lambda: memory.search_items("tea"))

    assert seen == ["found_items"]
    assert found(memory, "tea") == ["Ada likes tea"]


def test_a_hit_says_who_spoke_where_and_why_it_was_found(memory):
    say(memory, "Hello")
    item_id = say(memory, "Ada likes green tea", role="assistant")

    (hit,) = memory.search_items("Does Ada like tea?").hits

    assert (hit.item.id, hit.item.session_id, hit.item.branch) == (item_id, "conv-1", "main")
    assert (hit.item.role, hit.item.position, hit.item.turn) == ("assistant", 2, 1)
    assert set(hit.terms) == {"ada", "like", "tea"}
    assert hit.score > 0


def test_only_the_conversation_and_the_role_asked_for_are_searched_and_k_is_honoured(memory):
    for number in range(5):
        say(memory, "tea tea tea", session_id=f"other-{number}")
    say(memory, "A long sentence in which tea is named once, among many other words that do not matter")
    say(memory, "No tea for me", role="assistant")
    tool_says(memory, "tea: sold out")

    assert len(found(memory, "tea", session_id="conv-1", k=3)) == 3
    assert found(memory, "tea", role="assistant", k=1) == ["No tea for me"]
    assert found(memory, "tea", role="tool") == ["tea: sold out"]
    assert len(found(memory, "tea", k=50)) == 8


def test_of_equal_items_the_newest_comes_first(memory):
    ids = [say(memory, "tea") for _ in range(3)]

    assert [hit.item.id for hit in memory.search_items("tea").hits] == ids[::-1]


def test_a_conversation_is_searched_in_its_own_namespace_alone(memory):
    say(memory, "Ada likes tea")

    assert found(memory.at_namespace("acme/kestrel/below"), "tea") == []
    assert found(memory.at_namespace("acme"), "tea") == []


@pytest.mark.parametrize("verb", ["session_pop", "session_clear"])
def test_what_is_taken_out_is_not_found_now_and_is_as_of_an_earlier_moment(memory, verb):
    say(memory, "Ada likes tea")
    before = memory._database.now()
    memory.search_items("tea")

    memory.call(verb, {"session_id": "conv-1"})

    assert found(memory, "tea") == []
    assert found(memory.as_of(known_at=before), "tea") == ["Ada likes tea"]
    assert found(memory.as_of(known_at=before - timedelta(days=1)), "tea") == []


def test_an_item_that_branches_share_is_found_once_in_main_or_where_it_still_is(memory):
    memory.search_items("tea")
    say(memory, "Ada likes tea")
    say(memory, "And coffee")
    memory.call("create_branch", {"session_id": "conv-1", "turn": 2, "name": "other"})
    say(memory, "Bo likes tea", branch="other")

    shared = {hit.item.text: hit.item.branch for hit in memory.search_items("tea").hits}
    for _ in range(2):
        memory.call("session_pop", {"session_id": "conv-1"})
    popped = {hit.item.text: hit.item.branch for hit in memory.search_items("tea").hits}
    memory.call("delete_branch", {"session_id": "conv-1", "branch": "other"})

    assert shared == {"Ada likes tea": "main", "Bo likes tea": "other"}
    assert popped == {"Ada likes tea": "other", "Bo likes tea": "other"}
    assert found(memory, "tea") == []


def test_an_item_that_is_not_in_main_is_read_where_it_was_said(memory):
    say(memory, "Hello")
    memory.call("create_branch", {"session_id": "conv-1", "turn": 1, "name": "said"})
    say(memory, "Ada likes tea", branch="said")
    say(memory, "And coffee", branch="said")
    memory.call("create_branch", {"session_id": "conv-1", "branch": "said", "turn": 2, "name": "inherits"})

    (hit,) = memory.search_items("tea").hits

    assert (hit.item.branch, hit.item.position) == ("said", 1)


def test_a_deleted_conversation_is_gone_at_once_and_at_every_moment(memory):
    say(memory, "Ada likes tea")
    say(memory, "Bo likes tea", session_id="conv-2")
    before = memory._database.now()
    memory.search_items("tea")

    memory.delete_session("conv-1")

    assert found(memory, "tea") == found(memory.as_of(known_at=before), "tea") == ["Bo likes tea"]


def test_a_renamed_conversation_is_found_under_its_new_name_only(memory):
    say(memory, "Ada likes tea")
    memory.search_items("tea")

    memory.rename_session("conv-1", "conv-9")
    say(memory, "Bo likes tea")

    assert found(memory, "tea", session_id="conv-9") == ["Ada likes tea"]
    assert found(memory, "tea", session_id="conv-1") == ["Bo likes tea"]


def test_only_a_deletion_that_deletes_lets_go_of_the_index(memory):
    say(memory, "Ada likes tea")
    memory.search_items("tea")
    later = memory._database.now() + timedelta(days=1)

    memory.delete_old_sessions("2001-01-01")
    memory.delete_old_sessions(later, dry_run=True)

    assert statements_of(memory, lambda: memory.search_items("tea")) == ["found_items"]
    memory.delete_old_sessions(later)
    assert found(memory, "tea") == []


def test_what_is_not_committed_is_not_found(memory):
    memory.search_items("tea")

    with pytest.raises(KeyboardInterrupt), memory._database.transaction():  # noqa: PT012
        say(memory, "Ada likes tea")
        assert found(memory, "tea") == []
        raise KeyboardInterrupt

    assert found(memory, "tea") == []


def test_commits_while_the_index_is_loaded_are_taken_once(memory):
    say(memory, "Ada likes tea")
    say(memory, "Bo likes tea")

    def change():
        memory.call("session_pop", {"session_id": "conv-1"})
        memory.call("create_branch", {"session_id": "conv-1", "turn": 1, "name": "other"})
        say(memory, "Cy likes tea", branch="other")
        say(memory, "Dee likes tea")

    def once(name):
        if name == "index_items":
            memory._database.on_statement = None
            in_another_thread(change)

    memory._database.on_statement = once
    memory.search_items("tea")

    assert sorted(found(memory, "tea")) == ["Ada likes tea", "Cy likes tea", "Dee likes tea"]
    shard = memory._database.shared(ItemIndex)._slots[memory.namespace]._shard
    assert (len(shard.items), len(shard.stays)) == (4, 4)


@pytest.mark.parametrize("forgetting", ["evict", "reset"])
def test_what_the_index_loses_costs_time_and_never_truth(memory, forgetting):
    tool_says(memory, "tea: sold out")
    say(memory, "Ada likes tea")
    before = memory.search_items("tea", role="tool")
    index = memory._database.shared(ItemIndex)

    index.evict(memory.namespace) if forgetting == "evict" else index.reset()

    assert memory.search_items("tea", role="tool") == before
    assert len(found(memory, "tea")) == 2


def test_what_nobody_searches_for_does_not_pile_up(memory, monkeypatch):
    monkeypatch.setattr(slots, "MAX_WAITING", 20)
    memory.search_items("tea")

    for _ in range(4):
        say(memory, "tea " * 2_000)  # eight thousand characters weigh as much as eight items

    assert memory._database.shared(ItemIndex)._slots == {}
    assert len(found(memory, "tea")) == 4


def test_the_namespaces_searched_longest_ago_are_let_go(memory, monkeypatch):
    monkeypatch.setattr(module, "MAX_LOADED_ITEMS", 5)
    handles = [memory.at_namespace(f"team{number}") for number in range(3)]
    for handle in handles:
        for _ in range(3):
            say(handle, "tea")

    assert [len(found(handle, "tea")) for handle in handles] == [3, 3, 3]
    assert list(memory._database.shared(ItemIndex)._slots) == ["team2"]


@pytest.mark.parametrize(
    ("query", "options", "why"),
    [
        ("tea", {"session_id": "nowhere"}, "was said in that conversation, or by that role"),
        ("tea", {"role": "developer"}, "was said in that conversation, or by that role"),
        ("who are the?", {}, "no word to look for"),
        ("coffee", {}, "None of the 1 items"),
    ],
)
def test_an_empty_result_says_why(memory, query, options, why):
    nothing = memory.search_items("tea")
    say(memory, "Ada likes tea")

    result = memory.search_items(query, **options)

    assert nothing.explanation == "No conversation of the namespace 'acme/kestrel' holds a word."
    assert result.hits == ()
    assert why in result.explanation


@pytest.mark.parametrize("arguments", [{"query": " "}, {"query": "tea", "k": 0}, {"query": "tea", "session_id": " "}])
def test_a_search_that_cannot_work_is_refused(memory, arguments):
    with pytest.raises(InvalidInput):
        memory.call("search_items", arguments)


def test_a_result_survives_json(memory):
    say(memory, "Ada likes tea")
    operation = operation_named("search_items")

    result = memory.search_items("tea")

    assert operation.load(json.loads(json.dumps(operation.dump(result)))) == result


def test_what_was_said_before_the_file_was_opened_again_is_found(tmp_path):
    with Memory.open(tmp_path / "m.duckdb") as one:
        say(one, "Ada likes tea")

    with Memory.open(tmp_path / "m.duckdb") as again:
        assert found(again, "tea") == ["Ada likes tea"]
