"""A transaction is all or nothing, belongs to one task and thread, and its moment is later than every one before."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from agents_memory import Memory, _clock
from agents_memory.errors import (
    AgentsMemoryError,
    StorageError,
    TransactionDoomed,
    TransactionElsewhere,
    WriteConflict,
)
from agents_memory.store.database import Database, Transaction
from agents_memory.store.files import open_database, release
from tests.storage import Clock, dump

START = datetime(2026, 9, 1, tzinfo=UTC)


class Listener:
    """A subscriber that keeps what it was told."""

    def __init__(self, fails: bool = False) -> None:
        self.told: list[object] = []
        self.resets = 0
        self.fails = fails

    def committed(self, changes: Sequence[object]) -> None:
        if self.fails:
            raise RuntimeError("cannot follow")
        self.told += changes

    def reset(self) -> None:
        self.resets += 1


class Broken(Exception):
    """What tests raise inside a transaction."""


@pytest.fixture
def database() -> Iterator[Database]:
    database = open_database(":memory:", wait_s=0)
    yield database
    release(database)


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock(START)
    with _clock.replaced_by(clock):
        yield clock


def add(tx: Transaction, name: str) -> None:
    tx.run("add_namespace", namespace=name, created_at=tx.now)
    tx.publish(name)


def write_and_fail(database: Database, error: type[BaseException] = Broken) -> None:
    with database.transaction() as tx:
        add(tx, "lost")
        raise error


def names(database: Database) -> list[str]:
    return [row["namespace"] for row in database.rows("list_namespaces")]


# -- all or nothing ---------------------------------------------------------------------------------------------------


def test_a_block_that_ends_commits_all_of_it(database: Database) -> None:
    with database.transaction() as tx:
        add(tx, "a")
        add(tx, "b")

    assert names(database) == ["a", "b"]


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
def test_a_block_that_fails_writes_nothing(database: Database, error: type[BaseException]) -> None:
    with pytest.raises(error):
        write_and_fail(database, error)

    assert names(database) == []


def test_a_failed_block_leaves_the_database_usable(database: Database) -> None:
    with pytest.raises(Broken), database.transaction():
        raise Broken

    with database.transaction() as tx:
        add(tx, "a")

    assert names(database) == ["a"]


@pytest.mark.parametrize("word", ["begin", "add_namespace", "commit"])
def test_a_statement_that_fails_leaves_nothing_behind(database: Database, word: str) -> None:
    def fail(name: str) -> None:
        if name == word:
            raise Broken

    database.on_statement = fail
    with pytest.raises(Broken), database.transaction() as tx:
        add(tx, "a")
    database.on_statement = None

    assert names(database) == []
    with database.transaction() as tx:
        add(tx, "b")
    assert names(database) == ["b"]


def test_an_inner_block_joins_the_outer_one(database: Database) -> None:
    with database.transaction() as outer, database.transaction() as inner:
        add(inner, "a")

        assert inner is outer
        assert names(database) == ["a"]
    assert names(database) == ["a"]


def test_an_outer_block_that_fails_takes_the_inner_one_with_it(database: Database) -> None:
    def fail_outside() -> None:
        with database.transaction():
            with database.transaction() as inner:
                add(inner, "a")
            raise Broken

    with pytest.raises(Broken):
        fail_outside()

    assert names(database) == []


def test_a_swallowed_inner_failure_dooms_the_whole(database: Database) -> None:
    def swallow() -> None:
        with database.transaction() as outer:
            add(outer, "before")
            with suppress(Broken):
                write_and_fail(database)
            add(outer, "after")

    with pytest.raises(TransactionDoomed) as doomed:
        swallow()

    assert names(database) == []
    assert isinstance(doomed.value.__cause__, Broken)


def test_what_a_transaction_wrote_is_seen_inside_it_and_by_nobody_else(database: Database) -> None:
    seen: list[list[str]] = []

    with database.transaction() as tx:
        add(tx, "a")
        reader = threading.Thread(target=lambda: seen.append(names(database)))
        reader.start()
        reader.join()

        assert names(database) == ["a"]
    assert seen == [[]]


def test_a_transaction_is_refused_after_its_end(database: Database) -> None:
    with database.transaction() as tx:
        pass

    with pytest.raises(TransactionElsewhere, match="ended"):
        add(tx, "a")
    assert names(database) == []


# -- dry runs and subscribers -----------------------------------------------------------------------------------------


def test_a_dry_run_writes_nothing_and_tells_nobody(database: Database) -> None:
    listener = Listener()
    database.subscribe(listener)
    before = dump(database)

    with database.transaction(dry_run=True) as tx:
        add(tx, "a")
        assert names(database) == ["a"]

    assert dump(database) == before
    assert listener.told == []


def test_a_dry_run_takes_no_moment(clock: Clock, database: Database) -> None:
    with database.transaction() as tx:
        add(tx, "a")

    with database.transaction(dry_run=True):
        pass

    assert database.now() == tx.now


def test_subscribers_are_told_of_a_commit_once_in_order(database: Database) -> None:
    listener = Listener()
    database.subscribe(listener)

    with database.transaction() as tx:
        add(tx, "a")
        with database.transaction() as inner:
            add(inner, "b")
        assert listener.told == []

    assert listener.told == ["a", "b"]


def test_subscribers_are_not_told_of_what_was_rolled_back(database: Database) -> None:
    listener = Listener()
    database.subscribe(listener)

    with pytest.raises(Broken):
        write_and_fail(database)

    assert listener.told == []


def test_a_subscriber_that_fails_is_reset_and_the_commit_stands(database: Database) -> None:
    failing, following = Listener(fails=True), Listener()
    database.subscribe(failing)
    database.subscribe(following)

    with database.transaction() as tx:
        add(tx, "a")

    assert names(database) == ["a"]
    assert failing.resets == 1
    assert following.told == ["a"]


def test_what_is_shared_is_made_once(database: Database) -> None:
    assert database.shared(_made) is database.shared(_made)


def _made(database: Database) -> Listener:
    return Listener()


# -- who may use it ---------------------------------------------------------------------------------------------------


async def test_another_task_cannot_open_one_while_a_task_is_suspended_inside(database: Database) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        with database.transaction() as tx:
            add(tx, "holder")
            entered.set()
            await leave.wait()

    holder = asyncio.create_task(hold())
    await entered.wait()

    with pytest.raises(TransactionElsewhere, match="Do not await"), database.transaction():
        pass

    leave.set()
    await holder
    assert names(database) == ["holder"]


async def test_a_task_started_inside_cannot_read_or_write_through_it(database: Database) -> None:
    async def intrude() -> None:
        with pytest.raises(TransactionElsewhere):
            names(database)
        with pytest.raises(TransactionElsewhere), database.transaction():
            pass

    with database.transaction() as tx:
        add(tx, "a")
        await asyncio.create_task(intrude())

    assert names(database) == ["a"]


async def test_a_thread_started_inside_cannot_read_or_write_through_it(database: Database) -> None:
    def intrude(tx: Transaction) -> None:
        with pytest.raises(TransactionElsewhere):
            names(database)
        with pytest.raises(TransactionElsewhere):
            add(tx, "b")
        with pytest.raises(TransactionElsewhere), database.transaction():
            pass

    with database.transaction() as tx:
        add(tx, "a")
        await asyncio.to_thread(intrude, tx)

    assert names(database) == ["a"]


def test_a_thread_waits_for_the_writer_before_it(database: Database) -> None:
    order: list[str] = []

    def write() -> None:
        with database.transaction() as tx:
            order.append("second")
            add(tx, "b")

    with database.transaction() as tx:
        thread = threading.Thread(target=write)
        thread.start()
        add(tx, "a")
        order.append("first")
    thread.join()

    assert order == ["first", "second"]
    assert names(database) == ["a", "b"]


def test_transactions_of_two_files_do_not_mix(database: Database) -> None:
    other = open_database(":memory:", wait_s=0)

    with other.transaction() as theirs:
        add(theirs, "kept")
        with pytest.raises(Broken):
            write_and_fail(database)
        add(theirs, "kept too")

    assert (names(database), names(other)) == ([], ["kept", "kept too"])
    release(other)


# -- moments ----------------------------------------------------------------------------------------------------------


def test_moments_grow_when_the_clock_stands_still_or_goes_back(clock: Clock, database: Database) -> None:
    moments: list[datetime] = []

    for hours in (0, 0, -5, 1, -100, 0):
        clock.move(hours=hours)
        with database.transaction() as tx:
            add(tx, f"n{len(moments)}")
            moments.append(tx.now)

    assert moments == sorted(set(moments))


def test_moments_grow_across_reopening_with_an_earlier_clock(tmp_path: Path, clock: Clock) -> None:
    with Memory.open(tmp_path / "a.duckdb") as memory:
        first = memory.get(memory.remember("First").id)
    clock.move(days=-30)

    with Memory.open(tmp_path / "a.duckdb") as memory:
        second = memory.get(memory.remember("Second").id)

        assert second.tx_from > first.tx_from
        assert memory.get(first.id).is_current


def test_a_read_is_never_earlier_than_the_last_commit(clock: Clock, database: Database) -> None:
    with database.transaction() as tx:
        add(tx, "a")
    clock.move(days=-1)

    assert database.now() == tx.now


def test_everything_in_a_transaction_carries_its_moment(clock: Clock, database: Database) -> None:
    with database.transaction() as tx:
        clock.move(hours=1)

        assert database.now() == tx.now


def test_moments_keep_their_microseconds(clock: Clock, database: Database) -> None:
    clock.move(microseconds=123456)
    with database.transaction() as tx:
        tx.run("record_migration", number=77, name="test", applied_at=tx.now)

    (stored,) = [row[2] for row in dump(database)["schema_migrations"] if row[0] == 77]
    assert stored.replace(tzinfo=UTC) == START + timedelta(microseconds=123456)


# -- DuckDB's errors --------------------------------------------------------------------------------------------------

SECRET = "the launch code is swordfish"


def test_a_key_that_exists_is_a_conflict_without_the_key(database: Database) -> None:
    values = {"number": 1, "name": SECRET, "applied_at": START}

    with pytest.raises(WriteConflict) as conflict, database.transaction() as tx:
        tx.run("record_migration", **values)

    assert conflict.value.retryable
    assert "1" not in str(conflict.value)


@pytest.mark.parametrize("value", [SECRET, f"{SECRET}\ud800", object()])
def test_no_message_holds_what_was_to_be_stored(database: Database, value: object) -> None:
    before = dump(database)

    with pytest.raises(StorageError) as failure, database.transaction() as tx:
        tx.run("record_migration", number=value, name=value, applied_at=START)

    assert "swordfish" not in str(failure.value)
    assert "swordfish" not in str(failure.value.to_dict())
    assert dump(database) == before


def test_every_error_of_duckdb_becomes_ours(database: Database) -> None:
    cursor = database._cursor()

    for sql in ("SELECT", "SELECT * FROM nowhere", "SELECT 1 / 'x'", "SELECT error('swordfish')"):
        with pytest.raises(StorageError) as failure:
            database.run_script(cursor, sql)
        assert isinstance(failure.value, AgentsMemoryError)
        assert not isinstance(failure.value, duckdb.Error)
        assert "swordfish" not in str(failure.value)


class Interrupting:
    """A subscriber in which an interrupt arrives once, as a signal may at any moment after the commit."""

    def __init__(self) -> None:
        self.armed = True

    def committed(self, _changes: object) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def reset(self) -> None:
        pass


def test_an_interrupt_after_the_commit_leaves_the_process_in_step_with_the_file() -> None:
    with Memory.open(":memory:") as memory:
        memory.remember("Cy likes tea.", entities=["Cy"])
        memory.recall("tea")
        memory._database._subscribers.insert(0, Interrupting())
        with pytest.raises(KeyboardInterrupt):
            memory.remember("Bo likes mate.", entities=["Bo"])

        found = [hit.fact.id for hit in memory.recall("mate").hits]
        after = memory.remember("Ada likes decaf.", entities=["Ada"])

        assert found == ["f2"]
        assert after.id == "f3"


def test_a_dry_run_inside_a_transaction_is_refused() -> None:
    with Memory.open(":memory:") as memory:
        database = memory._database
        with (
            pytest.raises(TransactionElsewhere),
            database.transaction(),
            database.transaction(dry_run=True),
        ):
            pass


def test_what_was_known_at_a_moment_does_not_change_while_a_write_is_under_way() -> None:
    with Memory.open(":memory:") as memory:
        database = memory._database
        seen: list[datetime] = []
        with database.transaction() as tx:
            reader = threading.Thread(target=lambda: seen.append(database.now()))
            reader.start()
            reader.join()

        assert seen[0] < tx.now
