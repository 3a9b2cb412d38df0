"""Copying never delays keys, however long the text is."""

import asyncio

import pytest
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import press, screen_text, settle, until
from tests.tui.theme.test_themes import contrast
from yourtool.tui.app import YourtoolApp
from yourtool.tui.terminal.clipboard import MAX_COPIED_CHARACTERS
from yourtool.tui.transcript.selection import is_long, read_selection
from yourtool.tui.transcript.text_items import ReplyItem

PARAGRAPHS = "\n\n".join(f"Some **bold** words {n}, and a few more of them." for n in range(200))


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    runtime = FakeRuntime(
        tmp_path / "home", FakeSession(turn("hello", "Hi."), workspace=tmp_path / "work")
    )

    async def opens():
        return runtime

    return YourtoolApp(opens)


def add_reply(app, text):
    reply = ReplyItem()
    reply.finish(text)
    app.chat.transcript._timeline._add(reply)
    app.chat.transcript._schedule.flush()
    return reply


async def test_very_long_text_is_copied_up_to_a_limit(app):
    text = "x" * 10_000_000
    async with app.run_test() as pilot:
        await settle(pilot)
        app.chat.transcript._selected = add_reply(app, text)
        await settle(pilot)
        app.chat.transcript.action_copy_item()
        told = "Wrote only the first 1,000,000 characters"
        await until(pilot, lambda: told in " ".join(screen_text(app).split()))
        assert app.clipboard == "x" * MAX_COPIED_CHARACTERS


async def test_lone_surrogates_can_be_copied(app):
    async with app.run_test() as pilot:
        await settle(pilot)
        app.copy_to_clipboard("a\ud800b")
        assert app.clipboard == "a\ufffdb"


async def test_copied_text_is_folded_when_it_is_pasted_with_ctrl_v(app):
    async with app.run_test() as pilot:
        await settle(pilot)
        app.copy_to_clipboard("a line\n" * 100_000)
        await press(pilot, "ctrl+v")
        shown = "[Pasted text #1: 100,000 lines]"
        await until(pilot, lambda: app.chat.prompt.text == shown)
        assert app.chat.prompt.draft.full_text == "a line\n" * 100_000


@pytest.mark.remaining
async def test_selection_of_a_very_long_transcript_is_copied_completely(app):
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        for _ in range(60):
            add_reply(app, PARAGRAPHS)
            await asyncio.sleep(0)
        transcript = app.chat.transcript
        app.screen.selections = {transcript: SELECT_ALL}
        await press(pilot, "ctrl+c")
        await until(pilot, lambda: "The text is too long for the terminal" in screen_text(app))
        assert app.clipboard.count(PARAGRAPHS) == 60
        assert app.is_running and not app.screen.selections


async def test_ends_of_a_long_selection_are_those_of_the_mouse(app):
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        add_reply(app, PARAGRAPHS)
        transcript = app.chat.transcript
        await until(pilot, lambda: not transcript._layout.is_partial)
        end = transcript._layout.total - 1
        first = 50
        while not transcript._layout.row_at(first)[2].text.startswith("Some"):
            first += 1
        selection = Selection(Offset(7, first), Offset(11, end))
        assert is_long(transcript._layout, selection)
        copied = await read_selection(transcript._layout, selection)
        assert copied == transcript.get_selection(selection)[0]
        assert copied.startswith("bold words") and copied.endswith("Some bold")


THEMES = ("dark", "light", "nord", "dracula", "solarized-light", "gruvbox", "textual-light")


def find_contrast(style):
    return contrast(*(each.get_truecolor().hex for each in (style.color, style.bgcolor)))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.sample(3)
async def test_selected_text_is_readable(app, theme):
    text = "A **reply** with `code`.\n\n```python\ndef f():\n    return 1\n```\n\n- and a list"
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        if theme in app.available_themes:
            app.theme = theme
        add_reply(app, text)
        transcript = app.chat.transcript
        app.screen.selections = {transcript: SELECT_ALL}
        await settle(pilot)
        strips = app.screen._compositor.render_strips()
        ground = app.screen.get_component_rich_style("screen--selection").bgcolor
        selected = [
            (text, style)
            for strip in strips
            for text, style, _ in strip
            if text.strip() and style is not None and style.bgcolor == ground
        ]
        assert "reply" in "".join(text for text, _ in selected)
        assert min(find_contrast(style) for _, style in selected) >= 2
