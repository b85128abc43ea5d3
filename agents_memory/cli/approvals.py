"""The commands of the approval queue: list, show, decide, withdraw, expire, history. None imports the Agents SDK."""

from __future__ import annotations

import difflib
import getpass
import json
from collections.abc import Sequence
from typing import Annotated, Any

import click
import typer

from agents_memory._clock import now
from agents_memory.approvals.calls import given
from agents_memory.cli.output import (
    WHOLE_FILE,
    JsonOption,
    MemoryOption,
    QueueOption,
    age,
    clean,
    console,
    day,
    opened,
    print_fields,
    print_json,
    print_table,
    shortened,
)
from agents_memory.errors import InvalidInput
from agents_memory.memory import Memory
from agents_memory.types import ApprovalRequest, Episode, ParkedRun, PossibleConflict, Preview, Receipt, RequestStatus

app = typer.Typer(help="See and decide what waits for a person.", no_args_is_help=True)

RequestArgument = Annotated[str, typer.Argument(metavar="ID", help="Such as a9.")]
ByOption = Annotated[str | None, typer.Option("--by", help="Who decides; your login name when left out.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Why; the model is told.")]
PreviewOption = Annotated[
    str | None,
    typer.Option(
        "--preview", help="The digest that 'show' printed: refuse if memory changed since.", show_default=False
    ),
]

_ONLY_SOME = {"expires", "mark", "approvals"}


@app.command("list")
def list_requests(
    memory: MemoryOption,
    written: Annotated[
        bool, typer.Option("--written", help="List what was written without asking and waits for a look.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Try each request again and mark the STALE ones; costs a few statements each."),
    ] = False,
    namespace: QueueOption = WHOLE_FILE,
    as_json: JsonOption = False,
) -> None:
    """List the requests that wait, oldest first, and when they expire."""
    if written and check:
        raise InvalidInput("What was written already cannot be tried again. Use --written or --check.")
    operation = "written" if written else "check_pending" if check else "pending"
    with opened(memory, namespace) as handle:
        waiting = handle.call(operation)
    if as_json:
        print_json(operation, waiting)
        return
    stale = f", {sum(request.stale for request in waiting)} STALE" if check and waiting else ""
    console.print(header(waiting, "a look" if written else "a decision") + stale)
    if waiting:
        _print_list(waiting)


@app.command()
def show(
    request_id: RequestArgument, memory: MemoryOption, namespace: QueueOption = WHOLE_FILE, as_json: JsonOption = False
) -> None:
    """Show what a request would change in memory, and the words it comes from."""
    with opened(memory, namespace) as handle:
        request = handle.call("show_request", {"request_id": request_id})
    if as_json:
        print_json("show_request", request)
        return
    print_request(request)


@app.command()
def approve(
    request_id: RequestArgument,
    memory: MemoryOption,
    by: ByOption = None,
    reason: ReasonOption = None,
    preview: PreviewOption = None,
    always: Annotated[
        bool, typer.Option("--always", help="Approve later calls of the same tool in the same run, too.")
    ] = False,
    namespace: QueueOption = WHOLE_FILE,
    as_json: JsonOption = False,
) -> None:
    """Approve a request; it is carried out when its run is resumed, or at once when no run asked for it."""
    with opened(memory, namespace) as handle:
        decided = _decide(handle, request_id, "approve", by, reason=reason, preview=preview, always=always)
    _say(decided, as_json=as_json)


@app.command()
def reject(
    request_id: RequestArgument,
    memory: MemoryOption,
    by: ByOption = None,
    reason: ReasonOption = None,
    namespace: QueueOption = WHOLE_FILE,
    as_json: JsonOption = False,
) -> None:
    """Reject a request; the model is told, with the reason."""
    with opened(memory, namespace) as handle:
        decided = _decide(handle, request_id, "reject", by, reason=reason)
    _say(decided, as_json=as_json)


@app.command()
def acknowledge(
    request_id: RequestArgument,
    memory: MemoryOption,
    by: ByOption = None,
    reason: ReasonOption = None,
    namespace: QueueOption = WHOLE_FILE,
    as_json: JsonOption = False,
) -> None:
    """Say that a write which was made without asking was looked at."""
    asked = {"request_id": request_id, "by": by or _login(), "reason": reason}
    with opened(memory, namespace) as handle:
        looked_at = handle.call("acknowledge", given(asked))
    if as_json:
        print_json("acknowledge", looked_at)
        return
    console.print(f"{looked_at.id} is {looked_at.status}.")


