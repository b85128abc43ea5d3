"""What searching and summing up conversations gives: frozen and JSON-able."""

from __future__ import annotations

from dataclasses import dataclass

from agents_memory.sessions.types import SessionItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemHit:
    """An item that a search of conversations found, and why.

    Attributes:
        item: The item, as it is read in `main`, or else in the branch that it was said in.
        score: Higher is better; comparable within one result only.
        terms: The query's words that it holds.
    """

    item: SessionItem
    score: float
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search of conversations found, best first.

    Attributes:
        hits: At most `k` hits, each item once.
        explanation: Why there is no hit, when there is none; None otherwise.
    """

    hits: tuple[ItemHit, ...]
    explanation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySentence:
    """A sentence of a conversation that says much of what the others say.

    Attributes:
        text: The sentence, verbatim.
        item_id: The message that it stands in, such as `i12`.
        role: Who said it: `user` or `assistant`.
    """

    text: str
    item_id: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummary:
    """A conversation in a few of its own sentences.

    Attributes:
        session_id: The conversation.
        branch: The branch that was read.
        sentences: The sentences, in the order of reading.
        items: How many messages they were chosen from: the newest ones.
        items_before: How many older messages were not looked at.
    """

    session_id: str
    branch: str
    sentences: tuple[KeySentence, ...]
    items: int
    items_before: int
