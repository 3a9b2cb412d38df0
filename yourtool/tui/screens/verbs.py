"""What each slash command does on the screen; the names are those of the command table."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from yourtool.config import Mode
from yourtool.errors import UsageError
from yourtool.messages import Message, Role, now
from yourtool.tui.reports import context_report, cost_report, help_report
from yourtool.tui.screens.choices import (
    LEGEND,
    model_choices,
    session_choices,
)
from yourtool.tui.screens.entry import Entry
from yourtool.tui.screens.picker import Choice, Picker
from yourtool.tui.screens.report import ReportScreen

if TYPE_CHECKING:  # the core opens after the first paint, and the screen imports this module
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session import Session
    from yourtool.tui.screens.turns import TurnScreen

Verb: TypeAlias = "Callable[[TurnScreen, str], Awaitable[None]]"

EARLY = frozenset({"help", "quit", "theme"})
"""Those that need no session."""
DEMO = "demo"
GO_ON = "Go on exactly where you stopped, without repeating anything."


def _open(chat: "TurnScreen") -> "tuple[Runtime, Session]":
    if chat.runtime is None or chat.session is None:
        raise UsageError("There is no session yet.")
    return chat.runtime, chat.session


async def show_help(chat: "TurnScreen", _argument: str) -> None:
    """`/help`"""
    await chat.app.push_screen(ReportScreen("Help", help_report()))


async def choose_model(chat: "TurnScreen", argument: str) -> None:
    """`/model`: a name, `-`, `show`, or the list."""
    _, session = _open(chat)
    if not argument:
        await pick_model(chat, "")
    elif argument == "show":
        chat.note("info", "\n".join(session.explain()))
    elif argument == "-":
        await chat.change(session.select(None))
    else:
        await swap(chat, argument)


async def swap(chat: "TurnScreen", name: str) -> None:
    """Take another model; a real one leaves the demo's session, and its copy of the directory."""
    runtime, session = _open(chat)
    if session.model.provider == DEMO and not chat.playing:
        target = runtime.catalogue.resolve(name)
        if target.provider != DEMO:
            await begin_session(chat, target.id)
            where = runtime.options.workspace
            chat.note("info", f"A new session in {where}; the demo's is in /resume.")
            return
    await chat.change(session.select(name))


async def pick_model(chat: "TurnScreen", _argument: str) -> None:
    """`/models`"""
    runtime, session = _open(chat)
    choices = model_choices(runtime.catalogue.all(), runtime.registry.why_not, session.model.id)
    picked = await chat.app.push_screen_wait(Picker("Model for this session", choices, LEGEND))
    if picked is not None:
        await swap(chat, picked)


async def begin_session(chat: "TurnScreen", model: str = "") -> None:
    """Put a new session in place of this one, with a model where one is named."""
    runtime, old = _open(chat)
    fresh = await runtime.new_session(chat.confirm, model or None)
    await old.close()
    chat.attach(runtime, fresh)
    tell_demo(chat)


async def new_session(chat: "TurnScreen", _argument: str) -> None:
    """`/new`"""
    await begin_session(chat)


async def resume_session(chat: "TurnScreen", argument: str) -> None:
    """`/resume`: an id, the beginning of one, or the list."""
    runtime, old = _open(chat)
    session_id = await runtime.sessions.find(argument) if argument else await pick_session(chat)
    if session_id is None:
        return
    if session_id == old.id:
        chat.note("info", "This is that session.")
        return
    resumed = await runtime.resume(session_id, chat.confirm)
    await old.close()
    chat.attach(runtime, resumed)
    tell_demo(chat)


async def pick_session(chat: "TurnScreen", runtime: "Runtime | None" = None) -> str | None:
    """Let the user choose a stored session; None: none."""
    if (runtime := runtime or chat.runtime) is None:
        return None
    found = await runtime.sessions.list()
    choices = session_choices(found, runtime.options.workspace, now())
    return await chat.app.push_screen_wait(Picker("Sessions", choices))


async def clear_screen(chat: "TurnScreen", _argument: str) -> None:
    """`/clear`"""
    chat.transcript.clear()


async def show_cost(chat: "TurnScreen", _argument: str) -> None:
    """`/cost`"""
    runtime, session = _open(chat)
    sections = cost_report(session.state.facts, await runtime.cost_today())
    await chat.app.push_screen(ReportScreen("Cost", sections))


async def show_context(chat: "TurnScreen", _argument: str) -> None:
    """`/context`"""
    _, session = _open(chat)
    sections = context_report(session.model, session.context(), session.state.context_tokens)
    await chat.app.push_screen(ReportScreen("Context", sections))


