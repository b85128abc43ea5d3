"""Policies: which writes of an agent ask a person, which are looked at afterwards, and which are free.

A policy is a function of a call: `policy(operation, arguments)` returns True to ask, False to write freely, or
`Answer.REVIEW` to write now and be listed for a look afterwards. Anything else that it returns, or raises, asks. One
that takes a third argument is given a function that tries the call and returns its `Preview`; its cost is paid only
when it is called. A policy runs in a thread, so that it may look things up, and is asked again when the call runs.

    memory_tools(memory, policy=policies.by_operation({"remember": policies.low_risk()}))
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Final

from agents_memory.errors import InvalidInput
from agents_memory.operations import Risk, operation_named
from agents_memory.types import Effect, Kind, Preview

__all__ = ["Answer", "Look", "Policy", "always", "any_of", "audit_only", "by_operation", "low_risk", "never"]

Look = Callable[[], Preview]
"""Tries the call, and returns what it would change."""
Policy = Callable[..., Any]
"""`policy(operation, arguments)` or `policy(operation, arguments, look)`."""


class Answer(StrEnum):
    """What a policy says of a call, strictest first."""

    ASK = "ask"
    REVIEW = "review"
    FREE = "free"


ASKING_KINDS: Final = (Kind.INSTRUCTION, Kind.PROCEDURE, Kind.CONSTRAINT, Kind.PROFILE)
"""The kinds of facts that tell an agent what to do, or say who somebody is."""

_ADDING: Final = frozenset({"remember", "relate", "add_episode"})
_HARMLESS: Final = frozenset(
    {Effect.FACT_ADDED, Effect.ENTITY_CREATED, Effect.ENTITY_MATCHED, Effect.RELATION_ADDED, Effect.RELATION_KEPT}
)
_log = logging.getLogger("agents_memory")


def always(_operation: str, _arguments: Mapping[str, Any]) -> bool:
    """Ask before every write."""
    return True


def never(_operation: str, _arguments: Mapping[str, Any]) -> bool:
    """Write without asking."""
    return False


def audit_only(_operation: str, _arguments: Mapping[str, Any]) -> Answer:
    """Write at once, and list the write for a person to look at afterwards."""
    return Answer.REVIEW


def low_risk(*, max_chars: int = 300, asking_kinds: Iterable[str] = ASKING_KINDS) -> Policy:
    """Ask unless the call only adds something small that agrees with what is stored.

    What changes or takes away (`supersede`, `correct`, `forget`, `unrelate`, `add_alias`) always asks, and so does what
    says the same as a stored fact or may contradict one.

    Args:
        max_chars: The most characters that all of its texts may have together.
        asking_kinds: The kinds of facts that always ask.

    Raises:
        InvalidInput: A kind is none.
    """
    kinds = _checked_kinds(asking_kinds)

    def policy(operation: str, arguments: Mapping[str, Any], look: Look) -> bool:
        if operation not in _ADDING or arguments.get("kind") in kinds:
            return True
        if sum(map(len, _texts(arguments))) > max_chars:
            return True
        seen = look()
        agrees = seen.problem is None and not seen.duplicates and not seen.conflicts
        return not agrees or any(change.effect not in _HARMLESS for change in seen.changes)

    return policy


def by_operation(policies: Mapping[str, Policy], *, otherwise: Policy = always) -> Policy:
    """A policy for each operation, such as `{"remember": low_risk(), "relate": audit_only}`.

    Raises:
        InvalidInput: A name is no write of an agent, or a policy is none.
        NotFound: There is no operation of that name.
    """
    for name in policies:
        operation = operation_named(name)
        if operation.risk is not Risk.WRITE or not operation.tool_parameters:
            raise InvalidInput(f"{name!r} is no write of an agent, so that no policy is asked about it.")
    chosen = {name: _reader(policy) for name, policy in policies.items()}
    rest = _reader(otherwise)

    def policy(operation: str, arguments: Mapping[str, Any], look: Look) -> Answer:
        return chosen.get(operation, rest)(operation, arguments, look)

    return policy


def any_of(*policies: Policy) -> Policy:
    """The strictest answer of several: ask when any asks, review when any reviews, else free.

    `any_of(low_risk(), audit_only)` asks about what is risky, and lists the rest for a look afterwards.

    Raises:
        InvalidInput: None was given, or one is no policy.
    """
    if not policies:
        raise InvalidInput("any_of needs a policy.")
    readers = [_reader(policy) for policy in policies]

    def policy(operation: str, arguments: Mapping[str, Any], look: Look) -> Answer:
        answers = {reader(operation, arguments, look) for reader in readers}
        return next(answer for answer in Answer if answer in answers)

    return policy


def answer_of(policy: Policy) -> Callable[[str, Mapping[str, Any], Look], Answer]:
    """A policy as it is asked: it always answers, and in doubt that a person is asked.

    Raises:
        InvalidInput: It is no plain function of two or three arguments.
    """
    return partial(_safely, _reader(policy))


def _safely(
    reader: Callable[[str, Mapping[str, Any], Look], Answer], operation: str, arguments: Mapping[str, Any], look: Look
) -> Answer:
    try:
        return reader(operation, arguments, look)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a policy, nothing is written because of it
        _log.error("the policy failed on %s (%s), so a person is asked", operation, type(error).__name__)
        return Answer.ASK


def _reader(policy: Policy) -> Callable[[str, Mapping[str, Any], Look], Answer]:
    looks = _takes_a_look(policy)

    def read(operation: str, arguments: Mapping[str, Any], look: Look) -> Answer:
        said = policy(operation, arguments, look) if looks else policy(operation, arguments)
        if said is False or said is Answer.FREE:
            return Answer.FREE
        return Answer.REVIEW if said is Answer.REVIEW else Answer.ASK

    return read


def _takes_a_look(policy: object) -> bool:
    called = getattr(policy, "__call__", None)  # noqa: B004 - of an object it may be a coroutine function
    if not callable(policy) or inspect.iscoroutinefunction(policy) or inspect.iscoroutinefunction(called):
        raise InvalidInput("A policy is a plain function of an operation and its arguments; it may block.")
    needed = [
        parameter
        for parameter in inspect.signature(policy).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
    ]
    if len(needed) > 3:
        raise InvalidInput("A policy takes an operation, its arguments, and at most a function that tries the call.")
    return len(needed) == 3


def _checked_kinds(kinds: Iterable[str]) -> frozenset[str]:
    try:
        return frozenset(Kind(kind).value for kind in kinds)
    except ValueError:
        raise InvalidInput(f"A kind is one of {', '.join(Kind)}; pass a list of them.") from None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
