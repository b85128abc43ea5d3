"""The SDK's run state as bytes that can be kept: compressed, fingerprinted, signed, without the application's context.

The SDK's own JSON holds the context of the app when that is a mapping, secrets included. Nothing of the context is
kept here; whoever resumes passes a fresh one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final

from agents import FunctionTool, RunState
from agents.exceptions import AgentsException
from agents.items import ToolApprovalItem
from agents.run_state import SUPPORTED_SCHEMA_VERSIONS

from agents_memory.errors import CannotPark, CannotResume
from agents_memory.types import Claim

_NO_CONTEXT: Final[dict[str, Any]] = {
    "original_type": "none",
    "serialized_via": "none",
    "requires_deserializer": False,
    "omitted": False,
}


def saved(
    state: RunState[Any], items: Iterable[ToolApprovalItem], *, key: bytes | None, binding: str
) -> dict[str, Any]:
    """A state as the arguments of `park_run`, `repark_run` and `checkpoint_run` want it.

    Args:
        state: The state.
        items: The calls that wait in it.
        key: Signs the state, when given.
        binding: What the signature ties the state to.

    Raises:
        CannotPark: The SDK cannot serialise it.
    """
    try:
        data = state.to_json(context_serializer=lambda _context: {})
        _drop_contexts(data)
        text = json.dumps(data, separators=(",", ":"))
    except AgentsException as error:
        raise CannotPark(f"The SDK cannot keep this run: {error}") from error
    except TypeError as error:
        raise CannotPark(f"The run's state holds something that is no JSON data ({type(error).__name__}).") from None
    compressed = zlib.compress(text.encode("ascii"))
    return {
        "state": base64.b64encode(compressed).decode("ascii"),
        "digest": hashlib.sha256(compressed).hexdigest(),
        "signature": None if key is None else _sign(key, binding, compressed),
        "sdk_version": version("openai-agents"),
        "schema_version": str(data["$schemaVersion"]),
        "tools": json.dumps(tools_of(items), sort_keys=True),
    }


def opened(claim: Claim, *, key: bytes | None, binding: str) -> str:
    """The state of a claim as the SDK's JSON, verified.

    Raises:
        CannotResume: It was changed, its signature does not fit, or this SDK cannot read it.
    """
    compressed = base64.b64decode(claim.state)
    if hashlib.sha256(compressed).hexdigest() != claim.digest:
        raise CannotResume(f"The state of {claim.run.id} was changed since it was saved.", run_id=claim.run.id)
    _check_signature(claim, compressed, key, binding)
    if claim.schema_version not in SUPPORTED_SCHEMA_VERSIONS:
        raise CannotResume(
            f"{claim.run.id} was saved by openai-agents {claim.sdk_version} in form {claim.schema_version}, which the "
            f"installed {version('openai-agents')} cannot read. Resume it with that release or a newer one.",
            run_id=claim.run.id,
            schema_version=claim.schema_version,
        )
    try:
        return zlib.decompress(compressed).decode("ascii")
    except (zlib.error, UnicodeDecodeError):
        raise CannotResume(f"The state of {claim.run.id} is no saved state.", run_id=claim.run.id) from None


def tools_of(items: Iterable[ToolApprovalItem]) -> dict[str, str | None]:
    """The tools that calls name, each with a fingerprint of its parameters; None for one that is no function tool."""
    return {f"{item.agent.name}/{item.name}": _fingerprint(tool_of(item)) for item in items}


def tool_of(item: ToolApprovalItem) -> FunctionTool | None:
    """The function tool that a call names, on the agent that made it."""
    named = [tool for tool in item.agent.tools if isinstance(tool, FunctionTool) and tool.name == item.tool_name]
    return named[0] if named else None


def _fingerprint(tool: FunctionTool | None) -> str | None:
    if tool is None:
        return None
    schema = json.dumps(tool.params_json_schema, sort_keys=True, default=str)
    return hashlib.sha256(schema.encode()).hexdigest()


def _drop_contexts(data: Any) -> None:
    """Empty the context of a state and of the nested states of its agent tools."""
    if isinstance(data, dict):
        if "context_meta" in data and "approvals" in data:
            data["context"], data["context_meta"] = None, dict(_NO_CONTEXT)
        for inner in data.values():
            _drop_contexts(inner)
    elif isinstance(data, list):
        for inner in data:
            _drop_contexts(inner)


def _check_signature(claim: Claim, compressed: bytes, key: bytes | None, binding: str) -> None:
    if key is None and claim.signature is not None:
        message = f"The state of {claim.run.id} is signed. Pass the key to RunStateStore."
        raise CannotResume(message, run_id=claim.run.id)
    if key is None:
        return
    if claim.signature is None or not hmac.compare_digest(claim.signature, _sign(key, binding, compressed)):
        raise CannotResume(f"The state of {claim.run.id} is not signed with this key.", run_id=claim.run.id)


def _sign(key: bytes, binding: str, compressed: bytes) -> str:
    return hmac.new(key, binding.encode() + b"\0" + compressed, hashlib.sha256).hexdigest()


def binding_of(namespace: str, session_id: str | None, branch: str, starting_agent: str) -> str:
    """What a signature ties a state to, so that it cannot be moved to another run's place."""
    return json.dumps([namespace, session_id, branch, starting_agent])
