"""The catalogue: everything that can be asked of a memory, one entry each, with JSON-able arguments and results.

`Memory`'s verbs, the SDK tools and the commands are renderings of these entries. A new ability is a new entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents_memory.approvals import arguments as of_approvals
from agents_memory.approvals import asking, claims, effects, expiry, parking, queue, runs, withdrawal
from agents_memory.errors import AgentsMemoryError, InvalidInput, NotFound
from agents_memory.graph import arguments as of_graph
from agents_memory.graph import entities, episodes, facts, provenance, reading, relations
from agents_memory.graph.arguments import Arguments
from agents_memory.graph.scope import Scope
from agents_memory.recall.arguments import GetContext, Recall, SearchItems, Summarize
from agents_memory.recall.context import context
from agents_memory.recall.engine import recall
from agents_memory.recall.items import search_items
from agents_memory.recall.summary import summarize_session
from agents_memory.recall.types import ConversationSummary, SearchResult
from agents_memory.sessions import arguments as of_sessions
from agents_memory.sessions import branches, items, lifecycle, questions, suffix, turns
from agents_memory.sessions import reading as session_reading
from agents_memory.sessions.types import (
    Branch,
    DeletedSessions,
    EntityUsage,
    ItemAbout,
    ItemInContext,
    MentionedEntity,
    SessionBehind,
    SessionExport,
    SessionItem,
    SessionMention,
    SessionSummary,
    SessionTurn,
    SessionUsage,
    WrittenFact,
)
from agents_memory.store.database import Database
from agents_memory.types import (
    About,
    ApprovalRequest,
    Caller,
    Claim,
    Decision,
    Entity,
    Episode,
    Fact,
    FactVersion,
    ParkedRun,
    Performed,
    Provenance,
    RecalledContext,
    RecallResult,
    Receipt,
    Trial,
)


class Risk(StrEnum):
    """What a call of an operation can do."""

    READ = "read"
    WRITE = "write"
    DECIDE = "decide"
    INTERNAL = "internal"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One thing that can be asked.

    Attributes:
        name: Its name everywhere.
        description: One or two sentences, as a model or a person reads them.
        arguments: The model that its arguments are checked against.
        result: The type of what it returns.
        risk: What it can do.
        handler: What does it.
        tool_parameters: The arguments that an agent's tool offers, all flat; empty where there is no tool.
        stands_alone: Whether it is no part of a greater transaction: it tries calls without doing them, or keeps
            something although it refuses.
        may_repeat: Whether doing it again does nothing more, for what is no read.
    """

    name: str
    description: str
    arguments: type[Arguments]
    result: Any
    risk: Risk
    handler: Callable[[Scope, Any], Any]
    tool_parameters: tuple[str, ...] = field(default=())
    stands_alone: bool = False
    may_repeat: bool = False

    def parse(self, arguments: Mapping[str, Any]) -> Arguments:
        """The checked arguments.

        Raises:
            InvalidInput: They do not fit; the message names each that does not, never its value.
        """
        if not isinstance(arguments, Mapping):
            raise InvalidInput(f"{self.name} takes an object of arguments, not {type(arguments).__name__}.")
        try:
            return self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            raise _refusal(self, error) from None

    def dump(self, result: Any) -> Any:
        """A result as JSON-able data."""
        return self._adapter.dump_python(result, mode="json")

    def load(self, data: Any) -> Any:
        """A result again, of what `dump` gave."""
        return self._adapter.validate_python(data)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.result)


