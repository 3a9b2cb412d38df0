import pytest

from tests.doubling import LINEAR, growth
from yourtool.tui.diff.parsing import Change, parse_diff, summarize_diff


def changes(diff):
    return [
        ([row.text for row in part.removed], [row.text for row in part.added])
        for part in parse_diff(diff)
        if isinstance(part, Change)
    ]


def test_removed_lines_come_with_the_lines_that_replace_them():
    diff = "@@ -1,4 +1,5 @@\n-a\n-b\n+A\n+B\n+C\n same\n-x\n+y\n"
    assert changes(diff) == [(["a", "b"], ["A", "B"]), ([], ["C"]), (["x"], ["y"])]


def test_missing_newline_belongs_to_its_line():
    note = "\\ No newline at end of file"
    diff = f"@@ -1 +1 @@\n-a\n{note}\n+b\n{note}"
    assert changes(diff) == [(["a", note[2:]], ["b", note[2:]])]


def test_long_run_of_removed_lines_does_not_wait_for_its_end():
    diff = "@@ -1,5000 +1 @@\n" + "-x\n" * 5_000 + "+y\n"
    parts = [part for part in parse_diff(diff) if isinstance(part, Change)]
    assert max(len(part.removed) for part in parts) == 1_000
    assert sum(len(part.removed) for part in parts) == 5_000


def test_summary_counts_lines_that_look_like_headers():
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n--- a\n+++ b\n+@@ -1 +1 @@\n same\n"
    summary = summarize_diff(diff)
    assert summary.size == (2, 1)
    assert str(summary.size) == "+2 −1"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("--- a/x\n+++ b/x", False),
        ("--- /dev/null\n+++ b/x", True),
        ("--- a/x\n+++ /dev/null", True),
    ],
)
def test_summary_shows_whether_a_file_is_created_or_deleted(names, expected):
    assert summarize_diff(f"{names}\n@@ -0,0 +1 @@\n+x").is_one_sided is expected


@pytest.mark.parametrize(
    ("names", "shown", "needed"),
    [
        ("--- a/x\n+++ b/x", "x", False),
        ("--- /dev/null\n+++ b/x", "x", False),
        ("--- a/x\n+++ /dev/null", "deleted: x", False),
        ("--- a/x\n+++ b/y", "moved: x → y", True),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y", "x", True),
    ],
)
def test_file_of_a_diff_is_named_with_what_happens_to_it(names, shown, needed):
    diff = f"{names}\n@@ -1 +1 @@\n-a\n+b\n"
    first = next(iter(parse_diff(diff)))
    assert (first.kind, first.text) == ("f", shown)
    assert summarize_diff(diff).needs_names is needed


@pytest.mark.parametrize("lines", ["+x\n", "-x\n", "@@ -1 +1 @@\n-a\n+b\n", "+++ b/x\n"])
def test_diff_is_parsed_in_linear_time(lines):
    def sized(length):
        return "@@ -1 +1,9999999 @@\n" + lines * (length // len(lines))

    def parse(diff):
        return summarize_diff(diff), sum(1 for _ in parse_diff(diff))

    assert growth(parse, sized, 20_000) < LINEAR
