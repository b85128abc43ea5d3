"""The states of requests and runs, and the moves between them, as data.

A move that is not listed here cannot be made: each guarded UPDATE takes the states it may start from out of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agents_memory.types import RequestStatus, RunStatus

REQUEST_MOVES: Final[Mapping[RequestStatus, frozenset[RequestStatus]]] = MappingProxyType(
    {
        RequestStatus.PENDING: frozenset(
            {
                RequestStatus.APPROVED,
                RequestStatus.REJECTED,
                RequestStatus.EXPIRED,
                RequestStatus.WITHDRAWN,
                RequestStatus.ERASED,
            }
        ),
        # withdrawn: it was approved, and memory changed so that its write could not be done
        RequestStatus.APPROVED: frozenset({RequestStatus.DONE, RequestStatus.WITHDRAWN, RequestStatus.ERASED}),
        RequestStatus.REJECTED: frozenset({RequestStatus.ERASED}),
        RequestStatus.EXPIRED: frozenset({RequestStatus.ERASED}),
        RequestStatus.WITHDRAWN: frozenset({RequestStatus.ERASED}),
        # done: somebody acknowledged it
        RequestStatus.WRITTEN: frozenset({RequestStatus.DONE, RequestStatus.ERASED}),
        RequestStatus.DONE: frozenset({RequestStatus.ERASED}),
        RequestStatus.ERASED: frozenset(),
    }
)

RUN_MOVES: Final[Mapping[RunStatus, frozenset[RunStatus]]] = MappingProxyType(
    {
        # resuming: with what is decided, while the rest waits on
        RunStatus.PARKED: frozenset(
            {RunStatus.READY, RunStatus.RESUMING, RunStatus.EXPIRED, RunStatus.WITHDRAWN, RunStatus.ERASED}
        ),
        RunStatus.READY: frozenset({RunStatus.RESUMING, RunStatus.WITHDRAWN, RunStatus.ERASED}),
        # resuming again: the claim was lost, and somebody else takes it
        RunStatus.RESUMING: frozenset(
            {
                RunStatus.RESUMING,
                RunStatus.FINISHED,
                RunStatus.FAILED,
                RunStatus.PARKED,
                RunStatus.READY,
                RunStatus.UNCERTAIN,
            }
        ),
        RunStatus.FAILED: frozenset({RunStatus.RESUMING, RunStatus.UNCERTAIN, RunStatus.WITHDRAWN, RunStatus.ERASED}),
        RunStatus.UNCERTAIN: frozenset({RunStatus.WITHDRAWN, RunStatus.ERASED}),
        RunStatus.FINISHED: frozenset({RunStatus.ERASED}),
        RunStatus.EXPIRED: frozenset({RunStatus.ERASED}),
        RunStatus.WITHDRAWN: frozenset({RunStatus.ERASED}),
        RunStatus.ERASED: frozenset(),
    }
)


def before_request(status: RequestStatus) -> list[str]:
    """The states from which a request can move to `status`."""
    return [start.value for start, ends in REQUEST_MOVES.items() if status in ends]


def before_run(status: RunStatus) -> list[str]:
    """The states from which a run can move to `status`."""
    return [start.value for start, ends in RUN_MOVES.items() if status in ends]
