"""The arguments of the queue's operations."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Base64Bytes, BeforeValidator, Field

from agents_memory._ids import IdKind, to_number
from agents_memory.graph.arguments import Arguments, Content, Moment, Name, RequestId, RunId, Text
from agents_memory.sessions.arguments import SessionId
from agents_memory.types import MAIN, Choice, RunStatus

LeaseSeconds = Annotated[float, Field(gt=0, le=86_400)]
Approvals = Annotated[int, Field(ge=1, le=9, strict=True)]
Fence = Annotated[int, Field(ge=0, strict=True)]


def _request_or_run(value: object) -> str:
    kind = IdKind.RUN if isinstance(value, str) and value.startswith(IdKind.RUN.value) else IdKind.REQUEST
    to_number(kind, value)
    return str(value)


RequestOrRunId = Annotated[str, BeforeValidator(_request_or_run)]


class TryCall(Arguments):
    """Try a model's call without doing it."""

    operation: Text = Field(description="The verb.")
    arguments: dict[str, Any] = Field(description="Its arguments as the model gave them.")
    run_id: RunId | None = Field(default=None, description="The run that is being resumed, such as n5.")


class Perform(TryCall):
    """Carry out a model's call."""

    call_id: Text = Field(description="The model's id of the call.")
    session_id: Text | None = Field(default=None, description="The conversation.")
    branch: Text = Field(default=MAIN, description="Its branch.")
    approved: bool = Field(strict=True, description="Whether the policy or a person lets it run.")
    fence: Fence | None = Field(default=None, description="The token of the claim under which it runs.")
    review: bool = Field(default=False, strict=True, description="Whether a person is to look at it afterwards.")
    agent: Text | None = Field(default=None, description="The agent that called.")


class CallToReview(Arguments):
    """One call that waits for a person."""

    tool: Text = Field(description="The tool that the model called.")
    operation: Text | None = Field(default=None, description="The verb behind it; none for a tool that is not ours.")
    arguments: Text = Field(description="What the model gave, as it gave it.")
    call_id: Text = Field(description="The model's id of the call.")
    agent: Text | None = Field(default=None, description="The agent that called.")
    namespace: Text | None = Field(default=None, description="Where it would write; the run's when left out.")


class SavedState(Arguments):
    """The state of a stopped run."""

    state: Base64Bytes = Field(description="The compressed state, as base64 text.")
    digest: Text = Field(description="Its SHA-256.")
    signature: Text | None = Field(default=None, description="Its HMAC, when a key is configured.")
    sdk_version: Text = Field(description="The release of the Agents SDK.")
    schema_version: Text = Field(description="The SDK's version of the state's form.")
    tools: Text = Field(description="The tools that its calls name, each with a fingerprint, as JSON.")


class StoppedRun(SavedState):
    """A run that stopped for a person."""

    current_agent: Name = Field(description="The agent whose turn it was.")
    calls: tuple[CallToReview, ...] = Field(description="The calls that wait.")
    expires_at: Moment | None = Field(default=None, description="When they stop waiting; never when left out.")


class ParkRun(StoppedRun):
    """Park a run."""

    starting_agent: Name = Field(description="The agent to resume it with.")
    session_id: Text | None = Field(default=None, description="The conversation.")
    branch: Text = Field(default=MAIN, description="Its branch.")
    session_is_ours: bool = Field(default=False, strict=True, description="Whether it is kept in this file.")
    by: Text | None = Field(default=None, description="Who parks it.")
    approvals: Approvals = Field(default=1, description="How many people must approve each request.")
    not_by_requester: bool = Field(default=False, strict=True, description="Whether who asked may not decide.")


class Held(Arguments):
    """Name a run and the claim on it."""

    run_id: RunId = Field(description="The run, such as n5.")
    fence: Fence = Field(description="The token of the claim.")


class ReparkRun(Held, StoppedRun):
    """Stop a resumed run again."""

    waiting: tuple[RequestId, ...] = Field(default=(), description="The requests that the claim left undecided.")


