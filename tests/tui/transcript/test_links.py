"""Links of replies, as the terminal gets them."""

import io
import re

from rich.console import Console

from tests.tui.events import EventBuilder
from tests.tui.transcript.test_scrollback import painter
from tests.tui.transcript.test_transcript import Stage, play
from yourtool.tui.transcript.scrollback import build_scrollback

session = EventBuilder()
ADDRESS = "https://example.com/very/long/" + "a" * 90
LINK = re.compile(r"\x1b\]8;id=([^;]*);([^\x1b]*)\x1b\\(.*?)\x1b\]8;;\x1b\\")


def console():
    return Console(
        file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False
    )


async def find_links(text, size=(80, 20)):
    """Return id, address and text of each piece of a link on the screen."""
    stage = Stage()
    async with stage.run_test(size=size) as pilot:
        await play(stage, pilot, *session.turn(reply=text))
        strips = stage.transcript.render_lines(stage.transcript.region.reset_offset)
        return LINK.findall("\n".join(strip.render(console()) for strip in strips))


async def test_link_over_two_rows_opens_whole():
    for text in (f"See {ADDRESS} for more.", f"[label]({ADDRESS})", f"| a |\n|-|\n| {ADDRESS} |"):
        pieces = await find_links(text)
        assert len(pieces) >= 2, text
        assert {address for _, address, _ in pieces} == {ADDRESS}
        of_address = [identifier for identifier, _, piece in pieces if "label" not in piece]
        assert len(of_address) >= 2 and len(set(of_address)) == 1  # so a terminal joins them
        shown = "".join(re.sub(r"\x1b\[[\d;]*m", "", piece) for _, _, piece in pieces)
        assert ADDRESS in shown.replace(" ", "")


async def test_words_that_are_another_address_show_the_target():
    [words, target] = await find_links("[https://good.example](https://evil.example/x)")
    assert words[1] == target[1] == "https://evil.example/x"
    assert "evil.example" in target[2]


async def test_only_a_safe_address_is_a_link():
    for target in ("file:///etc/passwd", "https://me:word@a.example", "vscode://x", "a.py"):
        assert await find_links(f"[words]({target})") == [], target
    assert await find_links("`https://a.example/code`\n\n```\nhttps://a.example\n```") == []


async def test_links_stay_in_the_scrollback_of_the_shell():
    stage = Stage()
    async with stage.run_test(size=(80, 20)) as pilot:
        await play(stage, pilot, *session.turn(reply=f"See {ADDRESS}."))
        printed = await build_scrollback(stage.transcript.items, 60, painter(), 5.0)
    assert {address for _, address, _ in LINK.findall(printed)} == {ADDRESS}
