"""Tools that answer an agent.

`agent_call` permits a call and waits for its end, `agent_report` has what happened without a
question. `read_file` and `write_file` are the built-in ones, with their rules, previews and
journal; the agent gets the text of the file, or that it was written.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from yourtool.effects import Preview, SideEffects, Subject, ToolDefinition, ToolHints
from yourtool.errors import ToolError, ToolFailure
from yourtool.extensions.agents.adapter import AGENT_REPORT, AgentAdapter, PendingCall
from yourtool.extensions.agents.agent import FoundChanges, always, never
from yourtool.extensions.agents.calls import ForeignCall
from yourtool.extensions.agents.messages import RESOURCE_NOT_FOUND, Asked, FileRequest, find_option
from yourtool.messages.blocks import TextBlock
from yourtool.permissions import configured_places
from yourtool.permissions.rules import AGENT_CALL
from yourtool.tools.adjusted_arguments import AdjustedArguments
from yourtool.tools.base import ToolContext, ToolOutput, storable_output
from yourtool.tools.edits.edit import write_file
from yourtool.tools.edits.file_changes import MAX_EDITABLE_BYTES
from yourtool.tools.files.files import read_file
from yourtool.tools.toolset import Tool, Toolbox
from yourtool.tools.workspace.encoding import detect_encoding
from yourtool.tools.workspace.replacing import digest

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "kind": {"type": "string"},
        "paths": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["title", "kind"],
}
_CALL_SECONDS = 24 * 3600.0
"""The user stops a call that takes too long."""
_NOT_PENDING = "The agent does not wait for this call any more."
_STILL_RUNS = "[It was still running when the agent asked for something else.]"
_MAX_NAMED = 20


def build_toolbox(adapter: AgentAdapter) -> Toolbox:
    """Return the tools of turns that the agent answers."""
    return Toolbox(
        (
            AgentCall(adapter),
            AgentReport(adapter),
            _FileAnswer(adapter, read_file),
            _FileAnswer(adapter, write_file),
        )
    )


class _AgentTool:
    """A tool whose calls are those of the agent, as it described them."""

    timeout_seconds = _CALL_SECONDS
    has_preview = False

    def __init__(self, adapter: AgentAdapter, definition: ToolDefinition) -> None:
        self.definition = definition
        self.adapter = adapter

    def adjust(self, arguments: dict[str, Any]) -> AdjustedArguments:
        """Return the arguments unchanged."""
        return AdjustedArguments(arguments)

    def parse(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments, which are for the user only."""
        return arguments

    def subjects(self, args: dict[str, Any]) -> tuple[Subject, ...]:
        """Return an opaque subject: what the agent claims is no reason to allow it."""
        del args
        return (Subject("opaque"),)

    async def preview(self, args: dict[str, Any], context: ToolContext) -> Preview | None:
        """Return None: nothing is asked."""
        del args, context
        return None

    def take(self, context: ToolContext) -> PendingCall:
        """Return what a call is about, once.

        Raises:
            ToolError: the agent did not make the call.
        """
        if (pending := self.adapter.pending.pop(context.tool_use_id, None)) is None:
            raise ToolError(_NOT_PENDING, ToolFailure.CANCELLED)
        return pending

    async def add_changes(
        self, context: ToolContext, is_asked: Callable[[str], bool] = never
    ) -> str:
        """Journal what the agent changed; return a note about what was not asked.

        `is_asked`: as for `Agent.find_changes`.
        """
        agent, added = self.adapter.agent, list[FoundChanges]()
        await context.run_in_thread(agent.find_changes, is_asked)
        while agent.found:
            added.append(agent.found.pop(0))
            await asyncio.shield(context.journal.add(added[-1].changes))
        return _describe_unasked(agent.name, added)

    def build_output(self, texts: tuple[str, ...], *, success: bool, is_last: bool) -> ToolOutput:
        """Return the result of a call that the agent ran."""
        return ToolOutput(
            tuple(TextBlock(text) for text in texts if text),
            success=success,
            details={"run_by": self.adapter.agent.name},
            terminate=is_last,
        )


