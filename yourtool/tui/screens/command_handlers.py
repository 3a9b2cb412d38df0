"""What each slash command does on the screen; the names are those of the command table."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from yourtool.config import Mode
from yourtool.errors import UsageError
from yourtool.messages import Message, Role, now
from yourtool.models import EFFORTS, Effort
from yourtool.tui.reports import context_report, cost_report, help_report
from yourtool.tui.screens.attachments import attach_clipboard, attach_file, tell_untaken
from yourtool.tui.screens.model_swap import swap
from yourtool.tui.screens.picker import Choice, Picker
from yourtool.tui.screens.picker_rows import (
    LEGEND,
    model_choices,
    told_words,
)
from yourtool.tui.screens.report import ReportScreen
from yourtool.tui.screens.sessions import (
    DEMO,
    begin_session,
    export_session,
    fork_session,
    new_session,
    opened,
    resume_session,
    search_sessions,
    tell_demo,
)
from yourtool.tui.screens.text_entry import TextEntry
from yourtool.tui.screens.turn_screen import TurnScreen

Verb: TypeAlias = "Callable[[TurnScreen, str], Awaitable[None]]"

_LOOK_AROUND = 1
"""Seconds that the list of models waits for servers; later answers are added to it."""
GO_ON = "Go on exactly where you stopped, without repeating anything."


async def show_help(chat: TurnScreen, _argument: str) -> None:
    """`/help`"""
    await chat.app.push_screen(ReportScreen("Help", help_report()))


async def choose_model(chat: TurnScreen, argument: str) -> None:
    """`/model`: a name, `-`, `show`, or the list."""
    _, session = opened(chat)
    if not argument:
        await pick_model(chat, "")
    elif argument == "show":
        chat.note("info", "\n".join(session.explain()))
    elif argument == "-":
        await chat.change(session.select(None))
        await tell_untaken(chat)
    else:
        await swap(chat, argument)


async def pick_model(chat: TurnScreen, _argument: str) -> None:
    """`/models`; what servers serve now is in the list, as soon as they answer."""
    runtime, session = opened(chat)
    catalogue = runtime.catalogue

    def choices() -> list[Choice]:
        chat.offer_models()
        return model_choices(
            catalogue.all(),
            runtime.registry.configuration_problem,
            session.model.id,
            lambda model_id: told_words(catalogue.discovered_at(model_id), now()),
        )

    looking = asyncio.ensure_future(runtime.find_servers(elsewhere=True))
    try:
        await asyncio.wait((looking,), timeout=_LOOK_AROUND)
        title, current = "Model for this session", session.model.id
        picker = Picker(title, choices(), LEGEND, current=current)
        if looking.done():
            await looking
        else:
            looking.add_done_callback(lambda _: picker.offer(choices()))
        picked = await chat.app.push_screen_wait(picker)
    finally:
        looking.cancel()
    if picked is not None:
        await swap(chat, picked)


async def choose_effort(chat: TurnScreen, argument: str) -> None:
    """`/effort`: a level, `-`, or what holds now; the next turn is the first to heed it."""
    _, session = opened(chat)
    level: Effort | None = next((each for each in EFFORTS if each == argument), None)
    if argument and argument != "-" and level is None:
        raise UsageError(
            f"There is no thinking level `{argument}`; there are {', '.join(EFFORTS)}."
        )
    if argument:
        await chat.change(session.select_effort(level))
    chat.note("info", session.thinking())


async def clear_screen(chat: TurnScreen, _argument: str) -> None:
    """`/clear`"""
    chat.transcript.clear()


async def show_cost(chat: TurnScreen, _argument: str) -> None:
    """`/cost`"""
    runtime, session = opened(chat)
    own = session.state.facts[session.state.copied :]
    sections = cost_report(own, await runtime.spent_today())
    await chat.app.push_screen(ReportScreen("Cost", sections))


async def show_context(chat: TurnScreen, _argument: str) -> None:
    """`/context`"""
    _, session = opened(chat)
    sections = context_report(session.model, await session.context(), session.state.context_tokens)
    await chat.app.push_screen(ReportScreen("Context", sections))


async def enter_key(chat: TurnScreen, argument: str) -> None:
    """`/key`: choose a provider, type the key unseen, and go on with that provider."""
    runtime, session = opened(chat)
    rows = {row.name: row for row in runtime.registry.providers() if row.name != DEMO}
    if argument and argument not in rows:  # it may be a key, so it is not repeated
        raise UsageError(f"`/key` takes the name of a provider: {', '.join(sorted(rows))}.")
    name = argument or await chat.app.push_screen_wait(
        Picker(
            "Key for which provider?",
            [
                Choice(row.name, row.label, row.key_url or ("" if row.needs_key else "needs none"))
                for row in rows.values()
            ],
        )
    )
    if not name:
        return
    row = rows[name]
    where = f"Keys are made at {row.key_url}. " if row.key_url else ""
    text = f"{where}What you type is not shown; it is stored in a file that only you can read."
    key = await chat.app.push_screen_wait(TextEntry(f"API key for {row.label}", text, hidden=True))
    if key is None:
        return
    runtime.registry.save_key(name, key)
    runtime.availability.reset(name)
    if session.model.provider == DEMO and not chat.playing:  # leave its copy of the directory
        await begin_session(chat, row.default_model or "")
    elif row.default_model and chat.session is not None:
        await chat.change(chat.session.select(row.default_model))
    chat.note("info", f"The key for `{name}` is saved.")
    await tell_untaken(chat)
    tell_demo(chat)


async def retry_turn(chat: TurnScreen, _argument: str) -> None:
    """`/retry`"""
    _, session = opened(chat)
    chat.begin(session.retry())


async def continue_reply(chat: TurnScreen, _argument: str) -> None:
    """`/continue`: for a reply that hit its length limit."""
    _, session = opened(chat)
    chat.begin(session.send(GO_ON))


async def choose_theme(chat: TurnScreen, argument: str) -> None:
    """`/theme`: a name or the list."""
    names = sorted(name for name, _ in chat.completer.values["theme"])
    name = argument or await chat.app.push_screen_wait(
        Picker("Theme", [Choice(name, name) for name in names], current=chat.app.theme)
    )
    if name and name not in names:
        raise UsageError(f"There is no theme `{name}`; there are {', '.join(names)}.")
    if name:
        chat.app.theme = name


async def choose_mode(chat: TurnScreen, argument: str) -> None:
    """`/mode`: a name or the list."""
    _, session = opened(chat)
    names = [mode.value for mode in Mode]
    rows = [Choice(*pair) for pair in chat.completer.values["mode"]]
    name = argument or await chat.app.push_screen_wait(
        Picker("What is asked first?", rows, current=session.mode.value)
    )
    if name and name not in names:
        raise UsageError(f"There is no mode `{name}`; there are {', '.join(names)}.")
    if name:
        await set_mode(chat, Mode(name))


async def set_mode(chat: TurnScreen, mode: Mode) -> None:
    """Change how much is asked; `auto` must be typed, and `ask` follows if it is not."""
    if (session := chat.session) is None:
        return
    if mode is Mode.AUTO and session.mode is not Mode.AUTO:
        words = "In this mode every tool runs without asking: commands, edits, the network."
        typed = await chat.app.push_screen_wait(
            TextEntry("Stop asking?", f"{words}\nType `auto` to go on.")
        )
        mode = Mode.AUTO if typed == "auto" else Mode.ASK
    session.mode = mode
    chat.tell_mode()
    chat.refresh_status()


async def copy_reply(chat: TurnScreen, argument: str) -> None:
    """`/copy`: the source text of a reply, counted from the last."""
    _, session = opened(chat)
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


async def leave(chat: TurnScreen, _argument: str) -> None:
    """`/quit`"""
    await chat.app.action_quit()


async def offer_local_servers(chat: TurnScreen) -> None:
    """Name the models that this machine serves already, to somebody who has only the script."""
    runtime, session = opened(chat)
    if session.model.provider != DEMO:
        return
    for server in await runtime.find_servers(elsewhere=False):
        if server.models:
            name = server.models[0].id
            chat.note("info", f"{server.spec.label} runs on this machine: /model {name} takes it.")
    chat.offer_models()


VERBS: Mapping[str, Verb] = {
    "help": show_help,
    "model": choose_model,
    "models": pick_model,
    "effort": choose_effort,
    "new": new_session,
    "resume": resume_session,
    "fork": fork_session,
    "search": search_sessions,
    "export": export_session,
    "clear": clear_screen,
    "cost": show_cost,
    "context": show_context,
    "key": enter_key,
    "retry": retry_turn,
    "continue": continue_reply,
    "theme": choose_theme,
    "mode": choose_mode,
    "copy": copy_reply,
    "attach": attach_file,
    "paste": attach_clipboard,
    "quit": leave,
}
