"""The one crossing from async callers to the synchronous core.

A cancelled caller waits until its call is settled, and only then sees the cancellation: a write is never left running
behind the back of whoever believes it was cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run `function` in a worker thread; the event loop stays free.

    Args:
        function: Any blocking callable. Context variables are copied into its thread.
        *args: Passed through.
        **kwargs: Passed through.

    Returns:
        What `function` returned.

    Raises:
        asyncio.CancelledError: The caller was cancelled; `function` had ended by then, whatever its outcome.
    """
    call = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        await settled(call)
    except asyncio.CancelledError:
        if not call.cancelled():
            call.exception()  # retrieved, so that asyncio does not report it as never looked at
        raise
    return call.result()


async def settled(*tasks: asyncio.Future[Any]) -> None:
    """Wait until every task has ended, however often the caller is cancelled meanwhile.

    Raises:
        asyncio.CancelledError: The caller was cancelled; the tasks have ended by then.
    """
    cancelled: asyncio.CancelledError | None = None
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        raise cancelled