class AgentCall(_AgentTool):
    """Permits a call of the agent and waits for its end."""

    has_preview = True

    def __init__(self, adapter: AgentAdapter) -> None:
        super().__init__(
            adapter,
            ToolDefinition(
                name=AGENT_CALL,
                description="A call that another agent made in this conversation, and ran itself.",
                input_schema=_SCHEMA,
                side_effects=SideEffects.EXECUTE,
                records_changes=True,
                hints=ToolHints(label=adapter.agent.name, kind="execute"),
            ),
        )

    async def preview(self, args: dict[str, Any], context: ToolContext) -> Preview | None:
        """Return what the agent claims about it; a place outside always needs a question."""
        del args
        pending = self.adapter.pending.get(context.tool_use_id)
        if pending is None or not isinstance(pending.asked, Asked):
            raise ToolError(_NOT_PENDING, ToolFailure.CANCELLED)
        call, name = pending.asked.call, self.adapter.agent.name
        preview = await context.run_in_thread(call.build_preview, name)
        is_asked = await context.run_in_thread(_needs_question, preview.paths, context)
        return replace(preview, protected=preview.protected or is_asked)

    async def run(self, args: dict[str, Any], context: ToolContext) -> ToolOutput:
        """Permit the call, and return what the agent reports about it.

        Raises:
            ToolError: the agent offers no permission for one call.
        """
        pending, agent = self.take(context), self.adapter.agent
        asked = pending.asked
        assert isinstance(asked, Asked), "the preview checked it"
        call = asked.call
        if args != pending.input:
            raise ToolError("A hook changed this call of an agent, which cannot be changed.")
        if (option := find_option(asked, "allow_once")) is None:
            raise ToolError(
                f"`{agent.name}` offers no permission for this one call, so it got none.",
                ToolFailure.PERMISSION_DENIED,
            )
        notes = [await self.add_changes(context)]
        named = await context.run_in_thread(_find_named, context)
        agent.answer(asked, {"outcome": {"outcome": "selected", "optionId": option}})
        try:
            await agent.wait_for_end(call)
        finally:
            is_asked = always if named is None else named.__contains__
            notes.append(await self.add_changes(context, is_asked))
        if call.is_over:
            text = await asyncio.to_thread(call.format_result)
        elif agent.is_working:
            call.is_told, text = False, _STILL_RUNS
            agent.permitted[call.id] = named or set()
        else:
            text = "The agent reported no end of this call."
        success = call.status == "completed" or text == _STILL_RUNS
        output = self.build_output((text, *notes), success=success, is_last=False)
        return storable_output(output, context.mask)


class AgentReport(_AgentTool):
    """Has what the agent did without a question."""

    def __init__(self, adapter: AgentAdapter) -> None:
        super().__init__(
            adapter,
            ToolDefinition(
                name=AGENT_REPORT,
                description="What another agent did in this conversation without a question.",
                input_schema=_SCHEMA,
                side_effects=SideEffects.NONE,
                hints=ToolHints(label=f"{adapter.agent.name}, not asked"),
            ),
        )

    async def run(self, args: dict[str, Any], context: ToolContext) -> ToolOutput:
        """Journal what changed, and return what the agent reports."""
        del args
        pending = self.take(context)
        note = await self.add_changes(context)
        text, success = "", not note
        if (call := pending.report) is not None:
            self.adapter.agent.permitted.pop(call.id, None)
            text = await asyncio.to_thread(_format_report, call)
            success = success and call.status == "completed"
        output = self.build_output((text, note), success=success, is_last=pending.is_last)
        return storable_output(output, context.mask)


