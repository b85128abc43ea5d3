"""A conversation in a few of its own sentences, chosen by LexRank (`centrality.py`); nothing is made up.

Read are the newest `MAX_MESSAGES` messages of a branch, the first `MAX_CHARS` characters of each. What was made is kept
until something changes in the conversation, so that asking again costs nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from agents_memory._ids import IdKind, to_text
from agents_memory.graph.scope import Scope
from agents_memory.recall.arguments import Summarize
from agents_memory.recall.centrality import central
from agents_memory.recall.types import ConversationSummary, KeySentence
from agents_memory.sessions.items import key_of
from agents_memory.sessions.live import EveryBranchChanged, Key, SessionChanged
from agents_memory.store.database import Database
from agents_memory.store.values import Row
from agents_memory.text.sentences import sentences
from agents_memory.text.tokens import query_tokens

MAX_MESSAGES: Final = 500
MAX_CHARS: Final = 2_000
MAX_KEPT: Final = 256  # conversations whose summaries a process keeps; the one asked longest ago goes first

MIN_WORDS: Final = (5, 3, 1)
"""Sentences of fewer words are left out, as MEAD does, where enough longer ones are there: greetings, thanks and praise
share their few words with many, and say little."""

_MAX_SENTENCE_CHARS: Final = 400


def summarize_session(scope: Scope, arguments: Summarize) -> ConversationSummary:
    """A branch of a session in a few of its own sentences, in the order of reading."""
    kept = scope.database.shared(Summaries)
    if scope.caller.known_at is not None or scope.database.current_transaction() is not None:
        return _summarize(scope, arguments)
    return kept.get(scope, arguments)


class Summaries:
    """The summaries that were made of sessions as they are now, one object a file and process."""

    def __init__(self, database: Database) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], dict[Summarize, ConversationSummary]] = OrderedDict()
        self._commits = 0
        database.subscribe(self)

    def get(self, scope: Scope, arguments: Summarize) -> ConversationSummary:
        """The summary of a session as it is, made when none is kept."""
        session = (scope.namespace, arguments.session_id)
        with self._lock:
            commits = self._commits
            kept = self._kept.get(session, {}).get(arguments)
            if kept is not None:
                self._kept.move_to_end(session)
                return kept
        made = _summarize(scope, arguments)
        with self._lock:
            if made.items and commits == self._commits:  # else a session may have changed since it was read
                self._keep(session, arguments, made)
        return made

    def committed(self, changes: Sequence[object]) -> None:
        """Let go of the summaries of sessions that changed."""
        changed = {session for change in changes if (session := _changed(change)) is not None}
        with self._lock:
            self._commits += bool(changed)
            for session in changed:
                self._kept.pop(session, None)

    def reset(self) -> None:
        """Let go of every summary."""
        with self._lock:
            self._commits += 1
            self._kept.clear()

    def _keep(self, session: tuple[str, str], arguments: Summarize, made: ConversationSummary) -> None:
        self._kept.setdefault(session, {})[arguments] = made
        self._kept.move_to_end(session)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


def _summarize(scope: Scope, arguments: Summarize) -> ConversationSummary:
    key = key_of(scope, arguments)
    rows = _newest_messages(scope, key)
    said = [sentence for row in reversed(rows) for sentence in _sentences(row)]
    return ConversationSummary(
        session_id=key.session_id,
        branch=key.branch,
        sentences=tuple(_chosen(said, arguments.sentences)),
        items=len(rows),
        items_before=rows[0]["messages"] - len(rows) if rows else 0,
    )


def _newest_messages(scope: Scope, key: Key) -> list[Row]:
    """The newest messages, newest first; as committed, whatever the clock says, when no moment is asked for."""
    known_at = scope.caller.known_at
    return scope.database.rows(
        "newest_messages", **key._asdict(), known_at=known_at, chars=MAX_CHARS, limit=MAX_MESSAGES
    )


def _changed(change: object) -> tuple[str, str] | None:
    """The session that a committed change is about."""
    match change:
        case SessionChanged(key=key):
            return key.namespace, key.session_id
        case EveryBranchChanged(namespace=namespace, session_id=session_id):
            return namespace, session_id
    return None


def _sentences(row: Row) -> list[KeySentence]:
    found = sentences(row["text"])
    whole = found[:-1] if len(row["text"]) > MAX_CHARS else found  # where it was cut off may be within a sentence
    item_id = to_text(IdKind.ITEM, row["item_id"])
    return [KeySentence(text=text, item_id=item_id, role=row["role"]) for text in whole]


def _chosen(said: list[KeySentence], count: int) -> list[KeySentence]:
    """The most central sentences; what says the same words is looked at once, as it was said first."""
    words = [query_tokens(sentence.text) for sentence in said]
    first: dict[frozenset[str], int] = {}
    for position, found in enumerate(words):
        if found:
            first.setdefault(frozenset(found), position)
    able = [at for at in first.values() if len(said[at].text) <= _MAX_SENTENCE_CHARS] or list(first.values())
    among = next((long for least in MIN_WORDS if len(long := _of_words(able, words, least)) >= count), able)
    return [said[among[at]] for at in central([words[at] for at in among], count)] if among else []


def _of_words(positions: list[int], words: list[list[str]], least: int) -> list[int]:
    return [at for at in positions if len(words[at]) >= least]
