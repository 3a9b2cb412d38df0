"""`yourtool sessions`: commands for stored sessions.

They list, show, search, copy, move and check sessions.
"""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from ulid import ULID

from yourtool import extensions
from yourtool.agent.history.state import State
from yourtool.agent.money.cost_report import parse_since
from yourtool.agent.session.demo_workspace import find_scratch_copies
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.cli.session_commands.session_exports import export_session
from yourtool.cli.session_commands.session_imports import import_file
from yourtool.cli.session_commands.session_removal import (
    delete_stored_session,
    forget_user,
    list_removals,
)
from yourtool.cli.session_commands.session_tree import show_tree
from yourtool.errors import UsageError
from yourtool.events.catalog import AnyFact
from yourtool.events.codec import to_stored
from yourtool.foundation.amounts import format_money
from yourtool.foundation.text import printable
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.message import Message, ReplyMessage, now
from yourtool.paths import Paths, require_data_directory
from yourtool.run_result import ExitCode
from yourtool.store.base import (
    EVERYTHING,
    SearchFilter,
    SearchHit,
    SessionStore,
    SessionSummary,
    describe_unread,
    resolve_id,
)
from yourtool.store.edits import rename
from yourtool.store.forks import fork
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

_ULID_LENGTH = 26


def run(paths: Paths, arguments: Arguments) -> int:
    """Run an action of `yourtool sessions`."""
    require_data_directory(paths)
    return asyncio.run(_run(paths, arguments))


async def _run(paths: Paths, arguments: Arguments) -> int:
    store = SqliteStore(Database(paths.database))
    workspaces = await asyncio.to_thread(_workspaces, paths, arguments)
    try:
        session_id = (
            await resolve_id(store, parse_session_prefix(arguments.id)) if arguments.id else ""
        )
        match arguments.action:
            case "list":
                listed = await store.list(*workspaces, workers=arguments.workers)
                _print_sessions(listed, as_json=arguments.json)
            case "search":
                hits = await store.search(
                    arguments.query, *workspaces, wanted=_build_filter(arguments)
                )
                _print_hits(hits, as_json=arguments.json)
            case "export":
                return await export_session(session_id, store, paths, arguments)
            case "import":
                await import_file(store, paths, arguments)
            case "fork":
                fork_id = await fork(store, session_id, arguments.at)
                _print_resume_command(fork_id, "Continue with", as_json=arguments.json)
            case "rename":
                await rename(store, session_id, arguments.title)
                if arguments.json:
                    print_json({"session_id": session_id})
                else:
                    print_lines(f"Renamed {session_id}.")
            case "delete":
                return await delete_stored_session(session_id, store, paths, arguments)
            case "forget":
                return await forget_user(store, arguments)
            case "removals":
                await list_removals(store, as_json=arguments.json)
            case "tree":
                await show_tree(session_id, store, arguments)
            case "show":
                return await _show(session_id, store, as_json=arguments.json)
            case action:
                module = extensions.load_session_action(action)
                return await module.run(session_id, store, paths, arguments)
        return ExitCode.ANSWERED
    finally:
        await store.close()


def _workspaces(paths: Paths, arguments: Arguments) -> tuple[str, ...]:
    """Return the workspaces whose sessions are requested; empty for all."""
    if not arguments.here_only and arguments.directory is None:
        return ()
    workspace = arguments.workspace
    if arguments.directory is not None:
        workspace = Path(os.path.abspath(arguments.directory.expanduser()))  # noqa: PTH100 - it may be gone
    return tuple(map(str, (workspace, *find_scratch_copies(workspace, paths.scratch))))


def _build_filter(arguments: Arguments) -> SearchFilter:
    """Return the filter of a search.

    Raises:
        UsageError: a time is invalid, or there are neither words nor filters.
    """
    at = now()
    since, until = arguments.since, arguments.until
    wanted = SearchFilter(
        model=arguments.model or "",
        file=arguments.changed_file.removeprefix("./"),
        tool_failed=arguments.tool_failed,
        since=parse_since(since, at) if since else None,
        until=parse_since(until, at, "--until") if until else None,
        min_cost=arguments.min_cost,
    )
    if not arguments.query and wanted == EVERYTHING:
        raise UsageError("nothing to search for; name a WORD, or a filter such as `--file PATH`")
    return wanted


