import difflib
from unicodedata import category, east_asian_width

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from yourtool.tui.diff.rows import SIDE_BY_SIDE_WIDTH, Diff
from yourtool.tui.lines.highlight import get_highlighter
from yourtool.tui.lines.styled_lines import cell_width
from yourtool.tui.questions.approval_lines import approval_pieces

LINES = st.lists(st.sampled_from(["a", "b", "-- c", "++ d", "@@ -1 +1 @@", "", "\tx"]), max_size=12)
WIDE = 160


def unified(old: list[str], new: list[str]) -> str:
    lines = difflib.unified_diff(old, new, "a/f.py", "b/f.py", lineterm="")
    return "\n".join(lines)


def texts(diff, width, **options):
    return [line.text.rstrip() for line in Diff(diff, **options).rows(width)]


def painted(diff, width):
    """Return the texts with a style name, by style name."""
    found = dict[str, str]()
    for line in Diff(diff, highlight=get_highlighter).rows(width):
        assert "".join(text for text, _ in line.painted_spans) == line.text
        for text, style in line.painted_spans:
            for name in style.split():
                found[name] = found.get(name, "") + text
    return found


def widest(row):
    """Return the cells of a row on a terminal that does not join characters."""
    cells = {"Mn": 0, "Me": 0}
    wide = {"W": 2, "F": 2}
    return sum(cells.get(category(char), wide.get(east_asian_width(char), 1)) for char in row)


def test_diff_has_line_numbers_markers_and_colours():
    diff = unified(["import os", "", "x = 1"], ["import os", "", "x = 2", "y = 3"])
    lines = list(Diff(diff).rows(40))
    assert [line.text.rstrip() for line in lines] == [
        "1   import os",
        "2",
        "3 − x = 1",
        "3 + x = 2",
        "4 + y = 3",
    ]
    assert [line.fill for line in lines] == ["", "", "diff.removed", "diff.added", "diff.added"]
    assert Diff(diff).size == (2, 1)
    assert "".join(text for text, _ in Diff(diff).counts) == "+2 −1"


def test_wide_screen_shows_old_and_new_lines_side_by_side():
    diff = unified(["import os", "x = 1", "", "y"], ["import os", "x = 2", "y = 3", "", "y"])
    left = (SIDE_BY_SIDE_WIDTH - 3) // 2
    rows = [(text[:left].rstrip(), text[left + 3 :]) for text in texts(diff, SIDE_BY_SIDE_WIDTH)]
    assert rows == [
        ("1   import os", "1   import os"),
        ("2 − x = 1", "2 + x = 2"),
        ("", "3 + y = 3"),
        ("3", "4"),
        ("4   y", "5   y"),
    ]
    assert texts(diff, SIDE_BY_SIDE_WIDTH - 1)[1:3] == ["2 − x = 1", "2 + x = 2"]


@pytest.mark.parametrize("names", [("/dev/null", "b/f.py"), ("a/f.py", "/dev/null")])
def test_created_or_deleted_file_is_not_shown_side_by_side(names):
    old, new = ([], ["x"]) if names[0] == "/dev/null" else (["x"], [])
    diff = "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))
    assert texts(diff, WIDE) == ["1 + x" if new else "1 − x"]


@settings(max_examples=150, deadline=None)
@given(LINES, LINES, st.sampled_from([80, WIDE]))
def test_every_changed_line_is_shown(old, new, width):
    diff = unified(old, new)
    rows = list(Diff(diff).rows(width))
    signs = [text for line in rows for text, style in line.spans if style.endswith(".mark")]
    body = diff.split("\n")[2:]
    hunks = [
        line for line in body if not line.startswith("@@ -") or line.startswith((" ", "+", "-"))
    ]
    added = [line[1:] for line in hunks if line.startswith("+")]
    removed = [line[1:] for line in hunks if line.startswith("-")]
    assert (signs.count("+ "), signs.count("− ")) == Diff(diff).size == (len(added), len(removed))
    shown = [
        "".join(text for text, style in line.spans if style == kind)
        for line in rows
        for kind in ("diff.removed", "diff.added")
        if any(style == f"{kind}.mark" for _, style in line.spans)
    ]
    assert sorted(text.strip() for text in shown) == sorted(
        line.expandtabs(4).strip() for line in (*added, *removed)
    )
    if width == 80:
        for kind, lines in (("diff.added", added), ("diff.removed", removed)):
            assert [row.source.text for row in rows if row.fill == kind and row.source] == lines


