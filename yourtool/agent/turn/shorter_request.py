"""Whether a rejected request is sent again: only if the next one is shorter or has less."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from yourtool.agent.turn.compaction import (
    describe_largest_parts,
    make_room_after_rejection,
)
from yourtool.agent.turn.request import shorten_next_request
from yourtool.agent.turn.turn import Turn
from yourtool.errors import ErrorClass
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallFailed

_MOST_ELISIONS = 3
"""Rejections for the length of requests after which omitting one more output is not enough."""


class ShorterRequest:
    """Makes the next request shorter than one that failed."""

    def __init__(self, turn: Turn, failure: LlmCallFailed) -> None:
        self.is_possible = False
        """Whether the next request differs from the failed one; set by `prepare`."""
        self._turn = turn
        self._failure = failure

    async def prepare(self) -> AsyncGenerator[Event, None]:
        """Shorten the next request, by one kind of room, and yield what changed.

        Raises:
            Interrupted: the turn was stopped.
        """
        turn = self._turn
        notices = shorten_next_request(self._failure, turn)
        self.is_possible = notices is not None
        for notice in notices or ():
            yield notice
        is_too_long = self._failure.error_class == ErrorClass.CONTEXT_OVERFLOW
        turn.rejections += is_too_long
        is_enough = self.is_possible and turn.rejections <= _MOST_ELISIONS
        if not is_too_long or is_enough or self._failure.message is not None:
            return
        async with aclosing(make_room_after_rejection(turn)) as facts:
            async for fact in facts:
                if not isinstance(fact, Notice):
                    self.is_possible, turn.rejections = True, 0
                yield fact
        if not self.is_possible:
            yield Notice(level="error", text=await describe_largest_parts(turn))
