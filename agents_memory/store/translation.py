"""DuckDB's exceptions as ours. What a statement failed with never quotes what is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from agents_memory.errors import StorageError, WriteConflict

_CONFLICT = re.compile("conflict|constraint|duplicate", re.IGNORECASE)


@contextmanager
def translated() -> Iterator[None]:
    """Run the block; what DuckDB raises in it leaves as one of our errors, or as the interrupt that it was."""
    try:
        yield
    except (duckdb.TransactionException, duckdb.ConstraintException) as error:
        if _CONFLICT.search(str(error)) is None:  # a commit that failed for another reason, such as a full disk
            raise StorageError("The file could not be written. Look at its disk, folder and permissions.") from None
        raise WriteConflict("Two writes met on the same row. Nothing was written; do the call again.") from None
    except duckdb.IOException as error:  # names files and the system's reason, never what is stored
        raise StorageError(f"The file could not be read or written: {error}") from None
    except duckdb.Error as error:  # its text may quote what is stored
        raise StorageError(f"DuckDB failed with {type(error).__name__}.", cause=type(error).__name__) from None
    except RuntimeError as error:
        if "interrupt" in str(error).lower():  # how DuckDB says that the process was sent SIGINT
            raise KeyboardInterrupt from None
        raise