def test_long_lines_are_wrapped_and_multiple_files_are_named():
    diff = unified(["x" * 50], ["y" * 50]) + "\n" + unified(["1"], ["2"]).replace("f.py", "g.py")
    lines = list(Diff(diff).rows(30))
    assert all(cell_width(line.spans) <= 30 for line in lines)
    assert [line.text for line in lines if line.spans[0][1] == "diff.file"] == ["f.py", "g.py"]


@pytest.mark.req("T19")
def test_hidden_characters_in_a_diff_are_shown():
    [line] = Diff("@@ -0,0 +1 @@\n+a\u2067b\x1b[2J\u200bc").rows(60)
    assert "a\\u{2067}b␛[2J\\u{200b}c" in line.text


@pytest.mark.parametrize("width", [80, WIDE])
def test_first_row_of_a_diff_needs_only_the_first_lines(width):
    class Show:
        def __init__(self):
            self.asked = 0

        def __call__(self, text):
            self.asked += 1
            return [text]

    show = Show()
    rows = Diff("@@ -0,0 +1,100000 @@\n" + "+x\n" * 100_000, show=show).rows(width)
    assert next(rows).text.endswith("     1 + x") and show.asked == 1


@settings(max_examples=100, deadline=None)
@given(LINES, LINES)
def test_line_number_column_fits_the_highest_number(old, new):
    context = [str(n) for n in range(95)]
    rows = [line.spans for line in Diff(unified([*context, *old], [*context, *new])).rows(80)]
    numbers = [row[0][0] for row in rows if "number" in row[0][1]]
    digits = max((len(number.strip()) for number in numbers), default=0)
    widths = {len(number) for number in numbers}
    longest = len(str(95 + max(len(old), len(new))))
    assert len(widths) <= 1 and all(digits < width <= longest + 1 for width in widths)


@pytest.mark.parametrize("width", [60, WIDE])
def test_code_has_syntax_colours_and_changed_words_are_marked(width):
    old = ["def total(a, b):", '    """Add', '    all."""', "    return a + b  # sum"]
    new = ["def total(a, c):", '    """Add', '    all."""', "    return a + c  # sum"]
    found = painted(unified(old, new), width)
    assert found["syntax.keyword"].startswith("defdefreturnreturn" if width == 60 else "defdef")
    assert found["diff.removed.word"] == "bb"
    assert found["diff.added.word"] == "cc"
    assert '    all."""' in found["syntax.string"]
    assert "# sum" in found["syntax.comment"]


def test_colours_are_computed_only_when_a_row_is_painted():
    class Colors:
        def __init__(self):
            self.lines = 0

        def __call__(self, language):
            assert language == "f.py"
            return self

        def fork(self):
            raise NotImplementedError

        def highlight(self, text):
            self.lines += 1
            return [(text, "code.block syntax.string")] if text else []

    colors = Colors()
    lines = [f"line {n}" for n in range(10_000)]
    rows = list(Diff(unified([], lines), highlight=colors).rows(80))
    assert len(rows) == 10_000 and colors.lines == 0
    assert rows[9_000].painted_spans[-1] == ("line 9000", "syntax.string diff.added")
    assert 0 < colors.lines <= 128


@pytest.mark.parametrize("text", ["x" * 3_000, "字" * 3_000, "a " * 5_000])
@pytest.mark.parametrize("width", [40, WIDE])
def test_very_long_lines_are_complete_and_have_no_colours(text, width):
    diff = unified([text + "1"], [text + "2"])
    found = painted(diff, width)
    assert "diff.added.word" not in found
    shown = "".join(row.text for row in Diff(diff).rows(width)).replace(" ", "")
    assert shown.count(text.strip()[0]) == 2 * text.count(text[0])


SIGNS = st.sampled_from(" \taab字|│⇥\\{:\u200b\u0430\u3000👍\U0001f1e6\u0915\u093e\u0301")
ODD = st.text(SIGNS, max_size=120)


@settings(max_examples=200, deadline=None)
@given(ODD, ODD)
def test_side_by_side_rows_in_an_approval_never_exceed_the_width(old, new):
    assume(old != new)
    diff = unified(["same", old], ["same", new])
    for row in Diff(diff, show=approval_pieces).rows(SIDE_BY_SIDE_WIDTH):
        assert widest(row.text) <= SIDE_BY_SIDE_WIDTH


@settings(max_examples=200, deadline=None)
@given(ODD, ODD, ODD)
@pytest.mark.remaining
def test_different_changes_look_different_side_by_side(old, one, other):
    assume(len({old, one, other}) == 3)
    shown = {
        tuple(texts(unified([old], [new]), SIDE_BY_SIDE_WIDTH, show=approval_pieces))
        for new in (one, other)
    }
    assert len(shown) == 2