def call(database: Database, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
    """Do an operation and return its typed result.

    Raises:
        InvalidInput: The arguments do not fit, or a view was asked to write.
        NotFound: There is no such operation.
        AgentsMemoryError: Whatever the operation says.
    """
    operation, parsed = checked(caller, name, arguments)
    return operation.handler(Scope(database=database, caller=caller), parsed)


def checked(caller: Caller, name: str, arguments: Mapping[str, Any]) -> tuple[Operation, Arguments]:
    """What a call asks for, as far as that can be checked without the file.

    Raises:
        InvalidInput: The arguments do not fit, or a view was asked to write.
        NotFound: There is no such operation.
    """
    operation = operation_named(name)
    if operation.risk is not Risk.READ and (caller.valid_at is not None or caller.known_at is not None):
        raise InvalidInput(f"A view of another moment is read-only. Call {name} on the memory itself.")
    return operation, operation.parse(arguments)


def call_json(database: Database, caller: Caller, name: str, arguments: str) -> str:
    """`call` with JSON texts on both sides.

    Raises:
        InvalidInput: `arguments` is no JSON object.
        AgentsMemoryError: Whatever the operation says.
    """
    try:
        given = json.loads(arguments)
    except ValueError:
        raise InvalidInput(f"The arguments of {name} are no JSON text.") from None
    result = call(database, caller, name, given)
    return json.dumps(operation_named(name).dump(result), ensure_ascii=False)


def operation_named(name: str) -> Operation:
    """The entry of that name.

    Raises:
        NotFound: There is none.
    """
    try:
        return CATALOGUE[name]
    except KeyError:
        raise NotFound(f"There is no operation {name!r}. Known: {', '.join(sorted(CATALOGUE))}.") from None


def gated_named(name: str) -> Operation:
    """The entry of a write that people can be asked about.

    Raises:
        InvalidInput: It is none.
        NotFound: There is no operation of that name.
    """
    operation = operation_named(name)
    if operation.risk is not Risk.WRITE or not operation.tool_parameters:
        raise InvalidInput(f"{name!r} is no write of an agent, so that nobody is asked about it.")
    return operation


def _refusal(operation: Operation, error: ValidationError) -> InvalidInput:
    problems = []
    for problem in error.errors(include_url=False, include_input=False):
        cause = problem.get("ctx", {}).get("error")
        if isinstance(cause, AgentsMemoryError) and isinstance(cause, InvalidInput) and error.error_count() == 1:
            return type(cause)(f"{_place(problem['loc'])}: {cause}", **cause.details)
        problems.append(f"{_place(problem['loc'])}: {cause if cause is not None else problem['msg']}")
    return InvalidInput(f"{operation.name} cannot take these arguments. {'; '.join(problems)}.", problems=problems)


def _place(location: tuple[int | str, ...]) -> str:
    head, *rest = location or ("arguments",)
    return str(head) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)


_GRAPH = (
    Operation(
        name="remember",
        description="Store one new fact in long-term memory. A fact that is stored already is not stored twice.",
        arguments=of_graph.Remember,
        result=Receipt,
        risk=Risk.WRITE,
        handler=facts.remember,
        tool_parameters=("content", "entities", "kind", "valid_from", "valid_to"),
    ),
    Operation(
        name="supersede",
        description="Record that the world changed: a stored fact stopped holding and another holds from then on.",
        arguments=of_graph.Supersede,
        result=Receipt,
        risk=Risk.WRITE,
        handler=facts.supersede,
        tool_parameters=("fact_id", "content", "at", "reason", "entities"),
    ),
    Operation(
        name="correct",
        description="Record that memory was wrong: a stored fact should have said something else all along.",
        arguments=of_graph.Correct,
        result=Receipt,
        risk=Risk.WRITE,
        handler=facts.correct,
        tool_parameters=("fact_id", "content", "reason", "entities"),
    ),
    Operation(
        name="forget",
        description="Stop believing a stored fact. Its history stays.",
        arguments=of_graph.Forget,
        result=Receipt,
        risk=Risk.WRITE,
        handler=facts.forget,
        tool_parameters=("fact_id", "reason"),
    ),
    Operation(
        name="relate",
        description="Tie two entities by a named relation, such as 'Cy' 'maintains' 'ingest'.",
        arguments=of_graph.Relate,
        result=Receipt,
        risk=Risk.WRITE,
        handler=relations.relate,
        tool_parameters=("source", "predicate", "target", "valid_from", "valid_to"),
    ),
    Operation(
        name="unrelate",
        description="Record that a relation between two entities ended.",
        arguments=of_graph.Unrelate,
        result=Receipt,
        risk=Risk.WRITE,
        handler=relations.unrelate,
        tool_parameters=("source", "predicate", "target", "at"),
    ),
    Operation(
        name="get_fact",
        description="Read one fact by its id.",
        arguments=of_graph.OneFact,
        result=Fact,
        risk=Risk.READ,
        handler=reading.get_fact,
        tool_parameters=("fact_id",),
    ),
    Operation(
        name="list_facts",
        description="List the facts that hold, a page at a time, of one entity or of all.",
        arguments=of_graph.ListFacts,
        result=tuple[Fact, ...],
        risk=Risk.READ,
        handler=reading.list_facts,
        tool_parameters=("entity", "limit", "after"),
    ),
    Operation(
        name="history",
        description="Read every version of a fact: what was believed, when, and why it changed.",
        arguments=of_graph.OneFact,
        result=tuple[FactVersion, ...],
        risk=Risk.READ,
        handler=reading.history,
        tool_parameters=("fact_id",),
    ),
    Operation(
        name="provenance",
        description="Read where a fact comes from: who wrote it, on which words, and who approved it.",
        arguments=of_graph.OneFact,
        result=tuple[Provenance, ...],
        risk=Risk.READ,
        handler=provenance.provenance,
        tool_parameters=("fact_id",),
    ),
    Operation(
        name="about",
        description="Read what is known around a person, project or thing, following relations up to three hops.",
        arguments=of_graph.AboutEntity,
        result=About,
        risk=Risk.READ,
        handler=reading.about,
        tool_parameters=("entity", "hops"),
    ),
    Operation(
        name="get_entity",
        description="Read an entity and the names it answers to.",
        arguments=of_graph.OneEntity,
        result=Entity,
        risk=Risk.READ,
        handler=entities.get_entity,
        tool_parameters=("name",),
    ),
    Operation(
        name="add_alias",
        description="Let an entity answer to a further name.",
        arguments=of_graph.AddAlias,
        result=Receipt,
        risk=Risk.WRITE,
        handler=entities.add_alias,
        tool_parameters=("entity", "alias"),
    ),
    Operation(
        name="add_episode",
        description="Keep words verbatim as evidence for facts.",
        arguments=of_graph.AddEpisode,
        result=Episode,
        risk=Risk.WRITE,
        handler=episodes.add_episode,
        tool_parameters=("text", "source", "occurred_at"),
    ),
)


