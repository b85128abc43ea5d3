"""Who may decide, and how many must agree. The rules are kept with the run, so that they hold in every process.

People are told apart by the names they decide under, compared as names are: `Eve` and `eve ` are one person. Whether a
name is the person's own is for whoever runs the queue to see to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents_memory._ids import IdKind, to_text
from agents_memory.errors import InvalidInput, MayNotDecide
from agents_memory.graph.names import fold
from agents_memory.store.values import Row
from agents_memory.types import Choice


def check_requester(requesters: Iterable[str | None], *, not_by_requester: bool) -> None:
    """Refuse a rule that could not be kept.

    Raises:
        InvalidInput: The requester may not decide, and nobody says who that is.
    """
    if not_by_requester and not any(requesters):
        raise InvalidInput("Who asks may not decide, so say who asks: park with by=, or open the memory with writer=.")


def check_decider(request: Row, by: str) -> None:
    """Refuse a decision by who asked, where the run says so.

    Raises:
        MayNotDecide: `by` parked the run, or wrote the request.
    """
    if not request["not_by_requester"]:
        return
    if fold(by) in {fold(name) for name in (request["parked_by"], request["requested_by"]) if name is not None}:
        request_id = to_text(IdKind.REQUEST, request["request_id"])
        raise MayNotDecide(
            f"{request_id} was asked for by {by!r}, who may not decide it. Somebody else must; to take it back, "
            "withdraw it.",
            request_id=request_id,
            by=by,
        )


def counting(decisions: Sequence[Row], digest: str) -> list[Row]:
    """The approvals that count: of the newest arguments, on this preview, one a person."""
    edits = [at for at, one in enumerate(decisions) if one["decision"] == Choice.EDIT]
    found: dict[str, Row] = {}
    for one in decisions[edits[-1] if edits else 0 :]:
        if one["decision"] in {Choice.APPROVE, Choice.EDIT} and one["preview_digest"] == digest:
            found.setdefault(fold(one["decided_by"]), one)
    return list(found.values())


def check_second(request: Row, earlier: Sequence[Row], by: str) -> None:
    """Refuse a second approval by the same person.

    Raises:
        MayNotDecide: `by` is one of those who approved.
    """
    if fold(by) not in {fold(one["decided_by"]) for one in earlier}:
        return
    request_id, needed = to_text(IdKind.REQUEST, request["request_id"]), request["approvals_needed"]
    raise MayNotDecide(
        f"{request_id} was approved by {by!r} already ({len(earlier)} of {needed}). It needs another person.",
        request_id=request_id,
        by=by,
        approvals=len(earlier),
        approvals_needed=needed,
    )
