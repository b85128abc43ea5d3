"""Folding: when two names are the same name, and when two statements are the same statement."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_INVISIBLE = dict.fromkeys(
    [0x00AD, 0x061C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF]
)
_TRAILING_MARK = re.compile(r"[.,;:!…。、，！；：](?!\w)")
_QUOTE = re.compile(r"(?<!\w)[\"'`«»“”„‘’()\[\]]|[\"'`«»“”„‘’()\[\]](?!\w)")


def fold(text: str) -> str:
    """The form in which names are compared: NFKC, case, white space and invisible characters folded."""
    visible = unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
    return unicodedata.normalize("NFKC", " ".join(visible.split()).casefold())


def content_key(content: str) -> int:
    """Equal for statements that differ only in case, spacing and closing punctuation; a signed 64-bit number.

    Marks inside a token stay (`3.5`, `C++`, `10.0.0.1`, `can't`), so numbers, negations and names that differ differ.
    """
    plain = " ".join(_QUOTE.sub(" ", _TRAILING_MARK.sub(" ", fold(content))).split())
    return int.from_bytes(hashlib.sha256(plain.encode()).digest()[:8], "big", signed=True)
