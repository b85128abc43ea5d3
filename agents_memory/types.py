"""The data that callers see: frozen, keyword-only, JSON-able, with ids as strings and aware times.

Also the words for closed sets. What each thing means is in the docstrings here; how it changes is the business of
`graph`, `sessions` and `approvals`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What sort of thing a fact says."""

    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    EVENT = "event"
    CONSTRAINT = "constraint"
    INSTRUCTION = "instruction"
    PROCEDURE = "procedure"
    TASK = "task"
    INSIGHT = "insight"
    PROFILE = "profile"


class Status(StrEnum):
    """What a write did."""

    CREATED = "created"
    REINFORCED = "reinforced"
    SUPERSEDED = "superseded"
    CORRECTED = "corrected"
    FORGOTTEN = "forgotten"
    ENDED = "ended"
    UNCHANGED = "unchanged"


class Effect(StrEnum):
    """One thing that a write changes, or finds."""

    FACT_ADDED = "fact added"
    FACT_ENDED = "fact ended"
    FACT_CORRECTED = "fact corrected"
    FACT_FORGOTTEN = "fact forgotten"
    FACT_REINFORCED = "fact reinforced"
    FACT_UPDATED = "fact updated"
    ENTITY_CREATED = "entity created"
    ENTITY_MATCHED = "entity matched"
    ALIAS_ADDED = "alias added"
    RELATION_ADDED = "relation added"
    RELATION_ENDED = "relation ended"
    RELATION_RETRACTED = "relation retracted"
    RELATION_KEPT = "relation kept"


Triple = tuple[str, str, str]
"""A relation as people say it: (source, predicate, target), all names."""


