"""Question of trust before a session."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from yourtool.agent.commands.command_table import read_commands
from yourtool.errors import ConfigError, YourtoolError
from yourtool.tui.screens.chat import ChatScreen

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.project.project_trust import FolderTrust, ProjectTrust
    from yourtool.agent.session.session import Session


async def settle_trust(chat: ChatScreen, runtime: "Runtime", session: "Session") -> None:
    """Ask about files that are new or changed, and show which files are used."""
    trust = session.trust
    found = await asyncio.to_thread(trust.examine)
    if trust.asks and found.needs_answer:
        await _ask(chat, trust, await asyncio.to_thread(trust.examine_all))
        await _start_servers(chat, runtime, session)
    await show_used_files(chat, runtime, session)


async def _start_servers(chat: ChatScreen, runtime: "Runtime", session: "Session") -> None:
    """Start the MCP servers that the folder may have now, and name those that need an answer."""
    try:
        waiting = await runtime.tool_servers.renew(session.workspace)
    except YourtoolError as error:
        chat.note("error", str(error))
        return
    for notice in waiting:
        chat.note(notice.level, notice.text)


async def show_used_files(chat: ChatScreen, runtime: "Runtime", session: "Session") -> None:
    """Update what depends on the files of the project: the first screen and custom commands."""
    trust = session.trust
    found = await asyncio.to_thread(trust.examine)
    if found.problem and trust.asks:
        chat.note("warning", found.problem)
    commands, problems = await read_commands(session, runtime)
    chat.runner.commands = chat.completer.commands = commands
    for problem in problems:
        chat.note("warning", problem)
    chat.status.project_files = found.summary if trust.asks else ""
    chat.refresh_status()


async def _ask(chat: ChatScreen, trust: "ProjectTrust", found: "FolderTrust") -> None:
    files = [(each.name, found.describe(each)) for each in found.files_by_importance]
    chat.post_message(chat.AttentionNeeded("trust this folder?"))
    with _space_for_question(chat):
        choice = await chat.trust_question.ask(
            str(found.folder), files, is_changed=found.is_changed
        )
    if choice == "quit":
        chat.app.run_worker(chat.app.action_quit())
        await asyncio.Event().wait()  # quitting cancels the task that opens the session
    try:
        await asyncio.to_thread(trust.answer, found, trusted=choice == "trust")
    except ConfigError as error:
        chat.note("error", f"The answer is not stored: {error}")


@contextmanager
def _space_for_question(chat: ChatScreen) -> Generator[None, None, None]:
    """Hide the greeting on a low screen, and show in the status line what is waited for."""
    before, chat.status.without_session = chat.status.without_session, "waiting for your answer"
    chat.add_class("-trust")
    chat.refresh_status()
    try:
        yield
    finally:
        chat.remove_class("-trust")
        chat.status.without_session = before
