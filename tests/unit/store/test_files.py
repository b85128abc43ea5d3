"""One memory per file and process, whatever the path's spelling; what is no memory is refused and left alone."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pytest

from agents_memory import Memory
from agents_memory.config import DUCKDB_CONFIG
from agents_memory.errors import Closed, InvalidInput, NewerStore, StoreLocked, StoreUnreadable
from agents_memory.store.queries import migrations
from tests.storage import dump, line_from, start_python

HOLD = """
import sys
from agents_memory import Memory
memory = Memory.open(sys.argv[1], share="never")
memory.remember("The other process was here")
print("holding", flush=True)
sys.stdin.readline()
memory.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "team.duckdb"


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def make_with_duckdb(path: Path, *statements: str) -> None:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)


# -- one file, one memory ---------------------------------------------------------------------------------------------


def relative(path: Path) -> str:
    return os.path.relpath(path)


def dotted(path: Path) -> str:
    return f"{path.parent}/../{path.parent.name}/./{path.name}"


def linked(path: Path) -> str:
    link = path.with_name("link.duckdb")
    link.symlink_to(path)
    return str(link)


def linked_folder(path: Path) -> str:
    link = path.parent.with_name(f"{path.parent.name}-link")
    link.symlink_to(path.parent, target_is_directory=True)
    return str(link / path.name)


@pytest.mark.parametrize("spelling", [relative, dotted, linked, linked_folder, Path])
def test_every_spelling_of_a_path_is_the_same_memory(path: Path, spelling: Callable[[Path], str]) -> None:
    with Memory.open(path) as one, Memory.open(spelling(path)) as other:
        fact = one.remember("Cy maintains ingest")

        assert other.get(fact.id).content == "Cy maintains ingest"
        assert other._database is one._database


def test_a_file_with_a_hard_link_is_refused(path: Path) -> None:
    Memory.open(path).close()
    second = path.with_name("second.duckdb")
    second.hardlink_to(path)

    with pytest.raises(StoreUnreadable, match="2 hard links"):
        Memory.open(second)


def test_a_hard_link_made_to_an_open_file_is_refused(path: Path) -> None:
    with Memory.open(path):
        second = path.with_name("second.duckdb")
        second.hardlink_to(path)

        with pytest.raises(StoreUnreadable, match="2 hard links"):
            Memory.open(second)


def test_threads_that_open_a_new_file_at_once_share_it(path: Path) -> None:
    together = threading.Barrier(8)

    def open_at_once(_: int) -> Memory:
        together.wait()
        return Memory.open(path)

    with ThreadPoolExecutor(8) as pool:
        handles = list(pool.map(open_at_once, range(8)))

    assert len({handle._database for handle in handles}) == 1
    assert [row[0] for row in dump(handles[0]._database)["schema_migrations"]] == [step.number for step in migrations()]
    for handle in handles:
        handle.close()


def test_two_memories_in_memory_are_two() -> None:
    with Memory.open(":memory:") as one, Memory.open(":memory:") as other:
        one.remember("Only in one")

        assert dump(other._database)["fact_versions"] == []


# -- life -------------------------------------------------------------------------------------------------------------


def test_a_closed_handle_refuses(path: Path) -> None:
    memory = Memory.open(path)
    fact = memory.remember("Cy maintains ingest")
    view = memory.as_of()
    memory.close()

    with pytest.raises(Closed):
        memory.remember("Too late")
    with pytest.raises(Closed):
        memory.get(fact.id)
    with pytest.raises(Closed):
        view.get(fact.id)


def test_closing_twice_is_harmless(path: Path) -> None:
    memory = Memory.open(path)
    memory.close()

    memory.close()

    with pytest.raises(Closed):
        memory.remember("Too late")


def test_closing_one_handle_keeps_the_other(path: Path) -> None:
    one, other = Memory.open(path), Memory.open(path)

    one.close()
    one.close()
    fact = other.remember("Still here")

    assert other.get(fact.id).content == "Still here"
    other.close()


def test_threads_that_close_one_handle_at_once_close_it_once(path: Path) -> None:
    one, other = Memory.open(path), Memory.open(path)
    together = threading.Barrier(8)

    def close_at_once(_: int) -> None:
        together.wait()
        one.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(close_at_once, range(8)))

    assert other.remember("Still here").id == "f1"
    other.close()


def test_the_last_close_leaves_nothing_in_the_log(path: Path) -> None:
    with Memory.open(path) as memory:
        memory.remember("Cy maintains ingest")

    assert not path.with_name(f"{path.name}.wal").exists()


def test_what_was_written_is_there_after_reopening(path: Path) -> None:
    with Memory.open(path) as memory:
        fact = memory.remember("Cy maintains ingest", entities=["Cy"])
        before = memory.get(fact.id)

    with Memory.open(path) as memory:
        assert memory.get(fact.id) == before


def test_a_handle_on_another_namespace_closes_nothing(path: Path) -> None:
    with Memory.open(path) as memory:
        memory.at_namespace("acme").close()

        assert memory.remember("Still here").id == "f1"


