"""Commands on sessions.

They start, resume, rename, fork and search sessions.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    Choose,
    CommandResults,
    EditPrompt,
    OpenSession,
    ShowMessage,
    SlashCommand,
    StartSession,
)
from yourtool.agent.commands.sessions.session_filters import OPTIONS, parse_search
from yourtool.agent.commands.sessions.session_list import SessionList
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.foundation.amounts import format_age
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, Role, now
from yourtool.paths import to_stored_path
from yourtool.store.base import EVERYTHING, SearchHit, resolve_id
from yourtool.store.forks import fork
from yourtool.store.texts import message_title

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_LONGEST_TITLE = 1_000


async def start_session(_session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/new`: start a new session."""
    yield StartSession()


async def resume_session(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/resume`: resume a session by id or prefix, or choose one from a list."""
    if not argument:
        async for result in SessionList(
            session, runtime, open_session=partial(resume_session, session, runtime)
        ).show():
            yield result
    elif (session_id := await resolve_id(runtime.store, argument)) == session.id:
        yield Notice(level="info", text="This session is already open.")
    else:
        yield OpenSession(session_id)


def list_sessions(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/agents`: show what all sessions do, and open one."""
    opens = partial(_open_listed, session, runtime)
    return SessionList(session, runtime, open_session=opens, is_mixed=True).show()


async def _open_listed(session: "Session", runtime: "Runtime", session_id: str) -> CommandResults:
    if session.busy:
        raise UsageError("A turn runs here. Stop it with Esc, or wait for its end.")
    async for result in resume_session(session, runtime, session_id):
        yield result


async def rename_session(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/rename`: give the open session a title, or show the current one."""
    if argument:
        async for fact in session.rename(argument):
            yield fact
        return
    text = "No title yet. `/rename TITLE` sets it."
    prompts = session.state.prompts
    title = session.state.title or (message_title(prompts[0].content) if prompts else "")
    if title:
        text = f"Title of this session: {title}. `/rename TITLE` changes it."
    yield Notice(level="info", text=text)


async def fork_session(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/fork`: copy the session, in full or up to a prompt, which can then be edited."""
    if not session.state.prompts:
        raise UsageError("Nothing to fork yet; send a message first.")
    everything = Choice("", "Entire session", "copy everything so far")
    choices = (everything, *prompt_choices(session.state.prompts, now()))
    yield Choose("Fork from where?", choices, then=partial(fork_before, session, runtime))


async def fork_before(session: "Session", runtime: "Runtime", at: str) -> CommandResults:
    """Continue in a copy of the session up to a prompt, or a full copy if `at` is empty."""
    yield OpenSession(await fork(runtime.store, session.id, at or None))
    for prompt in session.state.prompts:
        if prompt.id == at:
            if len(prompt.content) > 1:
                text = "The attachments of the prompt are not restored; attach them again."
                yield Notice(level="info", text=text)
            texts = [block.text for block in prompt.content if isinstance(block, TextBlock)]
            yield EditPrompt(texts[0] if texts else "")


async def search_sessions(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/search`: list the messages that contain all words, and go to one of them."""
    if not argument:
        raise UsageError(f"Nothing to search for; use `/search WORDS`, or options: {OPTIONS}.")
    sought = parse_search(argument, session.project, now())
    hits = await runtime.store.search(sought.words, *sought.workspaces, wanted=sought.wanted)
    if not hits:
        text = "No message contains all of these words"
        text += "." if sought.wanted == EVERYTHING else " in a session that matches the options."
        text += " Tool output is not searched."
        yield Notice(level="info", text=text)
        return

    async def open_hit(index: str) -> CommandResults:
        hit = hits[int(index)]
        if hit.session_id != session.id:
            yield OpenSession(hit.session_id)
        yield ShowMessage(hit.message_id)

    choices = _hit_choices(hits, session.project, now())
    yield Choose(f"Results for: {argument}", choices, then=open_hit)


def prompt_choices(prompts: Sequence[Message], now: datetime) -> tuple[Choice, ...]:
    """Return a choice per prompt, latest first."""
    rows: list[Choice] = []
    for number, each in reversed(list(enumerate(prompts, 1))):
        age = format_age(now - each.created_at)
        title = " ".join(each.text_without_files[:_LONGEST_TITLE].split()) or "(no text)"
        rows.append(Choice(each.id, title, f"before prompt {number} · {age}"))
    return tuple(rows)


def _hit_choices(hits: Sequence[SearchHit], workspace: Path, now: datetime) -> tuple[Choice, ...]:
    """Return search results; the value is the index."""
    rows: list[Choice] = []
    for at, hit in enumerate(hits):
        age = format_age(now - hit.created_at)
        here = "here" if hit.workspace_path == to_stored_path(workspace) else hit.workspace_path
        who = "you" if hit.role is Role.USER else hit.role.value
        detail = f"{who} · {age} · {here} · in: {hit.title or '(untitled)'} · {at + 1}"
        rows.append(Choice(str(at), hit.snippet, detail))
    return tuple(rows)


COMMANDS = (
    SlashCommand(
        name="new",
        run=start_session,
        summary="start a new session; this one can be resumed",
        during_turn=False,
        aliases=("clear", "reset"),
    ),
    SlashCommand(
        name="resume",
        run=resume_session,
        argument="[ID]",
        summary="resume an earlier session",
        during_turn=False,
        aliases=("sessions",),
    ),
    SlashCommand(
        name="agents",
        run=list_sessions,
        summary="show what all sessions do: running, waiting for you, done; open one",
    ),
    SlashCommand(
        name="rename",
        run=rename_session,
        argument="[TITLE]",
        summary="give the session a title; without TITLE, show the current one",
        during_turn=False,
    ),
    SlashCommand(
        name="fork",
        run=fork_session,
        summary="copy the session, in full or up to a prompt, and continue in the copy",
        during_turn=False,
    ),
    SlashCommand(
        name="search",
        run=search_sessions,
        argument="[WORDS] [--OPTION]",
        summary="search the messages of all sessions, and open a result; options as in the shell",
        during_turn=False,
    ),
)
