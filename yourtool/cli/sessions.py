"""`yourtool sessions`: the stored sessions, one of them as text or as a file, and copies."""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path

from ulid import ULID

from yourtool.agent.known_keys import known_secrets, masked
from yourtool.agent.state import State
from yourtool.amounts import format_money
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.errors import StoreError, UsageError
from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.paths import Paths, require_data_directory
from yourtool.run_result import ExitCode
from yourtool.store.database import Database
from yourtool.store.exports import (
    export_format_of,
    export_lines,
    from_jsonl,
    read_lines,
    write_export,
)
from yourtool.store.forks import fork, import_session
from yourtool.store.log import Log
from yourtool.store.sessions import SearchHit, Sessions, SessionSummary

STANDARD = Path("-")
"""Standard output or input."""
_ULID_LENGTH = 26


def run(paths: Paths, arguments: Arguments) -> int:
    """Obey `sessions` and one of its verbs."""
    require_data_directory(paths)
    asyncio.run(_run(paths, arguments))
    return ExitCode.ANSWERED


async def _run(paths: Paths, arguments: Arguments) -> None:
    database = Database(paths.database)
    sessions, log = Sessions(database, paths.data / "locks"), Log(database)
    where = str(arguments.workspace) if arguments.here else None
    try:
        session_id = await sessions.resolve_id(session_prefix(arguments.id)) if arguments.id else ""
        match arguments.action:
            case "list":
                _list(await sessions.list(where), as_json=arguments.json)
            case "search":
                _tell_hits(await sessions.search(arguments.words, where), as_json=arguments.json)
            case "export":
                await _export(session_id, log, paths, arguments)
            case "import":
                await _import(log, paths, arguments)
            case "fork":
                fork_id = await fork(log, session_id, arguments.at)
                _tell_new(fork_id, "Go on with", as_json=arguments.json)
            case _:
                await _show(session_id, log, as_json=arguments.json)
    finally:
        await database.close()


def session_prefix(typed: str) -> str:
    """Return the beginning of a session id as it was typed.

    Raises:
        UsageError: no session id begins like this.
    """
    wanted = typed.strip().removeprefix("sess_")
    try:
        # A ULID is checked whole; the beginning of one is filled up first.
        ULID.from_str(wanted.ljust(_ULID_LENGTH, "0"))
    except ValueError as error:
        raise UsageError(
            f"`{typed}` is not a session id or the beginning of one;"
            " `yourtool sessions list` shows them"
        ) from error
    return wanted


def _list(found: Sequence[SessionSummary], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif not found:
        print_lines("There are no sessions yet.")
    else:
        print_table(
            [
                (
                    each.id,
                    _local(each.updated_at),
                    "1 turn" if each.turn_count == 1 else f"{each.turn_count} turns",
                    _cost(each),
                    each.active_model or "default model",
                    each.workspace_path,
                    each.title,
                )
                for each in found
            ]
        )


def _cost(session: SessionSummary) -> str:
    known = format_money(session.cost_usd)
    if session.unpriced:
        return f"{known} + unpriced" if session.cost_usd else "unpriced"
    return known


def _tell_hits(hits: Sequence[SearchHit], *, as_json: bool) -> None:
    if as_json:
        print_json(hits)
    elif not hits:
        print_lines("Nothing was found; every word must stand in one message.")
    else:
        print_table(
            [
                (hit.session_id, hit.message_id, _local(hit.created_at), hit.role, hit.snippet)
                for hit in hits
            ]
        )


def _tell_new(session_id: str, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"session_id": session_id})
    else:
        print_lines(f"{words}: yourtool --resume {session_id}")


async def _export(session_id: str, log: Log, paths: Paths, arguments: Arguments) -> None:
    file = None if arguments.file == STANDARD else arguments.file
    form = arguments.form or (
        export_format_of(file) if file else "jsonl" if arguments.json else "markdown"
    )
    mask = partial(masked, secrets=known_secrets(paths, os.environ))
    lines = export_lines(await log.read(session_id), form, mask, paths.blobs)
    if file is None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(lines)
        return
    write_export(file, lines, overwrite=arguments.force)
    if arguments.json:
        print_json({"session_id": session_id, "file": str(file), "format": form})
    else:
        print_lines(f"Written to {file}.")


async def _import(log: Log, paths: Paths, arguments: Arguments) -> None:
    file = arguments.file or STANDARD
    try:
        # Standard input is left open: it is not ours.
        with nullcontext(sys.stdin.buffer) if file == STANDARD else file.open("rb") as source:
            facts = await asyncio.to_thread(lambda: from_jsonl(read_lines(source), paths.blobs))
        session_id = await import_session(log, facts, arguments.workspace)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {error.strerror}") from error
    except (UsageError, StoreError) as error:
        raise UsageError(f"`{file}` cannot be imported: {error}") from error
    _tell_new(session_id, "Imported; go on with it", as_json=arguments.json)


def _local(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


async def _show(session_id: str, log: Log, *, as_json: bool) -> None:
    facts = await log.read(session_id)
    if as_json:
        print_json(facts)
        return
    state = State()
    for fact in facts:
        state.apply(fact)
    for message in state.messages:
        print_lines(*_text_of(message), "")


def _text_of(message: Message) -> Iterator[str]:
    model = f" {message.metadata.model}" if message.metadata.model else ""
    yield f"## {message.role}{model}"
    for block in message.content:
        yield from _lines(block)


def _lines(block: ContentBlock) -> Iterator[str]:
    match block:
        case TextBlock(text=text):
            yield text
        case ThinkingBlock(text=text):
            yield f"(thinking) {text}"
        case RedactedThinkingBlock():
            yield "(thinking, encrypted by the provider)"
        case ImageBlock(media_type=media_type):
            yield f"(image, {media_type})"
        case AudioBlock(media_type=media_type):
            yield f"(audio, {media_type})"
        case DocumentBlock(media_type=media_type):
            yield f"(document, {media_type})"
        case ToolUseBlock(name=name, input=arguments):
            yield f"> {name} {canonical_json(arguments).decode()}"
        case ToolResultBlock(content=content, is_error=is_error):
            yield "(error)" if is_error else "(result)"
            for part in content:
                yield from _lines(part)
