"""`yourtool sessions`: the stored sessions, and one of them as text."""

import asyncio
from collections.abc import Iterator

from ulid import ULID

from yourtool.agent.state import State
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.errors import UsageError
from yourtool.messages import (
    ContentBlock,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.outcome import Exit
from yourtool.paths import Paths
from yourtool.store.database import Database
from yourtool.store.log import Log
from yourtool.store.sessions import Sessions

_ULID_LENGTH = 26


def run(paths: Paths, arguments: Arguments) -> int:
    """Obey `sessions list` or `sessions show`."""
    asyncio.run(_run(paths, arguments))
    return Exit.ANSWERED


async def _run(paths: Paths, arguments: Arguments) -> None:
    database = Database(paths.database)
    try:
        sessions = Sessions(database, paths.data / "locks")
        if arguments.action == "list":
            await _list(sessions, as_json=arguments.json)
        else:
            session_id = await sessions.find(session_prefix(arguments.id))
            await _show(session_id, Log(database), as_json=arguments.json)
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


async def _list(sessions: Sessions, *, as_json: bool) -> None:
    found = await sessions.list()
    if as_json:
        print_json(found)
    elif not found:
        print_lines("There are no sessions yet.")
    else:
        print_table(
            [
                (
                    each.id,
                    f"{each.updated_at.astimezone():%Y-%m-%d %H:%M}",
                    f"{each.turn_count} turns",
                    f"${each.cost_usd:.4f}",
                    each.workspace_path,
                    each.title,
                )
                for each in found
            ]
        )


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
        case ToolUseBlock(name=name, input=arguments):
            yield f"> {name} {canonical_json(arguments).decode()}"
        case ToolResultBlock(content=content, is_error=is_error):
            yield "(error)" if is_error else "(result)"
            for part in content:
                yield from _lines(part)
