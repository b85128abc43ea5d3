"""Bringing a file to the schema of this release: numbered steps, each in a transaction of its own.

A file of a newer release is refused and left as it is. A step that was cut off is done again at the next open.
"""

from __future__ import annotations

from agents_memory.errors import NewerStore, StoreUnreadable
from agents_memory.store.database import Database
from agents_memory.store.queries import migrations

_OUR_COLUMNS = {"number", "name", "applied_at"}  # other programs have a table of that name too


def migrate(database: Database) -> None:
    """Apply the steps that the file lacks.

    Raises:
        NewerStore: The file has a step that this release does not know.
        StoreUnreadable: The file is another program's DuckDB file.
    """
    applied = _applied(database)
    steps = migrations()
    known = steps[-1].number
    if applied > known:
        raise NewerStore(
            f"{database.path!r} has schema {applied}, and this release knows up to {known}. "
            "Upgrade openai-agents-memory; the file was not touched.",
            found=applied,
            known=known,
        )
    missing = [step for step in steps if step.number > applied]
    for step in missing:
        with database.transaction() as tx:
            tx.script(step.sql)
            tx.run("record_migration", number=step.number, name=step.name, applied_at=tx.now)
    if missing:
        database.checkpoint()  # a crash while replaying schema changes is the one replay fault DuckDB is known for
    database.start_at(database.one("last_moment")["moment"])


def _applied(database: Database) -> int:
    tables = {row["table_name"]: set(row["columns"]) for row in database.rows("list_tables")}
    if tables.get("schema_migrations") == _OUR_COLUMNS:
        return int(database.one("last_migration")["number"])
    if tables:
        raise StoreUnreadable(
            f"{database.path!r} holds tables of another program. Give the memory a file of its own.", path=database.path
        )
    with database.transaction() as tx:
        tx.run("create_schema_migrations")
    return 0
