"""What is told apart in an item."""

from typing import Any

import pytest

from agents_memory.sessions.extract import extract


@pytest.mark.parametrize(
    ("item", "kind", "role", "text"),
    [
        ({"role": "user", "content": "hi"}, "message", "user", "hi"),
        (
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}, {"text": "b"}]},
            "message",
            "assistant",
            "a\nb",
        ),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, "message", "assistant", "no"),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}, "message", "user", None),
        ({"role": "user", "content": ""}, "message", "user", None),
        ({"type": "function_call", "call_id": "c", "arguments": '{"a": "secret"}'}, "function_call", None, None),
        ({"type": "function_call_output", "call_id": "c", "output": "out"}, "function_call_output", None, "out"),
        (
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "out"}]},
            "function_call_output",
            None,
            "out",
        ),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]}, "reasoning", None, "s"),
        ({"type": "of_the_future", "content": {"text": "x"}}, "of_the_future", None, None),
        ({"type": 7, "role": None, "content": 5}, "unknown", None, None),
        ({}, "unknown", None, None),
        ("text", "unknown", None, None),
        (None, "unknown", None, None),
        ([1, 2], "unknown", None, None),
    ],
)
def test_type_role_and_words_of_an_item(item: Any, kind: str, role: str | None, text: str | None) -> None:
    found = extract(item)

    assert (found.type, found.role, found.text) == (kind, role, text)


def test_what_no_encoding_can_store_is_replaced_in_the_words_and_nul_is_kept() -> None:
    found = extract({"role": "us\ud800er", "content": "a\ud800b\x00c"})

    assert found.text == "a\ufffdb\x00c"
    assert found.role == "us\ufffder"


@pytest.mark.parametrize(
    "kind", ["function_call", "computer_call", "custom_tool_call", "shell_call", "apply_patch_call"]
)
def test_calls_and_outputs_are_told_apart(kind: str) -> None:
    call, output = extract({"type": kind, "call_id": "c"}), extract({"type": f"{kind}_output", "call_id": "c"})

    assert (call.is_call, call.is_output) == (True, False)
    assert (output.is_call, output.is_output) == (False, True)
    assert not extract({"type": kind}).is_call
