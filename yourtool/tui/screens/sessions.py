"""What is done with whole sessions: begin, resume, fork, search and export them."""

import asyncio
import re
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.errors import SwapRefusedError, UsageError
from yourtool.messages import Message, Role, TextBlock, now
from yourtool.tui.drafts import folded
from yourtool.tui.screens.picker import Choice, Picker
from yourtool.tui.screens.picker_rows import fork_choices, hit_choices, session_choices
from yourtool.tui.screens.turn_screen import TurnScreen

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session import Session

DEMO = "demo"
NOTICE_SECONDS = 0.2
"""How long a session may take to open before a notice tells it."""
_NAME_WORDS = 6
_REPLACE = "replace"


def opened(chat: TurnScreen) -> "tuple[Runtime, Session]":
    """Return what is open.

    Raises:
        UsageError: nothing is yet.
    """
    if chat.runtime is None or chat.session is None:
        raise UsageError("There is no session yet.")
    return chat.runtime, chat.session


async def begin_session(chat: TurnScreen, model: str = "") -> None:
    """Put a new session in place of this one, with a model where one is named."""
    runtime, _ = opened(chat)
    await show_session(chat, runtime, await runtime.new_session(chat.confirm, model or None))
    tell_demo(chat)


async def new_session(chat: TurnScreen, _argument: str) -> None:
    """`/new`"""
    await begin_session(chat)


async def resume_session(chat: TurnScreen, argument: str) -> None:
    """`/resume`: an id, the beginning of one, or the list."""
    runtime, old = opened(chat)
    session_id = (
        await runtime.sessions.resolve_id(argument) if argument else await pick_session(chat)
    )
    if session_id == old.id:
        chat.note("info", "This is that session.")
    elif session_id is not None:
        await _go_to(chat, session_id)


async def pick_session(chat: TurnScreen, runtime: "Runtime | None" = None) -> str | None:
    """Let the user choose a stored session; None: none."""
    if (runtime := runtime or chat.runtime) is None:
        return None
    found = await runtime.sessions.list()
    choices = session_choices(found, runtime.options.workspace, now())
    return await chat.app.push_screen_wait(Picker("Sessions", choices))


async def fork_session(chat: TurnScreen, _argument: str) -> None:
    """`/fork`: everything so far, or what stood before a prompt, which can then be changed."""
    _, old = opened(chat)
    prompts = old.state.prompts
    if not prompts:
        raise UsageError("There is nothing to fork yet; say something first.")
    choices = fork_choices(prompts, now())
    at = await chat.app.push_screen_wait(Picker("Fork from where?", choices))
    if at is not None:
        await fork_before(chat, at)


async def fork_before(chat: TurnScreen, at: str) -> None:
    """Go on in a copy of what stood before a prompt, or of everything (an empty `at`)."""
    runtime, old = opened(chat)
    await _go_to(chat, await runtime.fork(old.id, at or None))
    for prompt in old.state.prompts:
        if prompt.id == at:
            _offer_again(chat, prompt)


async def search_sessions(chat: TurnScreen, argument: str) -> None:
    """`/search`: list the messages that hold some words, and go to one of them."""
    runtime, session = opened(chat)
    if not argument:
        raise UsageError("Write what to look for: `/search WORDS`.")
    hits = await runtime.sessions.search(argument)
    if not hits:
        chat.note("info", "No message holds all of these words; tools' output is not searched.")
        return
    choices = hit_choices(hits, runtime.options.workspace, now())
    picked = await chat.app.push_screen_wait(Picker(f"Found: {argument}", choices))
    if picked is None:
        return
    hit = hits[int(picked)]
    if hit.session_id != session.id:
        await _go_to(chat, hit.session_id)
    chat.transcript.go_to(hit.message_id)


