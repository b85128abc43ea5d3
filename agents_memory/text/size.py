"""How many tokens a text takes, estimated without a tokenizer.

A letter of ASCII or a space counts a quarter of a token, a digit or mark of ASCII three quarters, and what is beyond
ASCII a third a UTF-8 byte: two thirds for an accented, Cyrillic or Arabic letter, one for a Chinese, Japanese or Korean
character, one and a third for an emoji.

Compared with what the `o200k_base` vocabulary makes of 27 kinds of lines as `recall/context.py` writes them: 5 to 40 %
too many in Latin scripts, names of code, paths and ids, and up to twice as many in others; too few in three of them, by
4 % where a line is mostly digits, by a quarter for random letters and by 40 % for Ethiopic. The older `cl100k_base`
needs up to a quarter more than estimated for Greek, Hebrew, Vietnamese or Tamil, and twice as many for Georgian and
Ethiopic.
"""

from __future__ import annotations

from string import ascii_letters
from typing import Final

UNITS: Final = 12
"""Sizes are counted in twelfths of a token, so that they add up exactly."""

MARK: Final = 9
LETTER: Final = 3
_WIDE_BYTE: Final = 4
_LETTERS: Final = (ascii_letters + " ").encode()
_ASCII: Final = bytes(range(128))


def size(text: str) -> int:
    """The size of a text in twelfths of a token; that of two texts together is the sum of theirs."""
    data = text.encode("utf-8", "surrogatepass")
    unplain = data.translate(None, _LETTERS)
    wide = unplain.translate(None, _ASCII)
    return (len(data) - len(unplain)) * LETTER + (len(unplain) - len(wide)) * MARK + len(wide) * _WIDE_BYTE


def tokens(size: int) -> int:
    """Whole tokens, rounded up."""
    return -(-size // UNITS)
