"""The screen of `/diff`."""

import pytest
from textual.app import App

from tests.tui.pilot_helpers import press, screen_text, settle, until
from yourtool.agent.commands.base import FileChange
from yourtool.tui.highlight import get_highlighter
from yourtool.tui.screens.changes import ChangesScreen
from yourtool.tui.widgets.styled_text import StyledText

EDIT = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1,2 @@\n-a = 1\n+a = 2\n+b = 3\n"
LARGE = (
    "--- a/y.py\n+++ b/y.py\n@@ -1,10000 +1,10000 @@\n"
    + "".join(f"-value_{n} = compute('{n}', left)\n" for n in range(10_000))
    + "".join(f"+value_{n} = compute('{n}', right)\n" for n in range(10_000))
)


@pytest.mark.parametrize("size", [(40, 12), (160, 40)])
async def test_changes_have_their_path_and_counts_above_the_diff(size):
    changes = (FileChange("src/x.py", EDIT), FileChange("a\n\u202e", EDIT))
    app = App[None]()
    async with app.run_test(size=size) as pilot:
        await app.push_screen(ChangesScreen("2 changes", changes, get_highlighter))
        await settle(pilot)
        text = screen_text(app)
        assert "2 changes" in text and "src/x.py  +2 −1" in text
        is_side_by_side = any("a = 1" in row and "a = 2" in row for row in text.splitlines())
        assert is_side_by_side is (size[0] == 160)
        await press(pilot, "end")
        await until(pilot, lambda: screen_text(app).count("b = 3") > 1 or size[0] == 40)
        await settle(pilot)
        assert "a \\u{202e}  +2 −1" in screen_text(app)
        await press(pilot, "escape")
        assert not isinstance(app.screen, ChangesScreen)


@pytest.mark.remaining
async def test_change_of_ten_thousand_lines_does_not_block_the_loop():
    app = App[None]()
    async with app.run_test(size=(200, 50)) as pilot:
        screen = ChangesScreen("1 change", (FileChange("y.py", LARGE),), get_highlighter)
        await app.push_screen(screen)
        await settle(pilot)
        await press(pilot, "pagedown", "pagedown", "end", "home")
        await until(pilot, lambda: screen.query_one(StyledText).is_complete)
        await press(pilot, "end")
        await until(pilot, lambda: "value_9999" in screen_text(app))
