"""SQL as named blocks in `store/sql/*.sql`.

A block starts with `-- name: some_name`, goes on with one comment line that says its purpose, and uses named
parameters (`$fact_id`). Python never builds SQL text from values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_HEAD = re.compile(r"^-- name: ([a-z][a-z0-9_]*)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*")
_PARAMETER = re.compile(r"\$([a-z][a-z0-9_]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One named SQL statement and the names of its parameters."""

    name: str
    sql: str
    parameters: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One numbered step of the file's schema, `NNNN_purpose.sql`."""

    number: int
    name: str
    sql: str


@cache
def statements() -> Mapping[str, Statement]:
    """Every statement of the package by name.

    Raises:
        ValueError: Two blocks share a name (a defect of this package, not of its use).
    """
    found: dict[str, Statement] = {}
    for entry in files(__package__).joinpath("sql").iterdir():
        if not entry.name.endswith(".sql"):
            continue
        for statement in _blocks(entry.read_text(encoding="utf-8")):
            if statement.name in found:
                raise ValueError(f"two SQL blocks are named {statement.name!r}")
            found[statement.name] = statement
    return MappingProxyType(found)


@cache
def migrations() -> tuple[Migration, ...]:
    """Every migration, in the order of their numbers."""
    folder = files(__package__).joinpath("sql", "migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(number=int(name[:4]), name=name[5:-4], sql=folder.joinpath(name).read_text(encoding="utf-8"))
        for name in names
    )


def _blocks(text: str) -> Iterator[Statement]:
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=True):
        sql = text[head.end() : end].strip()
        parameters = frozenset(_PARAMETER.findall(_COMMENT.sub("", sql)))
        yield Statement(name=head.group(1), sql=sql, parameters=parameters)
