"""Command `/memory`."""

import asyncio
from typing import TYPE_CHECKING, Literal

from yourtool.agent.commands.base import (
    CommandResults,
    EditPrompt,
    Report,
    Section,
    SlashCommand,
)
from yourtool.errors import ToolError, UsageError
from yourtool.events.deltas import Notice
from yourtool.tools.guidance.memory import MemoryFile, Remember, change_memory

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_NAMES: dict[str, Literal["USER.md", "MEMORY.md"]] = {"user": "USER.md", "workspace": "MEMORY.md"}


async def change(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/memory`: show both files; with a name, edit one, add a line or replace it."""
    files = session.guidance.memory.files
    word, text = (*argument.split(maxsplit=1), "", "")[:2]
    if not word:
        rows = await asyncio.to_thread(
            lambda: tuple((_describe(each), each.read() or "empty") for each in files.values())
        )
        yield Report("Memory", (Section("Memory", rows),))
        return
    if (name := _NAMES.get(word)) is None:
        raise UsageError(f"`/memory {word}` is unknown; choose one of {', '.join(_NAMES)}.")
    if not text:
        content = await asyncio.to_thread(files[name].read)
        yield EditPrompt(f"/memory {word} = {content}")
        return
    kept = await asyncio.to_thread(runtime.mask_keys, text.removeprefix("=").strip())
    args = Remember(file=name, text=kept, all=text.startswith("="))
    try:
        answer, _ = await asyncio.to_thread(change_memory, files[name], args)
    except ToolError as error:
        raise UsageError(str(error)) from error
    yield Notice(level="info", text=answer)


def _describe(file: MemoryFile) -> str:
    return f"{file.title}, {len(file.read().encode()):,} of {file.hard:,} bytes"


COMMANDS = (
    SlashCommand(
        name="memory",
        run=change,
        argument="[user | workspace] [TEXT]",
        keywords=(
            ("user", "edit what is remembered about you"),
            ("workspace", "edit what is remembered about this workspace"),
        ),
        is_multiline=True,
        summary="show what later sessions remember; add a line, or edit a file",
    ),
)