async def export_session(chat: TurnScreen, argument: str) -> None:
    """`/export`: a Markdown file, or for `FILE.jsonl` one that can be imported."""
    runtime, session = opened(chat)
    asked = next((each for each in session.state.messages if each.role is Role.USER), None)
    if asked is None:
        raise UsageError("There is nothing to export yet; say something first.")
    where = runtime.options.workspace
    title = await asyncio.to_thread(runtime.without_keys, asked.text)
    file, exists = await asyncio.to_thread(_target, where, argument, title)
    if exists:
        choices = [Choice("", "Leave it as it is"), Choice(_REPLACE, "Write over it")]
        picked = await chat.app.push_screen_wait(Picker(f"{file} exists", choices))
        if picked != _REPLACE:
            return
    await runtime.export(session.id, file, overwrite=exists)
    chat.note("info", f"Written to {file}; only you can read it, and it holds no known key.")


def tell_demo(chat: TurnScreen) -> None:
    """Say plainly whether a script answers, and how to have a model instead."""
    runtime, session = opened(chat)
    if session.model.provider != DEMO:
        chat.banner.tell(DEMO, None)
        return
    names = [env for row in runtime.registry.providers() for env in row.key_env[:1]][:2]
    chat.banner.tell(
        DEMO,
        "This is a script, not a model; it works in a copy of this directory. For a real model: "
        "/key to enter a key now · "
        f"set {' or '.join(names) or 'a key variable'} and start again · "
        f"or describe a local server in {runtime.paths.home / 'config.toml'}",
    )


async def _go_to(chat: TurnScreen, session_id: str) -> None:
    """Put a stored session in place of this one."""
    runtime, _ = opened(chat)
    notice = chat.set_timer(
        NOTICE_SECONDS, lambda: chat.banner.tell("opening", "Opening the session …")
    )
    try:
        resumed, refused = await open_stored(chat, runtime, session_id)
        await show_session(chat, runtime, resumed)
    finally:
        notice.stop()
        chat.banner.tell("opening", None)
    tell_demo(chat)
    if refused is not None and refused.media:
        chat.note("info", f"`/model {refused.model}` offers ways out.")


async def show_session(chat: TurnScreen, runtime: "Runtime", session: "Session") -> None:
    """Show a session in place of the one before, which is in use until the other is ready.

    Nothing is sent meanwhile. A session that is not shown after all is closed.
    """
    chat.opening = asyncio.current_task()
    try:
        story = await chat.transcript.read(session.state.facts)
        if chat.session is not None:
            await chat.session.close()
    except BaseException:
        await session.close()
        raise
    finally:
        chat.opening = None
    chat.attach(runtime, session, story)


async def open_stored(
    chat: TurnScreen, runtime: "Runtime", session_id: str
) -> "tuple[Session, SwapRefusedError | None]":
    """Open a session, with its own model where it is not one for the model of `--model`."""
    try:
        return await runtime.resume(session_id, chat.confirm), None
    except SwapRefusedError as refused:
        return await runtime.resume(session_id, chat.confirm, keeps_model=True), refused


def _offer_again(chat: TurnScreen, prompt: Message) -> None:
    """Put a prompt back to be changed."""
    texts = [block.text for block in prompt.content if isinstance(block, TextBlock)]
    if len(prompt.content) > 1:
        chat.note("info", "What was attached to the prompt is not; attach it again if need be.")
    chat.prompt.load(folded(texts[0] if texts else ""))


def _target(where: Path, argument: str, title: str) -> tuple[Path, bool]:
    """Return the file that is meant, and whether it exists; blocks on the file system."""
    try:
        file = where / Path(argument).expanduser()
        if not file.is_dir():
            return file, file.exists() or file.is_symlink()
        words = re.findall("[a-z0-9]+", title.lower())[:_NAME_WORDS]
        stem = "-".join(words)[:60] or "session"
        names = (f"{stem}.md" if n == 1 else f"{stem}-{n}.md" for n in count(1))
        return next(path for name in names if not (path := file / name).exists()), False
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"`{argument}` cannot be written: {error}") from error
