"""Command `/request`.

It shows the parts of a request, their shares, and the effect of the provider's cache.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yourtool.agent.commands.base import CommandResults, Report, Section, SlashCommand
from yourtool.agent.requests.inspector import (
    RequestSettings,
    SentRequest,
    inspect_request,
    list_breakpoints,
    list_parts,
    name_message,
)
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallFailed
from yourtool.messages.blocks import (
    ContentBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.message import Message, Role
from yourtool.providers.base import FileRoots
from yourtool.store.exports import write_export

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_SHOWN_MESSAGES = 60
_SHOWN_CHARACTERS = 1_000
"""Of a text on the screen; a file has all of it."""


async def show_request(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/request`: show a request, the last one without a number, or write it to a file."""
    number, file = _parse(argument)
    settings = RequestSettings(
        runtime.catalogue,
        FileRoots(runtime.paths.blobs, session.workspace),
        runtime.config.thinking_on_swap,
        runtime.config.cache_retention,
    )
    facts = await runtime.store.read(session.id)
    request = await asyncio.to_thread(inspect_request, facts, number, settings)
    if not file:
        yield Report(
            f"Request {request.number} of {request.total}",
            await asyncio.to_thread(_build_sections, request, runtime),
        )
        return
    path = await asyncio.to_thread(_write, request, runtime, session.project, file)
    yield Notice(
        level="info", text=f"Request {request.number} is in {path}, with your keys removed."
    )


def _parse(argument: str) -> tuple[int | None, str]:
    """Return the number of a request and a file name, either of which can be missing."""
    first, _, rest = argument.partition(" ")
    if not first.isdecimal():
        return None, argument
    return int(first), rest.strip()


def _write(request: SentRequest, runtime: "Runtime", directory: Path, file: str) -> Path:
    """Write a request as JSON, with keys masked, and return the path; blocks."""
    text = runtime.mask_keys(canonical_json(_to_object(request)).decode())
    try:
        path = directory / Path(file).expanduser()
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"Cannot write `{file}`: {error}") from error
    write_export(path, (f"{text}\n".encode(),))
    return path


def _to_object(request: SentRequest) -> dict[str, Any]:
    """Return the request for a JSON file."""
    return {
        "number": request.number,
        "request": request.started,
        "end": request.end,
        "tools": [
            {"name": each.name, "description": each.description, "schema": each.input_schema}
            for each in request.tools
        ],
        "messages": request.messages,
        "cache": request.cache,
        "parts": [each._asdict() for each in list_parts(request)],
        "left_out": request.left_out,
        "changes": request.changes,
    }


def _build_sections(request: SentRequest, runtime: "Runtime") -> tuple[Section, ...]:
    """Return what a front end shows of a request, with keys masked; blocks."""
    parts = list_parts(request)
    total = sum(part.tokens for part in parts)
    shares = tuple(
        (part.name, f"{_format_share(part.tokens, total)}; {part.pieces}") for part in parts
    )
    left_out = tuple((each.kind, f"{each.message_id}: {each.reason}") for each in request.left_out)
    system = tuple(
        (name_message(each), _cut(each.text))
        for each in request.messages
        if each.role is Role.SYSTEM
    )
    sections = (
        Section("Request", tuple(_describe(request))),
        Section("Parts: tokens, share, number", shares),
        Section("Cache", tuple(_describe_cache(request))),
        Section("Left out, because the model cannot take it", left_out),
        Section("System prompt", system),
        Section("Tools", tuple((each.name, _cut(each.description)) for each in request.tools)),
        Section("Messages", tuple(_list_messages(request))),
    )
    return tuple(
        Section(each.title, tuple((name, runtime.mask_keys(text)) for name, text in each.rows))
        for each in sections
        if each.rows
    )


