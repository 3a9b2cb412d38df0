"""Events in their order, each one after the facts before it are stored.

A transaction waits for the disk for milliseconds. Meanwhile the source of the events continues: a
request is sent, or a tool without effects runs, during the write. What it yields is held back. How
far it can run ahead depends on the facts that it waits for; see `Recorder`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from yourtool.agent.history.recorder import Recorder
from yourtool.events.catalog import Event


async def show_stored(
    source: AsyncGenerator[Event, None], record: Recorder
) -> AsyncGenerator[Event, None]:
    """Yield the events of `source`, each one when every fact before it is stored; close it.

    Raises:
        StoreError: a deferred fact could not be stored.
    """
    held = deque[tuple[int, Event]]()
    changed = asyncio.Event()
    ahead: asyncio.Task[bool] | None = None

    async def run_ahead() -> bool:
        """Hold events until everything is stored; return whether the source continues."""
        async for event in source:
            held.append((record.deferred, event))
            changed.set()
            if record.is_stored:
                return True
        return False

    with record.watched(changed.set):
        try:
            while True:
                if ahead is None:
                    if (event := await anext(source, None)) is None:
                        return
                    if record.is_stored:
                        yield event
                        continue
                    held.append((record.deferred, event))
                    ahead = asyncio.create_task(run_ahead())
                    ahead.add_done_callback(lambda _: changed.set())
                await changed.wait()
                changed.clear()
                is_over = ahead.done()
                if is_over or record.has_failed:
                    await record.flush()
                while held and held[0][0] <= record.stored:
                    yield held.popleft()[1]
                if is_over:
                    if not await ahead:
                        return
                    ahead = None
        finally:
            await _stop(ahead)
            await source.aclose()


async def _stop(ahead: asyncio.Task[bool] | None) -> None:
    """Stop running ahead, so that the source can be closed."""
    if ahead is None:
        return
    ahead.cancel()
    await asyncio.wait([ahead])
    if not ahead.cancelled():
        ahead.exception()  # of no interest: the consumer has stopped, or the disk failed before
