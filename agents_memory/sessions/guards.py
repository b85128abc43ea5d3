"""What may keep a batch out of a session: a branch that is not there, a claim that was lost, a run that waits.

All look inside the transaction that adds the batch, so that nothing can change between looking and adding.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents_memory._ids import IdKind, to_number, to_text
from agents_memory.errors import LeaseLost, NoSuchBranch, SessionParked
from agents_memory.graph.scope import Scope
from agents_memory.sessions.extract import Extract
from agents_memory.sessions.live import Key
from agents_memory.store.database import Transaction
from agents_memory.types import MAIN


def check_branch_exists(key: Key, *, exists: bool) -> None:
    """Let nothing be read from or added to a branch that is not there; main is always.

    Raises:
        NoSuchBranch: It never was, or was deleted.
    """
    if not exists and key.branch != MAIN:
        raise NoSuchBranch(
            f"The session {key.session_id!r:.80} has no branch {key.branch!r:.80}. It may have been deleted; list the "
            "branches and switch to one of them.",
            session_id=key.session_id,
            branch=key.branch,
        )


def check_claim(scope: Scope, tx: Transaction, fence: int | None) -> None:
    """Let a resumed run add only while its claim is the newest.

    Raises:
        LeaseLost: Somebody else has claimed the run meanwhile.
    """
    run_id = scope.caller.run_id
    if fence is None or run_id is None:
        return
    if tx.one_or_none("held_run", run_id=to_number(IdKind.RUN, run_id), fence=fence, namespace=scope.namespace) is None:
        raise LeaseLost(f"{run_id} was claimed by somebody else. Nothing was added to its session.", run_id=run_id)


def check_at_rest(tx: Transaction, namespace: str, session_id: str, branch: str | None = None) -> None:
    """Let nothing be done to a session, or to one branch of it, that a run of it still needs as it is.

    Raises:
        SessionParked: A run of it may still go on.
    """
    waiting = tx.rows("runs_not_over_in", namespace=namespace, session_id=session_id, branch=branch)
    if waiting:
        run_id = to_text(IdKind.RUN, waiting[0]["run_id"])
        raise SessionParked(
            f"{run_id} waits in this conversation. Resume or withdraw it first; nothing was changed.",
            session_id=session_id,
            run_id=run_id,
        )


def check_nobody_waits(scope: Scope, tx: Transaction, key: Key, extracts: Sequence[Extract]) -> None:
    """Let no new turn begin while a run of the branch waits; a run that is being resumed may add what it likes.

    Raises:
        SessionParked: A run is parked, ready or being resumed, and the batch may begin a turn.
    """
    if not any(one.is_user or one.is_opaque for one in extracts):
        return
    waiting = tx.rows("runs_waiting_in", **key._asdict())
    run_ids = [to_text(IdKind.RUN, row["run_id"]) for row in waiting]
    if not waiting or scope.caller.run_id in run_ids:
        return
    requests = [to_text(IdKind.REQUEST, request_id) for request_id in waiting[0]["requests"] or ()]
    raise SessionParked(
        f"No new turn can begin in this conversation while {run_ids[0]} waits ({', '.join(requests) or 'no request'}). "
        "Decide its requests and resume it first; nothing was added.",
        session_id=key.session_id,
        run_id=run_ids[0],
        requests=requests,
    )
