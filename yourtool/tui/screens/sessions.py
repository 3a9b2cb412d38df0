"""Actions on sessions.

They start, open and show sessions, and show the state of the demo.
"""

import asyncio
import shlex
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.agent.commands.sessions import tree as branches
from yourtool.agent.history.retention import delete_unused_sessions
from yourtool.agent.session.moved_sessions import describe_no_session
from yourtool.errors import SwapRefusedError, UsageError, YourtoolError
from yourtool.foundation.installed_files import RESTART, were_files_replaced
from yourtool.foundation.text import printable, storable
from yourtool.models import DEMO
from yourtool.settings.config import Mode
from yourtool.store.base import resolve_id
from yourtool.tui.input.drafts import Draft, fold_text, normalize_newlines
from yourtool.tui.input.message_queue import QueuedMessage
from yourtool.tui.keys.active_keys import build_hint
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.session_status import TitleChanged
from yourtool.tui.screens.stored_pages import StoredPages
from yourtool.tui.screens.trust import settle_trust
from yourtool.tui.transcript.scrollback import render_transcript

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

LOW_SPACE = 100 * 2**20
"""Free bytes below which a notice is shown."""
NOTICE_SECONDS = 0.2
"""Seconds until a notice that a session is being opened."""
DEMO_NOTICE = "Demo, no model: /key enters an API key"
UNCHOSEN_NOTICE = "Demo, no model: /model chooses one"
"""Fit into one row of the smallest screen."""


def require_session(chat: ChatScreen) -> "tuple[Runtime, Session]":
    """Return the open runtime and session.

    Raises:
        UsageError: they are not open yet.
    """
    if chat.runtime is None or chat.session is None:
        raise UsageError("No session is open yet.")
    return chat.runtime, chat.session


async def start_session(
    chat: ChatScreen, model: str | None = None, mode: Mode | None = None
) -> None:
    """Replace the session with a new one, with a model and a mode if they are given."""
    runtime, _ = require_session(chat)
    session = await runtime.new_session(chat.confirm, model or None)
    session.mode = mode or session.mode
    await show_session(chat, runtime, session)
    update_demo_banner(chat)


async def switch_session(chat: ChatScreen, session_id: str) -> None:
    """Replace the session with a stored one."""
    runtime, _ = require_session(chat)
    notice = chat.set_timer(
        NOTICE_SECONDS, lambda: chat.banner.set_notice("opening", "Opening the session …")
    )
    try:
        resumed, refused = await open_stored_session(chat, runtime, session_id)
        await show_session(chat, runtime, resumed)
    finally:
        notice.stop()
        chat.banner.set_notice("opening", None)
    update_demo_banner(chat)
    if refused is not None and refused.media:
        chat.note("info", f"`/model {refused.model}` shows the alternatives.")


async def show_session(
    chat: ChatScreen, runtime: "Runtime", session: "Session", pages: StoredPages | None = None
) -> None:
    """Show a session instead of the previous one, which stays open until the new one is ready.

    No messages are sent in the meantime. A session that cannot be shown is closed. `pages`: those
    of the session that were read already.
    """
    chat.opening = asyncio.current_task()
    left: Draft | None = None
    try:
        await chat.runner.wait_for_turn()  # its last events belong to the previous session
        if pages is None or pages.session_id != session.id:
            pages = StoredPages(chat, runtime, session.id)
        timeline = await pages.complete()
        await settle_trust(chat, runtime, session)
        failed: tuple[str, ...] = ()
        if chat.session is not None:
            await chat.session.close()
            failed = chat.session.hooks.take_last_warnings()
        if chat.runtime is None:
            place = runtime.paths.state, runtime.options.workspace
            left = await chat.input.open_history(*place)
            chat.completer.command_uses = chat.input.command_uses
    except BaseException:
        await session.close()
        raise
    finally:
        chat.opening = None
    chat.set_session(runtime, session, timeline, left)
    runtime.space.on_change = partial(_show_full_disk, chat, runtime.paths.database)
    runtime.tool_servers.on_news = lambda news: chat.note(news.level, news.text)
    for warning in failed:
        chat.warn(warning)
    pages.offer_earlier()
    chat.post_message(TitleChanged(session.state.title))


def _show_full_disk(chat: ChatScreen, file: Path, is_waiting: bool) -> None:
    """Show why the turn waits."""
    place = printable(str(file))
    reason = f"The disk is full: `{place}`. The turn waits for space; Esc stops it."
    chat.banner.set_notice("disk", reason if is_waiting else None)


async def show_message(chat: ChatScreen, message_id: str) -> None:
    """Select a message of the open session and scroll to it; empty: none."""
    if not message_id:
        return
    if text := await branches.describe_branch_of(require_session(chat)[1], message_id):
        chat.note("info", text)
    if chat.transcript.earlier is not None:
        await chat.transcript.earlier.find_message(message_id)
    if not chat.transcript.has_message(message_id) and not text:
        chat.note("warning", f"The screen has no message `{message_id}`.")
    chat.transcript.scroll_to_message(message_id)


async def show_branch(chat: ChatScreen) -> None:
    """Show the branch to which the conversation of the session moved."""
    runtime, session = require_session(chat)
    pages = StoredPages(chat, runtime, session.id)
    chat.transcript.set_timeline(await pages.complete())
    pages.offer_earlier()
    update_demo_banner(chat)


