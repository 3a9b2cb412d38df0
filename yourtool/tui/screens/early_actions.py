"""Actions before the first session is open."""

from typing import Any

from textual.screen import Screen

from yourtool.agent.commands import table
from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.modes import next_mode
from yourtool.settings.config import Mode
from yourtool.tui.input.prompt_history import history_choices
from yourtool.tui.input.prompt_input import PromptInput
from yourtool.tui.screens import picker
from yourtool.tui.widgets.prompt import Prompt


async def search_history(screen: Screen[Any], user_input: PromptInput, prompt: Prompt) -> None:
    """Let the user pick an earlier prompt, which replaces the text in the prompt."""
    is_late = not user_input.opened.is_set()
    await user_input.opened.wait()
    entries = user_input.entries or []
    chooser = picker.Picker("Prompts", history_choices(entries))
    chooser.is_unexpected = is_late
    if (picked := await screen.app.push_screen_wait(chooser)) is not None:
        prompt.load(entries[int(picked)])


def build_next_mode(mode: Mode) -> Invocation:
    """Return the command that switches to the approval mode after another one."""
    return Invocation(table.COMMANDS_BY_NAME["mode"], next_mode(mode).value)