def parse_session_prefix(typed: str) -> str:
    """Return a session id or a prefix of one, without `sess_`.

    Raises:
        UsageError: no session id starts like this.
    """
    prefix = typed.strip().removeprefix("sess_")
    try:
        # The parser takes complete ULIDs only, so a prefix is padded.
        ULID.from_str(prefix.ljust(_ULID_LENGTH, "0"))
    except ValueError as error:
        raise UsageError(
            f"`{typed}` is not a session id or a prefix of one; `yourtool sessions list` lists them"
        ) from error
    return prefix


def _print_sessions(found: Sequence[SessionSummary], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif not found:
        print_lines("There are no sessions yet.")
    else:
        print_table(
            [
                (
                    each.id,
                    _format_local_time(each.updated_at),
                    "1 turn" if each.turn_count == 1 else f"{each.turn_count} turns",
                    _format_cost(each),
                    each.active_model or "default model",
                    each.workspace_path,
                    each.title,
                )
                for each in found
            ]
        )


def _format_cost(session: SessionSummary) -> str:
    known = format_money(session.cost_usd)
    if session.unpriced:
        return f"{known} + unpriced" if session.cost_usd else "unpriced"
    return known


def _print_hits(hits: Sequence[SearchHit], *, as_json: bool) -> None:
    if as_json:
        print_json(hits)
    elif not hits:
        print_lines("No results. A message must contain all words and match all filters.")
    else:
        print_table(
            [
                (
                    hit.session_id,
                    hit.message_id,
                    _format_local_time(hit.created_at),
                    hit.role,
                    hit.snippet,
                )
                for hit in hits
            ]
        )


def _print_resume_command(session_id: str, label: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"session_id": session_id})
    else:
        print_lines(f"{label}: yourtool --resume {session_id}")


def _format_local_time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


async def _show(session_id: str, store: SessionStore, *, as_json: bool) -> ExitCode:
    """Print a session; the exit code is 1 if rows of it cannot be read."""
    facts = list[AnyFact]()
    unread = await store.replay(session_id, facts.append)
    if as_json:
        print_json([to_stored(fact) for fact in facts])
    else:
        state = State()
        for fact in facts:
            state.apply(fact)
        for message in state.messages:
            print_lines(*_message_lines(message), "")
    if unread:
        sys.stderr.write(f"yourtool: {printable(describe_unread(session_id, unread))}\n")
    return ExitCode.FAILED if unread else ExitCode.ANSWERED


def _message_lines(message: Message) -> Iterator[str]:
    model = message.metadata.model if isinstance(message, ReplyMessage) else None
    yield f"## {message.role} {model}" if model else f"## {message.role}"
    for block in message.content:
        yield from _block_lines(block)
    source = message.metadata.import_source
    for raw in ((source and source.extra) or {}).get("unknown_blocks") or ():
        yield f"(unknown block) {canonical_json(raw).decode()}"


def _block_lines(block: ContentBlock) -> Iterator[str]:
    match block:
        case TextBlock(text=text):
            yield text
        case ThinkingBlock(text=text):
            yield f"(reasoning) {text}"
        case RedactedThinkingBlock():
            yield "(reasoning, encrypted by the provider)"
        case ImageBlock():
            yield block.label
        case AudioBlock(media_type=media_type):
            yield f"(audio, {media_type})"
        case DocumentBlock(media_type=media_type):
            yield f"(document, {media_type})"
        case ToolUseBlock(name=name, input=arguments):
            yield f"> {name} {canonical_json(arguments).decode()}"
        case ToolResultBlock(content=content, is_error=is_error):
            yield "(error)" if is_error else "(result)"
            for part in content:
                yield from _block_lines(part)
