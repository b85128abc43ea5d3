"""From text to the tokens that are compared: one rule for what is written and for what is asked.

Words lose case, accents and, by their script's Snowball stemmer, endings. Scripts written without spaces give pairs of
characters. What is compared to the letter (times, addresses, versions, paths, identifiers, e-mail) stays whole, and
gives its parts besides. A question also loses its stop words. Pure functions; the work for one text is bounded.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final

import snowballstemmer

from agents_memory.text.words import IRREGULAR, STOP_WORDS

MAX_WRITTEN_CHARS: Final = 4_000_000
"""What of one fact is indexed: about 700,000 words, half a second of work. The rest is kept and not searched."""

MAX_ASKED_CHARS: Final = 4_000
"""What of one question is looked for; longer ones are documents, whose first page says what they are about."""

_MAX_CHUNK_CHARS: Final = 512
_MAX_TOKEN_CHARS: Final = 128
_MAX_STEMMED_CHARS: Final = 32

_KATAKANA: Final = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_SPACELESS: Final = (  # scripts written without spaces, or with particles glued on
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f\u3005"  # Han
    "\u3041-\u3096\u309d-\u309f"  # Hiragana
    "\uac00-\ud7af\u1100-\u11ff\u3131-\u318e"  # Hangul
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
)
_PAIRED: Final = _SPACELESS + _KATAKANA
_EMOJI: Final = "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_JOINT: Final = r"[._/\\:@#&=+~%?'-]{1,3}"
_ENDING: Final = r"(?:\+\+|\#)?"  # C++, C#
_THOUSANDS: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,])"

_INVISIBLE: Final = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_ACCENT: Final = re.compile(
    "(?<![\u0438\u0418])\u0306|[\u0300-\u0305\u0307-\u036f]"  # on Latin, Greek and Cyrillic; й is a letter
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]"  # vowels that are mostly left out
)
_OTHER_FORMS: Final = str.maketrans(
    {"’": "'", "ʼ": "'", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i",
     "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th"}
)  # fmt: skip
_DIGIT: Final = re.compile(r"[^\W\D]")
_CONTRACTION: Final = re.compile(r"(.+)'(?:s|re|ve|ll|d|m)", re.IGNORECASE)
_NEGATION: Final = re.compile(r"[^\W\d_]+n't")
_PART: Final = re.compile(r"[._/\\:@#&=+~%?'-]+")
_OUTER_PART: Final = re.compile(r"[/\\:@#&=+~%?]+")
_INNER_JOINT: Final = re.compile(r"[^\W_][._'-]+[^\W_]")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ASCII_SCAN: Final = re.compile(rf"{_THOUSANDS}|[A-Za-z0-9]+(?:{_JOINT}[A-Za-z0-9]+)*{_ENDING}", re.ASCII)
_ASCII_WORD: Final = re.compile(r"\d+(?:[.:]\d+)+|\w+(?:\+\+|\#)?", re.ASCII)
_RUN: Final = re.compile(f"[{_PAIRED}]{{1,{_MAX_CHUNK_CHARS}}}")


def written_tokens(text: str) -> Iterator[str]:
    """The tokens of a text that is stored, one by one: for texts whose list of tokens would be long."""
    return chain.from_iterable(map(_written, _pieces(text[:MAX_WRITTEN_CHARS])))


def tokens(text: str) -> list[str]:
    """The tokens of a text that is stored, in its order, repeated ones repeated."""
    return list(written_tokens(text))


def query_tokens(text: str) -> list[str]:
    """The tokens of a question, in its order, each once, without stop words.

    A question of one or two stop words only is taken at its word: `The Who`, `Will`.
    """
    pieces = _pieces(text[:MAX_ASKED_CHARS])
    asked = list(chain.from_iterable(map(_asked, pieces)))
    if not asked and len(pieces) <= 2:
        asked = list(chain.from_iterable(map(_written, pieces)))
    return list(dict.fromkeys(asked))


@dataclass(frozen=True, slots=True)
class NameWord:
    """One word as names are compared, and whether it is written as a name is: with a capital, or in no such script."""

    key: str
    capital: bool


def name_words(text: str) -> list[NameWord]:
    """The words of a name, or of a question that may hold names; characters where a script has no spaces."""
    return list(chain.from_iterable(map(_name_words, _pieces(text[:MAX_ASKED_CHARS]))))


def whole_words(text: str) -> list[NameWord]:
    """The words of what was said, none of them divided: `go_to`, `10.0.0.12` and `アダム` are one each.

    Marks between words divide (`ingest-service` is two), and a character of a script without spaces is a word.
    """
    if text.isascii():
        found = _ASCII_WORD.findall(text[:MAX_WRITTEN_CHARS])
    else:
        found = _whole_word().findall(_readable(text[:MAX_WRITTEN_CHARS]))
    return [NameWord(word.casefold(), capital=not word[0].islower()) for word in found]


def folded(text: str) -> str | None:
    """What the keys of `whole_words` are parts of; None where that is `text.lower()`."""
    return None if text.isascii() else _readable(text).casefold()


# -- pieces: a word, a number, a compound, an emoji, or a run of a script without spaces ---------------------------


def _pieces(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_SCAN.findall(text)
    return _scan().findall(_readable(text))


@cache
def _scan() -> re.Pattern[str]:
    letter, mark = rf"[^\W_{_PAIRED}]", f"[{_marks()}]"
    word = f"{letter}+(?:{mark}+{letter}*)*"
    return re.compile(rf"{_THOUSANDS}|{_RUN.pattern}|[{_EMOJI}]|{word}(?:{_JOINT}{word})*{_ENDING}")


@cache
def _whole_word() -> re.Pattern[str]:
    letter = rf"(?![{_SPACELESS}])[\w{_marks()}]"
    return re.compile(rf"\d+(?:[.:]\d+)+|[{_SPACELESS}{_EMOJI}]|(?:{letter})+(?:\+\+|\#)?")


def _marks() -> str:
    r"""The vowel signs that are letters of a word, which `\w` leaves out."""
    blocks = chain(range(0x0300, 0x1B00), range(0x1CD0, 0x1D00), range(0xA000, 0xAC00), range(0x11000, 0x11A00))
    return "".join(chr(code) for code in blocks if unicodedata.category(chr(code)) in {"Mn", "Mc"})


def _readable(text: str) -> str:
    """`text` in one form: no accents, no invisible characters, plain digits and apostrophes."""
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    bare = _ACCENT.sub("", unicodedata.normalize("NFD", visible))
    plain = unicodedata.normalize("NFC", bare).translate(_OTHER_FORMS)
    return _DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), plain)


# -- from pieces to tokens -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 17)
def _written(piece: str) -> tuple[str, ...]:
    piece = _cut(piece)
    if _RUN.match(piece):
        return (*piece, *_pairs(piece))
    folded = piece.casefold()
    if _NEGATION.fullmatch(folded):
        return (folded,)
    parts = _split(folded)
    stems = tuple(map(_stem, parts))
    return (*_wholes(folded), *stems) if len(parts) > 1 else (*stems, *_humps(piece))


def _asked(piece: str) -> tuple[str, ...]:
    piece = _cut(piece)
    if _RUN.match(piece):
        return tuple(_pairs(piece)) or (piece,)
    folded = piece.casefold()
    if _NEGATION.fullmatch(folded):
        return (folded,)
    parts = _split(folded)
    stems = tuple(_stem(part) for part in parts if part not in STOP_WORDS)
    if len(parts) == 1:
        return stems
    if all(map(_has_digit, parts)):  # 14:05, 10.0.0.1, v1.2: what shares a part of it is something else
        return _wholes(folded)
    return (*_wholes(folded), *stems)


def _name_words(piece: str) -> list[NameWord]:
    piece = _cut(piece)
    words = piece if _RUN.match(piece) else _split(piece)
    return [NameWord(word.casefold(), capital=not word[0].islower()) for word in words]


def _cut(piece: str) -> str:
    """A piece of bounded length, without an English ending after an apostrophe, nor commas in a number."""
    short = piece[:_MAX_CHUNK_CHARS].replace(",", "")
    contracted = _CONTRACTION.fullmatch(short)
    return contracted[1] if contracted else short


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _wholes(compound: str) -> tuple[str, ...]:
    """A compound to the letter, and the compounds it is made of: `10.0.0.1:5672` holds `10.0.0.1`."""
    members = [member for member in _OUTER_PART.split(compound) if member]
    inner = [member[:_MAX_TOKEN_CHARS] for member in members if len(members) > 1 and _INNER_JOINT.search(member)]
    return (compound[:_MAX_TOKEN_CHARS], *inner)


def _split(piece: str) -> list[str]:
    """The parts of a compound; `c++` and `c#` keep their ending."""
    body = piece.rstrip("+#")
    parts = [part for part in _PART.split(body) if part]
    return [*parts[:-1], parts[-1] + piece[len(body) :]]


def _humps(word: str) -> tuple[str, ...]:
    """The words inside an identifier such as `getUserName`."""
    if word[1:].islower() or word.isupper() or not word.isascii() or not word.isalpha():
        return ()
    words = _HUMP.findall(word)
    return tuple(_stem(word.lower()) for word in words if len(word) > 1) if len(words) > 1 else ()


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)


# -- stems ---------------------------------------------------------------------------------------------------------

_STEMMERS: Final = (
    (0x0041, 0x024F, "english"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)
_stemming = threading.Lock()  # a Snowball stemmer keeps its word in itself


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    word = word[:_MAX_TOKEN_CHARS]
    if len(word) > _MAX_STEMMED_CHARS or _has_digit(word):
        return word
    language = _language(ord(word[0]))
    if language is None or word[-1] in "+#":
        return word
    with _stemming:
        return str(_stemmer(language).stemWord(IRREGULAR.get(word, word)))


def _language(code: int) -> str | None:
    return next((language for first, last, language in _STEMMERS if first <= code <= last), None)


@cache
def _stemmer(language: str) -> Any:
    return snowballstemmer.stemmer(language)
