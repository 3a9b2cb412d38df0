"""Actions on sessions: start, resume, fork, search and export."""

import asyncio
import re
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.errors import SwapRefusedError, UsageError
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, Role, now
from yourtool.store.base import resolve_id
from yourtool.tui.drafts import fold_text
from yourtool.tui.screens.picker import Choice, Picker
from yourtool.tui.screens.picker_choices import fork_choices, hit_choices, session_choices
from yourtool.tui.screens.turn_screen import TurnScreen

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

DEMO = "demo"
NOTICE_SECONDS = 0.2
"""Seconds until a notice that a session is being opened."""
_NAME_WORDS = 6
_REPLACE = "replace"


def require_session(chat: TurnScreen) -> "tuple[Runtime, Session]":
    """Return the open runtime and session.

    Raises:
        UsageError: they are not open yet.
    """
    if chat.runtime is None or chat.session is None:
        raise UsageError("No session is open yet.")
    return chat.runtime, chat.session


async def start_session(chat: TurnScreen, model: str = "") -> None:
    """Replace the session with a new one, with a model if one is given."""
    runtime, _ = require_session(chat)
    await show_session(chat, runtime, await runtime.new_session(chat.confirm, model or None))
    update_demo_banner(chat)


async def new_session(chat: TurnScreen, _argument: str) -> None:
    """`/new`: start a new session."""
    await start_session(chat)


async def resume_session(chat: TurnScreen, argument: str) -> None:
    """`/resume`: resume a session by id or prefix, or pick one from a list."""
    runtime, old = require_session(chat)
    session_id = await resolve_id(runtime.store, argument) if argument else await pick_session(chat)
    if session_id == old.id:
        chat.note("info", "This session is already open.")
    elif session_id is not None:
        await _switch_to(chat, session_id)


async def pick_session(chat: TurnScreen, runtime: "Runtime | None" = None) -> str | None:
    """Let the user pick a stored session; return its id or None."""
    if (runtime := runtime or chat.runtime) is None:
        return None
    found = await runtime.store.list()
    choices = session_choices(found, runtime.options.workspace, now())
    return await chat.app.push_screen_wait(Picker("Sessions", choices))


async def fork_session(chat: TurnScreen, _argument: str) -> None:
    """`/fork`: copy the session, in full or up to a prompt, which can then be edited."""
    _, old = require_session(chat)
    prompts = old.state.prompts
    if not prompts:
        raise UsageError("Nothing to fork yet; send a message first.")
    choices = fork_choices(prompts, now())
    at = await chat.app.push_screen_wait(Picker("Fork from where?", choices))
    if at is not None:
        await fork_before(chat, at)


async def fork_before(chat: TurnScreen, at: str) -> None:
    """Continue in a copy of the session up to a prompt, or a full copy if `at` is empty."""
    runtime, old = require_session(chat)
    await _switch_to(chat, await runtime.fork(old.id, at or None))
    for prompt in old.state.prompts:
        if prompt.id == at:
            _restore_prompt(chat, prompt)


async def search_sessions(chat: TurnScreen, argument: str) -> None:
    """`/search`: list the messages that contain all words, and go to one of them."""
    runtime, session = require_session(chat)
    if not argument:
        raise UsageError("Nothing to search for; use `/search WORDS`.")
    hits = await runtime.store.search(argument)
    if not hits:
        chat.note("info", "No message contains all of these words; tool output is not searched.")
        return
    choices = hit_choices(hits, runtime.options.workspace, now())
    picked = await chat.app.push_screen_wait(Picker(f"Results for: {argument}", choices))
    if picked is None:
        return
    hit = hits[int(picked)]
    if hit.session_id != session.id:
        await _switch_to(chat, hit.session_id)
    chat.transcript.scroll_to_message(hit.message_id)


async def export_session(chat: TurnScreen, argument: str) -> None:
    """`/export`: write Markdown, or for `FILE.jsonl` JSON lines that can be imported."""
    runtime, session = require_session(chat)
    prompt = next((each for each in session.state.messages if each.role is Role.USER), None)
    if prompt is None:
        raise UsageError("Nothing to export yet; send a message first.")
    where = runtime.options.workspace
    title = await asyncio.to_thread(runtime.mask_keys, prompt.text)
    file, exists = await asyncio.to_thread(_find_export_file, where, argument, title)
    if exists:
        choices = [Choice("", "Cancel"), Choice(_REPLACE, "Overwrite")]
        picked = await chat.app.push_screen_wait(Picker(f"{file} exists", choices))
        if picked != _REPLACE:
            return
    await runtime.export(session.id, file, overwrite=exists)
    chat.note("info", f"Exported to {file}; only you can read it, and known keys are removed.")


def update_demo_banner(chat: TurnScreen) -> None:
    """Show a banner if the demo script answers, with the ways to use a model."""
    runtime, session = require_session(chat)
    if session.model.provider != DEMO:
        chat.banner.set_notice(DEMO, None)
        return
    names = [env for row in runtime.registry.providers() for env in row.key_env[:1]][:2]
    chat.banner.set_notice(
        DEMO,
        "This is a script, not a model; it works in a copy of this directory. For a real model: "
        "/key to enter a key now · "
        f"set {' or '.join(names) or 'a key variable'} and restart · "
        f"or configure a local server in {runtime.paths.home / 'config.toml'}",
    )


async def _switch_to(chat: TurnScreen, session_id: str) -> None:
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


async def show_session(chat: TurnScreen, runtime: "Runtime", session: "Session") -> None:
    """Show a session instead of the previous one, which stays open until the new one is ready.

    No messages are sent in the meantime. A session that cannot be shown is closed.
    """
    chat.opening = asyncio.current_task()
    try:
        timeline = await chat.transcript.build_timeline(session.state.facts)
        if chat.session is not None:
            await chat.session.close()
    except BaseException:
        await session.close()
        raise
    finally:
        chat.opening = None
    chat.set_session(runtime, session, timeline)


async def open_stored_session(
    chat: TurnScreen, runtime: "Runtime", session_id: str
) -> "tuple[Session, SwapRefusedError | None]":
    """Open a session; if the model of `--model` does not support it, use the session's model."""
    try:
        return await runtime.resume(session_id, chat.confirm), None
    except SwapRefusedError as refused:
        return await runtime.resume(session_id, chat.confirm, keep_model=True), refused


def _restore_prompt(chat: TurnScreen, prompt: Message) -> None:
    """Load a prompt for editing."""
    texts = [block.text for block in prompt.content if isinstance(block, TextBlock)]
    if len(prompt.content) > 1:
        chat.note("info", "The attachments of the prompt are not restored; attach them again.")
    chat.prompt.load(fold_text(texts[0] if texts else ""))


def _find_export_file(where: Path, argument: str, title: str) -> tuple[Path, bool]:
    """Return the target file and whether it exists; blocks on the file system."""
    try:
        file = where / Path(argument).expanduser()
        if not file.is_dir():
            return file, file.exists() or file.is_symlink()
        words = re.findall("[a-z0-9]+", title.lower())[:_NAME_WORDS]
        stem = "-".join(words)[:60] or "session"
        names = (f"{stem}.md" if n == 1 else f"{stem}-{n}.md" for n in count(1))
        return next(path for name in names if not (path := file / name).exists()), False
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"Cannot write `{argument}`: {error}") from error
