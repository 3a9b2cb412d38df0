"""Channel from a session to its front end.

`Channel.run` is the one place where a coroutine becomes a stream. The functions below it are plain
coroutines: they return values, and show events with `emit` and `record`, from any task.

A transaction waits for the disk for milliseconds. Meanwhile the coroutine continues: a request is
sent, or a tool without effects runs, during the write. What it emits is held back until the facts
in front of it are stored. How far it can run ahead depends on these facts; see `Recorder`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from yourtool.agent.history.recorder import Recorder
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.deltas import ToolOutputDelta
from yourtool.events.facts import Fact

F = TypeVar("F", bound=AnyFact)
P = ParamSpec("P")

MAX_WAITING = 16
"""Events that wait for a slow front end before the coroutine does, too."""


class Channel:
    """The events of one turn, or of another change of a session, in their order.

    Shows nothing while no front end reads it.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        """Stores facts that are not shown."""
        self._waiting = deque[tuple[int, Event]]()
        """By the number of facts that were deferred before."""
        self._is_open = self._is_idle = False
        """A front end reads the channel; it has shown everything."""
        self._added, self._taken = asyncio.Event(), asyncio.Event()

    async def run(
        self, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> AsyncGenerator[Event, None]:
        """Run a coroutine and yield what it emits; closing this stops it and waits for its end.

        Raises:
            StoreError: a deferred fact could not be stored.
        """
        self._is_open = True
        running = asyncio.create_task(work())
        running.add_done_callback(lambda _: self._added.set())
        try:
            while True:
                while self._waiting:
                    await self.recorder.wait_stored(self._waiting[0][0])
                    _, event = self._waiting.popleft()
                    self._taken.set()
                    yield event
                if running.done():
                    await running
                    return
                self._is_idle = True
                self._added.clear()
                self._taken.set()
                await self._added.wait()
                self._is_idle = False
        finally:
            self._is_open = False
            self._taken.set()
            if not running.done():
                running.cancel()
                await asyncio.wait([running])
            if not running.cancelled():
                running.result()

    async def emit(self, *events: Event, parent: str | None = None) -> None:
        """Show events; facts, with the event id of their `parent`, are stored before."""
        for event in events:
            if isinstance(event, Fact):
                await self.record(event, parent=parent)
            else:
                await self._show(event)

    def post(self, delta: ToolOutputDelta) -> None:
        """Show output without waiting, for a caller that cannot wait."""
        self._add(delta)

    async def record(self, fact: F, *, parent: str | None = None) -> F:
        """Store a fact, then show it, and return it as stored; raises as `Recorder`."""
        stored = await self.recorder(fact, parent=parent)
        await self._show(stored)
        return stored

    async def defer(self, fact: F, *, parent: str | None = None) -> F:
        """Show a fact when it is stored with the next one or soon; raises as `Recorder.defer`."""
        deferred = self.recorder.defer(fact, parent=parent)
        await self._show(deferred)
        return deferred

    async def begin(self, fact: F, *, parent: str | None = None) -> F:
        """Show a fact when it is stored, which is started at once; raises as `Recorder.begin`."""
        begun = await self.recorder.begin(fact, parent=parent)
        await self._show(begun)
        return begun

    async def wait_shown(self) -> None:
        """Wait until everything so far is shown, as before a question to the user."""
        while self._is_open and not (self._is_idle and not self._waiting):
            self._taken.clear()
            await self._taken.wait()

    async def _show(self, event: Event) -> None:
        """Add an event, after waiting for a slow front end; what the disk holds back can wait."""
        while len(self._waiting) >= MAX_WAITING and self._waiting[0][0] <= self.recorder.stored:
            if not self._is_open:
                return
            self._taken.clear()
            await self._taken.wait()
        self._add(event)

    def _add(self, event: Event) -> None:
        if self._is_open:
            self._waiting.append((self.recorder.deferred, event))
            self._added.set()


class _Recording(Protocol):
    """An object whose verbs record facts."""

    record: Recorder


R = TypeVar("R", bound=_Recording)


def shows_events(
    verb: Callable[Concatenate[R, Channel, P], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[R, P], AsyncGenerator[Event, None]]:
    """Let front ends iterate over what a coroutine method emits to its channel."""

    @wraps(verb)
    def run(self: R, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Event, None]:
        channel = Channel(self.record)
        return channel.run(partial(verb, self, channel, *args, **kwargs))

    return run
