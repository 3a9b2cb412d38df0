"""The tables of commands and keys, and what the screen needs before its first paint."""

import subprocess
import sys

import pytest

from yourtool.agent.commands.table import COMMANDS
from yourtool.tui.app import YourtoolApp
from yourtool.tui.keys.active_keys import get_keymap, get_labels
from yourtool.tui.keys.keymap import ANSWERS
from yourtool.tui.keys.keys import KEYS
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.report import ReportScreen
from yourtool.tui.screens.screen_commands import SCREEN_COMMANDS, help_report
from yourtool.tui.transcript.transcript import Transcript
from yourtool.tui.widgets.approval import ApprovalPrompt
from yourtool.tui.widgets.prompt import Prompt
from yourtool.tui.widgets.queue import QueueList


@pytest.mark.req("R-TUI-21")
def test_every_command_of_the_table_has_a_handler():
    assert set(SCREEN_COMMANDS) == {each.name for each in COMMANDS if each.run is None}


@pytest.mark.req("R-TUI-21")
def test_every_key_of_the_table_has_an_action():
    owners = {
        "chat": ChatScreen,
        "prompt": Prompt,
        "queue": QueueList,
        "transcript": Transcript,
        "approval": ApprovalPrompt,
        "list": Picker,
        "report": ReportScreen,
        "screen": ChatScreen,
        "app": YourtoolApp,
    }
    for key in KEYS:
        if key.action and key.id not in ANSWERS:  # the approval prompt has their characters
            owner, _, name = f"{key.place}.{key.action.partition('(')[0]}".rpartition(".")
            assert hasattr(owners[owner.rpartition(".")[2]], f"action_{name}"), key.id


@pytest.mark.req("R-TUI-21")
def test_help_lists_every_command_and_key():
    rows = [row for section in help_report() for row in section.rows]
    names = [name for name, _ in rows]
    assert all(command.usage in names for command in COMMANDS)
    default = get_keymap()
    listed = ((get_labels(key, default), key.description) for key in KEYS if key.keys)
    assert all(row in rows for row in listed if row[0])
    aliases = [alias for command in COMMANDS for alias in command.aliases]
    assert all(any(f"`/{alias}`" in text for _, text in rows) for alias in aliases)


def test_key_ids_are_unique():
    assert len({key.id for key in KEYS}) == len(KEYS)


@pytest.mark.req("R-QLT-01")
@pytest.mark.remaining
def test_first_paint_imports_no_unneeded_library():
    code = "import sys, yourtool.tui.app; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    late = {"httpx2", "sqlite3", "anthropic", "openai", "pygments", "pydantic", "markdown_it"}
    assert late.isdisjoint(loaded)
    assert "yourtool.agent.runtime" not in loaded
