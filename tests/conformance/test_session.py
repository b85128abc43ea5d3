"""The session contract, held by `DuckDBSession` and by the SDK's own `SQLiteSession` alike."""

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
from agents import SQLiteSession

from agents_memory import DuckDBSession
from agents_memory.testing.session_concurrency import SessionConcurrencyContract
from agents_memory.testing.session_conformance import SessionContract
from agents_memory.testing.session_runs import SessionRunContract


class OnDuckDB:
    def open(self, path: Path, session_id: str, **settings: Any) -> DuckDBSession:
        return DuckDBSession(session_id, path, **settings)

    def store_text(self, path: Path, session_id: str, text: str) -> None:
        with duckdb.connect(str(path)) as file:
            file.execute(
                "INSERT INTO session_items_stored BY NAME "
                "SELECT id AS item_id, 'main' AS namespace, ? AS session_id, 'main' AS branch, id AS place, "
                "? AS item_json, 'unknown' AS type, TIMESTAMP '2026-01-01' AS added_at, forever() AS removed_at "
                "FROM (SELECT coalesce(max(item_id), 0) + 1 AS id FROM session_items_stored)",
                [session_id, text],
            )


class OnSQLite:
    def open(self, path: Path, session_id: str, **settings: Any) -> SQLiteSession:
        return SQLiteSession(session_id, path, **settings)

    def store_text(self, path: Path, session_id: str, text: str) -> None:
        file = sqlite3.connect(path)
        with file:
            file.execute("INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)", (session_id, text))
        file.close()


class TestDuckDBSession(OnDuckDB, SessionContract, SessionConcurrencyContract, SessionRunContract):
    pass


class TestSQLiteSession(OnSQLite, SessionContract, SessionConcurrencyContract, SessionRunContract):
    pass