def _recall(scope: Scope, arguments: Recall) -> RecallResult:
    return recall(scope.database, scope.caller, arguments.query, k=arguments.k, kinds=arguments.kinds)


_RECALL = (
    Operation(
        name="recall",
        description="Search long-term memory for the facts that answer a question. Free to use, in any language.",
        arguments=Recall,
        result=RecallResult,
        risk=Risk.READ,
        handler=_recall,
        tool_parameters=("query", "k"),
    ),
    Operation(
        name="search_items",
        description="Search what was said, by users, the assistant and tools, in one conversation or in all of them.",
        arguments=SearchItems,
        result=SearchResult,
        risk=Risk.READ,
        handler=search_items,
        tool_parameters=("query", "session_id", "k"),
    ),
    Operation(
        name="summarize_session",
        description="Read a conversation in a few of its own sentences, each with the item it stands in.",
        arguments=Summarize,
        result=ConversationSummary,
        risk=Risk.READ,
        handler=summarize_session,
        tool_parameters=("session_id", "sentences"),
    ),
    Operation(
        name="context",
        description="Make the text that is put before a model: pinned facts and those that answer a question best.",
        arguments=GetContext,
        result=RecalledContext,
        risk=Risk.READ,
        handler=context,
    ),
)

_SESSIONS = (
    Operation(
        name="session_append",
        description="Add items at the end of a conversation, all or none; gives their ids.",
        arguments=of_sessions.AppendItems,
        result=tuple[str, ...],
        risk=Risk.INTERNAL,
        handler=items.session_append,
    ),
    Operation(
        name="session_items",
        description="Read the newest items of a conversation as the JSON texts they were stored as.",
        arguments=of_sessions.ReadItems,
        result=tuple[str, ...],
        risk=Risk.READ,
        handler=items.session_items,
    ),
    Operation(
        name="session_suffix",
        description="Read the newest items of a conversation, each with its id.",
        arguments=of_sessions.NewestItems,
        result=tuple[tuple[str, str], ...],
        risk=Risk.READ,
        handler=suffix.session_suffix,
    ),
    Operation(
        name="session_replace_suffix",
        description="Put items in the place of the end of a conversation; says whether it was still as it was read.",
        arguments=of_sessions.ReplaceSuffix,
        result=bool,
        risk=Risk.INTERNAL,
        handler=suffix.session_replace_suffix,
    ),
    Operation(
        name="session_pop",
        description="Take the last item out of a conversation and read it.",
        arguments=of_sessions.OneBranch,
        result=str | None,
        risk=Risk.INTERNAL,
        handler=items.session_pop,
    ),
    Operation(
        name="session_clear",
        description="Take every item out of a conversation; gives how many there were.",
        arguments=of_sessions.OneSession,
        result=int,
        risk=Risk.INTERNAL,
        handler=items.session_clear,
    ),
    Operation(
        name="add_usage",
        description="Count what model calls cost with the newest turn of a conversation.",
        arguments=of_sessions.SpendUsage,
        result=None,
        risk=Risk.INTERNAL,
        handler=turns.add_usage,
    ),
    Operation(
        name="create_branch",
        description="Let a conversation take another way from before a turn; gives the name of the branch.",
        arguments=of_sessions.NewBranch,
        result=str,
        risk=Risk.INTERNAL,
        handler=branches.create_branch,
    ),
    Operation(
        name="delete_branch",
        description="End a branch of a conversation; gives how many items were said in it alone.",
        arguments=of_sessions.OneBranch,
        result=int,
        risk=Risk.INTERNAL,
        handler=branches.delete_branch,
    ),
    Operation(
        name="list_branches",
        description="List the branches of a conversation.",
        arguments=of_sessions.OneSession,
        result=tuple[Branch, ...],
        risk=Risk.READ,
        handler=branches.list_branches,
    ),
    Operation(
        name="session_turns",
        description="Read the turns of a conversation: what the user said, the tools called, and what it cost.",
        arguments=of_sessions.OneBranch,
        result=tuple[SessionTurn, ...],
        risk=Risk.READ,
        handler=turns.session_turns,
    ),
    Operation(
        name="session_usage",
        description="Read what the model calls of a conversation cost, in all of its branches.",
        arguments=of_sessions.OneSession,
        result=SessionUsage,
        risk=Risk.READ,
        handler=turns.session_usage,
    ),
    Operation(
        name="read_session",
        description="Read a conversation, its last turns, or a page of it: who said what, and when.",
        arguments=of_sessions.ReadPage,
        result=tuple[SessionItem, ...],
        risk=Risk.READ,
        handler=session_reading.read_session,
        tool_parameters=("session_id", "turns"),
    ),
    Operation(
        name="get_item",
        description="Read one item of a conversation with what was said around it.",
        arguments=of_sessions.OneItem,
        result=ItemInContext,
        risk=Risk.READ,
        handler=session_reading.get_item,
        tool_parameters=("item_id", "around"),
    ),
    Operation(
        name="thread",
        description="Read a conversation together with those that it continues, oldest first.",
        arguments=of_sessions.OneSession,
        result=tuple[SessionItem, ...],
        risk=Risk.READ,
        handler=session_reading.thread,
        tool_parameters=("session_id",),
    ),
    Operation(
        name="sessions",
        description="List the conversations: how long each is, and when it took place.",
        arguments=of_sessions.ListSessions,
        result=tuple[SessionSummary, ...],
        risk=Risk.READ,
        handler=session_reading.sessions,
    ),
    Operation(
        name="rename_session",
        description="Give a conversation another id.",
        arguments=of_sessions.RenameSession,
        result=None,
        risk=Risk.INTERNAL,
        handler=lifecycle.rename_session,
    ),
    Operation(
        name="delete_session",
        description="Take a conversation out of the file.",
        arguments=of_sessions.OneSession,
        result=DeletedSessions,
        risk=Risk.INTERNAL,
        handler=lifecycle.delete_session,
    ),
    Operation(
        name="delete_old_sessions",
        description="Delete the conversations that ended before a moment, and what was taken away by then.",
        arguments=of_sessions.DeleteOld,
        result=DeletedSessions,
        risk=Risk.INTERNAL,
        handler=lifecycle.delete_old_sessions,
        stands_alone=True,
    ),
    Operation(
        name="export_session",
        description="Read all that the file holds of a conversation.",
        arguments=of_sessions.OneSession,
        result=SessionExport,
        risk=Risk.READ,
        handler=lifecycle.export_session,
    ),
    Operation(
        name="entities_mentioned",
        description="Find the people, projects and things that a conversation mentions, by any of their names.",
        arguments=of_sessions.OneSession,
        result=tuple[MentionedEntity, ...],
        risk=Risk.READ,
        handler=questions.entities_mentioned,
        tool_parameters=("session_id",),
    ),
    Operation(
        name="sessions_mentioning",
        description="Find the conversations in which a person, project or thing is mentioned by any of its names.",
        arguments=of_sessions.NamedEntity,
        result=tuple[SessionMention, ...],
        risk=Risk.READ,
        handler=questions.sessions_mentioning,
        tool_parameters=("entity",),
    ),
    Operation(
        name="items_about",
        description="Find what was said about a person, project or thing, or about what relations tie to it.",
        arguments=of_sessions.ItemsAbout,
        result=tuple[ItemAbout, ...],
        risk=Risk.READ,
        handler=questions.items_about,
        tool_parameters=("entity", "hops", "limit"),
    ),
    Operation(
        name="sessions_behind",
        description="Read which conversations a fact rests on: where it was said, and said again.",
        arguments=of_graph.OneFact,
        result=tuple[SessionBehind, ...],
        risk=Risk.READ,
        handler=questions.sessions_behind,
        tool_parameters=("fact_id",),
    ),
    Operation(
        name="usage_by_entity",
        description="Read what the turns cost in which each person, project or thing is named.",
        arguments=of_graph.NoArguments,
        result=tuple[EntityUsage, ...],
        risk=Risk.READ,
        handler=questions.usage_by_entity,
    ),
    Operation(
        name="facts_written",
        description="Read what a conversation wrote into memory, who approved it, and whether it still stands.",
        arguments=of_sessions.OneSession,
        result=tuple[WrittenFact, ...],
        risk=Risk.READ,
        handler=questions.facts_written,
        tool_parameters=("session_id",),
    ),
)

