"""What can be searched for: facts, what was said, and the text that goes before a model."""

from __future__ import annotations

from agents_memory.graph.scope import Scope
from agents_memory.operations.operation import Operation, Risk
from agents_memory.recall.arguments import GetContext, Recall, SearchItems, Summarize
from agents_memory.recall.context import context
from agents_memory.recall.engine import recall
from agents_memory.recall.items import search_items
from agents_memory.recall.summary import summarize_session
from agents_memory.recall.types import ConversationSummary, SearchResult
from agents_memory.types import RecalledContext, RecallResult


def _recall(scope: Scope, arguments: Recall) -> RecallResult:
    return recall(scope.database, scope.caller, arguments.query, k=arguments.k, kinds=arguments.kinds)


RECALL = (
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
