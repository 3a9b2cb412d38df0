"""Contracts of the app: a version of Textual that breaks one of them needs another way."""

import pytest
from textual.app import App
from textual.screen import Screen
from textual.widgets import Input, Static

from yourtool.tui.textual_internals.app import HookedApp, bind_key, run_binding


class CountingApp(HookedApp):
    """Counts frames."""

    def __init__(self):
        super().__init__()
        self.is_ready = True
        self.frames = 0
        self.reported = []

    def compose(self):
        yield Static("text")

    def accepts_frame(self):
        return self.is_ready

    def post_display_hook(self):
        self.frames += 1

    def describe_failure(self, error):
        self.reported.append(error)
        return "The program failed: shortly."


async def test_no_frame_is_written_while_the_app_accepts_none():
    """`_display`: without it, a terminal that reads nothing stops the turn and its timeouts, and
    the interface flickers when it replaces the early prompt."""
    app = CountingApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.is_ready, before = False, app.frames
        app.screen.refresh()
        await pilot.pause(0.05)
        assert app.frames == before
        app.is_ready = True
        app.screen.refresh()
        await pilot.pause(0.05)
        assert app.frames > before


async def test_failure_is_described_without_a_traceback(capsys):
    """`_fatal_error`: without it, an error of the interface prints pages with the values of all
    variables, which can be secrets."""
    app, error = CountingApp(), ValueError("broken")

    def fail():
        raise error

    with pytest.raises(ValueError, match="broken"):
        async with app.run_test() as pilot:
            app.call_later(fail)
            await pilot.pause()
    assert app.failed and app.reported == [error]
    assert capsys.readouterr().err == "The program failed: shortly.\n"


class BoundApp(App[None]):
    BINDINGS = [("ctrl+g", "note('ordinary')", "")]  # noqa: RUF012 - Textual's form

    def __init__(self):
        super().__init__()
        self.noted = []

    def action_note(self, text):
        self.noted.append(text)


async def test_binding_runs_completely_before_the_next_key():
    """`_check_bindings`: without it, Textual runs actions after later keys have changed the text,
    so that Enter submits what was typed after it."""
    app = BoundApp()
    async with app.run_test():
        assert await run_binding(app, "ctrl+g")
        assert app.noted == ["ordinary"]
        assert not await run_binding(app, "ctrl+g", priority=True)
        assert not await run_binding(app, "x")


class Entries(Screen[None]):
    def compose(self):
        yield Input()


async def test_key_of_one_list_works_while_its_filter_has_the_focus():
    """`_bindings`: without it, each kind of list needs a class for its keys, such as those that
    delete a session or fold a branch."""
    app, entries = BoundApp(), Entries()
    bind_key(entries, "ctrl+f", "app.note('bound')")
    async with app.run_test() as pilot:
        await app.push_screen(entries)
        await pilot.press("ctrl+f", "g")
        assert app.noted == ["bound"]
        assert entries.query_one(Input).value == "g"