class CheckpointRun(Held, SavedState):
    """Keep a state on the way."""

    settled: tuple[Text, ...] = Field(description="The calls whose outputs the state knows.")


class ListPending(Arguments):
    """Choose requests that wait."""

    descendants: bool = Field(default=True, strict=True, description="Whether those of namespaces below count, too.")


class OneRequest(Arguments):
    """Name a request."""

    request_id: RequestId = Field(description="The request, such as a9.")


class Decide(OneRequest):
    """Decide a request."""

    decision: Choice = Field(description="approve, reject or edit.")
    by: Content = Field(description="Who decides.")
    reason: Content | None = Field(default=None, description="Why; the model is told.")
    arguments: dict[str, Any] | None = Field(default=None, description="After an edit, every argument as it shall be.")
    preview: Text | None = Field(default=None, description="The digest that was shown to who decides.")
    always: bool = Field(default=False, strict=True, description="Approve this tool's later calls in the run, too.")


class RequestApproval(Arguments):
    """Ask for a write without a run."""

    operation: Text = Field(description="The verb, such as remember.")
    arguments: dict[str, Any] = Field(description="Its arguments, any that it takes.")
    by: Content | None = Field(default=None, description="Who asks; the handle's writer when left out.")
    reason: Content | None = Field(default=None, description="Why it is asked for; the reviewer is told.")
    words: Content | None = Field(default=None, description="The words it rests on, kept as evidence.")
    session_id: SessionId | None = Field(default=None, description="The conversation it comes from.")
    call_id: Text | None = Field(default=None, description="The model's id of the call.")
    agent: Text | None = Field(default=None, description="The agent that called.")
    expires_at: Moment | None = Field(default=None, description="When it stops waiting; never when left out.")
    approvals: Approvals = Field(default=1, description="How many people must approve it.")
    not_by_requester: bool = Field(default=False, strict=True, description="Whether who asked may not decide.")


class Acknowledge(OneRequest):
    """Say that a write was looked at."""

    by: Content = Field(description="Who looked at it.")
    reason: Content | None = Field(default=None, description="What there is to say about it.")


class Withdraw(Arguments):
    """Take something out of the queue."""

    id: RequestOrRunId = Field(description="The request, such as a9, or the whole run, such as n5.")
    by: Content = Field(description="Who withdraws it.")
    reason: Content | None = Field(default=None, description="Why; the conversation is told.")


class Expire(Arguments):
    """Expire what is due, or what is named."""

    id: RequestOrRunId | None = Field(
        default=None, description="A request, such as a9, or a run, such as n5, before its time; what is due otherwise."
    )
    by: Content | None = Field(default=None, description="Who expires it before its time.")


class OneRun(Arguments):
    """Name a run."""

    run_id: RunId = Field(description="The run, such as n5.")


class ListRuns(Arguments):
    """Choose runs."""

    status: RunStatus | None = Field(default=None, description="Only runs of this status.")


class ClaimRun(OneRun):
    """Claim a run."""

    owner: Text = Field(pattern=r"^.+:[0-9]{1,10}:[^:]+$", description="Who claims it, as host:pid:random.")
    lease_s: LeaseSeconds = Field(default=60.0, description="Seconds until the claim is lost unless it is renewed.")
    partial: bool = Field(default=False, strict=True, description="Whether to take it while some requests wait.")


class RenewLease(Held):
    """Keep a claim."""

    lease_s: LeaseSeconds = Field(default=60.0, description="Seconds from now until the claim is lost.")


class StartCall(Held):
    """Say that a call of a tool that is not ours begins."""

    call_id: Text = Field(description="The model's id of the call.")


class FinishRun(Held):
    """Finish a run."""

    result: Text = Field(description="Its final output as text.")


class FailRun(Held):
    """Say that resuming failed."""

    error: Text = Field(description="The kind of error.")
