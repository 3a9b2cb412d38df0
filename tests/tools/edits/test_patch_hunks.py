"""Hunks of a patch that are applied to the text of a file."""

import contextlib
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from tests.tools.contexts import NO_KEYS
from tests.tools.patches import build_update, patches_with_a_changed_word, spoilt_patches
from tests.tools.spoilt_edits import KINDS
from yourtool.errors import ToolError
from yourtool.tools.edits.patch_format import UpdatedFile, parse_patch
from yourtool.tools.edits.patch_hunks import apply_hunks
from yourtool.tools.workspace.encoding import Encoding, detect_encoding

FILE = """\
import os


class First:
    def close(
        self,
    ):
        stop()
        log()

    def run(self):
        stop()
        log()


class Second:
    def close(self):
        stop()
        log()
"""


def apply(text, patch):
    (file,) = parse_patch(patch).files
    assert isinstance(file, UpdatedFile)
    encoding = detect_encoding(text.encode()) or Encoding()
    return apply_hunks("f", text, file.hunks, encoding, NO_KEYS)


def changed(text, *lines):
    return apply(text, "\n".join(("*** Update File: f", *lines))).text


def get_problem(text, *lines):
    with pytest.raises(ToolError) as caught:
        changed(text, *lines)
    assert "nothing was changed" in str(caught.value)
    return str(caught.value)


LINES = st.lists(st.sampled_from(["a", "b", "  a", "a  ", "", "\tc", "“d”"]), max_size=12)


def joined(lines, newline, end):
    return newline.join(lines) + end if lines else ""


@settings(deadline=None, max_examples=300)
@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(0, 4))
@pytest.mark.req("R-TOOL-08")
@pytest.mark.remaining
def test_generated_patch_is_applied_exactly_or_refused(before, after, newline, ends, context):
    assume(before != after and len(before) > 1 and before[-1] and (not after or after[-1]))
    end = newline if ends else ""
    patch = "\n".join(build_update("f", before, after, context))
    try:
        result = apply(joined(before, newline, end), patch).text
    except ToolError:
        return
    assert result == joined(after, newline, end)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 3), min_size=3, max_size=60), st.data())
@pytest.mark.req("R-TOOL-08")
def test_patch_of_unique_lines_is_always_applied(kinds, data):
    before, after = list[str](), list[str]()
    for number, kind in enumerate(kinds):
        before += [f"line {number}"] if kind != 1 else []
        after += [f"line {number}"] if kind != 2 else []
        after += [f"new {number}"] * (kind == 3)
    assume(before and before != after)
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(before),
                              max_size=len(before)))  # fmt: skip
    text = "".join(line + end for line, end in zip(before, ends, strict=True))
    result = apply(text, "\n".join(build_update("f", before, after, 2))).text
    assert result.replace("\r\n", "\n").splitlines() == after
    kept = dict(zip(before, ends, strict=True))
    for line in result.splitlines(keepends=True):
        name = line.rstrip("\r\n")
        assert name not in kept or line == name + kept[name], "an unchanged line keeps its end"


def check_spoilt(files, per_file, least, figures=None):
    counts = Counter[tuple[str, str]]()
    for spoilt in spoilt_patches(1, files, per_file):
        try:
            result = apply(spoilt.edit.before, spoilt.patch).text
        except ToolError:
            counts[spoilt.kind, "refused"] += 1
        else:
            counts[spoilt.kind, "applied" if result == spoilt.edit.after else "wrong"] += 1
    for kind in KINDS:
        applied, refused, wrong = (counts[kind, each] for each in ("applied", "refused", "wrong"))
        total = applied + refused + wrong
        if figures:
            share = f"{applied / total:.1%} of {total:,}"
            figures("patches", f"{share} applied, {wrong} wrong", part=kind)
        assert applied >= least * total > 60, (kind, counts)
        assert not wrong, kind
    return counts.total()


def check_changed_words(files, per_file):
    applied = 0
    for patch, text in patches_with_a_changed_word(2, files, per_file):
        with contextlib.suppress(ToolError):
            apply(text, patch)
            applied += 1
    assert not applied


@pytest.mark.req("R-TOOL-09")
@pytest.mark.remaining
def test_near_misses_in_patches_are_applied_at_the_right_place_only():
    assert check_spoilt(files=2, per_file=10, least=0.95) >= 400


@pytest.mark.craft
def test_many_near_misses_in_patches_are_applied_at_the_right_place_only(figures):
    assert check_spoilt(20, 30, 0.98, figures) >= 10_000


@pytest.mark.req("R-TOOL-09")
def test_patch_with_a_changed_word_is_not_applied():
    check_changed_words(files=2, per_file=8)


@pytest.mark.craft
def test_many_patches_with_a_changed_word_are_not_applied():
    check_changed_words(20, 30)