def _describe(request: SentRequest) -> Iterator[tuple[str, str]]:
    started, end = request.started, request.end
    yield "model", started.model
    yield "sent", f"{started.timestamp.astimezone():%Y-%m-%d %H:%M:%S}"
    yield "id", started.request_id
    if request.usage is None:
        yield "size", f"about {started.estimated_input_tokens:,} tokens, estimated"
    else:
        yield "size", f"{request.usage.prompt_tokens:,} tokens, counted by the provider"
    if end is None:
        yield "reply", "none yet"
    elif isinstance(end, LlmCallFailed):
        yield "failed", f"{end.error_class}: {end.error_message_redacted}"
    else:
        yield "reply", f"{end.usage.output_tokens:,} tokens, {end.stop_reason.value}"
    options = end.message.metadata.request if end is not None and end.message is not None else None
    for name in options.__struct_fields__ if options is not None else ():
        if (value := getattr(options, name)) is not None:
            yield name.replace("_", " "), f"{value}"


def _describe_cache(request: SentRequest) -> Iterator[tuple[str, str]]:
    if (usage := request.usage) is not None:
        whole = usage.prompt_tokens
        yield "read", _format_share(usage.cached_input_tokens, whole)
        yield "written", _format_share(usage.cache_creation_input_tokens, whole)
        yield "fresh", _format_share(usage.input_tokens, whole)
    else:
        yield "unknown", "the provider counted no tokens"
    for each in list_breakpoints(request):
        place = f"the first {each.tokens:,} tokens"
        if each.message is None:
            yield "breakpoint", f"{place}, up to the last tool"
        elif each.message.role is Role.SYSTEM:
            yield "breakpoint", f"{place}, up to the {name_message(each.message)}"
        else:
            number = each.position - _count_system(request)
            yield "breakpoint", f"{place}, up to message {number}"
    if not request.cache.breakpoints:
        yield "breakpoints", "none set; some providers cache without them"
    for change in request.changes:
        yield "changed", f"{change} since the request before"


def _count_system(request: SentRequest) -> int:
    return sum(each.role is Role.SYSTEM for each in request.messages)


def _list_messages(request: SentRequest) -> Iterator[tuple[str, str]]:
    messages = [each for each in request.messages if each.role is not Role.SYSTEM]
    if (hidden := len(messages) - _SHOWN_MESSAGES) > 0:
        yield f"1 to {hidden}", f"not shown; `/request {request.number} FILE` writes all messages"
    tools = {call.id: call.name for each in messages for call in each.tool_uses}
    for number, message in enumerate(messages, 1):
        if number > hidden:
            result = message.result
            of = f" of {tools.get(result.tool_use_id, '?')}" if result is not None else ""
            yield f"{number} {name_message(message)}{of}", _format_message(message)


def _format_message(message: Message) -> str:
    return "\n".join(map(_format_block, message.content))


def _format_block(block: ContentBlock) -> str:
    match block:
        case TextBlock(text=text):
            return _cut(text)
        case ThinkingBlock(text=text):
            return f"(reasoning) {_cut(text)}"
        case RedactedThinkingBlock():
            return "(reasoning, encrypted by the provider)"
        case ToolUseBlock(name=name, input=arguments):
            return _cut(f"{name} {canonical_json(arguments).decode()}")
        case ToolResultBlock(content=content):
            return "\n".join(map(_format_block, content))
        case _:
            return f"({block.media_type})"


def _cut(text: str) -> str:
    rest = len(text) - _SHOWN_CHARACTERS
    return text if rest <= 0 else f"{text[:_SHOWN_CHARACTERS]}… ({rest:,} more characters)"


def _format_share(tokens: int, whole: int) -> str:
    return f"{tokens:,} tokens, {100 * tokens / whole:.1f}%" if whole else f"{tokens:,} tokens"


COMMANDS = (
    SlashCommand(
        name="request",
        run=show_request,
        argument="[N] [FILE]",
        summary="show what the last request, or request N, had; FILE: write all of it as JSON",
    ),
)
