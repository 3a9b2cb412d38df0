"""A key renders and computes only what it changes."""

from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App
from textual.geometry import Region
from textual.widget import Widget

from tests.tui.fakes import FakeSession
from tests.tui.pilot_helpers import send_key, settle, until
from tests.tui.test_chat import app_of
from yourtool.tui.screens.picker import Picker
from yourtool.tui.textual_internals.painting import PartialCompositor
from yourtool.tui.transcript.paged_transcript import PagedTranscript


@asynccontextmanager
async def open_chat(tmp_path):
    """The chat, in which one letter was typed."""
    (tmp_path / "work").mkdir()
    app, _ = app_of(tmp_path / "home", FakeSession([], workspace=tmp_path / "work"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        send_key(pilot, "a")
        await until(pilot, lambda: app.chat.prompt.text == "a")
        await settle(pilot)
        yield app, pilot


async def test_key_in_the_prompt_renders_no_row_of_another_widget(tmp_path, monkeypatch):
    async with open_chat(tmp_path) as (app, pilot):
        rows, render = {}, Widget.render_lines

        def count_rows(widget, crop):
            rows[type(widget)] = rows.get(type(widget), 0) + crop.height
            return render(widget, crop)

        monkeypatch.setattr(Widget, "render_lines", count_rows)
        monkeypatch.setattr(PagedTranscript, "render_lines", count_rows)
        send_key(pilot, "b")
        await until(pilot, lambda: app.chat.prompt.text == "ab")
        await settle(pilot)
        height = app.chat.prompt.size.height + 2
        assert rows.pop(type(app.chat.prompt)) == height
        assert all(count <= height for count in rows.values()), rows
        assert PagedTranscript not in rows


async def test_partial_update_paints_the_same_cells_as_a_full_one(tmp_path):
    async with open_chat(tmp_path) as (app, _):
        compositor = app.chat._compositor
        assert isinstance(compositor, PartialCompositor)
        full = compositor._render_chops(app.size.region, lambda _: True)
        for top in range(app.size.height):
            for height in (1, 2, 5):
                crop = Region(0, top, app.size.width, min(height, app.size.height - top))
                part = compositor._render_chops(crop, crop.line_range.__contains__)
                for y in crop.line_range:
                    assert part[y] == full[y]


async def test_typed_letter_searches_no_binding_and_computes_no_style(tmp_path, monkeypatch):
    async with open_chat(tmp_path) as (app, pilot):
        searched = []

        async def note(_self, key, priority=False):
            searched.append((key, priority))
            return False

        monkeypatch.setattr(App, "_check_bindings", note)
        monkeypatch.setattr(
            type(app.chat.prompt._theme), "apply_css", lambda *_: pytest.fail("styles computed")
        )
        send_key(pilot, "b")
        await until(pilot, lambda: app.chat.prompt.text == "ab")
        await settle(pilot)
        assert searched == []


async def test_prompt_has_the_colours_of_the_theme_that_was_just_chosen(tmp_path):
    async with open_chat(tmp_path) as (app, pilot):
        prompt, colours = app.chat.prompt, set()
        for name in ("textual-dark", "textual-light", "dracula", "textual-dark"):
            app.theme = name
            await settle(pilot)
            background = prompt.render_line(0)._segments[0].style.bgcolor.triplet
            assert background == app.screen.background_colors[1].rich_color.triplet
            colours.add(background)
        assert len(colours) > 1


async def test_key_that_has_a_binding_still_runs_it_in_a_prompt_with_text(tmp_path):
    async with open_chat(tmp_path) as (app, pilot):
        send_key(pilot, "home")
        send_key(pilot, "b")
        await until(pilot, lambda: app.chat.prompt.text == "ba")
        send_key(pilot, "ctrl+u")
        await until(pilot, lambda: app.chat.prompt.text == "a")


async def test_alt_and_a_letter_is_no_text_though_it_has_the_character_of_the_letter(tmp_path):
    async with open_chat(tmp_path) as (app, pilot):
        app.post_message(events.Key("alt+p", "p"))
        await until(pilot, lambda: isinstance(app.screen, Picker))
        assert app.chat.prompt.text == "a"
        send_key(pilot, "escape")
        await until(pilot, lambda: app.screen is app.chat)
        app.post_message(events.Key("alt+o", "o"))
        await settle(pilot)
        assert app.chat.prompt.text == "a"