class _FileAnswer:
    """A built-in tool for files, whose result also answers the agent."""

    has_preview = True

    def __init__(self, adapter: AgentAdapter, tool: Tool) -> None:
        self.definition, self.timeout_seconds = tool.definition, tool.timeout_seconds
        self._adapter = adapter
        self._tool = tool

    def adjust(self, arguments: dict[str, Any]) -> AdjustedArguments:
        """Return the arguments as the built-in tool takes them."""
        return self._tool.adjust(arguments)

    def parse(self, arguments: dict[str, Any]) -> Any:
        """Return the arguments as the built-in tool takes them."""
        return self._tool.parse(arguments)

    def subjects(self, args: Any) -> tuple[Subject, ...]:
        """Return the path."""
        return self._tool.subjects(args)

    async def preview(self, args: Any, context: ToolContext) -> Preview | None:
        """Return the change as a diff that the user cannot edit: the agent would not learn it.

        Raises:
            ToolError: the agent did not make the call, or it cannot succeed.
        """
        if context.tool_use_id not in self._adapter.pending:
            raise ToolError(_NOT_PENDING, ToolFailure.CANCELLED)
        if self._tool is write_file:
            await context.run_in_thread(_note_current, args.path, context)
        preview = await self._tool.preview(args, context)
        return None if preview is None else replace(preview, editable=None)

    async def run(self, args: Any, context: ToolContext) -> ToolOutput:
        """Read or write the file, and answer the agent."""
        pending, agent = self._adapter.pending.pop(context.tool_use_id), self._adapter.agent
        request = pending.asked
        assert isinstance(request, FileRequest), "the preview checked it"
        given = pending.input
        if args != self._tool.parse(self._tool.adjust(given).values):
            raise ToolError("A hook changed this call of an agent, which cannot be changed.")
        text = None
        if request.content is None:
            if await context.run_in_thread(context.workspace.kind, args.path) is None:
                reason = f"Resource not found: `{args.path}` does not exist."
                agent.refuse(request, reason, RESOURCE_NOT_FOUND)
            text = await context.run_in_thread(_read_text, args.path, request, context)
        output = await self._tool.run(args, context)
        agent.answer(request, {} if text is None else {"content": text})
        details = {**(output.details or {}), "asked_by": agent.name}
        return replace(output, details=details)


def _note_current(path: str, context: ToolContext) -> None:
    """Note the content of a file as read, because the agent can read files in other ways."""
    workspace = context.workspace
    workspace.check(path, writing=True)
    if workspace.kind(path) is not None:
        data = workspace.read(path, limit=MAX_EDITABLE_BYTES)
        context.reads.record(workspace.locate(path), digest(data))


def _read_text(path: str, request: FileRequest, context: ToolContext) -> str:
    """Return the lines of a file that the agent asks for.

    Raises:
        ToolError: it cannot be read, or is no text.
    """
    data = context.workspace.read(path, limit=MAX_EDITABLE_BYTES)
    if (encoding := detect_encoding(data)) is None:
        raise ToolError(f"`{path}` is no text.")
    text = encoding.show(data)
    if request.line is None and request.limit is None:
        return text
    lines, start = text.splitlines(keepends=True), (request.line or 1) - 1
    end = None if request.limit is None else start + request.limit
    return "".join(lines[start:end])


def _needs_question(paths: tuple[str, ...], context: ToolContext) -> bool:
    """Whether a path is outside the workspace, or git or a hook manager uses it."""
    places = configured_places.Protection(context.workspace.root)
    for path in paths:
        try:
            located = context.workspace.locate(path)
            context.workspace.check(path, writing=True)
        except ToolError:
            return True
        if places.find(located) is not None:
            return True
    return False


def _format_report(call: ForeignCall) -> str:
    unfinished = "" if call.is_over else "\n[The agent reported no end of this call.]"
    return call.format_result() + unfinished


def _find_named(context: ToolContext) -> set[str] | None:
    """Return the real paths that the user saw in a diff; None: the question had no diff."""
    approved, found = context.approved, set[str]()
    if approved is None or approved.kind != "diff":
        return None
    for path in approved.paths:
        with suppress(ToolError):
            found.add(context.workspace.locate(path))
    return found


def _describe_unasked(name: str, found: Sequence[FoundChanges]) -> str:
    """Return a note about changes that the agent made without a question; empty without any."""
    paths = [f"`{path}`" for each in found for path in each.unasked]
    if not paths:
        return ""
    named = ", ".join(paths[:_MAX_NAMED])
    more = max(0, len(paths) - _MAX_NAMED) + sum(each.changes.omitted for each in found)
    rest = f" and {more:,} more" if more > 0 else ""
    return f"[`{name}` changed without a question: {named}{rest}.]"
