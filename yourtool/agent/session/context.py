"""Context of the next request.

It includes the choices of the user for single messages.
"""

import asyncio
from collections.abc import Awaitable, Callable

from yourtool.agent.history.channel import Channel, shows_events
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.agent.requests import next_request
from yourtool.agent.turn.turn import Turn
from yourtool.errors import UsageError
from yourtool.events.context import ContextOverridden, Override
from yourtool.interrupt import Interrupt


class SessionContext:
    """The context of one session."""

    def __init__(
        self,
        state: State,
        record: Recorder,
        is_busy: Callable[[], bool],
        build_turn: Callable[[Channel, Interrupt], Awaitable[Turn]],
    ) -> None:
        """`build_turn` returns a turn that is not run."""
        self._state = state
        self.record = record
        self._is_busy = is_busy
        self._build_turn = build_turn

    async def compose(self) -> "next_request.NextRequest":
        """Return the next request as it would be sent now, without a new prompt."""
        turn = await self._build_turn(Channel(self.record), Interrupt())
        return await asyncio.to_thread(next_request.compose_next, turn)

    @shows_events
    async def override(self, channel: Channel, message_id: str, override: Override) -> None:
        """Choose what all later requests have of a message.

        Raises:
            UsageError: a turn is running, or the last prompt would be omitted.
        """
        if self._is_busy():
            raise UsageError("A turn is running; wait until it ends or stop it.")
        last = next((each.id for each in reversed(self._state.prompts)), "")
        if override == "omitted" and message_id == last:
            raise UsageError("The last prompt is always sent; `/rewind` goes back before it.")
        if self._state.branch.overrides.find(message_id) != override:
            await channel.emit(ContextOverridden(target=message_id, override=override))
