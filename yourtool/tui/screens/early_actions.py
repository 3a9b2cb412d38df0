"""Actions whose keys can be pressed before the first session is open; they wait for it."""

from typing import TYPE_CHECKING

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.modes import next_mode
from yourtool.agent.commands.parser import parse_input
from yourtool.tui.prompt_history import history_choices
from yourtool.tui.screens import picker

if TYPE_CHECKING:  # it uses this module
    from yourtool.tui.screens.chat import ChatScreen


async def search_history(chat: "ChatScreen") -> None:
    """Let the user pick an earlier prompt, which replaces the text in the prompt."""
    is_late = not chat.input.opened.is_set()
    await chat.input.opened.wait()
    entries = chat.input.entries or []
    chooser = picker.Picker("Prompts", history_choices(entries))
    chooser.is_unexpected = is_late
    if (picked := await chat.app.push_screen_wait(chooser)) is not None:
        chat.prompt.load(entries[int(picked)])


async def cycle_mode(chat: "ChatScreen") -> None:
    """Switch to the next approval mode, once there is a session."""
    await chat.input.opened.wait()
    if chat.session is not None:
        invocation = parse_input(f"/mode {next_mode(chat.session.mode).value}")
        assert isinstance(invocation, Invocation), "the core has this command"
        await chat.run_command(invocation)
