"""Texts of any length and shape are laid out in parts, so that keys are not delayed."""

from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.events import EventBuilder
from tests.tui.transcript.test_transcript import Stage
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.tui.lines.styled_lines import wrap
from yourtool.tui.lines.verbatim import VerbatimStream, plain_lines
from yourtool.tui.transcript.items import ErrorItem, FooterItem, NoticeItem
from yourtool.tui.transcript.text_items import ReplyItem, ThinkingItem, UserMessageItem

TEXTS = {
    "wide characters": "字" * 100_000,
    "wide words": "字字字 " * 30_000,
    "a word": "x" * 400_000,
    "words": "words " * 60_000,
    "lines": "line\n" * 20_000,
    "empty lines": "\n" * 50_000 + "end",
    "marks": "a" + "\u0301" * 100_000,
    "joined": "👩\u200d" * 50_000,
    "controls": "\x1b\x01" * 50_000,
}
PART = 10_000
"""Number of characters, more than one part has."""
MOST_IN_A_CELL = 20


def prompt(text):
    item = UserMessageItem(text)
    item.expand(True)
    return item


def thought(text):
    item = ThinkingItem()
    item.finish(text)
    item.expand(True)
    return item


def reply(text):
    item = ReplyItem()
    item.finish(text)
    return item


def raw_reply(text):
    item = reply(text)
    item.toggle_raw()
    return item


ITEMS = [prompt, thought, reply, raw_reply]


@pytest.fixture
def session():
    return EventBuilder()


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("make", ITEMS)
@pytest.mark.sample(3)
def test_text_is_laid_out_in_parts(make, kind):
    item = make(TEXTS[kind])
    item.lay_out(80)
    rows = list(item.rows)
    assert item.is_partial
    assert sum(len(row.text) for row in rows) < 10 * PART
    assert len(rows) < PART
    while item.is_partial:
        first = item.lay_out(80)
        assert first >= len(rows) - 60, "rows of before were made again"
        rows = list(item.rows)
    assert max(len(row.text) for row in rows) <= 80 * MOST_IN_A_CELL


@pytest.mark.parametrize("part", [0.4, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", ["wide characters", "lines", "marks", "joined"])
@pytest.mark.sample(4)
async def test_stored_text_does_not_block_the_loop(session, kind, part):
    text = TEXTS[kind][: int(len(TEXTS[kind]) * part)]
    blocks = (ThinkingBlock(text=text), TextBlock(text))
    events = [session.turn_start(text), session.reply(*blocks), session.turn_end()]
    stage = Stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.transcript.set_timeline(await stage.transcript.build_timeline(events))
        await pilot.pause()
        for item in list(stage.transcript._timeline.items):
            if isinstance(item, ThinkingItem | UserMessageItem | ReplyItem):
                stage.transcript._selected = item
                stage.transcript.action_toggle_raw()
                stage.transcript.action_toggle_item()
                await pilot.pause()
        await pilot.resize_terminal(61, 24)
        await pilot.pause()
        stage.transcript.scroll_home()
        await pilot.pause()
        stage.transcript.scroll_end()
        await pilot.pause()


RESULTS = {"one line": "x" * 100_000_000, "lines": "a line of output\n" * 6_000_000}


@pytest.mark.parametrize("kind", RESULTS)
async def test_result_of_a_hundred_megabytes_does_not_delay_keys(session, kind):
    use = ToolUseBlock("tu_1", "shell", {"command": "make"})
    done = session.tool_result(use, RESULTS[kind])
    stage = Stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        for event in (session.turn_start(), session.tool_start(use), done, session.turn_end()):
            stage.transcript.apply(event)
        await pilot.pause()
        stage.transcript._schedule.flush()
        assert "more lines (Ctrl+O)" in stage.shown()
        stage.transcript.focus()
        await pilot.press("up", "enter")
        await pilot.resize_terminal(61, 24)
        await pilot.pause()
        stage.transcript.scroll_end()
        await pilot.press("enter", "pageup")
        assert stage.transcript._selected.rows


async def test_paused_reply_is_laid_out_completely_after_a_resize(session):
    stage = Stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.transcript.apply(session.turn_start())
        for event in session.text_deltas("word " * 10_000):
            stage.transcript.apply(event)
        reply = next(
            item for item in stage.transcript._timeline.items if isinstance(item, ReplyItem)
        )
        while reply.is_partial or not reply.rows:
            await pilot.pause()
        await pilot.resize_terminal(61, 24)
        while reply.is_partial or reply.layout_width != 58:
            await pilot.pause()
        assert sum(len(row.text) + 1 for row in reply.rows) >= 49_000


@pytest.mark.parametrize("width", [1, 2, 7, 40])
@given(text=st.text(st.sampled_from("a b 日\u0301\u200d👩\t\r\n\x01"), max_size=200))
@settings(max_examples=50, deadline=None)
def test_rows_are_the_same_for_any_chunking(width, text):
    whole, pieces = VerbatimStream(width), VerbatimStream(width)
    whole.feed(text)
    for at in range(0, len(text), 7):
        pieces.feed(text[at : at + 7])
    whole.finish()
    pieces.finish()
    assert pieces.settled == [row._replace(source=ANY) for row in whole.settled]


@pytest.mark.parametrize(
    "words", ["word " * 3_000, "日本 語" * 2_000, "x" * 9_000, " " * 5_000 + "a"]
)
def test_long_line_has_the_same_rows_for_any_chunking(words):
    shown = [row.text for row in plain_lines(words, "", 33)]
    assert shown == ["".join(text for text, _ in row) for row in wrap([(words, "")], 33)]
    pieces = [row.separator + row.text for row in plain_lines(words, "", 33)]
    assert "".join(pieces)[1:].split() == words.split()


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.sample(9)
def test_only_the_start_of_a_very_long_message_is_laid_out(kind):
    text = TEXTS[kind]
    failure = ErrorItem(text, text, text)
    failure.lay_out(80)
    settled = ErrorItem(text, text, text)
    settled.resolve()
    for item in (NoticeItem("error", text), FooterItem(["model"], text), failure, settled):
        item.lay_out(80)
        assert sum(len(row.text) + 1 for row in item.rows) < 150_000
    assert failure.source.count(text) == 3
