"""Prompt text in the user's editor."""

import asyncio
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from yourtool.errors import UsageError
from yourtool.foundation.text import storable
from yourtool.process.terminal_modes import Settings
from yourtool.tui.input.drafts import normalize_newlines
from yourtool.tui.terminal.foreground_job import ForegroundJob

VARIABLES = ("VISUAL", "EDITOR")
"""The environment variables with the editor; the first one that is set counts."""
MAX_BYTES = 8_000_000
"""Size of the longest text that is read back."""


class TextFile(Struct, frozen=True):
    """A text to edit."""

    text: str
    name: str
    """Of its file, from which editors choose colours."""


class EditedText(Struct, frozen=True):
    """The text that an editor left."""

    text: str
    problem: str = ""
    """How the editor ended, if a signal ended it."""


def find_editor(environ: Mapping[str, str]) -> list[str]:
    """Return the command of the user's editor, with its arguments.

    Raises:
        UsageError: no editor is set, or its command has unbalanced quotes.
    """
    name = next((name for name in VARIABLES if environ.get(name, "").strip()), None)
    if name is None:
        raise UsageError("No editor is set; for example `export VISUAL=vim` before the start.")
    try:
        return shlex.split(environ[name])
    except ValueError as error:
        raise UsageError(f"`{name}` is not a command: {error}.") from error


async def edit_text(
    edited: TextFile, command: list[str], directory: Path, settings: Settings | None
) -> EditedText:
    """Return a text as the editor left it; cancelling ends the editor.

    The editor gets the terminal with the given settings.

    Raises:
        UsageError: the editor cannot be started, failed, or left something that is not a text.
    """
    private = await asyncio.to_thread(
        TemporaryDirectory[str], prefix="yourtool-", ignore_cleanup_errors=True
    )
    try:
        file = Path(private.name) / edited.name
        return await _edit_file(file, edited.text, command, directory, settings)
    finally:
        await asyncio.to_thread(private.cleanup)


async def _edit_file(
    file: Path, text: str, command: list[str], directory: Path, settings: Settings | None
) -> EditedText:
    try:
        await asyncio.to_thread(file.write_text, text + "\n", "utf-8")
        job = ForegroundJob([*command, str(file)], directory, settings)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"The editor `{command[0]}` could not be started: {reason}. Set `VISUAL`."
        ) from error
    waiting = asyncio.create_task(asyncio.to_thread(job.wait))
    try:
        code = await asyncio.shield(waiting)
    except asyncio.CancelledError:
        job.end()
        await waiting
        raise
    if code > 0:
        raise UsageError(f"The editor `{command[0]}` ended with status {code}; nothing changed.")
    how = signal.strsignal(-code) if code else ""
    problem = f"The editor `{command[0]}` was ended: {how}." if code else ""
    return EditedText(await asyncio.to_thread(_read, file), problem)


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"The edited text cannot be read: {error.strerror}.") from error
    if len(content) > MAX_BYTES:
        raise UsageError(f"The edited text has more than {MAX_BYTES:,} bytes.")
    text = normalize_newlines(content.decode("utf-8-sig", "replace"))
    return storable(text.removesuffix("\n"))
