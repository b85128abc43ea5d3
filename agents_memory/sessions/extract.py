"""What is told apart in a stored item: its type, who speaks, the call it belongs to, and the words in it.

Only these columns are derived; the item itself is never touched. Unknown types are as good as known ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNKNOWN = "unknown"
_SPOKEN = ("text", "refusal", "transcript")


class Extract(NamedTuple):
    """The derived columns of one item.

    Attributes:
        type: The item's type; `message` when it names none but has a role, `unknown` otherwise.
        role: The speaker of a message.
        call_id: What ties a call and its output.
        tool: The tool that is called, or searched for.
        text: The words that a person would read in it; None when it has none.
    """

    type: str
    role: str | None = None
    call_id: str | None = None
    text: str | None = None
    tool: str | None = None

    @property
    def speaker(self) -> str | None:
        """Who speaks: the role of a message, and `tool` for what a tool gave back; `index_items` says the same."""
        gave_back = self.tool is not None or self.type.endswith("_output")
        return "tool" if self.role is None and gave_back else self.role

    @property
    def is_user(self) -> bool:
        """Whether it begins a turn."""
        return self.role == "user"

    @property
    def is_opaque(self) -> bool:
        """Whether it does not say what it is, such as one that was encrypted; it may be a user's."""
        return self.role is None and self.type == _UNKNOWN

    @property
    def is_output(self) -> bool:
        """Whether it answers a call."""
        return self.call_id is not None and self.type.endswith("_output")

    @property
    def is_call(self) -> bool:
        """Whether it is a call that an output answers."""
        return self.call_id is not None and not self.type.endswith("_output")


def extract(item: Any) -> Extract:
    """The derived columns of an item, whatever it is."""
    if not isinstance(item, dict):
        return Extract(_UNKNOWN)
    role, named = _string(item.get("role")), _string(item.get("type"))
    if named is None:
        named = "message" if role else _UNKNOWN
    tool = None if role is not None else _tool(named, item)
    return Extract(named, role, _string(item.get("call_id")), _words(item), tool)


def _tool(type_: str, item: dict[str, Any]) -> str | None:
    """The name of a tool: `server.name` for MCP, `namespace.name` in a namespace, the type where it has none."""
    if type_.startswith("tool_search"):
        return "tool_search"
    if not (type_.endswith("_call") or type_ == "mcp_approval_request"):
        return None
    name, above = _string(item.get("name")), _string(item.get("server_label" if "mcp" in type_ else "namespace"))
    if name is None:
        return above or type_
    return name if above in (None, name) else f"{above}.{name}"  # the SDK gives a tool alone its own name as namespace


def _words(item: dict[str, Any]) -> str | None:
    content = item.get("content")
    if isinstance(content, str) and "summary" not in item and "output" not in item:
        return _clean(content) or None
    found = "\n".join(part for key in ("content", "summary", "output") for part in _spoken(item.get(key)))
    return _clean(found) or None


def _spoken(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _part(part)


def _part(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        yield from (part[key] for key in _SPOKEN if isinstance(part.get(key), str))


def _string(value: Any) -> str | None:
    return _clean(value) if isinstance(value, str) and value else None


def _clean(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
