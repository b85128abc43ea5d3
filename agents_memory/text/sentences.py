"""From text to its sentences, verbatim: by the marks that end one in Latin, Cyrillic, Arabic, Indic and CJK writing.

A new line ends a sentence as well. It knows no language: beyond initials, a few titles and numbers of a list, a full
stop ends a sentence where white space follows and no small letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_MARKS: Final = ".!?\u2026\u061f\u06d4\u0964\u0965\u0589\u1362"
_WIDE_MARKS: Final = "\u3002\uff01\uff1f\uff61\uff0e"
_CLOSERS: Final = "\"'\u201d\u2019\u00bb)\\]*_"
_WIDE_CLOSERS: Final = "\u300d\u300f\u201d\u2019\uff09\u3011"
_END: Final = re.compile(
    rf"(?P<mark>(?<![{_MARKS}])[{_MARKS}]++[{_CLOSERS}]*+(?=\s))"
    rf"|[{_WIDE_MARKS}]++[{_WIDE_CLOSERS}]*+"
    r"|[\n\r\u2028\u2029]+"
)
_NO_END: Final = re.compile(r"(?:^|(?<=[\s(\"']))(?:[^\W\d_]|\d{1,3}|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e)\.$")
_LONGEST_NO_END: Final = 8


def sentences(text: str) -> list[str]:
    """The sentences of a text in its order, each as it stands there without the white space around it."""
    return list(filter(None, (text[start:end].strip() for start, end in _spans(text))))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _END.finditer(text):
        if found["mark"] is None or _is_end(text, start, found):
            yield start, found.end()
            start = found.end()
    yield start, len(text)


def _is_end(text: str, start: int, found: re.Match[str]) -> bool:
    if found["mark"] != ".":
        return True
    after = text[found.end() : found.end() + 2].strip(" \t")
    before = text[max(start, found.end() - _LONGEST_NO_END) : found.end()].lstrip()
    return not after[:1].islower() and _NO_END.search(before) is None
