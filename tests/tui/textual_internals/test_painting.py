"""Contracts of painting: a version of Textual that breaks one of them needs another way."""

import asyncio

import pytest
from textual.app import App
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import TextArea

from yourtool.tui.textual_internals.painting import (
    PartialCompositor,
    get_styles,
    paint_at_once,
    render_screen,
    resize_content,
    use_compositor,
)


class Rows(ScrollView):
    """Notes the rows that are asked for."""

    DEFAULT_CSS = "Rows { height: 10; overflow-y: auto; }"

    def __init__(self):
        super().__init__()
        self.asked = []
        self.layouts = 0

    def render_lines(self, crop):
        self.asked.append(crop)
        return super().render_lines(crop)

    def render_line(self, y):
        return Strip.blank(self.size.width)

    def on_resize(self):
        self.layouts += 1


class RowsScreen(Screen[None]):
    def __init__(self):
        super().__init__()
        self.is_hidden = False
        self.rows = Rows()
        use_compositor(self, PartialCompositor(lambda: self.is_hidden))

    def compose(self):
        yield self.rows
        yield TextArea("a\nb")


class PaintedApp(App[None]):
    frames = 0

    def get_default_screen(self):
        return RowsScreen()

    def post_display_hook(self):
        self.frames += 1


@pytest.fixture
async def stage():
    app = PaintedApp()
    async with app.run_test(size=(20, 24)) as pilot:
        await pilot.pause(0.05)
        yield app, app.screen, app.screen.rows


async def test_only_the_rows_of_a_change_are_rendered(stage):
    """`_compositor`, `_get_renders`: without them, a key in the prompt also renders the rows of
    the transcript next to it."""
    _, _, rows = stage
    rows.asked.clear()
    rows.refresh(Region(0, 3, 5, 1))
    while not rows.asked:
        await asyncio.sleep(0.01)
    assert [(crop.y, crop.height) for crop in rows.asked] == [(3, 1)]


async def test_hidden_screen_renders_nothing(stage):
    """`_compositor`: without it, keys that were typed ahead render screens that no one sees."""
    _, screen, rows = stage
    screen.is_hidden = True
    rows.asked.clear()
    screen.refresh()
    await asyncio.sleep(0.05)
    assert rows.asked == []
    screen.is_hidden = False
    screen.refresh()
    while not rows.asked:
        await asyncio.sleep(0.01)


async def test_rows_of_the_screen_can_be_read(stage):
    """`_compositor`: without it, the early prompt has no first screen to show."""
    _, screen, _ = stage
    strips = render_screen(screen)
    assert [strip.cell_length for strip in strips] == [20] * 24
    assert any("a" in strip.text for strip in strips)


async def test_change_is_painted_without_waiting_for_the_next_frame(stage):
    """`_dirty_widgets`, `_on_timer_update`: without them, a typed letter is visible up to 17 ms
    later."""
    app, screen, rows = stage
    assert not paint_at_once(screen, rows)
    screen._update_timer.stop()
    rows.refresh()
    before = app.frames
    while not paint_at_once(screen, rows):
        await asyncio.sleep(0)
    assert app.frames == before + 1


async def test_scroll_bar_changes_without_a_layout_of_the_screen(stage):
    """`_scroll_update`: without it, each new row of a reply lays out the entire screen."""
    _, screen, rows = stage
    laid_out = []
    screen.screen_layout_refresh_signal.subscribe(screen, laid_out.append)
    resize_content(rows, Size(1, 500))
    assert rows.virtual_size.height == 500 and rows.show_vertical_scrollbar
    assert rows.vertical_scrollbar.window_virtual_size == 500
    resize_content(rows, Size(1, 600))
    await asyncio.sleep(0.05)
    laid_out.clear()
    resize_content(rows, Size(1, 700))
    await asyncio.sleep(0.05)
    assert rows.max_scroll_y == 690 and laid_out == []


async def test_styles_of_a_text_area_change_with_its_theme(stage):
    """`_theme`: without it, Textual computes all styles for each paint of the prompt, a third of
    the time of a key."""
    app, screen, _ = stage
    area = screen.query_one(TextArea)
    before = get_styles(area)
    area.refresh()
    await asyncio.sleep(0.05)
    assert get_styles(area) is before
    app.theme = "textual-light"
    while get_styles(area) is before:
        await asyncio.sleep(0.01)
