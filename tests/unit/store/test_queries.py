"""Every statement of the package: named once, explained in a line, and one that DuckDB takes."""

import re
from collections.abc import Iterator
from importlib.resources import files

import duckdb
import pytest

from agents_memory.store import queries
from agents_memory.store.database import Database
from agents_memory.store.files import open_database, release
from agents_memory.store.queries import Statement, migrations, statements

SQL_FILES = [entry for entry in files("agents_memory.store").joinpath("sql").iterdir() if entry.name.endswith(".sql")]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    database = open_database(":memory:", wait_s=0)
    yield database
    release(database)


def test_every_named_block_is_a_statement() -> None:
    heads = [line for entry in SQL_FILES for line in entry.read_text().splitlines() if line.startswith("-- name:")]

    assert len(heads) == len(statements()) > 30


def test_a_block_has_a_name_and_its_parameters() -> None:
    blocks = list(queries._blocks("-- name: one\n-- Purpose.\nSELECT 1;\n-- name: two\n-- Purpose.\nSELECT $a, $b;\n"))

    assert [(block.name, block.parameters) for block in blocks] == [("one", frozenset()), ("two", {"a", "b"})]


@pytest.mark.parametrize("statement", statements().values(), ids=lambda statement: statement.name)
def test_every_block_says_its_purpose_in_its_first_line(statement: Statement) -> None:
    purpose = statement.sql.splitlines()[0]

    assert re.fullmatch(r"-- [A-Z].+", purpose)


@pytest.mark.parametrize(
    "statement",
    [statement for statement in statements().values() if statement.name != "create_schema_migrations"],
    ids=lambda statement: statement.name,
)
def test_every_block_is_one_statement_with_the_parameters_it_is_called_with(
    database: Database, statement: Statement
) -> None:
    (parsed,) = duckdb.extract_statements(statement.sql)
    if "FROM incoming" not in statement.sql:  # whose columns come with each call
        database._cursor().execute(f"PREPARE checked AS {parsed.query}")

    assert parsed.named_parameters == statement.parameters


def test_a_parameter_in_a_comment_is_none() -> None:
    (block,) = queries._blocks("-- name: one\n-- Takes $wanted, not $this.\nSELECT $wanted -- and never $that\n")

    assert block.parameters == {"wanted"}


@pytest.mark.parametrize("given", [{}, {"namespace": "a"}, {"namespace": "a", "created_at": None, "more": 1}])
def test_a_call_with_other_parameters_is_refused(database: Database, given: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="add_namespace"):
        database.rows("add_namespace", **given)


def test_a_statement_that_must_find_a_row_says_when_it_finds_none(database: Database) -> None:
    with pytest.raises(LookupError, match="list_namespaces"):
        database.one("list_namespaces")


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [step.number for step in migrations()] == list(range(1, len(migrations()) + 1))


def test_every_migration_starts_with_its_reason() -> None:
    assert all(re.match(r"-- [A-Z]", step.sql) for step in migrations())
