"""Items as JSON text: stored exactly as given, read back equal.

The text is plain ASCII, so that lone surrogates and NUL travel safely; key order, floats and large integers stay as
they are. Nothing is coerced: what JSON has no form for is refused, since a history that was changed silently is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pydantic_core

from agents_memory.errors import NotJson


def to_json(item: object) -> str:
    """An item as the text that is stored.

    Raises:
        NotJson: It holds a value without a JSON form, refers to itself, or is nested too deep.
    """
    try:
        return "".join(_encode(item, 0))
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


def glance(text: str) -> Any:
    """An item of its stored text, to look at and not to give back: several times as fast as `from_json`.

    Raises:
        ValueError: The text is no JSON.
    """
    try:
        return pydantic_core.from_json(text, cache_strings="keys")
    except ValueError:
        return from_json(text)  # lone surrogates, and what is nested deep


def _encoder() -> Callable[[object, int], Iterable[str]]:
    """What `json.dumps` makes anew for each call, which takes longer than encoding an item does."""
    make, plain = getattr(json.encoder, "c_make_encoder", None), json.JSONEncoder()
    if make is None:  # an interpreter without it
        return lambda item, _: plain.iterencode(item)
    encoded: Callable[[object, int], Iterable[str]] = make(
        None, plain.default, json.encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True
    )
    return encoded


_encode = _encoder()


def _cause(error: Exception) -> str:
    if isinstance(error, TypeError):
        return "it holds something that is no JSON data: " + str(error).removeprefix("Object of type ")
    deep = isinstance(error, RecursionError)
    return "it is nested too deep, or refers to itself" if deep else "it holds a number that is too long"
