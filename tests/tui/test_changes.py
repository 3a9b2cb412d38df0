"""The screen of `/diff`."""

import pytest
from textual.app import App

from tests.tui.pilot_helpers import press, screen_text, settle, until
from yourtool.agent.commands.base import CallChanges, FileChange
from yourtool.effects import Confirmation, Preview
from yourtool.tui.diff.rows import Diff
from yourtool.tui.lines.highlight import get_highlighter
from yourtool.tui.screens.changes import ChangesScreen
from yourtool.tui.transcript.tool_card import ToolCard
from yourtool.tui.widgets.preview import preview_rows
from yourtool.tui.widgets.styled_text import StyledText

EDIT = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1,2 @@\n-a = 1\n+a = 2\n+b = 3\n"
LARGE = (
    "--- a/y.py\n+++ b/y.py\n@@ -1,10000 +1,10000 @@\n"
    + "".join(f"-value_{n} = compute('{n}', left)\n" for n in range(10_000))
    + "".join(f"+value_{n} = compute('{n}', right)\n" for n in range(10_000))
)


@pytest.mark.parametrize("size", [(40, 12), (160, 40)])
async def test_changes_are_below_their_call_with_path_counts_and_notes(size):
    calls = (
        CallChanges("$ make \u202e\nx", (FileChange("out.bin", note="created; not text"),)),
        CallChanges("edit_file", (FileChange("src/x.py", EDIT), FileChange("a\n\u202e", EDIT))),
    )
    app = App[None]()
    async with app.run_test(size=size) as pilot:
        await app.push_screen(ChangesScreen("3 changes of 3 files", calls, get_highlighter))
        await settle(pilot)
        text = screen_text(app)
        assert "3 changes of 3 files" in text
        assert text.index("$ make \\u{202e} x") < text.index("out.bin") < text.index("created; not")
        assert text.index("created; not") < text.index("edit_file") < text.index("src/x.py  +2 −1")
        is_side_by_side = any("a = 1" in row and "a = 2" in row for row in text.splitlines())
        assert is_side_by_side is (size[0] == 160)
        await press(pilot, "end")
        await until(pilot, lambda: "a \\u{202e}  +2 −1" in screen_text(app))
        await press(pilot, "escape")
        assert not isinstance(app.screen, ChangesScreen)


@pytest.mark.parametrize("width", [40, 160])
def test_change_is_drawn_alike_in_its_question_its_card_and_the_report(width):
    preview = Preview(kind="diff", body=EDIT, paths=("src/x.py",))
    asked = Confirmation(id="c", kind="tool", title="t", preview=preview)
    card = ToolCard("edit_file")
    card.set_arguments({"path": "src/x.py"})
    card.highlight = get_highlighter
    card.finish("ok", "", None, {"diff": EDIT})
    report = ChangesScreen(
        "t", (CallChanges("c", (FileChange("src/x.py", EDIT),)),), get_highlighter
    )
    expected = [line.painted_spans for line in Diff(EDIT, highlight=get_highlighter).rows(width)]
    question = [*preview_rows(asked, width + 2, get_highlighter)][: 1 + len(expected)]
    for head, *body in (question, card.build(width + 2), [*report._build_rows(width)][1:]):
        assert "src/x.py" in head.text and "+2 −1" in head.text
        drawn = [[span for span in line.painted_spans if span[0] != "│ "] for line in body]
        assert drawn == [list(spans) for spans in expected]


@pytest.mark.remaining
async def test_change_of_ten_thousand_lines_does_not_block_the_loop():
    app = App[None]()
    calls = (CallChanges("edit_file", (FileChange("y.py", LARGE),)),)
    async with app.run_test(size=(200, 50)) as pilot:
        screen = ChangesScreen("1 change of 1 file", calls, get_highlighter)
        await app.push_screen(screen)
        await settle(pilot)
        await press(pilot, "pagedown", "pagedown", "end", "home")
        await until(pilot, lambda: screen.query_one(StyledText).is_complete)
        await press(pilot, "end")
        await until(pilot, lambda: "value_9999" in screen_text(app))
