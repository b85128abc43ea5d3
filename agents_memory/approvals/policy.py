"""Which writes of an agent ask a person. A policy sees the operation and its arguments, and returns whether to ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Policy = Callable[[str, Mapping[str, Any]], bool]
"""`policy(operation, arguments)` -> True when a person is asked first."""


def always(_operation: str, _arguments: Mapping[str, Any]) -> bool:
    """Ask before every write."""
    return True


def never(_operation: str, _arguments: Mapping[str, Any]) -> bool:
    """Write without asking."""
    return False