async def open_earlier_session(
    chat: ChatScreen, runtime: "Runtime", session_id: str | None, *, continue_last: bool
) -> "tuple[Session | None, SwapRefusedError | None, StoredPages | None]":
    """Open the session of the command line; without one, or if it cannot be opened, None.

    `session_id` can be a prefix. The end of a session that opens slowly is shown in the meantime.
    """
    try:
        if session_id:
            session_id = await resolve_id(runtime.store, session_id)
        elif continue_last:
            session_id = await runtime.find_last_session()
            if session_id is None:
                missing = await describe_no_session(runtime.store, runtime.options.workspace)
                chat.note("info", f"{missing} Started a new one.")
        if not session_id:
            return None, None, None
        pages = StoredPages(chat, runtime, session_id)
        open_session = partial(open_stored_session, chat, runtime, session_id)
        return *await pages.preview_during(open_session), pages
    except YourtoolError as error:
        chat.note("error", f"{error}\nStarted a new session.")
        return None, None, None


async def open_stored_session(
    chat: ChatScreen, runtime: "Runtime", session_id: str
) -> "tuple[Session, SwapRefusedError | None]":
    """Open a session; if the model of `--model` does not support it, use the session's model."""
    try:
        return await runtime.resume(session_id, chat.confirm), None
    except SwapRefusedError as refused:
        return await runtime.resume(session_id, chat.confirm, keep_model=True), refused


def queue_first_prompt(
    chat: ChatScreen, runtime: "Runtime", session: "Session", text: str, *, may_send: bool
) -> None:
    """Queue the prompt of the command line before what was typed ahead.

    It waits for the user if the requested session could not be opened (not `may_send`), if only the
    demo script would answer, or if it is not a valid command.
    """
    if not text:
        return
    draft, queue = _first_draft(text), chat.runner.queue
    queue.add(QueuedMessage(draft), first=True)
    chat.input.add_to_history(draft)
    if not may_send:
        queue.pause("this is a new session")
    elif session.model.is_demo and runtime.options.model is None and not text.startswith("/"):
        queue.pause("no model is set up, /key enters a key")
    elif not chat.input.accepts(draft):
        queue.pause("the command is not valid")


def restore_first_prompt(chat: ChatScreen, text: str) -> None:
    """Put the prompt of the command line into the prompt, because no session can send it."""
    if text:
        chat.restore_draft(_first_draft(text), selected=False)


def _first_draft(text: str) -> Draft:
    return fold_text(storable(normalize_newlines(text)))


def update_demo_banner(chat: ChatScreen) -> None:
    """Show a banner until the first chapter of the demo is over."""
    runtime, session = require_session(chat)
    is_first_chapter = session.model.is_demo and session.state.turn_count == 0
    problems = map(runtime.registry.configuration_problem, runtime.config.providers)
    notice = UNCHOSEN_NOTICE if None in problems else DEMO_NOTICE
    chat.banner.set_notice(DEMO, notice if is_first_chapter else None)


async def prepare_requests(chat: ChatScreen) -> None:
    """Import the modules for requests to the model, if there is a text to send."""
    if chat.runtime is not None and chat.session is not None and chat.prompt.text:
        await asyncio.to_thread(chat.runtime.registry.prepare, chat.session.model)
        await _warn_of_low_space(chat, chat.runtime.paths.data)
        chat.banner.set_notice("files", RESTART if were_files_replaced() else None)


async def _warn_of_low_space(chat: ChatScreen, directory: Path) -> None:
    """Show a notice while the disk of the sessions is nearly full; a full one pauses turns."""
    try:
        free = (await asyncio.to_thread(shutil.disk_usage, directory)).free
    except OSError:
        return  # the directory is made with the first session
    place = printable(str(directory))
    text = f"The disk is nearly full, {free // 2**20} MiB are free: `{place}`."
    chat.banner.set_notice("low space", text if free < LOW_SPACE else None)


async def finish_start(chat: ChatScreen) -> None:
    """Do what no first message waits for."""
    chat.run_worker(_delete_unused_sessions(chat), group="retention", exit_on_error=False)
    await _suggest_local_servers(chat)


async def _delete_unused_sessions(chat: ChatScreen) -> None:
    runtime, _ = require_session(chat)
    days = runtime.config.sessions.keep_days
    if notice := await delete_unused_sessions(runtime.store, runtime.paths, days):
        chat.note(notice.level, notice.text)


async def _suggest_local_servers(chat: ChatScreen) -> None:
    """Suggest models of local servers if the session uses the demo script."""
    runtime, session = require_session(chat)
    if not session.model.is_demo:
        return
    for server in await runtime.find_servers(elsewhere=False):
        if server.models:
            name = server.models[0].id
            chat.note("info", f"{server.spec.label} is running on this machine: try /model {name}")
    chat.completer.load_values(runtime)


def _describe_unsent(chat: ChatScreen) -> str:
    """Return a line about the queued messages that were not sent, if there are any."""
    count, back = chat.input.unsent_count, build_hint("prompt.stash", "in an empty prompt")
    messages = "1 queued message was" if count == 1 else f"{count} queued messages were"
    return f"{messages} not sent but stashed: {back} brings back each.\n" if count else ""


async def build_last_words(chat: ChatScreen, seconds: float, *, with_transcript: bool) -> str:
    """Return what is printed after exit; nothing for a session without messages."""
    session, unsent = chat.session, _describe_unsent(chat)
    if session is None or not session.state.messages:
        return unsent
    failed = "".join(f"{printable(each)}\n" for each in session.hooks.take_last_warnings())
    line = f"{failed}{unsent}To continue this session: {_get_command()} --resume {session.id}\n"
    if not with_transcript:
        return line
    text = await render_transcript(chat.transcript, seconds)
    return f"{text}\n{line}"


def _get_command() -> str:
    """Return the command of this program, with its directory if the shell does not find it."""
    is_found = Path(sys.argv[0]).name != "yourtool" or shutil.which("yourtool") is not None
    return "yourtool" if is_found else shlex.quote(sys.argv[0])
