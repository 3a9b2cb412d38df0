import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.tui.diff import DiffSize, diff_lines, diff_size
from yourtool.tui.styled_lines import cell_width

LINES = st.lists(st.sampled_from(["a", "b", "-- c", "++ d", "@@ -1 +1 @@", "", "\tx"]), max_size=12)


def unified(old: list[str], new: list[str]) -> str:
    lines = difflib.unified_diff(old, new, "a/f.py", "b/f.py", lineterm="")
    return "\n".join(lines)


def test_diff_has_line_numbers_markers_and_colours():
    diff = unified(["import os", "", "x = 1"], ["import os", "", "x = 2", "y = 3"])
    lines = list(diff_lines(diff, 40))
    assert [line.text.rstrip() for line in lines] == [
        "1   import os",
        "2",
        "3 − x = 1",
        "3 + x = 2",
        "4 + y = 3",
    ]
    assert [line.fill for line in lines] == ["", "", "diff.removed", "diff.added", "diff.added"]
    assert diff_size(diff) == DiffSize(2, 1)


@settings(max_examples=150, deadline=None)
@given(LINES, LINES)
def test_every_changed_line_is_shown(old, new):
    diff = unified(old, new)
    lines = list(diff_lines(diff, 200))
    added = [line.source.text for line in lines if line.fill == "diff.added" and line.source]
    removed = [line.source.text for line in lines if line.fill == "diff.removed" and line.source]
    body = diff.split("\n")[2:]
    hunks = [
        line for line in body if not line.startswith("@@ -") or line.startswith((" ", "+", "-"))
    ]
    assert added == [line[1:] for line in hunks if line.startswith("+")]
    assert removed == [line[1:] for line in hunks if line.startswith("-")]
    assert diff_size(diff) == DiffSize(len(added), len(removed))


def test_long_lines_are_wrapped_and_multiple_files_are_named():
    diff = unified(["x" * 50], ["y" * 50]) + "\n" + unified(["1"], ["2"]).replace("f.py", "g.py")
    lines = list(diff_lines(diff, 30))
    assert all(cell_width(line.spans) <= 30 for line in lines)
    assert [line.text for line in lines if line.spans[0][1] == "diff.file"] == ["f.py", "g.py"]


@pytest.mark.req("T19")
def test_hidden_characters_in_a_diff_are_shown():
    [line] = diff_lines("@@ -0,0 +1 @@\n+a\u2067b\x1b[2J\u200bc", 60)
    assert "a\\u{2067}b␛[2J\\u{200b}c" in line.text


def test_first_row_of_a_diff_needs_only_the_first_lines():
    class Show:
        def __init__(self):
            self.asked = 0

        def __call__(self, text):
            self.asked += 1
            return [text]

    show = Show()
    rows = diff_lines("@@ -0,0 +1,100000 @@\n" + "+x\n" * 100_000, 80, show)
    assert next(rows).text == "     1 + x" and show.asked == 1


@settings(max_examples=100, deadline=None)
@given(LINES, LINES)
def test_line_number_column_fits_the_highest_number(old, new):
    context = [str(n) for n in range(95)]
    rows = [line.spans for line in diff_lines(unified([*context, *old], [*context, *new]), 80)]
    numbers = [row[0][0] for row in rows if "number" in row[0][1]]
    digits = max((len(number.strip()) for number in numbers), default=0)
    assert {len(number) for number in numbers} <= {digits + 1}
