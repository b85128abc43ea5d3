"""The reviewer's process of `agents-memory demo`: `python -m agents_memory.cli.demo_review FILE`.

It does what `agents-memory approvals list`, `show`, `approve`, `edit` and `reject` do, and never imports the SDK.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from agents_memory.cli.approvals import header, print_request
from agents_memory.cli.output import WHOLE_FILE, clean, console, opened, shortened
from agents_memory.types import ApprovalRequest

REVIEWER = "eve"


def review(file: str) -> None:
    """List what waits, show each request, approve the first, edit the second and reject the rest."""
    with opened(file, WHOLE_FILE) as memory:
        waiting: Sequence[ApprovalRequest] = memory.call("pending")
        console.print(f"   process {os.getpid()}, SDK imported: {'yes' if 'agents' in sys.modules else 'no'}")
        console.print(f"   {header(waiting)}")
        for request in waiting:
            console.print(clean(f"   {request.id}  {request.tool}  {shortened(request.arguments)}"))
        console.print("\n4. What each would change, and the decisions")
        for index, listed in enumerate(waiting):
            request = memory.call("show_request", {"request_id": listed.id})
            print_request(request)
            decision = _decision(index, request)
            memory.call(
                "decide", {"request_id": request.id, "by": REVIEWER, "preview": request.preview.digest, **decision}
            )
            reason = f" ({decision['reason']})" if "reason" in decision else ""
            console.print(f"   => {REVIEWER}: {decision['decision']} {request.id}{reason}\n")


def _decision(index: int, request: ApprovalRequest) -> dict[str, Any]:
    if index == 0:
        return {"decision": "approve"}
    arguments = json.loads(request.arguments)
    if index == 1 and "content" in arguments:
        content = arguments["content"].replace("Friday", "Thursday")
        return {"decision": "edit", "arguments": {**arguments, "content": content}, "reason": "It moved to Thursday."}
    return {"decision": "reject", "reason": "Access codes do not belong in memory."}


if __name__ == "__main__":
    review(sys.argv[1])
