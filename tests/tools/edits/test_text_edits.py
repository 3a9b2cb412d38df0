"""Edits that differ from their file in what does not matter."""

import contextlib
import re
from collections import Counter

import pytest

from tests.doubling import LINEAR, growth
from tests.tools.contexts import NO_KEYS
from tests.tools.spoilt_edits import KINDS, edits_with_a_changed_word, spoilt_edits
from yourtool.errors import ToolError
from yourtool.foundation.masking import Mask
from yourtool.tools.edits.file_changes import Edit
from yourtool.tools.edits.text_edits import apply_edits
from yourtool.tools.workspace.encoding import Encoding, detect_encoding


def apply(text, old, new, mask=NO_KEYS, **options):
    encoding = detect_encoding(text.encode()) or Encoding()
    return apply_edits("f", text, [Edit(old, new, **options)], encoding, mask)


def edited(text, old, new):
    return apply(text, old, new).text


def get_problem(text, old, new="x", **options):
    with pytest.raises(ToolError) as caught:
        apply(text, old, new, **options)
    return str(caught.value)


def apply_spoilt(edits):
    """Return how many edits of each kind are applied, refused, and applied wrongly."""
    counts = Counter()
    for edit in edits:
        try:
            result = edited(edit.before, edit.old, edit.new)
        except ToolError:
            counts[edit.kind, "refused"] += 1
        else:
            counts[edit.kind, "applied" if result == edit.after else "wrong"] += 1
    return counts


def count_regions(edits):
    """Return how many edits are applied, refused, and refused with the true region."""
    counts = Counter()
    for edit in edits:
        counts["all"] += 1
        try:
            edited(edit.before, edit.old, edit.new)
        except ToolError as error:
            shown = re.findall(r"^ *(\d+)\t", str(error), re.MULTILINE)
            counts["shown"] += str(edit.line) in shown
        else:
            counts["applied"] += 1
    return counts


def check_near_misses(files, per_file, figures=None):
    counts = apply_spoilt(spoilt_edits(1, files, per_file))
    for kind in KINDS:
        applied, refused, wrong = (counts[kind, each] for each in ("applied", "refused", "wrong"))
        total = applied + refused + wrong
        if figures:
            share = f"{applied / total:.1%} of {total:,}"
            figures("near misses", f"{share} applied, {wrong} wrong", part=kind)
        assert applied >= 0.98 * total > 100, kind
        assert not wrong, kind
    return counts.total()


def check_changed_words(files, per_file, figures=None):
    counts = count_regions(edits_with_a_changed_word(2, files, per_file))
    if figures:
        share = f"{counts['shown'] / counts['all']:.1%} of {counts['all']:,}"
        figures("changed word", f"{counts['applied']} applied, {share} show the region")
    assert counts["applied"] == 0
    assert counts["shown"] >= 0.95 * counts["all"] > 100


@pytest.mark.req("R-TOOL-09")
@pytest.mark.remaining
def test_near_misses_are_applied_at_the_right_place_only():
    assert check_near_misses(files=3, per_file=18) >= 1_000


@pytest.mark.craft
def test_many_near_misses_are_applied_at_the_right_place_only(figures):
    assert check_near_misses(20, 30, figures) >= 10_000


@pytest.mark.req("R-TOOL-09")
@pytest.mark.remaining
def test_text_with_a_changed_word_is_not_replaced_and_its_region_is_shown():
    check_changed_words(files=3, per_file=10)


@pytest.mark.craft
def test_many_texts_with_a_changed_word_are_not_replaced(figures):
    check_changed_words(20, 30, figures)


CASES = [
    ("trailing space", "a\nb  \nc\n", "a  \nb\n", "a  \nB\n", "a\nB  \nc\n"),
    (
        "indentation lost",
        "if x:\n    a\n    b\n",
        "a\nb",
        "a\nif b:\n  c",
        "if x:\n    a\n    if b:\n      c\n",
    ),
    ("indentation added", "a\nb\n", "  a\n  b", "  a\n    c", "a\n  c\n"),
    (
        "spaces for tabs",
        "\ta\n\t\tb\n",
        "    a\n        b",
        "    a\n        if c:\n            d",
        "\ta\n\t\tif c:\n\t\t\td\n",
    ),
    ("tabs for spaces", "  a\n    b\n", "\ta\n\t\tb", "\ta\n\t\tc", "  a\n    c\n"),
    ("blank lines", "  a\n\n  b\n", "a\n   \nb", "a\n\n\nc", "  a\n\n\n  c\n"),
    ("plain for typographic", "“a” – b, “c”\n", '"a" - b, "c"', '"a" - d, "c"', "“a” – d, “c”\n"),
    ("typographic for plain", 'x = "a"\n', "x = “a”", "x = “b”\ny = ‘c’", "x = \"b\"\ny = 'c'\n"),
    ("space that does not break", "a\u00a0b\n", "a b", "a c", "a\u00a0c\n"),
    (
        "line numbers",
        "a\n  b\n",
        "     1\ta\n     2\t  b\n",
        "     1\ta\n     2\t  c\n",
        "a\n  c\n",
    ),
    ("numbers in the old text only", "a\nb\n", "1\ta\n2\tb", "a\nc", "a\nc\n"),
    (
        "numbers and other spaces",
        "\ta\n\tb\n",
        "     1\t    a\n     2\t    b",
        "     1\t    a",
        "\ta\n",
    ),
    ("no final newline", "a\n  b", "a\n  b \n", "a\n  c \n", "a\n  c"),
    ("deletion", "a\n  b\n  c\nd\n", "b\nc\n", "", "a\nd\n"),
    ("CRLF", "  a\r\n  b\r\n", "a\nb", "a\nc\nd", "  a\r\n  c\r\n  d\r\n"),
    ("form feed", "a\n\f\nb\n", "a\n\nb ", "a\n\nc ", "a\n\f\nc\n"),
]