MAIN = "main"
"""The branch that every conversation begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, from where, and as of when: what travels with every call.

    Attributes:
        namespace: The namespace written in; it is read together with its ancestors.
        writer: The name recorded with what is written.
        valid_at: The moment in the world that is asked about; None is now.
        known_at: The moment of belief that is asked about; None is now.
        session_id: The conversation that a write comes from.
        branch: The branch of that conversation.
        item_id: The session item that holds the words a write comes from, such as `i12`.
        run_id: The parked run that a write belongs to, such as `n5`.
        call_id: The model's call that a write belongs to.
        request_id: The approval request that a write carries out, such as `a9`.
    """

    namespace: str
    writer: str | None = None
    valid_at: datetime | None = None
    known_at: datetime | None = None
    session_id: str | None = None
    branch: str = MAIN
    item_id: str | None = None
    run_id: str | None = None
    call_id: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact in the version that was believed at the moment asked about.

    Attributes:
        id: Such as `f12`; the same through all versions.
        version: 1 for the first.
        namespace: Where it was written.
        content: The statement itself.
        kind: What sort of thing it says.
        importance: 0 to 1.
        confidence: 0 to 1.
        pinned: Whether its writer marked it as always worth showing.
        entities: The names of the entities it is about.
        valid_from: Since when it holds in the world, inclusive.
        valid_to: Until when, exclusive; None is open.
        tx_from: Since when this version is believed.
        tx_to: Until when; None is still.
        is_current: Whether it holds, and is believed, at the moment asked about.
        supersedes: The fact it took the place of, if any.
    """

    id: str
    version: int
    namespace: str
    content: str
    kind: Kind
    importance: float
    confidence: float
    pinned: bool
    entities: tuple[str, ...]
    valid_from: datetime
    valid_to: datetime | None
    tx_from: datetime
    tx_to: datetime | None
    is_current: bool
    supersedes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactVersion:
    """One state of a fact, with why it came and why it went.

    Attributes:
        fact: The fact as this version states it.
        change: `created`, `superseded`, `corrected` or `updated`: what made this version.
        writer: Who wrote it.
        reason: Why, as the writer said.
        closed_as: What ended belief in it, or None while it is believed.
        closed_by: Who ended it.
        close_reason: Why it was ended.
    """

    fact: Fact
    change: str
    writer: str | None
    reason: str | None
    closed_as: str | None
    closed_by: str | None
    close_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """Verbatim words kept as evidence.

    Attributes:
        id: Such as `p4`.
        namespace: Where it was stored.
        text: The words.
        source: Where they come from, as the writer said.
        occurred_at: When they were said.
    """

    id: str
    namespace: str
    text: str
    source: str | None
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The words that a version rests on.

    Attributes:
        text: The words, verbatim.
        source: Where they come from: an episode's source, or the session id.
        occurred_at: When they were said.
        episode_id: The episode, such as `p4`, when they were given as one.
        session_id: The conversation, when they were said in one.
        item_id: The session item, such as `i12`.
        reinforces: Whether they said again what was believed already.
    """

    text: str | None
    source: str | None
    occurred_at: datetime
    episode_id: str | None = None
    session_id: str | None = None
    item_id: str | None = None
    reinforces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where one version of a fact comes from, newest first in a list of these.

    Attributes:
        fact_id: The fact; older entries may name the facts it superseded.
        version: Its version.
        change: What made the version.
        content: What it said.
        writer: Who wrote it.
        written_at: When.
        call_id: The model's call that wrote it, if one did.
        run_id: The parked run it belonged to, if any.
        request_id: The approval request that carried it, if any.
        approved_by: The reviewer who approved that request.
        evidence: The words it rests on.
    """

    fact_id: str
    version: int
    change: str
    content: str
    writer: str | None
    written_at: datetime
    call_id: str | None
    run_id: str | None
    request_id: str | None
    approved_by: str | None
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Something facts are about.

    Attributes:
        id: Such as `e3`.
        name: As it was first written.
        namespace: Where it was created.
        aliases: The other names it answers to.
    """

    id: str
    name: str
    namespace: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A directed, named tie between two entities, valid for a time.

    Attributes:
        id: Such as `r7`.
        version: 1 for the first.
        namespace: Where it was written.
        source: The name of the entity it starts from.
        predicate: What ties them.
        target: The name of the entity it leads to.
        valid_from: Since when it holds, inclusive.
        valid_to: Until when, exclusive; None is open.
        tx_from: Since when this version is believed.
        tx_to: Until when; None is still.
        fact_id: The fact that states it, if one does.
    """

    id: str
    version: int
    namespace: str
    source: str
    predicate: str
    target: str
    valid_from: datetime
    valid_to: datetime | None
    tx_from: datetime
    tx_to: datetime | None
    fact_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An entity within reach of another.

    Attributes:
        entity: The entity.
        hops: The least number of relations between the two.
    """

    entity: Entity
    hops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known around an entity.

    Attributes:
        entity: The entity asked about.
        neighbours: Every entity within the hops asked for, nearest first.
        facts: The facts about it and its neighbours, nearest first, then newest.
        relations: The relations among them.
    """

    entity: Entity
    neighbours: tuple[Neighbour, ...]
    facts: tuple[Fact, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of what a write did, or would do.

    Attributes:
        effect: What happened.
        id: The thing it happened to; None in a preview of something that does not exist yet.
        text: The thing in words: a fact's content, a name, or `source predicate target`.
    """

    effect: Effect
    id: str | None
    text: str


class Difference(StrEnum):
    """What two statements about the same thing differ in, when they cannot both be true."""

    NUMBER = "number"
    NEGATION = "negation"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleConflict:
    """A fact that holds and may contradict what is written: the words say so, and nobody has judged it.

    Attributes:
        id: The fact, such as `f12`.
        text: What it says.
        differs_in: Where the two differ.
    """

    id: str
    text: str
    differs_in: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a write says it did.

    Attributes:
        status: The outcome in a word.
        id: The fact or relation that now holds what was asked.
        version: Its version.
        changes: Every row of memory that changed or was found to hold already.
        note: What a caller should know besides, such as an argument that had no effect.
        duplicates: The facts that say the same already, such as `f12`.
        conflicts: The facts that may contradict what was written; both are kept.
    """

    status: Status
    id: str
    version: int
    changes: tuple[Change, ...] = ()
    note: str | None = None
    duplicates: tuple[str, ...] = ()
    conflicts: tuple[PossibleConflict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of a recall, and why it is there.

    Attributes:
        fact: The fact.
        score: Higher is better; comparable within one result only.
        retrievers: Which retrievers found it.
        terms: The query's words that it holds.
        path: The names walked to reach it, from an entity of the question; empty when words found it.
    """

    fact: Fact
    score: float
    retrievers: tuple[str, ...]
    terms: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The hits of a recall, best first, and how they were found.

    Attributes:
        hits: At most `k` hits.
        retrievers: The retrievers that ran.
        seeds: The entities that the question names.
        explanation: Why there is no hit, when there is none; None otherwise.
    """

    hits: tuple[Hit, ...]
    retrievers: tuple[str, ...]
    seeds: tuple[str, ...] = ()
    explanation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledContext:
    """What is put before a model: a text, which facts are in it, and which had no room.

    Attributes:
        text: The facts, each with its id and since when it holds, in a fence that says that they are data; empty when
            there is none.
        facts: The ids of those in the text, in its order: the pinned ones, then what was recalled, best first.
        left_out: The ids of those that the budget had no room for, in the same order.
        tokens: How many tokens the text takes, as estimated (`text/size.py`).
    """

    text: str
    facts: tuple[str, ...]
    left_out: tuple[str, ...]
    tokens: int


class RequestStatus(StrEnum):
    """The states of an approval request."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    ERASED = "erased"
    WRITTEN = "written"
    DONE = "done"


