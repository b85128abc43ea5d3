"""Ids and items that have broken session stores: what a conformance suite sends through one."""

from __future__ import annotations

from typing import Any

AWKWARD_IDS = (
    "it's", 'a"b', "x; DROP TABLE sessions; --", "100%", "under_score", "a:b", "a/b", "Case", "case", "é日本🚀", "a\nb",
    " padded ", "x" * 2000,
)  # fmt: skip

PAYLOADS: dict[str, Any] = {
    "unicode": {"role": "user", "content": "zażółć 日本語 العربية 🚀"},
    "empty text": {"role": "user", "content": ""},
    "empty list": {"role": "assistant", "content": [], "type": "message"},
    "control characters": {"role": "user", "content": "\t\r\n\x01\x1f\x7f\u2028"},
    "NUL": {"role": "user", "content": "a\x00b"},
    "lone surrogate": {"role": "user", "content": "a\ud800b\udfff"},
    "quotes": {"role": "user", "content": """'"\\'; --${x}"""},
    "image of 1 MB": {
        "role": "user",
        "content": [{"type": "input_image", "image_url": "data:image/png;base64," + "A" * 1_000_000}],
    },
    "reasoning": {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "s"}],
        "encrypted_content": "g" * 5000,
        "status": None,
    },
    "call": {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}', "id": "__fake_id__"},
    "list output": {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "input_text", "text": "t"}, {"type": "input_file", "file_id": "f"}],
    },
    "hosted call": {"type": "mcp_call", "id": "m", "server_label": "s", "name": "n", "arguments": "{}", "output": None},
    "compaction": {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
    "unknown type": {"type": "of_the_future", "payload": {"a": [1, {"b": None}]}},
    "large integers": {"type": "of_the_future", "n": [2**53 + 1, 2**63, -(2**70)]},
    "floats": {"type": "of_the_future", "n": [0.1, 1e300, 5e-324, -0.0, 1.0]},
    "key order": {"z": 1, "role": "user", "a": 2, "content": "x", "m": 3},
    "provider data": {"role": "user", "content": "x", "provider_data": {"model": "m", "nested": {"k": [True, False]}}},
}


def nested(depth: int) -> Any:
    """An item with lists in lists."""
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return {"type": "of_the_future", "value": value}