@app.command()
def withdraw(
    request_or_run_id: Annotated[
        str, typer.Argument(metavar="ID", help="A request, such as a9, or a run, such as n5.")
    ],
    memory: MemoryOption,
    by: ByOption = None,
    reason: ReasonOption = None,
    namespace: QueueOption = WHOLE_FILE,
    as_json: JsonOption = False,
) -> None:
    """Take a request, or a whole run, out of the queue; the way out of an uncertain run."""
    asked = {"id": request_or_run_id, "by": by or _login(), "reason": reason}
    with opened(memory, namespace) as handle:
        withdrawn = handle.call("withdraw", given(asked))
    if as_json:
        print_json("withdraw", withdrawn)
    elif isinstance(withdrawn, ParkedRun):
        console.print(f"{withdrawn.id} is {withdrawn.status} and does not go on.")
    else:
        _say(withdrawn, as_json=False)


@app.command()
def expire(
    memory: MemoryOption,
    request_or_run_id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="A request, such as a9, or a run, such as n5, before its time."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Who expires the one named; your login name when left out.")
    ] = None,
    namespace: QueueOption = WHOLE_FILE,
    as_json: JsonOption = False,
) -> None:
    """Let the requests whose time is over stop waiting, or one that is named; their runs go on when resumed."""
    asked = {"id": request_or_run_id, "by": (by or _login()) if request_or_run_id is not None else None}
    with opened(memory, namespace) as handle:
        expired = handle.call("expire", given(asked))
    if as_json:
        print_json("expire", expired)
        return
    if not expired:
        console.print("Nothing is due.")
    for request in expired:
        _say(request, as_json=False)


@app.command()
def history(
    request_id: RequestArgument, memory: MemoryOption, namespace: QueueOption = WHOLE_FILE, as_json: JsonOption = False
) -> None:
    """Show what was decided about a request: who, what, when and why."""
    with opened(memory, namespace) as handle:
        decisions = handle.call("request_history", {"request_id": request_id})
    if as_json:
        print_json("request_history", decisions)
        return
    if not decisions:
        console.print(f"Nothing was decided about {request_id} yet.")
        return
    rows = [
        (day(one.decided_at), one.decision, one.decided_by, one.reason or "", one.arguments or "") for one in decisions
    ]
    print_table(("when", "decision", "by", "reason", "arguments"), rows)


@app.command()
def edit(
    request_id: RequestArgument,
    memory: MemoryOption,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change one argument; VALUE is JSON, or plain text."),
    ] = None,
    by: ByOption = None,
    reason: ReasonOption = None,
    preview: PreviewOption = None,
    namespace: QueueOption = WHOLE_FILE,
    as_json: JsonOption = False,
) -> None:
    """Change a request's arguments and approve the result; without --set, in your $EDITOR."""
    with opened(memory, namespace) as handle:
        before = json.loads(handle.call("show_request", {"request_id": request_id}).arguments)
    after = _with_changes(before, changes) if changes else _from_editor(before)
    with opened(memory, namespace) as handle:
        decided = _decide(handle, request_id, "edit", by, reason=reason, preview=preview, arguments=after)
    _say(decided, as_json=as_json)


def header(waiting: Sequence[ApprovalRequest], what_for: str = "a decision") -> str:
    """How many requests wait, and since when."""
    if not waiting:
        return f"Nothing waits for {what_for}."
    oldest = min(request.requested_at for request in waiting)
    return f"{len(waiting)} waiting, oldest {age(oldest, now())}"


def print_request(request: ApprovalRequest) -> None:
    """Print a request as its reviewer needs it: the change, the words, the arguments, and what was decided."""
    rows = [
        ("request", " · ".join(filter(None, (request.id, request.status, _agreed(request))))),
        ("call", f"{request.tool}, {_asked_by(request)}, in session {request.session_id or 'none'}"),
        ("arguments", request.arguments),
        ("words", request.words or "none on record"),
    ]
    if request.reason is not None:
        rows.append(("reason", request.reason))
    if request.expires_at is not None:
        rows.append(("expires", f"{day(request.expires_at)} UTC"))
    rows += _under(
        "changed" if _is_carried_out(request) else "would change", _changes(request.operation, request.preview)
    )
    rows += _under("duplicate of", [", ".join(request.preview.duplicates)] if request.preview.duplicates else [])
    rows += _under("may contradict", [_conflict(conflict) for conflict in request.preview.conflicts])
    rows += [("decided", _decision(decision)) for decision in request.decisions]
    if request.receipt is not None:
        rows.append(("written", _written(request.receipt)))
    rows.append(
        ("preview", request.preview.digest + (" · STALE: memory changed since it was asked" if request.stale else ""))
    )
    if request.seen is not None:
        rows += _under("it was:", _told(request.operation, request.seen))
        rows += _under("it is now:", _told(request.operation, request.preview))
    print_fields(rows)


def _asked_by(request: ApprovalRequest) -> str:
    if request.call_id is None and request.agent is None:
        return f"asked for by {request.requested_by or '?'}"
    return f"by agent {request.agent or '?'}"


