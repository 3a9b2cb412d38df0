"""Command `/export`."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from yourtool.agent.commands.base import Choice, Choose, CommandResults, SlashCommand
from yourtool.agent.session.known_secrets import build_mask
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.foundation.files import is_directory, is_link, path_exists
from yourtool.messages.message import Role
from yourtool.store import exports, scrubbing

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_NAME_WORDS = 6
_LISTED = 5
"""Secrets that a question names."""
_WRITE = "write"
_FORMAT = re.compile(r"(?:^|\s)--format(?:\s+|=)(\S*)$")
_SUFFIXES: Mapping[exports.ExportFormat, str] = {"html": ".html", "jsonl": ".jsonl", "pi": ".jsonl"}


async def export_session(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/export`: write Markdown, or for `FILE.html` or `FILE.jsonl` a page or JSON lines.

    `--format` after the file chooses another format than its ending. A file that exists is
    replaced, and secrets are removed, after a confirmation.
    """
    prompt = next((each for each in session.state.messages if each.role is Role.USER), None)
    if prompt is None:
        raise UsageError("Nothing to export yet; send a message first.")
    where, blobs = session.project, runtime.paths.blobs
    name, chosen = _split_format(argument)
    suffix = _SUFFIXES.get(chosen, ".md") if chosen else ".md"
    title = await asyncio.to_thread(runtime.mask_keys, prompt.text_without_files)
    file, exists = await asyncio.to_thread(_find_file, where, name, title, suffix)
    facts = await runtime.store.read(session.id)
    mask = await asyncio.to_thread(build_mask, runtime.paths, os.environ)
    scrubber = await asyncio.to_thread(scrubbing.Scrubber, mask)
    secrets = await asyncio.to_thread(scrubbing.find_secrets, facts, scrubber, blobs)

    async def write(choice: str) -> CommandResults:
        if choice == _WRITE:
            file_format = chosen or exports.export_format_of(file)
            lines = exports.export_lines(facts, file_format, scrubber.text, blobs)
            await asyncio.to_thread(exports.write_export, file, lines, overwrite=exists)
            text = f"Exported to {file}; only you can read it, and known secrets are removed."
            yield Notice(level="info", text=text)

    if not exists and not secrets:
        async for result in write(_WRITE):
            yield result
        return
    questions = [f"{file} exists"] if exists else []
    questions += [f"Secrets to be removed: {len(secrets)}"] if secrets else []
    verb = "Overwrite" if exists else "Remove them and export"
    choices = (Choice("", "Cancel"), Choice(_WRITE, verb, _describe(secrets)))
    yield Choose(". ".join(questions), choices, then=write)


def _describe(secrets: Sequence["scrubbing.SecretHit"]) -> str:
    named = [f"{hit.kind} {hit.sample}" for hit in secrets[:_LISTED]]
    more = [f"{len(secrets) - _LISTED} more"] if len(secrets) > _LISTED else []
    return ", ".join(named + more)


def _split_format(argument: str) -> tuple[str, exports.ExportFormat | None]:
    """Return the file, and the format if one is named."""
    if (found := _FORMAT.search(argument)) is None:
        return argument, None
    for each in get_args(exports.ExportFormat):
        if each == found[1]:
            return argument[: found.start()].rstrip(), each
    raise UsageError(
        f"`{found[1]}` is no format; there are {', '.join(get_args(exports.ExportFormat))}."
    )


def _find_file(where: Path, argument: str, title: str, suffix: str) -> tuple[Path, bool]:
    """Return the target file and whether it exists; blocks on the file system."""
    try:
        file = where / Path(argument).expanduser()
        if not is_directory(file):
            return file, path_exists(file) or is_link(file)
        words = re.findall("[a-z0-9]+", title.lower())[:_NAME_WORDS]
        stem = "-".join(words)[:60] or "session"
        names = (f"{stem}{suffix}" if n == 1 else f"{stem}-{n}{suffix}" for n in count(1))
        return next(path for name in names if not path_exists(path := file / name)), False
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"Cannot write `{argument}`: {error}") from error


COMMANDS = (
    SlashCommand(
        name="export",
        run=export_session,
        argument="[FILE] [--format FORMAT]",
        summary="export the session as Markdown, FILE.html or FILE.jsonl, without secrets",
    ),
)
