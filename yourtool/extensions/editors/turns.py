"""Open session of a client."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from acp.exceptions import RequestError
from acp.schema import (
    ConfigOptionUpdate,
    CurrentModeUpdate,
    PromptResponse,
    StopReason,
    TextContentBlock,
    Usage,
)

from yourtool.agent.commands.base import Invocation
from yourtool.errors import UsageError
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.sessions import SessionEffortSelected, SessionModelSelected
from yourtool.extensions.editors.client import Client
from yourtool.extensions.editors.commands import SessionCommands, play_command
from yourtool.extensions.editors.content import PromptBlock, to_blocks
from yourtool.extensions.editors.options import build_options
from yourtool.extensions.editors.updates import Situation, to_acp
from yourtool.messages import metadata
from yourtool.messages.blocks import ContentBlock
from yourtool.run_result import ExitCode, Outcome, Result
from yourtool.tools.processes.json_rpc import INTERNAL_ERROR, INVALID_REQUEST

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_REFUSALS = (metadata.StopReason.REFUSAL, metadata.StopReason.CONTENT_FILTER)
_ANSWERED = (ExitCode.ANSWERED, ExitCode.DENIED)


class OpenSession:
    """One session, whose events the client gets as updates."""

    def __init__(self, session: "Session", runtime: "Runtime", client: Client) -> None:
        self.session = session
        self._runtime = runtime
        self._client = client
        self._turn = asyncio.Lock()
        self._is_cancelled = False
        self._commands = SessionCommands(session, runtime)
        session.processes.show_with(self._show_later)
        is_copy = session.workspace.parent == runtime.paths.scratch  # which no editor has open
        if client.reads_files and not is_copy:
            session.read_unsaved_with(lambda path: client.read_file(session.id, str(path)))
        self._shown = set[asyncio.Task[None]]()

    async def prompt(self, prompt: list[PromptBlock]) -> PromptResponse:
        """Run a turn; a turn that fails is an error of the request.

        Raises:
            RequestError: a turn is running, or this one failed.
            UsageError: the prompt is not valid, or the model does not take it.
        """
        if self._turn.locked():
            text = "A prompt is running in this session; wait for its answer or cancel it."
            raise RequestError(INVALID_REQUEST, text)
        async with self._turn:
            self._is_cancelled = False
            for warning in self._runtime.take_warnings():
                await self.show(Notice(level="warning", text=warning))
            await self._show_commands()
            if (found := self._find_command(prompt)) is not None:
                return await self._run_command(found)
            content = await asyncio.to_thread(
                to_blocks, prompt, self.session.workspace, self._runtime.mask_keys
            )
            self._require_accepted(content)
            return _to_response(await self._run(self.session.send(content)))

    def cancel(self) -> None:
        """Stop the running turn with its workers, if there is one."""
        self._is_cancelled = True
        self.session.cancel()
        self.session.cancel()

    async def show(self, event: Event) -> None:
        """Show an event to the client."""
        updates = to_acp(event, self.build_situation(event))
        await self._client.show(self.session.id, *updates)

    async def apply(self, events: AsyncGenerator[Event, None]) -> None:
        """Show the events of a change."""
        async with aclosing(events):
            async for event in events:
                await self.show(event)

    def build_situation(self, event: Event | None = None) -> Situation:
        """Return what the updates for an event have in addition to it."""
        session = self.session
        if isinstance(event, LlmCallCompleted):
            model = self._runtime.catalogue.get(event.model)
            return Situation(
                workspace=session.workspace,
                context_window=model.window or 0,
                cost_usd=session.state.cost_usd,
            )
        if isinstance(event, SessionModelSelected | SessionEffortSelected):
            options = build_options(session, self._runtime)
            return Situation(workspace=session.workspace, options=options)
        return Situation(workspace=session.workspace)

    async def close(self) -> None:
        """Stop the turn and store the end of the session."""
        self.cancel()
        async with self._turn:
            await self.session.close()

    async def _run_command(self, found: Invocation | Notice) -> PromptResponse:
        """Run a command, which can start a turn, and show the settings that it may have changed."""
        if isinstance(found, Notice):
            await self.show(found)
            return PromptResponse(stop_reason="end_turn")
        result = await self._run(play_command(found, self.session, self._runtime))
        await self.show_settings()
        if result.turn_id is None:
            stop: StopReason = "cancelled" if self._is_cancelled else "end_turn"
            return PromptResponse(stop_reason=stop)
        return _to_response(result)

    async def show_settings(self) -> None:
        """Show the mode, the model and the reasoning effort."""
        session = self.session
        mode = CurrentModeUpdate(
            session_update="current_mode_update", current_mode_id=session.mode.value
        )
        found = build_options(session, self._runtime)
        settings = ConfigOptionUpdate(
            session_update="config_option_update", config_options=[*found]
        )
        await self._client.show(session.id, mode, settings)

    async def _run(self, events: AsyncGenerator[Event, None]) -> Result:
        outcome = Outcome()
        async with aclosing(events):
            async for event in events:
                outcome.apply(event)
                if self._is_cancelled:  # before the turn could be cancelled
                    self.session.cancel()
                await self.show(event)
        return outcome.result(self.session.id, self.session.limit_reached)

    def _require_accepted(self, content: tuple[ContentBlock, ...]) -> None:
        if (problem := self.session.find_rejection(*content)) is not None:
            raise UsageError(problem)

    def _show_later(self, event: Event) -> None:
        """Show an event that happens outside of a turn."""
        self._start(self.show(event))

    def offer_commands(self) -> None:
        """Show the slash commands, when the answer to the present request has been sent."""
        self._start(self._show_commands())

    async def _show_commands(self) -> None:
        """Show the slash commands if they are others than before: servers connect later."""
        if (update := await self._commands.find_update()) is not None:
            await self._client.show(self.session.id, update)

    def _find_command(self, prompt: list[PromptBlock]) -> Invocation | Notice | None:
        """Return the command that a prompt starts with, if it is one text."""
        match prompt:
            case [TextContentBlock(text=text)]:
                return self._commands.find_invocation(text)
            case _:
                return None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._shown.add(task)
        task.add_done_callback(self._shown.discard)


def _to_response(result: Result) -> PromptResponse:
    """Return the answer to a prompt.

    Raises:
        RequestError: the turn failed.
    """
    error = result.error
    if error is not None and result.exit_code not in (
        *_ANSWERED,
        ExitCode.INTERRUPTED,
        ExitCode.LIMIT,
    ):
        data = {"class": error.error_class, "status": error.status, "retryable": error.retryable}
        raise RequestError(INTERNAL_ERROR, error.message, data)
    counts = result.usage
    prompt_tokens = (
        counts.input_tokens + counts.cached_input_tokens + counts.cache_creation_input_tokens
    )
    return PromptResponse(
        stop_reason=_to_stop_reason(result),
        usage=Usage(
            total_tokens=prompt_tokens + counts.output_tokens,
            input_tokens=counts.input_tokens,
            output_tokens=counts.output_tokens,
            cached_read_tokens=counts.cached_input_tokens,
            cached_write_tokens=counts.cache_creation_input_tokens,
        ),
    )


def _to_stop_reason(result: Result) -> StopReason:
    if result.exit_code is ExitCode.INTERRUPTED:
        return "cancelled"
    if result.exit_code is ExitCode.LIMIT:
        return "max_turn_requests"
    if result.stop_reason == metadata.StopReason.MAX_TOKENS:
        return "max_tokens"
    return "refusal" if result.stop_reason in _REFUSALS else "end_turn"
