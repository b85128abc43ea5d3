"""Folding: when two names are the same name, and when two statements are the same statement."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_INVISIBLE = dict.fromkeys(
    [0x00AD, 0x061C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF]
)
_PLAIN_QUOTES = str.maketrans("‘’ʼ“”„", "'''\"\"\"")
_BRACKET = re.compile(r"""(?<!\S)[(\[«]++|(?<=[^\s)\]»])[)\]»]++(?=[.,;:!…。、"'`]*+(?!\S))""")
_QUOTED = re.compile(r"""(?<!\S)(?:"([^"]+)"|'([^']+)'|`([^`]+)`)(?=[.,;:!…。、]|(?!\S))""")
_CLOSING_MARK = re.compile(r"(?<=[^\s.,;:!…。、])[.,;:!…。、]++(?!\S)|(?<!\S)[,;:!](?!\S)")


def fold(text: str) -> str:
    """The form in which names are compared: NFKC, case, white space and invisible characters folded."""
    visible = unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
    return unicodedata.normalize("NFKC", " ".join(visible.split()).casefold())


def content_key(content: str) -> int:
    """Equal for statements that differ only in case, spacing, quotes and closing punctuation; a signed 64-bit number.

    Marks that are part of a token stay (`3.5`, `C++`, `!=`, `../x`, `int[]`, `can't`), so numbers, negations and names
    that differ differ. In doubt two statements are two.
    """
    plain = _BRACKET.sub(" ", fold(content).translate(_PLAIN_QUOTES))
    plain = _QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or quoted[3], plain)
    plain = " ".join(_CLOSING_MARK.sub(" ", plain).split()) or fold(content)
    return int.from_bytes(hashlib.sha256(plain.encode()).digest()[:8], "big", signed=True)