async def enter_key(chat: "TurnScreen", argument: str) -> None:
    """`/key`: choose a provider, type the key unseen, and go on with that provider."""
    runtime, session = _open(chat)
    rows = {row.name: row for row in runtime.registry.providers() if row.name != DEMO}
    if argument and argument not in rows:  # it may be a key, so it is not repeated
        raise UsageError(f"`/key` takes the name of a provider: {', '.join(sorted(rows))}.")
    name = argument or await chat.app.push_screen_wait(
        Picker(
            "Key for which provider?",
            [Choice(row.name, row.label, row.key_url or "") for row in rows.values()],
        )
    )
    if not name:
        return
    row = rows[name]
    where = f"Keys are made at {row.key_url}. " if row.key_url else ""
    text = f"{where}What you type is not shown; it is stored in a file that only you can read."
    key = await chat.app.push_screen_wait(Entry(f"API key for {row.label}", text, hidden=True))
    if key is None:
        return
    runtime.registry.save_key(name, key)
    runtime.availability.reset(name)
    if session.model.provider == DEMO and not chat.playing:  # leave its copy of the directory
        await begin_session(chat, row.default_model or "")
    elif row.default_model and chat.session is not None:
        await chat.change(chat.session.select(row.default_model))
    chat.note("info", f"The key for `{name}` is saved.")
    tell_demo(chat)


async def retry_turn(chat: "TurnScreen", _argument: str) -> None:
    """`/retry`"""
    _, session = _open(chat)
    chat.turn = chat.play(session.retry())


async def continue_reply(chat: "TurnScreen", _argument: str) -> None:
    """`/continue`: for a reply that hit its length limit."""
    _, session = _open(chat)
    chat.turn = chat.play(session.send(GO_ON))


async def choose_theme(chat: "TurnScreen", argument: str) -> None:
    """`/theme`: a name or the list."""
    names = sorted(chat.app.available_themes)
    name = argument or await chat.app.push_screen_wait(
        Picker("Theme", [Choice(name, name) for name in names])
    )
    if name and name not in names:
        raise UsageError(f"There is no theme `{name}`; there are {', '.join(names)}.")
    if name:
        chat.app.theme = name


async def choose_mode(chat: "TurnScreen", argument: str) -> None:
    """`/mode`: a name or the list."""
    _open(chat)
    names = [mode.value for mode in Mode]
    name = argument or await chat.app.push_screen_wait(
        Picker("What is asked first?", [Choice(*pair) for pair in chat.completer.values["mode"]])
    )
    if name and name not in names:
        raise UsageError(f"There is no mode `{name}`; there are {', '.join(names)}.")
    if name:
        await chat.set_mode(Mode(name))


async def copy_reply(chat: "TurnScreen", argument: str) -> None:
    """`/copy`: the source text of a reply, counted from the last."""
    _, session = _open(chat)
    if argument and not (argument.isdecimal() and int(argument)):
        raise UsageError("`/copy` takes a number: 1 is the last reply, 2 the one before.")
    replies: list[Message] = [
        each for each in session.state.messages if each.role is Role.ASSISTANT and each.text
    ]
    number = int(argument or 1)
    if number > len(replies):
        raise UsageError(f"There are only {len(replies)} replies to copy.")
    text = replies[-number].text
    chat.app.copy_to_clipboard(text)
    chat.note("info", f"Copied {len(text):,} characters.")


async def leave(chat: "TurnScreen", _argument: str) -> None:
    """`/quit`"""
    await chat.app.action_quit()


def tell_demo(chat: "TurnScreen") -> None:
    """Say plainly whether a script answers, and how to have a model instead."""
    runtime, session = _open(chat)
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


async def attach_files(chat: "TurnScreen", runtime: "Runtime") -> None:
    """Let what `--attach` named go with the first prompt; a file that cannot is told."""
    for path in runtime.options.attachments:
        try:
            block = await asyncio.to_thread(runtime.attachment, path)
        except UsageError as error:
            chat.note("error", str(error))
        else:
            chat.attached += (block,)
            chat.note("info", f"{path.name} goes with the next prompt.")


async def offer_local_servers(chat: "TurnScreen") -> None:
    """Name the models that this machine serves already, to somebody who has only the script."""
    runtime, session = _open(chat)
    if session.model.provider != DEMO:
        return
    for server in await runtime.find_local_servers():
        if server.models:
            name = server.models[0].id
            chat.note("info", f"{server.row.label} runs on this machine: /model {name} takes it.")
    chat.offer_models()


VERBS: Mapping[str, Verb] = {
    "help": show_help,
    "model": choose_model,
    "models": pick_model,
    "new": new_session,
    "resume": resume_session,
    "clear": clear_screen,
    "cost": show_cost,
    "context": show_context,
    "key": enter_key,
    "retry": retry_turn,
    "continue": continue_reply,
    "theme": choose_theme,
    "mode": choose_mode,
    "copy": copy_reply,
    "quit": leave,
}
