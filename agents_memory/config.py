"""The few numbers that shape the file and the process, each with its reason."""

from __future__ import annotations

from typing import Final

DEFAULT_NAMESPACE: Final = "main"
ROOT: Final = ""
"""Above every namespace: a reviewer's handle here sees the queue of the whole file. Nothing is written at it."""

MAX_CONTENT_CHARS: Final = 50_000_000
"""A fact longer than this is refused: it is a document, to be kept elsewhere and cited."""

MAX_NAME_CHARS: Final = 512

OPEN_WAIT_S: Final = 10.0
"""How long opening waits while a file can be neither held nor reached; another process opens it in a second or two."""

DUCKDB_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Equal for every connection of a process, as DuckDB demands; nothing is ever downloaded."""
