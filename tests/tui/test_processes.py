"""The list of processes, the count in the status line, and the key for the background."""

import asyncio

import pytest

from tests.tui.pilot_helpers import press, say, screen_text, settle, until
from tests.tui.test_snapshots import SIZES, opened
from yourtool.foundation.masking import Mask
from yourtool.tools.background import Pause, RunningCommand
from yourtool.tools.processes.output import CommandOutput
from yourtool.tools.processes.process import ProcessExit
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.report import ReportScreen


class OldCommand(RunningCommand):
    """A command whose age is always the same."""

    seconds = 75.0


async def run_until_ended():
    await asyncio.Event().wait()


async def exit_with(code):
    return ProcessExit(code, 1.0)


def start(app, tmp_path, command, output, running):
    """Start a command in the foreground of the session."""
    process = OldCommand(command, CommandOutput(tmp_path, lambda _: None, Mask()))
    process.output.feed(output)
    return app.session_of_test.processes._table.start(process, running)


async def start_three(app, tmp_path):
    """Move three commands to the background, of which one ends."""
    table = app.session_of_test.processes._table
    for command, output, running in (
        ("npm run dev -- --port 5173", b"ready in 312 ms\nLocal: http://localhost:5173/\n",
         run_until_ended()),
        ("make test", b"collected 48 items\nFAILED test_parse.py\n", exit_with(2)),
        ("tail -f log/development.log", b"\x1b[31mGET / 200\n", run_until_ended()),
    ):  # fmt: skip
        await table.keep(start(app, tmp_path, command, output, running))


@SIZES
@pytest.mark.req("R-TOOL-17", "R-TUI-24")
def test_list_of_processes(app_of, snap_compare, size, tmp_path):
    async def play(pilot):
        await opened(pilot)
        await start_three(pilot.app, tmp_path)
        await say(pilot, "/processes")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await settle(pilot)

    assert snap_compare(app_of(), terminal_size=size, run_before=play)


@pytest.mark.req("R-TOOL-17")
@pytest.mark.remaining
async def test_list_shows_the_output_and_stops_a_process_also_after_a_resize(app_of, tmp_path):
    app = app_of()
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await start_three(app, tmp_path)
        await say(pilot, "/processes")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.resize_terminal(40, 12)
        await settle(pilot)
        assert "p3 tail" in screen_text(app)
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, ReportScreen))
        assert "GET / 200" in screen_text(app)
        await press(pilot, "escape")
        await until(pilot, lambda: app.screen is app.chat)
        await say(pilot, "/processes")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, "ctrl+d")
        await until(pilot, lambda: app.session_of_test.processes.running_count == 1)
        assert not app.session_of_test.processes.get("p3").is_running


@pytest.mark.req("R-TOOL-17")
async def test_key_moves_the_running_command_to_the_background(app_of, tmp_path):
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await press(pilot, "ctrl+b")
        await settle(pilot)
        assert "No command of the model runs that could be moved." in screen_text(app)
        process = start(app, tmp_path, "make", b"", run_until_ended())
        await press(pilot, "ctrl+b")
        assert await process.wait(20) is Pause.MOVED
