"""A run's events as they come, with the outcome after the last: what streaming is for whoever reads it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from agents import RunResultStreaming, StreamEvent

from agents_memory._threads import settled
from agents_memory.errors import InvalidInput

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """What comes after the last event."""

    outcome: T


class Events(AsyncIterator[StreamEvent], Generic[T]):
    """The SDK's events of a run, and what became of it once all were read.

    Read it with `async for`. Whoever leaves before the end stops the run: close it with `aclose`, or use it as an
    `async with`, to stop it at once rather than when Python gets round to it.
    """

    def __init__(self, steps: AsyncGenerator[StreamEvent | Ended[T]]) -> None:
        self._steps = steps
        self._ended: Ended[T] | None = None

    @property
    def outcome(self) -> T:
        """What became of the run.

        Raises:
            InvalidInput: The events were not read to the end.
        """
        if self._ended is None:
            raise InvalidInput("There is no outcome yet. Read the events to the end, then ask for it.")
        return self._ended.outcome

    async def aclose(self) -> None:
        """Stop reading; a run that is not over is stopped."""
        await self._steps.aclose()

    async def __anext__(self) -> StreamEvent:
        step = await anext(self._steps)
        if isinstance(step, Ended):
            self._ended = step
            return cast("StreamEvent", await anext(self._steps))
        return step

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def events_of(streamed: RunResultStreaming) -> AsyncGenerator[StreamEvent]:
    """Every event of a run that was started; a reader that leaves early stops it, and waits until it has stopped."""
    is_read = False
    try:
        async with aclosing(cast("AsyncGenerator[StreamEvent]", streamed.stream_events())) as events:
            try:
                async for event in events:
                    yield event
                is_read = True
            finally:
                if not is_read:
                    streamed.cancel()
    finally:
        if streamed.run_loop_task is not None:
            await settled(cast("Any", streamed.run_loop_task))
    if streamed.run_loop_exception is not None:
        raise streamed.run_loop_exception