class RunStatus(StrEnum):
    """The states of a parked run."""

    PARKED = "parked"
    READY = "ready"
    RESUMING = "resuming"
    FINISHED = "finished"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    ERASED = "erased"


class Choice(StrEnum):
    """What a reviewer can decide."""

    APPROVE = "approve"
    REJECT = "reject"
    EDIT = "edit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a call would do to memory if it ran now.

    Attributes:
        changes: The rows of memory it would change or find. Empty for a tool that is not ours.
        problem: Why it cannot run, or None.
        digest: A fingerprint of all this; it changes when memory changes in a way that matters to the call.
        duplicates: The facts that say the same already, such as `f12`; a `remember` would only reinforce one.
        conflicts: The facts that hold and may contradict what it would write.
    """

    changes: tuple[Change, ...]
    problem: str | None
    digest: str
    duplicates: tuple[str, ...] = ()
    conflicts: tuple[PossibleConflict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Who decided what, when and why.

    Attributes:
        decision: `approve`, `reject`, `edit`, `withdraw`, `expire` or `acknowledge`.
        decided_by: The reviewer; `agents_memory` where nobody had to be asked.
        decided_at: When.
        reason: Why, as the reviewer said; the model is told.
        arguments: The arguments after an edit, as JSON.
        always: Whether later calls of the same tool in the same run are approved too.
    """

    decision: str
    decided_by: str
    decided_at: datetime
    reason: str | None = None
    arguments: str | None = None
    always: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A write that waits for a person, or waited; or one that was made at once, for a look afterwards.

    Attributes:
        id: Such as `a9`.
        namespace: Where the write would go.
        status: Where it stands.
        tool: The tool the model called.
        operation: The verb of memory behind it; None for a tool that is not ours.
        arguments: The arguments that would run, as JSON: the reviewer's after an edit.
        preview: What it would do, as of the moment it was made or last shown; of a `written` one what it did.
        agent: The agent that called.
        run_id: The parked run, such as `n5`; None when it was asked for without a run.
        session_id: The conversation.
        call_id: The model's id of the call.
        words: The words that it comes from.
        requested_at: When it was made.
        expires_at: When it stops waiting, if ever.
        decisions: What was decided, oldest first.
        stale: Whether memory changed so that the preview differs from the one made when it was parked.
        approvals_needed: How many people must approve it.
        approved_by: Those who have, as far as their approval counts for what it would do now.
        requested_by: Who asked for it, or parked its run.
        reason: Why, as they said.
        receipt: What carrying it out did, once that happened.
        seen: Of a stale one, what it would have done when it was asked or last decided on; `preview` says what it
            would do now.
    """

    id: str
    namespace: str
    status: RequestStatus
    tool: str
    operation: str | None
    arguments: str
    preview: Preview
    agent: str | None
    run_id: str | None
    session_id: str | None
    call_id: str | None
    words: str | None
    requested_at: datetime
    expires_at: datetime | None = None
    decisions: tuple[Decision, ...] = field(default=())
    stale: bool = False
    approvals_needed: int = 1
    approved_by: tuple[str, ...] = ()
    requested_by: str | None = None
    reason: str | None = None
    receipt: Receipt | Episode | None = None
    seen: Preview | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedRun:
    """A run that stopped for a person, and what became of it.

    Attributes:
        id: Such as `n5`.
        namespace: The namespace of its memory.
        status: Where it stands.
        session_id: The conversation it belongs to.
        branch: The branch of it.
        starting_agent: The agent to resume it with.
        current_agent: The agent whose turn it was.
        revision: 1 when first parked; one more each time a resume stops again.
        attempt: How often it was claimed.
        parked_at: When it was first parked.
        requests: The ids of the requests of this revision.
        result: The final output, once finished.
        error: The kind of failure, once failed.
        failures: How often in a row resuming this revision failed, or was lost with its process.
    """

    id: str
    namespace: str
    status: RunStatus
    session_id: str | None
    starting_agent: str
    current_agent: str
    revision: int
    attempt: int
    parked_at: datetime
    requests: tuple[str, ...]
    result: str | None = None
    error: str | None = None
    branch: str = MAIN
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedNotice:
    """What `RunStateStore`'s `on_parked` is told: ids and names, never what a call would write.

    Attributes:
        run_id: The run, such as `n5`.
        namespace: The namespace of its memory.
        session_id: The conversation it belongs to.
        status: `parked`, or `ready` when none of its calls could work, so that nobody has to be asked.
        revision: 1 when first parked; one more each time a resume stops again.
        requests: The ids of its requests, in the order of the calls.
        tools: The tools that were called, in the same order.
    """

    run_id: str
    namespace: str
    session_id: str | None
    status: RunStatus
    revision: int
    requests: tuple[str, ...]
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided about one call of a run, as a resume applies it.

    Attributes:
        request_id: The request, such as `a9`.
        call_id: The model's id of the call.
        tool: The tool it called.
        agent: The agent that called.
        arguments_digest: A fingerprint of the arguments as the model gave them.
        approved: Whether the call may run.
        message: What the model is told when it may not.
        is_ours: Whether the tool is one of this package's, whose writes happen exactly once.
        always: Whether later calls of the same tool in the same run may run too.
    """

    request_id: str
    call_id: str
    tool: str
    agent: str | None
    arguments_digest: str
    approved: bool
    message: str | None
    is_ours: bool
    always: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to resume a run, and what is needed for it.

    Attributes:
        run: The run.
        fence: The token that every write under this claim carries.
        lease_s: Seconds until the claim is lost unless it is renewed.
        state: The saved state, compressed, as base64 text.
        digest: The SHA-256 of the compressed state.
        signature: Its HMAC, when it was signed.
        sdk_version: The release of the Agents SDK that saved it.
        schema_version: The SDK's version of the state's form.
        tools: The tools that its calls name, each with a fingerprint of its parameters, as JSON.
        session_is_ours: Whether the conversation is kept in this file.
        verdicts: What was decided, a call each.
        waiting: The requests that are not decided yet, when the claim did not wait for all.
    """

    run: ParkedRun
    fence: int
    lease_s: float
    state: str
    digest: str
    signature: str | None
    sdk_version: str
    schema_version: str
    tools: str
    session_is_ours: bool
    verdicts: tuple[Verdict, ...]
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a call would do, tried without doing it.

    Attributes:
        preview: Its changes, or why it cannot work.
        error: The error it would raise, as data; None when it would work.
        handled_by: The request that a reviewer changed and that was carried out for these very arguments in this run.
    """

    preview: Preview
    error: dict[str, Any] | None = None
    handled_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a reviewer changed in one argument; None stands for an argument that is left out.

    Attributes:
        argument: Its name.
        asked: What the model gave.
        used: What was used instead.
    """

    argument: str
    asked: Any
    used: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """What became of a model's call.

    Attributes:
        operation: The verb.
        result: What it returned, as JSON-able data.
        repeated: Whether it had happened before, so that nothing was written this time.
        request_id: The approval request it carried out, if any.
        reviewed_by: Who decided that request.
        reason: What the reviewer said.
        edits: What the reviewer changed.
    """

    operation: str
    result: Any
    repeated: bool
    request_id: str | None = None
    reviewed_by: str | None = None
    reason: str | None = None
    edits: tuple[Edit, ...] = ()
