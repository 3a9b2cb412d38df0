"""Differences of lines: always correct, and in limited time for any lines."""

import random
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from yourtool.foundation.line_diff import compare_lines, format_unified

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "}", "x = 1"]), max_size=40)


def apply(opcodes, old, new):
    """Return the old lines with the changes, and the ranges as they follow each other."""
    made, at, new_at = [], 0, 0
    for kind, start, end, new_start, new_end in opcodes:
        assert (start, new_start) == (at, new_at)
        assert kind != "equal" or old[start:end] == new[new_start:new_end]
        made += old[start:end] if kind == "equal" else new[new_start:new_end]
        at, new_at = end, new_end
    assert (at, new_at) == (len(old), len(new))
    return made


@given(LINES, LINES)
def test_changes_lead_from_the_old_lines_to_the_new_ones(old, new):
    assert apply(compare_lines(old, new), old, new) == new


@given(st.integers(0, 10_000), st.integers(300, 900), st.integers(1, 400))
def test_changes_of_long_texts_are_complete(seed, size, kinds):
    chance = random.Random(seed)
    old = [str(chance.randrange(kinds)) for _ in range(size)]
    new = list(old)
    for _ in range(chance.randrange(12)):
        at = chance.randrange(len(new))
        new[at : at + chance.randrange(4)] = [f"new {chance.randrange(9)}"] * chance.randrange(4)
    assert apply(compare_lines(old, new), old, new) == new


def test_small_change_of_a_long_file_is_small():
    old = [f"line {number}" for number in range(5_000)]
    new = [*old[:10], "one", *old[10:4_000], *old[4_001:]]
    assert [each for each in compare_lines(old, new) if each[0] != "equal"] == [
        ("insert", 10, 10, 10, 11),
        ("delete", 4_000, 4_001, 4_001, 4_001),
    ]


@given(LINES, LINES)
def test_unified_form_is_applied_by_patch(tmp_path_factory, old, new):
    directory = tmp_path_factory.mktemp("patch")
    (directory / "f").write_text("".join(f"{line}\n" for line in old))
    diff = "".join(f"{line}\n" for line in format_unified(("a/f", "b/f"), old, new))
    if diff:
        subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"],
            input=diff, text=True, cwd=directory, check=True, capture_output=True,
        )  # fmt: skip
    assert (directory / "f").read_text() == "".join(f"{line}\n" for line in new)


@pytest.mark.parametrize("kinds", [1, 2, 50, 199, 1_000, 20_000])
@pytest.mark.parametrize("step", [-1, 7])
def test_lines_that_repeat_take_linear_time(kinds, step):
    def sized(size):
        numbers = range(size)
        return [str(n % kinds) for n in numbers], [str(n * step % kinds) for n in numbers]

    assert growth(lambda texts: compare_lines(*texts), sized, start=20_000) < LINEAR
