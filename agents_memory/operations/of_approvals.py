"""What can be asked of the approval queue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agents_memory.approvals import arguments as of_approvals
from agents_memory.approvals import asking, claims, effects, expiry, parking, queue, runs, withdrawal
from agents_memory.graph import arguments as of_graph
from agents_memory.operations.operation import Operation, Risk
from agents_memory.types import ApprovalRequest, Claim, Decision, ParkedRun, Performed, Trial


def approvals(
    operation_named: Callable[[str], Operation], gated_named: Callable[[str], Operation]
) -> tuple[Operation, ...]:
    """The entries of the queue, which carries out other entries by their names.

    Args:
        operation_named: Finds any entry.
        gated_named: Finds an entry that people can be asked about.
    """
    return (
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
            arguments=of_approvals.ListPending,
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
            description="List the approval requests that wait, each tried again: what it would change, and if stale.",
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
            description="List the runs that are due: ready, lost with their process, or failed and to be tried again.",
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
