"""Slash commands on the screen, and their results."""

from contextlib import aclosing
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choose,
    CommandResult,
    CommandResults,
    CopyText,
    EditPrompt,
    EnterText,
    Invocation,
    OpenSession,
    Report,
    SendPrompt,
    SettingChanged,
    ShowAnswer,
    ShowChanges,
    ShowMessage,
    ShowSwap,
    ShowTree,
    StartSession,
    StartTurn,
)
from yourtool.agent.commands.sessions import session_list
from yourtool.errors import YourtoolError
from yourtool.events.branches import BranchSelected
from yourtool.events.deltas import Notice
from yourtool.events.sessions import SessionRenamed
from yourtool.tui.input.drafts import fold_text
from yourtool.tui.screens import answer as answer_screen
from yourtool.tui.screens import changes as changes_screen
from yourtool.tui.screens import dialog, picker, report, swap, tree
from yourtool.tui.screens.attachments import warn_unsupported
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.screen_commands import SCREEN_COMMANDS
from yourtool.tui.screens.session_status import TitleChanged
from yourtool.tui.screens.sessions import (
    require_session,
    show_branch,
    show_message,
    start_session,
    switch_session,
    update_demo_banner,
)
from yourtool.tui.screens.trust import show_used_files
from yourtool.tui.screens.ui_settings import SettingsChanged

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.runtime import Runtime


async def run_command(chat: ChatScreen, invocation: Invocation) -> None:
    """Run a slash command of the core or of the screen."""
    command, argument = invocation.command, invocation.argument
    if command.run is None:
        await SCREEN_COMMANDS[command.name](chat, argument)
    else:
        runtime, session = require_session(chat)
        await show_results(chat, command.run(session, runtime, argument))


async def show_results(chat: ChatScreen, results: CommandResults) -> None:
    """Render the results of a command, each before the next one is computed."""
    async with aclosing(results):
        async for result in results:
            await show_result(chat, result)
    chat.refresh_status()


async def show_result(chat: ChatScreen, result: CommandResult) -> None:
    """Render one result."""
    match result:
        case Notice(level=level, text=text):
            chat.note(level, text)
        case Report(title=title, sections=sections):
            await chat.app.push_screen(report.ReportScreen(title, sections))
        case ShowChanges(title=title, calls=calls):
            await chat.app.push_screen(changes_screen.ChangesScreen(title, calls, chat.highlight))
        case ShowAnswer():
            shown = answer_screen.AnswerScreen(result, chat.highlight)
            await chat.app.push_screen(shown)
            chat.run_worker(shown.show_answer, group="answer")
        case CopyText(text=text):
            chat.app.copy_to_clipboard(text)
        case SettingChanged(setting="mode"):
            chat.status.refresh()
        case SettingChanged(setting="trust"):
            await show_used_files(chat, *require_session(chat))
        case SettingChanged(setting="settings"):
            chat.post_message(SettingsChanged(require_session(chat)[0].config.ui))
        case SettingChanged():
            await warn_unsupported(chat)
            update_demo_banner(chat)
        case StartTurn(events=events):
            chat.runner.start_turn(events)
        case StartSession(model=model, mode=mode):
            await start_session(chat, model, mode)
        case SendPrompt(text=text):
            chat.runner.start_turn(require_session(chat)[1].send(text))
        case OpenSession(session_id=session_id):
            await switch_session(chat, session_id)
        case ShowMessage(message_id=message_id):
            await show_message(chat, message_id)
        case EditPrompt(text=text):
            chat.prompt.load(fold_text(text))
        case Choose():
            await _show_choices(chat, result)
        case EnterText(title=title, explanation=explanation, hidden=hidden, value=value):
            entry = dialog.TextEntry(title, explanation, hidden=hidden, value=value)
            text = await chat.app.push_screen_wait(entry)
            await show_results(chat, result.then(text or ""))
        case Invocation():
            await run_command(chat, result)
        case BranchSelected():
            await show_branch(chat)
        case SessionRenamed(title=title):
            chat.transcript.apply(result)
            chat.post_message(TitleChanged(title))
        case event:
            chat.transcript.apply(event)


async def choose_first_session(
    chat: ChatScreen, runtime: "Runtime", wanted: str | None
) -> tuple[str | None, str]:
    """Let the user choose the first session from a list, if `wanted` is empty; else return it.

    With it is returned the message that a search found in it.
    """
    if wanted != "":
        return wanted, ""
    chosen: list[str] = []

    async def choose(session_id: str) -> CommandResults:
        chosen.append(session_id)
        return
        yield

    listed = session_list.SessionList(None, runtime, open_session=choose)
    try:
        await show_results(chat, listed.show())
    except YourtoolError as error:
        chat.note("error", f"{error}\nStarted a new session.")
    return (chosen[0], listed.found_message) if chosen else (None, "")


def _build_picker(wanted: Choose) -> "picker.Picker":
    return picker.Picker(
        wanted.title,
        wanted.choices,
        wanted.hint,
        current=wanted.current,
        columns=wanted.columns,
        actions=wanted.actions,
    )


async def _show_choices(chat: ChatScreen, wanted: Choose) -> None:
    if not isinstance(wanted, ShowSwap):
        await _show_picker(chat, wanted)
        return
    sheet = swap.SwapSheet(wanted)
    sheet.is_unexpected = chat.runner.is_command_late
    if (answer := await chat.app.push_screen_wait(sheet)) is not None:
        await show_results(chat, wanted.then(answer))
    elif wanted.without_choice:
        chat.note("info", wanted.without_choice)


async def _show_picker(chat: ChatScreen, wanted: Choose) -> None:
    shown = tree.TreeScreen(wanted) if isinstance(wanted, ShowTree) else _build_picker(wanted)
    shown.is_unexpected = chat.runner.is_command_late
    if wanted.preview is not None:
        shown.add_preview(wanted.preview)
    if wanted.refresh is not None:
        shown.keep_fresh(wanted.refresh)
    _load_completions(chat)
    if (update := wanted.update) is not None:
        update.add_done_callback(lambda _: _update_picker(chat, shown, wanted))
    picked = await chat.app.push_screen_wait(shown)
    if picked is not None:
        action = shown.chosen_action
        await show_results(chat, (wanted.then if action is None else action.then)(picked))
    elif wanted.without_choice:
        chat.note("info", wanted.without_choice)


def _update_picker(chat: ChatScreen, shown: "picker.Picker", wanted: Choose) -> None:
    update = wanted.update
    if update is not None and not update.cancelled() and update.exception() is None:
        shown.set_choices(update.result())
        _load_completions(chat)


def _load_completions(chat: ChatScreen) -> None:
    """Complete the models that were just discovered; the first session may not be open yet."""
    if chat.runtime is not None:
        chat.completer.load_values(chat.runtime)