_APPROVALS = (
    Operation(
        name="perform",
        description="Carry out a model's call exactly once; made again, it gives the receipt of the first time.",
        arguments=of_approvals.Perform,
        result=Performed,
        risk=Risk.INTERNAL,
        handler=partial(effects.perform, operation_named),
    ),
    Operation(
        name="try_call",
        description="Try a model's call without doing it: what it would change, or why it cannot work.",
        arguments=of_approvals.TryCall,
        result=Trial,
        risk=Risk.INTERNAL,
        handler=partial(effects.try_call, operation_named),
        stands_alone=True,
        may_repeat=True,
    ),
    Operation(
        name="park_run",
        description="Park a run that stopped for a person, with one approval request per call.",
        arguments=of_approvals.ParkRun,
        result=ParkedRun,
        risk=Risk.INTERNAL,
        handler=partial(parking.park_run, operation_named),
        stands_alone=True,
        may_repeat=True,  # a run whose very state waits already is not parked a second time
    ),
    Operation(
        name="repark_run",
        description="Stop a resumed run again, with new approval requests.",
        arguments=of_approvals.ReparkRun,
        result=ParkedRun,
        risk=Risk.INTERNAL,
        handler=partial(parking.repark_run, operation_named),
        stands_alone=True,
    ),
    Operation(
        name="request_approval",
        description="Ask a person for a write, without a run: it is written when it is approved, and not before.",
        arguments=of_approvals.RequestApproval,
        result=ApprovalRequest,
        risk=Risk.INTERNAL,
        handler=partial(asking.request_approval, gated_named),
        stands_alone=True,
    ),
    Operation(
        name="pending",
        description="List the approval requests that wait in this namespace and below, oldest first.",
        arguments=of_graph.NoArguments,
        result=tuple[ApprovalRequest, ...],
        risk=Risk.READ,
        handler=queue.pending,
    ),
    Operation(
        name="written",
        description="List the writes that were made without asking and wait for a look, oldest first.",
        arguments=of_graph.NoArguments,
        result=tuple[ApprovalRequest, ...],
        risk=Risk.READ,
        handler=queue.written,
    ),
    Operation(
        name="check_pending",
        description="List the approval requests that wait, each tried again: what it would change now, and if stale.",
        arguments=of_graph.NoArguments,
        result=tuple[ApprovalRequest, ...],
        risk=Risk.READ,
        handler=partial(queue.check_pending, operation_named),
    ),
    Operation(
        name="show_request",
        description="Read an approval request: what it would change now, and the words it comes from.",
        arguments=of_approvals.OneRequest,
        result=ApprovalRequest,
        risk=Risk.READ,
        handler=partial(queue.show_request, operation_named),
    ),
    Operation(
        name="request_history",
        description="Read what was decided about an approval request, oldest first.",
        arguments=of_approvals.OneRequest,
        result=tuple[Decision, ...],
        risk=Risk.READ,
        handler=queue.request_history,
    ),
    Operation(
        name="decide",
        description="Approve, reject or edit an approval request, once.",
        arguments=of_approvals.Decide,
        result=ApprovalRequest,
        risk=Risk.DECIDE,
        handler=partial(queue.decide, operation_named),
        stands_alone=True,
    ),
    Operation(
        name="acknowledge",
        description="Say that a write which was made without asking was looked at, once.",
        arguments=of_approvals.Acknowledge,
        result=ApprovalRequest,
        risk=Risk.DECIDE,
        handler=queue.acknowledge,
    ),
    Operation(
        name="withdraw",
        description="Take an approval request that waits, or a whole run, out of the queue.",
        arguments=of_approvals.Withdraw,
        result=ApprovalRequest | ParkedRun,
        risk=Risk.DECIDE,
        handler=withdrawal.withdraw,
    ),
    Operation(
        name="expire",
        description="Let the requests whose time is over stop waiting, or before its time a request or a run's.",
        arguments=of_approvals.Expire,
        result=tuple[ApprovalRequest, ...],
        risk=Risk.DECIDE,
        handler=expiry.expire,
    ),
    Operation(
        name="get_run",
        description="Read where a parked run stands.",
        arguments=of_approvals.OneRun,
        result=ParkedRun,
        risk=Risk.READ,
        handler=runs.get_run,
    ),
    Operation(
        name="list_runs",
        description="List the parked runs of this namespace and below, oldest first.",
        arguments=of_approvals.ListRuns,
        result=tuple[ParkedRun, ...],
        risk=Risk.READ,
        handler=runs.list_runs,
    ),
    Operation(
        name="runs_to_resume",
        description="List the runs that it is time to resume: ready, lost with their process, or failed and due again.",
        arguments=of_graph.NoArguments,
        result=tuple[ParkedRun, ...],
        risk=Risk.READ,
        handler=claims.runs_to_resume,
    ),
    Operation(
        name="claim_run",
        description="Take a decided run for resuming; at most one caller wins.",
        arguments=of_approvals.ClaimRun,
        result=Claim,
        risk=Risk.INTERNAL,
        handler=claims.claim_run,
        stands_alone=True,  # a run that turns out to be uncertain is marked so, and the claim is refused
        may_repeat=True,  # the same owner may claim again
    ),
    Operation(
        name="renew_lease",
        description="Hold a claim for longer.",
        arguments=of_approvals.RenewLease,
        result=float,
        risk=Risk.INTERNAL,
        handler=runs.renew_lease,
    ),
    Operation(
        name="start_call",
        description="Record that a call of a tool of the app begins.",
        arguments=of_approvals.StartCall,
        result=None,
        risk=Risk.INTERNAL,
        handler=runs.start_call,
    ),
    Operation(
        name="checkpoint_run",
        description="Keep the state of a resumed run on the way.",
        arguments=of_approvals.CheckpointRun,
        result=None,
        risk=Risk.INTERNAL,
        handler=runs.checkpoint_run,
    ),
    Operation(
        name="finish_run",
        description="End a resumed run with its final output.",
        arguments=of_approvals.FinishRun,
        result=ParkedRun,
        risk=Risk.INTERNAL,
        handler=runs.finish_run,
    ),
    Operation(
        name="fail_run",
        description="Say that resuming failed; the run can be resumed again.",
        arguments=of_approvals.FailRun,
        result=ParkedRun,
        risk=Risk.INTERNAL,
        handler=runs.fail_run,
    ),
    Operation(
        name="release_run",
        description="Give a claim back unused.",
        arguments=of_approvals.Held,
        result=ParkedRun,
        risk=Risk.INTERNAL,
        handler=runs.release_run,
    ),
)

CATALOGUE: Mapping[str, Operation] = MappingProxyType(
    {operation.name: operation for operation in (*_GRAPH, *_RECALL, *_SESSIONS, *_APPROVALS)}
)
"""Every operation by name."""
