import re

import pytest
from rich.console import Console

from yourtool.tui.theme.display_filters import AsciiFilter, NoColorFilter
from yourtool.tui.theme.output_filter import SanitizeFilter
from yourtool.tui.theme.themes import get_palette
from yourtool.tui.transcript.items import NoticeItem
from yourtool.tui.transcript.scrollback import MAX_LINES, ScrollbackPainter, build_scrollback
from yourtool.tui.transcript.text_items import ReplyItem, UserMessageItem

SEQUENCE = re.compile("\x1b\\[[0-9;]*m")


def painter(*filters):
    console = Console(force_terminal=True, color_system="truecolor")
    return ScrollbackPainter(get_palette("dark"), [SanitizeFilter(), *filters], console)


def reply(text):
    item = ReplyItem()
    item.append(text)
    item.finish()
    return item


async def lines(*items, width=40, seconds=60, filters=()):
    text = await build_scrollback(items, width, painter(*filters), seconds)
    assert not text or text.endswith("\n")
    return text.splitlines()


async def plain_lines(*items, **options):
    return [SEQUENCE.sub("", line) for line in await lines(*items, **options)]


async def test_conversation_is_rendered_as_on_the_screen_without_trailing_spaces():
    shown = await plain_lines(
        UserMessageItem("fix it"), reply("# Done\n\n- one\n- two"), NoticeItem("info", "Saved.")
    )
    assert shown == ["❯ fix it", "", "  Done", "", "  • one", "  • two", "", "· Saved."]


async def test_hints_on_keys_that_no_longer_work_are_omitted():
    message = UserMessageItem("\n".join(f"line {number}" for number in range(40)))
    message.lay_out(38)
    assert [row for row in message.rows if "(Ctrl+O)" in row.text]
    shown = await plain_lines(message)
    assert [line for line in shown if line.endswith(" more lines")]
    assert not [line for line in shown if "Ctrl+O" in line]


async def test_text_has_the_colours_of_the_theme_and_no_background():
    code = await lines(reply("```python\nreturn 1\n```"))
    assert any("\x1b[" in line for line in code)
    assert not [line for line in code if re.search(r"\x1b\[(.*;)?4[0-9]", line)]


async def test_without_colours_only_attributes_remain():
    shown = await lines(reply("# Title\n\n`code` **bold**"), filters=[NoColorFilter()])
    assert not [line for line in shown if re.search(r"\x1b\[(.*;)?[34]8", line)]
    assert any("\x1b[1m" in line for line in shown)


async def test_ascii_mode_prints_symbols_of_the_interface_in_ascii():
    shown = await plain_lines(UserMessageItem("hi"), reply("- é"), filters=[AsciiFilter()])
    assert shown == ["> hi", "", "  * é"]


async def test_text_of_a_model_never_controls_the_terminal():
    evil = "a\x1b]52;c;eA==\x07b\x1b[2Jc\x9bd\u202ee"
    text = await build_scrollback([reply(evil), UserMessageItem(evil)], 80, painter(), 60)
    rest = SEQUENCE.sub("", text)
    assert "\x1b" not in rest
    assert not set(rest) & {"\x07", "\x9b", "\u202e"}


async def test_only_the_last_lines_are_printed():
    items = [reply(f"message {number}") for number in range(1_500)]
    shown = await plain_lines(*items)
    assert len(shown) == MAX_LINES
    assert shown[0] == "  … earlier messages are in the session"
    assert shown[-1] == "  message 1499"


@pytest.mark.remaining
async def test_end_of_a_huge_text_is_printed_as_it_is():
    text = "".join(f"**line** {number}\n" for number in range(60_000))
    shown = await plain_lines(UserMessageItem("go"), reply(text))
    assert len(shown) == MAX_LINES
    assert shown[-1] == "  **line** 59999"


async def test_nothing_is_rendered_after_the_time_limit():
    assert await plain_lines(reply("text"), seconds=0) == [
        "  … earlier messages are in the session"
    ]


async def test_rows_that_were_not_on_the_screen_are_discarded():
    visible, hidden = reply("visible"), reply("hidden")
    visible.lay_out(40)
    await lines(hidden, visible)
    assert (hidden.layout_width, visible.layout_width) == (0, 40)


async def test_nothing_is_printed_for_an_empty_transcript():
    assert await lines() == []
