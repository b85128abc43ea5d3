"""Items as JSON text: stored exactly as given, read back equal.

The text is plain ASCII, so that lone surrogates and NUL travel safely; key order, floats and large integers stay as
they are. Nothing is coerced: what JSON has no form for is refused, since a history that was changed silently is wrong.
"""

from __future__ import annotations

import json
from typing import Any

from agents_memory.errors import NotJson


def to_json(item: object) -> str:
    """An item as the text that is stored.

    Raises:
        NotJson: It holds a value without a JSON form, refers to itself, or is nested too deep.
    """
    try:
        return json.dumps(item)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(
            f"An item cannot be stored, since {_cause(error)}. Pass plain JSON data, such as item.model_dump()."
        ) from None


def from_json(text: str) -> Any:
    """An item of its stored text; a new object each time.

    Raises:
        ValueError: The text is no JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _cause(error: Exception) -> str:
    if isinstance(error, TypeError):
        return "it holds something that is no JSON data: " + str(error).removeprefix("Object of type ")
    return (
        "it is nested too deep"
        if isinstance(error, RecursionError)
        else "it refers to itself, or holds a number too long"
    )