# -- what is no memory ------------------------------------------------------------------------------------------------


def test_a_newer_file_is_refused_and_left_as_it_is(path: Path) -> None:
    Memory.open(path).close()
    make_with_duckdb(path, "INSERT INTO schema_migrations VALUES (9999, 'later', TIMESTAMP '2030-01-01')")
    before = digest(path)

    with pytest.raises(NewerStore) as refusal:
        Memory.open(path)

    assert refusal.value.details == {"found": 9999, "known": migrations()[-1].number}
    assert digest(path) == before


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE orders (id INTEGER)"],
        ["CREATE VIEW orders AS SELECT 1 AS id"],
        ["CREATE SCHEMA app", "CREATE TABLE app.orders (id INTEGER)"],
        ["CREATE TABLE schema_migrations (version BIGINT, dirty BOOLEAN)"],
        ["CREATE TABLE schema_migrations (version BIGINT)", "CREATE TABLE orders (id INTEGER)"],
    ],
)
def test_another_programs_file_is_refused_and_left_as_it_is(path: Path, statements: list[str]) -> None:
    make_with_duckdb(path, *statements)
    before = digest(path)

    with pytest.raises(StoreUnreadable, match="another program"):
        Memory.open(path)

    assert digest(path) == before


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\x00" + bytes(8192), os.urandom(16384)])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    with pytest.raises(StoreUnreadable) as refusal:
        Memory.open(path)

    assert refusal.value.details == {"path": str(path)}
    assert path.read_bytes() == content


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="is a folder"):
        Memory.open(tmp_path)


def test_a_file_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="Make the folder first"):
        Memory.open(tmp_path / "missing" / "team.duckdb")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["", "  ", None, 7, b"team.duckdb", "a\0b", "a\udc80", ["team.duckdb"]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(InvalidInput, match="path of a file"):
        Memory.open(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("writer", ["", " ", 7, b"ada", "\ud800"])
def test_what_is_no_writer_is_refused(path: Path, writer: object) -> None:
    with pytest.raises(InvalidInput, match="writer"):
        Memory.open(path, writer=writer)  # type: ignore[arg-type]
    with Memory.open(path) as memory, pytest.raises(InvalidInput, match="writer"):
        memory.at_namespace("acme", writer=writer)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "namespace", ["a//b", "/a", "a/", " a", "a ", "a\nb", "x" * 65, 7, None, 2**40, b"a", "\ud800"]
)
def test_what_is_no_namespace_is_refused_before_the_file_is_made(path: Path, namespace: object) -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        Memory.open(path, namespace=namespace)  # type: ignore[arg-type]

    assert not path.exists()


# -- other processes --------------------------------------------------------------------------------------------------


def test_a_file_that_another_process_holds_is_refused_with_its_number(path: Path) -> None:
    with start_python(HOLD, path) as holder:
        assert line_from(holder) == "holding"

        with pytest.raises(StoreLocked, match=f"process {holder.pid}") as refusal:
            Memory.open(path, wait_s=0.1)

        holder.communicate("\n", timeout=60)
    assert refusal.value.details == {"path": str(path), "holder": holder.pid}
    assert refusal.value.retryable


def test_opening_waits_until_the_other_process_lets_go(path: Path) -> None:
    with start_python(HOLD, path) as holder, ThreadPoolExecutor(1) as pool:
        assert line_from(holder) == "holding"

        opening = pool.submit(Memory.open, path, wait_s=60)
        holder.communicate("\n", timeout=60)

        with opening.result() as memory:
            assert memory.get("f1").content == "The other process was here"


def test_waiting_for_one_file_holds_up_no_other(path: Path) -> None:
    with start_python(HOLD, path) as holder, ThreadPoolExecutor(1) as pool:
        assert line_from(holder) == "holding"
        opening = pool.submit(Memory.open, path, wait_s=60)

        with Memory.open(path.with_name("other.duckdb")) as other:
            assert other.remember("Nobody waits here").id == "f1"
            assert not opening.done()

        holder.communicate("\n", timeout=60)
        opening.result().close()


# -- settings ---------------------------------------------------------------------------------------------------------


def test_nothing_is_ever_downloaded(path: Path) -> None:
    with Memory.open(path) as memory:
        cursor = memory._database._cursor()
        settings = dict(
            cursor.execute(
                "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%_known_extensions'"
            ).fetchall()
        )

    assert settings == {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    assert DUCKDB_CONFIG.keys() == settings.keys()


def test_the_file_is_read_in_utc_whatever_the_machines_zone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    with Memory.open(path) as memory:
        cursor = memory._database._cursor()

        assert cursor.execute("SELECT current_setting('TimeZone')").fetchone() == ("UTC",)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StoreUnreadable, match="no ordinary file"):
        Memory.open(tmp_path / "pipe")


@pytest.mark.parametrize("wait_s", [float("nan"), float("inf"), -1, "5", None])
def test_a_wait_that_is_no_bounded_number_of_seconds_is_refused(wait_s: Any) -> None:
    with pytest.raises(InvalidInput, match="wait_s"):
        Memory.open(":memory:", wait_s=wait_s)
