"""Background processes with facts and reports."""

import asyncio
from collections.abc import Callable
from typing import Literal, TypeAlias

from yourtool.agent.history.channel import Channel
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.events.deltas import Notice
from yourtool.events.tools import ProcessEnded, ProcessesReported, ProcessStarted
from yourtool.foundation.text import storable
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import PromptMessage, now
from yourtool.messages.metadata import Audience, Origin, PromptMetadata
from yourtool.tools.background import ProcessTable, RunningCommand
from yourtool.tools.commands.process_tools import describe_ended

LEAVE_SECONDS = 0.3
"""How long the end of a session waits for its processes, which get SIGKILL later."""

ProcessFact: TypeAlias = ProcessStarted | ProcessEnded


class SessionProcesses:
    """Records the start and the end of each background process."""

    def __init__(
        self, session_id: str, state: State, record: Recorder, table: ProcessTable
    ) -> None:
        self._session_id = session_id
        self._state = state
        self._record = record
        self._table = table
        self._show: Callable[[ProcessFact | Notice], None] | None = None
        self._is_closed = False
        table.owner = session_id
        table.on_start, table.on_end = self._record_start, self._record_end
        table.on_server = self._show_server
        table.continue_after(state.processes.count)

    def show_with(self, show: Callable[[ProcessFact | Notice], None]) -> None:
        """Set the function that gets each fact and each new server, also between turns."""
        self._show = show

    @property
    def all(self) -> tuple[RunningCommand, ...]:
        """The background processes since the session was opened."""
        return self._table.background

    @property
    def running_count(self) -> int:
        """The number of background processes that run."""
        return len(self._table.running)

    def get(self, name: str) -> RunningCommand:
        """Return the background process with an id.

        Raises:
            ToolError: there is none.
        """
        return self._table.get(name)

    def move_to_background(self) -> int:
        """Move the running commands of the turn to the background; return how many there are."""
        return self._table.move_to_background()

    async def report(self, channel: Channel) -> None:
        """Record for the model which processes have ended since its last request, if any."""
        lines = describe_ended(self._table.take_ended())
        lines += self._state.processes.describe_left()
        if lines:
            message = PromptMessage(
                id=new_id(),
                session_id=self._session_id,
                content=(TextBlock(storable("\n".join(lines))),),
                metadata=PromptMetadata(origin=Origin.PROCESSES, audience=Audience.MODEL),
                created_at=now(),
            )
            await channel.emit(ProcessesReported(message=message))

    async def record_leaving(self) -> None:
        """Record that the processes that run end with the session."""
        self._is_closed = True
        for process in self._table.running:
            await self._record(_build_end(process, "session_ended"))

    async def close(self) -> None:
        """End all processes; those that take longer end later."""
        self._is_closed = True
        await asyncio.wait({asyncio.ensure_future(self._table.close())}, timeout=LEAVE_SECONDS)

    async def _record_start(self, process: RunningCommand) -> None:
        self._publish(
            await self._record(ProcessStarted(process_id=process.id, command=process.command))
        )

    async def _record_end(self, process: RunningCommand) -> None:
        if not self._is_closed:
            reason = "stopped" if process.was_stopped else "exited"
            self._publish(await self._record(_build_end(process, reason)))

    def _show_server(self, process: RunningCommand, text: str) -> None:
        self._publish(Notice(level="info", text=f"Process {process.id} {text}"))

    def _publish(self, fact: ProcessFact | Notice) -> None:
        if self._show is not None:
            self._show(fact)


def _build_end(
    process: RunningCommand, reason: Literal["exited", "stopped", "session_ended"]
) -> ProcessEnded:
    return ProcessEnded(
        process_id=process.id,
        command=storable(process.command),
        reason=reason,
        exit_code=process.exit_code if reason == "exited" else None,
    )
