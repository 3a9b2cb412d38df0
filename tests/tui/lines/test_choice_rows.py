"""The rows of a list in a width."""

from yourtool.agent.commands.base import Choice
from yourtool.tui.lines.choice_rows import RowFormat, group_choices

COLUMNS = ("$ in/out", "context", "")
ROWS = [
    Choice("a", "claude-sonnet-4-6", "", ("   3/15", "  200k", "in use"), mark="✓"),
    Choice("b", "字字字字 mini", "", ("0.25/1.25", "    1M", "")),
]


def test_columns_are_aligned_and_a_narrow_list_omits_the_last_ones():
    rows = RowFormat(ROWS, COLUMNS)
    assert rows.heading(60).plain == "                     $ in/out   context"
    assert rows.row(ROWS[0], 60).plain == "✓ claude-sonnet-4-6     3/15      200k   in use"
    assert rows.row(ROWS[1], 60).plain == "  字字字字 mini      0.25/1.25      1M"
    assert rows.row(ROWS[0], 42).plain == "✓ claude-sonnet-4-6     3/15      200k"
    assert rows.row(ROWS[0], 30).plain == "✓ claude-sonnet-4-6     3/15"
    assert rows.row(ROWS[0], 20).plain == "✓ claude-sonnet-4-6"


def test_no_row_is_wider_than_the_list():
    rows = RowFormat(ROWS, COLUMNS)
    muted = Choice("c", "字" * 99, "", is_muted=True)
    for width in range(10, 80):
        for row in (*ROWS, muted, "a heading of a group that is long"):
            assert rows.row(row, width).cell_length <= width


def test_control_characters_are_visible_in_every_cell():
    row = Choice("a", "\x1b[2Jname", "", ("\x1b]0;x\x07",))
    line = RowFormat([row], ("a column",)).row(row, 60).plain
    assert "\x1b" not in line and "\x07" not in line


def test_groups_have_headings_in_the_order_of_their_first_rows():
    rows = [Choice(each, each, group=each[0]) for each in ("b1", "a1", "b2")]
    assert group_choices(rows) == ["b", rows[0], rows[2], "a", rows[1]]
    ungrouped = [Choice("x", "x")]
    assert group_choices(ungrouped) == ungrouped