@pytest.mark.parametrize(
    ("marks", "line"),
    [
        (("@@ class First:", "@@     def close("), 8),
        (("@@     def run(self):",), 12),
        (("@@ def run",), 12),
        (("@@ class Second:",), 18),
        (("@@ class Second:", "@@ def close(self):"), 18),
        (("@@ -15,2 +15,3 @@ class Second:",), 18),
        (("@@ class Second", "@@ def missing()"), 18),
    ],
)
def test_anchor_names_the_block_that_contains_the_hunk(marks, line):
    lines = changed(FILE, *marks, "-        stop()", "+        halt()", "         log()").split(
        "\n"
    )
    assert [number for number, text in enumerate(lines, 1) if "halt" in text] == [line]


def test_hunks_in_order_are_found_after_each_other():
    text = changed(FILE, "@@ def run", "-        stop()", "+        halt()", "@@",
                   "-        log()", "+        note()", " ", " ", "@@", "-        stop()",
                   "+        end()")  # fmt: skip
    assert text == FILE[: FILE.index("    def run")] + (
        "    def run(self):\n        halt()\n        note()\n\n\n"
        "class Second:\n    def close(self):\n        end()\n        log()\n"
    )


def test_hunk_before_the_one_before_it_is_found_in_the_whole_file():
    text = changed("a\nb\nc\n", "@@", "-c", "+C", "@@", "-a", "+A")
    assert text == "A\nb\nC\n"


def test_end_of_file_names_the_last_place():
    text = changed("a\nb\na\n", "@@", "-a", "+x", "*** End of File")
    assert text == "a\nb\nx\n"
    assert changed("a\n", "@@", "+b", "*** End of File") == "a\nb\n"
    assert changed("a\r\nb", "@@", "+c", "*** End of File") == "a\r\nb\r\nc"
    assert changed("", "@@", "+b") == "b\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("@@", "-        stop()", "+x"), "occur 3 times (lines 8, 12, 18), so nothing"),
        (("@@ class First", "-        stop()", "+x"), "occur 2 times (lines 8, 12), so"),
        (("@@", "-        stop()", "+x"), "or put `@@` and the head of their function or class"),
        (("@@", "-stop ()", "+x"), "do not occur in it"),
        (
            ("@@", " import os", " ", " ", "-clas First:", "+x"),
            "line 4 has `class` where the patch has",
        ),
        (("@@ def run", "+x"), "has added lines only, so its place is not clear"),
        (("@@", "-import os", "+x", "@@", "-import os", "+y"), "another hunk changes"),
    ],
)
def test_refused_hunk_names_the_problem_and_the_remedy(lines, said):
    problem = get_problem(FILE, *lines)
    assert said in problem
    assert "hunk" in problem
    assert "of the patch" in problem


def test_hunk_without_a_change_has_no_place():
    assert changed("a\na\nb\n", "@@", " a", "@@", "-b", "+c") == "a\na\nc\n"


def test_lines_between_changed_lines_stay_as_they_are():
    before = "a\r\n“b”  \nc\r\nd\n"
    result = apply(before, '*** Update File: f\n@@\n-a\n+A\n "b"\n c\n-d\n+D')
    assert result.text == "A\r\n“b”  \nc\r\nD\n"
    (remark,) = result.remarks
    assert "hunk 1 of `f` (line 2 of the patch) was matched" in remark
    assert "typographic" in remark


@pytest.mark.parametrize(
    ("build", "patch"),
    [
        (lambda n: "a\n" * n, "@@ a\n-a\n+b"),
        (lambda n: "a\nb\n" * n, "@@ a\n@@ a\n@@ b\n-c\n+d"),
        (lambda n: "".join(" " * (at % 100) + "x\n" for at in range(n)), "@@ x\n-y\n+z"),
        (lambda n: "  a\n" * n, "@@ a\n-a\n-a\n-a\n+b"),
        (lambda n: "(" * n, "@@ (\n-((\n+b"),
        (lambda n: ")\n" * n, "@@ )\n-((\n+b"),
    ],
)
def test_hostile_file_takes_linear_time(build, patch):
    def attempt(text):
        with contextlib.suppress(ToolError):
            apply(text, f"*** Update File: f\n{patch}")

    assert growth(attempt, build, 500) < LINEAR


def test_many_hunks_in_order_take_linear_time():
    def build(count):
        text = "".join(f"line {at}\n" for at in range(count))
        hunks = "".join(f"@@\n-line {at}\n+new {at}\n" for at in range(0, count, count // 100))
        return text, f"*** Update File: f\n{hunks}"

    assert growth(lambda given: apply(*given), build, 500) < LINEAR


def test_large_file_can_have_few_hunks_only():
    text = "a" * 5_000_000
    with pytest.raises(ToolError, match=r"`f` is too large for 401 hunks in one patch, so"):
        changed(text, *["@@", "-b", "+c"] * 401)


def test_file_with_very_many_lines_is_refused():
    with pytest.raises(ToolError, match="more than 500,000 lines"):
        changed("\n" * 500_002, "@@", "-a", "+b")
