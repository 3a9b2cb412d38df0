"""The handlers of slash commands, by their name in the command table."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from yourtool.config import Mode
from yourtool.errors import UsageError
from yourtool.messages.message import Message, Role, now
from yourtool.models import EFFORTS, Effort
from yourtool.tui.reports import context_report, cost_report, help_report
from yourtool.tui.screens.attachments import attach_clipboard, attach_file, warn_unsupported
from yourtool.tui.screens.model_swap import swap_model
from yourtool.tui.screens.picker import Choice, Picker
from yourtool.tui.screens.picker_choices import (
    LEGEND,
    format_source,
    model_choices,
)
from yourtool.tui.screens.report import ReportScreen
from yourtool.tui.screens.sessions import (
    DEMO,
    export_session,
    fork_session,
    new_session,
    require_session,
    resume_session,
    search_sessions,
    start_session,
    update_demo_banner,
)
from yourtool.tui.screens.text_entry import TextEntry
from yourtool.tui.screens.turn_screen import TurnScreen
from yourtool.tui.terminal import MAX_COPIED_CHARACTERS

CommandHandler: TypeAlias = "Callable[[TurnScreen, str], Awaitable[None]]"

_DISCOVERY_SECONDS = 1
"""Seconds that the model picker waits for servers; later answers are added to the list."""
CONTINUE_PROMPT = "Continue exactly where you stopped, without repeating anything."


async def show_help(chat: TurnScreen, _argument: str) -> None:
    """`/help`: show commands and keys."""
    await chat.app.push_screen(ReportScreen("Help", help_report()))


async def choose_model(chat: TurnScreen, argument: str) -> None:
    """`/model`: switch to a name, reset with `-`, explain with `show`, or pick from a list."""
    _, session = require_session(chat)
    if not argument:
        await pick_model(chat, "")
    elif argument == "show":
        chat.note("info", "\n".join(session.explain()))
    elif argument == "-":
        await chat.show_change(session.select_model(None))
        await warn_unsupported(chat)
    else:
        await swap_model(chat, argument)


async def pick_model(chat: TurnScreen, _argument: str) -> None:
    """`/models`: pick a model; models of servers appear as soon as they answer."""
    runtime, session = require_session(chat)
    catalogue = runtime.catalogue

    def choices() -> list[Choice]:
        chat.update_model_completions()
        return model_choices(
            catalogue.all(),
            runtime.registry.configuration_problem,
            session.model.id,
            lambda model_id: format_source(catalogue.discovered_at(model_id), now()),
        )

    discovery = asyncio.ensure_future(runtime.find_servers(elsewhere=True))
    try:
        await asyncio.wait((discovery,), timeout=_DISCOVERY_SECONDS)
        title, current = "Model for this session", session.model.id
        picker = Picker(title, choices(), LEGEND, current=current)
        if discovery.done():
            await discovery
        else:
            discovery.add_done_callback(lambda _: picker.set_choices(choices()))
        picked = await chat.app.push_screen_wait(picker)
    finally:
        discovery.cancel()
    if picked is not None:
        await swap_model(chat, picked)


async def choose_effort(chat: TurnScreen, argument: str) -> None:
    """`/effort`: set a level from the next turn on, reset with `-`, or show the current one."""
    _, session = require_session(chat)
    level: Effort | None = next((each for each in EFFORTS if each == argument), None)
    if argument and argument != "-" and level is None:
        raise UsageError(
            f"Unknown reasoning effort `{argument}`; choose one of {', '.join(EFFORTS)}."
        )
    if argument:
        await chat.show_change(session.select_effort(level))
    chat.note("info", session.effort_summary())


async def clear_screen(chat: TurnScreen, _argument: str) -> None:
    """`/clear`: clear the transcript."""
    chat.transcript.clear()


async def show_cost(chat: TurnScreen, _argument: str) -> None:
    """`/cost`: show the cost of the session."""
    runtime, session = require_session(chat)
    own = session.state.facts[session.state.copied_count :]
    sections = cost_report(own, await runtime.spent_today())
    await chat.app.push_screen(ReportScreen("Cost", sections))


async def show_context(chat: TurnScreen, _argument: str) -> None:
    """`/context`: show how the context window is used."""
    _, session = require_session(chat)
    sections = context_report(
        session.model, await session.context_parts(), session.state.context_tokens
    )
    await chat.app.push_screen(ReportScreen("Context", sections))


async def enter_key(chat: TurnScreen, argument: str) -> None:
    """`/key`: enter a key for a provider and switch to that provider."""
    runtime, session = require_session(chat)
    rows = {row.name: row for row in runtime.registry.providers() if row.name != DEMO}
    if argument and argument not in rows:  # the argument can be a key: do not repeat it
        raise UsageError(f"`/key` takes the name of a provider: {', '.join(sorted(rows))}.")
    name = argument or await chat.app.push_screen_wait(
        Picker(
            "Select a provider",
            [
                Choice(
                    row.name, row.label, row.key_url or ("" if row.needs_key else "no key required")
                )
                for row in rows.values()
            ],
        )
    )
    if not name:
        return
    row = rows[name]
    source = f"Create a key at {row.key_url}. " if row.key_url else ""
    text = f"{source}Your input is hidden and stored in a file that only you can read."
    key = await chat.app.push_screen_wait(TextEntry(f"API key for {row.label}", text, hidden=True))
    if key is None:
        return
    runtime.registry.save_key(name, key)
    runtime.availability.reset(name)
    if (
        session.model.provider == DEMO and not chat.turn_running
    ):  # the demo works in a copy of the directory
        await start_session(chat, row.default_model or "")
    elif row.default_model and chat.session is not None:
        await chat.show_change(chat.session.select_model(row.default_model))
    chat.note("info", f"Saved the key for `{name}`.")
    await warn_unsupported(chat)
    update_demo_banner(chat)


async def retry_turn(chat: TurnScreen, _argument: str) -> None:
    """`/retry`: run the last turn again."""
    _, session = require_session(chat)
    chat.start_turn(session.retry())


async def continue_reply(chat: TurnScreen, _argument: str) -> None:
    """`/continue`: continue a reply that hit the output limit."""
    _, session = require_session(chat)
    chat.start_turn(session.send(CONTINUE_PROMPT))


async def choose_theme(chat: TurnScreen, argument: str) -> None:
    """`/theme`: switch to a theme, or pick one from a list."""
    names = sorted(name for name, _ in chat.completer.values["theme"])
    name = argument or await chat.app.push_screen_wait(
        Picker("Theme", [Choice(name, name) for name in names], current=chat.app.theme)
    )
    if name and name not in names:
        raise UsageError(f"Unknown theme `{name}`; choose one of {', '.join(names)}.")
    if name:
        chat.app.theme = name


async def choose_mode(chat: TurnScreen, argument: str) -> None:
    """`/mode`: set the approval mode, or pick one from a list."""
    _, session = require_session(chat)
    names = [mode.value for mode in Mode]
    rows = [Choice(*pair) for pair in chat.completer.values["mode"]]
    name = argument or await chat.app.push_screen_wait(
        Picker("Approval mode", rows, current=session.mode.value)
    )
    if name and name not in names:
        raise UsageError(f"Unknown mode `{name}`; choose one of {', '.join(names)}.")
    if name:
        await set_mode(chat, Mode(name))


async def set_mode(chat: TurnScreen, mode: Mode) -> None:
    """Set the approval mode; `auto` must be confirmed by typing it, otherwise `ask` is set."""
    if (session := chat.session) is None:
        return
    if mode is Mode.AUTO and session.mode is not Mode.AUTO:
        warning = "In this mode all tools run without approval: commands, edits, network requests."
        typed = await chat.app.push_screen_wait(
            TextEntry("Disable approvals?", f"{warning}\nType `auto` to confirm.")
        )
        mode = Mode.AUTO if typed == "auto" else Mode.ASK
    session.mode = mode
    chat.update_mode_banner()
    chat.refresh_status()


async def copy_reply(chat: TurnScreen, argument: str) -> None:
    """`/copy`: copy the source text of a reply, counted from the last."""
    _, session = require_session(chat)
    if argument and not (argument.isdecimal() and int(argument)):
        raise UsageError("`/copy` takes a number: 1 is the last reply, 2 the one before.")
    replies: list[Message] = [
        each for each in session.state.messages if each.role is Role.ASSISTANT and each.text
    ]
    number = int(argument or 1)
    if number > len(replies):
        raise UsageError(f"The session has only {len(replies)} replies.")
    text = replies[-number].text
    chat.app.copy_to_clipboard(text)
    if len(text) <= MAX_COPIED_CHARACTERS:
        chat.note("info", f"Copied {len(text):,} characters.")


async def quit_app(chat: TurnScreen, _argument: str) -> None:
    """`/quit`: exit the program."""
    await chat.app.action_quit()


async def suggest_local_servers(chat: TurnScreen) -> None:
    """Suggest models of local servers if the session uses the demo script."""
    runtime, session = require_session(chat)
    if session.model.provider != DEMO:
        return
    for server in await runtime.find_servers(elsewhere=False):
        if server.models:
            name = server.models[0].id
            chat.note("info", f"{server.spec.label} is running on this machine: try /model {name}")
    chat.update_model_completions()


COMMAND_HANDLERS: Mapping[str, CommandHandler] = {
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
    "quit": quit_app,
}