@pytest.mark.parametrize(
    ("text", "old", "new", "after"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
@pytest.mark.req("R-TOOL-09")
def test_text_that_differs_in_what_does_not_matter_is_replaced(text, old, new, after):
    assert edited(text, old, new) == after


@pytest.mark.parametrize(
    ("text", "old", "step"),
    [
        ("a\nb\n", "a\n", ""),
        ("a\nb\n", "a \nb", "without regard to trailing space"),
        ("  a\n", "    a", "with its indentation shifted by -2 columns"),
        ("\ta\n", "    a", "with tabs and spaces exchanged in its indentation"),
        ("“a”\n", '"a"', "with typographic characters taken as plain ones"),
        ("a\n", "     1\ta", "without copied line numbers"),
        ("  a\n", "1\t    a", "without copied line numbers, with its indentation shifted by -2"),
    ],
)
def test_remark_names_the_difference(text, old, step):
    remarks = apply(text, old, old.replace("a", "c")).remarks
    assert bool(remarks) == bool(step)
    assert all(f"`old` of the edit was matched {step}" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("  a\n    a\n", "a "),
        ("\tif x:\n\t\ta\n\n  if x:\n      a\n", "if x:\n    a"),
        ("“a”\n„a“\n", '"a"'),
    ],
)
@pytest.mark.req("R-TOOL-09")
def test_difference_that_fits_two_places_is_ambiguous(text, old):
    assert "occurs 2 times in `f` (lines 1, " in get_problem(text, old, replace_all=True)


def test_earlier_step_decides_between_places():
    assert edited("a\n  a b\n  a\n", "  a ", "x") == "a\nx" + "b\n  a\n"
    assert edited("  a\n\ta\n", "  a\t", "  x") == "  x\n\ta\n"


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("a b\n", "a  b"),
        ("a\n\nb\n", "a\nb "),
        ("if x:\n  a\nb\n", "if x:\n  a\n  b"),
        ("ab\n", "a b"),
        ("x = foo(1)\n", "x = foo(2)"),
        ("1\ta\n", "     3\tb"),
    ],
)
def test_text_that_differs_in_what_matters_is_not_replaced(text, old):
    assert "does not occur in `f`" in get_problem(text, old)


def test_new_line_with_too_little_indentation_is_an_error():
    problem = get_problem("a\nb\n", "  a\n  b", "  a\n c")
    assert "less indentation than that removes; copy the exact text" in problem


@pytest.mark.req("R-TOOL-02", "R-TOOL-09")
def test_error_shows_three_lines_around_the_region_and_the_first_different_word():
    text = "".join(f"line {number}\n" for number in range(1, 10)).replace(
        "line 5", "total = sum(5)"
    )
    problem = get_problem(text, "total = sum(6)\nline 6")
    assert "in line 5; line 5 has `5` where `old` has `6`:" in problem
    assert re.findall(r"^ +(\d)\t", problem, re.MULTILINE) == list("23456789")


@pytest.mark.parametrize(
    ("found", "old", "said"),
    [
        ("alpha beta", "alpha  beta", "has other spaces than `old`"),
        ("alpha beta", "alpha beta gamma", "has nothing where `old` has ` `|other spaces"),
        ("alpha beta;", "alpha beta", "has `;` where `old` ends"),
        ("alpha(beta", "alpha(beta)", "has nothing where `old` has `)`"),
    ],
)
def test_first_difference_can_be_at_the_end_of_a_line(found, old, said):
    problem = get_problem(f"x\n{found}\ny\n", old + "\n_")
    assert any(each in problem for each in said.split("|")), problem


def test_part_of_a_key_is_masked_in_the_error():
    key = "sk-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
    problem = get_problem(f"token = {key}\nother\n", f"token = {key[:9]}\nother", mask=Mask([key]))
    assert "line 1 has `[hidden key]` where" in problem
    assert "9abc" not in problem


@pytest.mark.parametrize(
    "build",
    [
        lambda n: ("  a\n" * n, "a\n" * (n // 2) + "b"),
        lambda n: ("  a\n" * n, "a\n" * (n // 2) + "a\n"),
        lambda n: ("a\n" * n + "b", "\ta\n" * (n // 2) + "  b"),
        lambda n: ("“a”\n" * n, '"a"\n' * (n // 2) + "b"),
        lambda n: ("a b c\n" * n, "a b d\n" * n),
        lambda n: ("a" * n, "a" * (n // 2) + " \nb"),
        lambda n: (" " * n + "a", "\t" * n + "b"),
    ],
)
@pytest.mark.sample(7)
def test_hostile_repetition_takes_linear_time(build):
    def attempt(given):
        text, old = given
        with contextlib.suppress(ToolError):
            edited(text, old, old.replace("a", "c"))

    assert growth(attempt, build, 500) < LINEAR


def test_file_with_very_many_lines_is_compared_exactly():
    text = "\n" * 500_001 + "  a\n  b\n"
    assert "does not occur" in get_problem(text, "a\nb")
    assert edited(text, "  a\n  b", "c") == "\n" * 500_001 + "c\n"
