"""Shell commands of the user.

They run like the `shell` tool but without approval or model. A command is one fact with a user
message. If the program dies during a command, nothing is stored.
"""

import asyncio
import logging
import os
import time
from collections.abc import Mapping

from msgspec import Struct

from yourtool.agent.history.channel import Channel
from yourtool.agent.session_environment import Place
from yourtool.agent.turn.calls.tool_runner import CANCEL_GRACE_SECONDS
from yourtool.errors import ToolError
from yourtool.events.deltas import ShellStarted, ToolOutputDelta
from yourtool.events.tools import ShellRan
from yourtool.foundation.masking import Mask
from yourtool.foundation.text import storable
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import PromptMessage, now
from yourtool.messages.metadata import Audience, Origin, PromptMetadata
from yourtool.process.environment import is_secret
from yourtool.tools.commands.shell import format_exit_code, run_command_line
from yourtool.tools.processes.output import HEAD_TAIL_BYTES, CommandOutput
from yourtool.tools.processes.process import LiveText, ProcessExit

NOT_STARTED = 126
"""Exit code of shells for a command that cannot be run.

https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_08_02
"""

_MIN_NAMED_LENGTH = 4
"""Minimum for a value that is masked with the name of its variable only, as `env` prints it."""

_log = logging.getLogger(__name__)


class UserShell(Struct):
    """Runs one command of the user."""

    session_id: str
    place: Place
    channel: Channel
    interrupt: Interrupt

    async def run(self, command: str, *, shared: bool) -> None:
        """Run a command; show its start, its output and the fact that ends it.

        There is no timeout. A stopped command ends with a fact too; cancelling this kills the
        command and its child processes and stores nothing.
        """

        def show(text: str) -> None:
            self.channel.post(ToolOutputDelta(tool_use_id=message_id, text=storable(text)))

        command, message_id, started = storable(command), new_id(), time.monotonic()
        mask = await asyncio.to_thread(lambda: add_assignments(self.place.mask(), os.environ))
        shown = await asyncio.to_thread(mask.text, command)
        output = CommandOutput(self.place.spill, LiveText(show), mask, colours=True)
        await self.channel.emit(ShellStarted(message_id=message_id, command=shown, shared=shared))
        running = asyncio.create_task(run_command_line(command, self.place.workspace, output))
        try:
            await self.interrupt.guard(asyncio.wait([running]))
        except Interrupted:
            pass
        finally:
            running.cancel()
            _, abandoned = await asyncio.wait([running], timeout=CANCEL_GRACE_SECONDS)
            if abandoned:
                _log.warning("abandoned a shell command of the user, which did not stop")
        code, error_message = _get_ending(running)
        status = "stopped by the user" if code is None else format_exit_code(code)
        texts = (
            f"$ {shown}\n",
            await asyncio.to_thread(mask.text, error_message or output.text(has_failed=code != 0)),
            f"[{status}; the user ran this command]",
        )
        await self.channel.emit(
            ShellRan(
                command=shown,
                exit_code=code,
                duration_seconds=round(time.monotonic() - started, 3),
                truncated=output.total_bytes > 2 * HEAD_TAIL_BYTES,
                message=self._message(message_id, texts, shared=shared),
            )
        )

    def _message(self, message_id: str, texts: tuple[str, ...], *, shared: bool) -> PromptMessage:
        return PromptMessage(
            id=message_id,
            session_id=self.session_id,
            content=tuple(TextBlock(_end_with_newline(text)) for text in texts),
            metadata=PromptMetadata(
                origin=Origin.USER_SHELL, audience=Audience.BOTH if shared else Audience.USER
            ),
            created_at=now(),
        )


def add_assignments(mask: Mask, environ: Mapping[str, str]) -> Mask:
    """Return a mask that also replaces secrets with ordinary values, as `env` prints them.

    Alone, such a value can be a word of the text. Only commands of the user have these variables.
    """
    found = [
        f"{name}={quote}{value}{quote}"
        for name, value in environ.items()
        if is_secret(name, value) and len(value) >= _MIN_NAMED_LENGTH
        for quote in ("", '"', "'")
    ]
    return mask.with_keys(found)


def _end_with_newline(text: str) -> str:
    """Return `text` with a newline at its end, unless it is empty."""
    text = storable(text)
    return f"{text}\n" if text and not text.endswith("\n") else text


def _get_ending(running: asyncio.Task[ProcessExit]) -> tuple[int | None, str]:
    """Return the exit code of a finished command, and the error if it could not be started."""
    if not running.done() or running.cancelled():
        return None, ""
    match running.exception():
        case None:
            code = running.result().code
            assert code is not None, "a command without a timeout has an exit code"
            return code, ""
        case ToolError() as error:
            return NOT_STARTED, str(error)
        case error:
            raise error
