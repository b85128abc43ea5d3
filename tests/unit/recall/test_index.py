"""The read index follows every commit, once, whenever it was loaded and whoever asks."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agents_memory import Memory
from agents_memory.recall import index as module
from agents_memory.recall.columns import Moment, micros
from agents_memory.recall.index import ReadIndex
from agents_memory.types import Kind

LOADING = ["index_names", "index_facts", "index_relations"]


def contents(memory, query, **options):
    return [hit.fact.content for hit in memory.recall(query, **options).hits]


def listened(memory):
    """The names of the statements that run from now on."""
    names: list[str] = []
    memory._database.on_statement = names.append
    return names


def in_another_thread(call):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(timeout=30)


def rows_of(memory):
    now = micros(memory._database.now())
    view = memory._database.shared(ReadIndex).view([memory.namespace], Moment(valid_at=now, known_at=now), None)
    return view.rows


def test_a_recall_is_one_statement_once_the_index_is_loaded(memory):
    memory.remember("Ada likes tea", entities=["Ada"])
    names = listened(memory)

    memory.recall("tea")
    first = list(names)
    names.clear()
    memory.recall("tea")

    assert sorted(first) == sorted([*LOADING, *LOADING, "recalled_facts"])  # its own namespace and the one above
    assert names == ["recalled_facts"]


def test_a_recall_that_finds_nothing_is_no_statement(memory):
    memory.recall("tea")
    names = listened(memory)

    memory.recall("tea")

    assert names == []


def test_writes_are_followed_without_reading_them_again(memory):
    memory.recall("tea")
    first = memory.remember("Ada likes tea", entities=["Ada"]).id
    second = memory.remember("Bo likes tea").id
    third = memory.remember("Cy likes tea").id
    memory.supersede(first, "Ada likes mint tea")
    memory.correct(second, "Bo likes iced tea")
    memory.forget(third)
    memory.relate("Ada", "knows", "Bo")
    names = listened(memory)

    found = contents(memory, "tea")

    assert sorted(found) == ["Ada likes mint tea", "Bo likes iced tea"]
    assert names == ["recalled_facts"]


@pytest.mark.parametrize("moment", LOADING)
def test_a_commit_while_a_shard_is_loaded_is_taken_once(memory, moment):
    kept = memory.remember("Ada likes tea", entities=["Ada"]).id
    gone = memory.remember("Bo likes tea", entities=["Bo"]).id

    def write():
        memory.supersede(kept, "Ada likes mint tea")
        memory.forget(gone)
        memory.remember("Cy likes tea", entities=["Cy"])
        memory.relate("Cy", "knows", "Ada")

    def once(name):
        if name == moment:
            memory._database.on_statement = None
            in_another_thread(write)

    memory._database.on_statement = once
    memory.recall("tea")

    assert sorted(contents(memory, "tea")) == ["Ada likes mint tea", "Cy likes tea"]
    assert rows_of(memory) == 5
    assert memory.recall("What about Cy?").hits[0].path == ("Cy",)


def test_what_is_not_committed_is_not_seen(memory):
    memory.recall("tea")

    with memory._database.transaction():
        memory.remember("Ada likes tea")
        assert contents(memory, "tea") == []

    assert contents(memory, "tea") == ["Ada likes tea"]


def test_loading_inside_a_transaction_keeps_nothing_that_is_rolled_back(memory):
    with pytest.raises(KeyboardInterrupt), memory._database.transaction():  # noqa: PT012
        memory.remember("Ada likes tea")
        memory.recall("tea")
        raise KeyboardInterrupt

    assert contents(memory, "tea") == []
    assert rows_of(memory) == 0


def test_a_dry_run_leaves_no_trace(memory):
    memory.recall("tea")

    with memory._database.transaction(dry_run=True):
        memory.remember("Ada likes tea")

    assert contents(memory, "tea") == []


@pytest.mark.parametrize("forgetting", ["evict", "reset"])
def test_what_the_index_loses_costs_time_and_never_truth(memory, forgetting):
    memory.remember("Ada likes tea", entities=["Ada"])
    before = memory.recall("tea")
    index = memory._database.shared(ReadIndex)

    index.evict(memory.namespace) if forgetting == "evict" else index.reset()
    names = listened(memory)

    assert memory.recall("tea") == before
    assert "index_facts" in names


def test_a_load_that_fails_is_done_again_by_the_next_recall(memory):
    memory.remember("Ada likes tea")

    def fail(name):
        if name == "index_facts":
            memory._database.on_statement = None
            raise OSError("a disk that comes and goes")

    memory._database.on_statement = fail
    with pytest.raises(OSError, match="comes and goes"):
        memory.recall("tea")
    memory.remember("Bo likes tea")

    assert sorted(contents(memory, "tea")) == ["Ada likes tea", "Bo likes tea"]
    assert rows_of(memory) == 2


def test_the_shards_asked_longest_ago_are_let_go(memory, monkeypatch):
    monkeypatch.setattr(module, "MAX_LOADED_VERSIONS", 10)
    handles = [memory.at_namespace(f"team{number}") for number in range(4)]
    for handle in handles:
        for number in range(4):
            handle.remember(f"Tea number {number}")

    found = [len(contents(handle, "tea")) for handle in handles]
    names = listened(memory)
    handles[3].recall("tea")
    again = list(names)

    assert found == [4, 4, 4, 4]
    assert again == ["recalled_facts"]
    assert len(contents(handles[0], "tea")) == 4
    assert "index_facts" in names


def test_one_handle_sees_what_another_wrote(tmp_path):
    with Memory.open(tmp_path / "m.duckdb") as one, Memory.open(tmp_path / "m.duckdb") as other:
        one.recall("tea")
        other.remember("Ada likes tea")

        assert contents(one, "tea") == ["Ada likes tea"]


def test_readers_and_writers_in_many_threads_never_see_half_a_change(memory):
    facts = [memory.remember(f"Desk {number} is held by nobody").id for number in range(5)]
    failures = []
    done = threading.Event()

    def read():
        while not done.is_set():
            found = contents(memory, "desk", k=50)
            if sorted(text.split()[1] for text in found) != [str(number) for number in range(5)]:
                failures.append(found)
                return

    def write(number):
        fact = facts[number]
        for turn in range(15):
            fact = memory.supersede(fact, f"Desk {number} is held by person {turn}").id
            memory.remember(f"Note {number} {turn}", kind=Kind.EVENT)

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        writers = [pool.submit(write, number) for number in range(5)]
        for writer in writers:
            writer.result(timeout=120)
        done.set()
        for reader in readers:
            reader.result(timeout=30)

    assert failures == []
    assert sorted(contents(memory, "desk", k=50)) == [f"Desk {number} is held by person 14" for number in range(5)]