def _changes(operation: str | None, preview: Preview) -> list[str]:
    if preview.problem is not None:
        return [f"nothing, it cannot work: {preview.problem}"]
    if operation is None:
        return ["unknown: the tool is not one of this memory's"]
    return [f"{change.effect}{f' {change.id}' if change.id else ''}: {change.text}" for change in preview.changes]


def _told(operation: str | None, preview: Preview) -> list[str]:
    """All that can make one preview differ from another."""
    return [
        *(_changes(operation, preview) or ["nothing"]),
        *(f"duplicate of {fact_id}" for fact_id in preview.duplicates),
        *(f"may contradict {_conflict(conflict)}" for conflict in preview.conflicts),
    ]


def _under(name: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    """Lines below one another, named once."""
    return [(name if index == 0 else "", line) for index, line in enumerate(lines)]


def _is_carried_out(request: ApprovalRequest) -> bool:
    return request.status in {RequestStatus.WRITTEN, RequestStatus.DONE}


def _conflict(conflict: PossibleConflict) -> str:
    return f"{conflict.id}: {conflict.text} (the {conflict.differs_in} differs)"


def _decision(decision: Any) -> str:
    reason = f": {decision.reason}" if decision.reason else ""
    what = f"{decision.decision}{', always in this run,' if decision.always else ''}"
    return f"{what} by {decision.decided_by} at {decision.decided_at:%Y-%m-%d %H:%M}{reason}"


def _agreed(request: ApprovalRequest) -> str:
    """How many of several people have approved; nothing where one is enough."""
    if request.approvals_needed == 1:
        return ""
    return f"{len(request.approved_by)} of {request.approvals_needed} approved"


def _print_list(waiting: Sequence[ApprovalRequest]) -> None:
    """The requests, with what only some have in columns that are there only then."""
    cells = [_cells(request) for request in waiting]
    columns = [name for name in cells[0] if name not in _ONLY_SOME or any(row[name] for row in cells)]
    print_table(columns, [[row[name] for name in columns] for row in cells])


def _cells(request: ApprovalRequest) -> dict[str, str]:
    return {
        "id": request.id,
        "age": age(request.requested_at, now()),
        "expires": "" if request.expires_at is None else f"in {age(now(), request.expires_at)}",
        "mark": "STALE" if request.stale else "",
        "run": request.run_id or "",
        "session": request.session_id or "",
        "agent": request.agent or "",
        "tool": request.tool,
        "what": shortened(request.arguments),
        "approvals": _agreed(request),
    }


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise InvalidInput("This process has no login name. Say who decides with --by.") from None


def _decide(memory: Memory, request_id: str, decision: str, by: str | None, **more: Any) -> ApprovalRequest:
    asked = {"request_id": request_id, "decision": decision, "by": by or _login(), **more}
    decided: ApprovalRequest = memory.call("decide", given(asked))
    return decided


def _say(decided: ApprovalRequest, *, as_json: bool) -> None:
    if as_json:
        print_json("decide", decided)
        return
    if decided.status is RequestStatus.PENDING:
        console.print(clean(f"{decided.id} waits on: {_agreed(decided)}."))
        return
    console.print(clean(f"{decided.id} is {decided.status}. {_what_follows(decided)}"))


def _what_follows(decided: ApprovalRequest) -> str:
    if decided.run_id is not None:
        return f"Run {decided.run_id} goes on when it is resumed."
    return "Nothing was written." if decided.receipt is None else f"It was written: {_written(decided.receipt)}."


def _written(receipt: Receipt | Episode) -> str:
    return f"{receipt.status} {receipt.id}" if isinstance(receipt, Receipt) else receipt.id


def _with_changes(before: dict[str, Any], changes: list[str]) -> dict[str, Any]:
    after = dict(before)
    for change in changes:
        name, separator, value = change.partition("=")
        if not separator:
            raise InvalidInput(f"{change!r:.60} is no change. Write --set NAME=VALUE.")
        after[name] = value if isinstance(before.get(name), str) else _value(value)
    return after


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _from_editor(before: dict[str, Any]) -> dict[str, Any]:
    shown = json.dumps(before, ensure_ascii=False, indent=2) + "\n"
    try:
        written = click.edit(shown, extension=".json")
    except click.ClickException:
        raise InvalidInput("The editor could not be run. Set $EDITOR, or use --set. The request still waits.") from None
    if written is None:
        raise InvalidInput("Nothing was changed in the editor. Use approve to take the request as it is.")
    try:
        after = json.loads(written)
    except ValueError:
        raise InvalidInput("What the editor left is not JSON. The request still waits.") from None
    if not isinstance(after, dict):
        raise InvalidInput("What the editor left is no JSON object. The request still waits.")
    for line in difflib.unified_diff(shown.splitlines(), written.splitlines(), "asked", "edited", lineterm=""):
        console.print(clean(line))
    typer.confirm("Approve it like this?", abort=True)
    return after
