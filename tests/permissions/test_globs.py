import re
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.doubling import steps
from yourtool.permissions.globs import matches_glob


def reference(glob, path):
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob.removeprefix("./"))
    pattern = "".join(signs.get(part) or re.escape(part) for part in parts)
    return re.fullmatch(pattern, path, re.DOTALL) is not None


@settings(deadline=None, max_examples=500)
@given(
    st.text(st.sampled_from("ab/.*?\n[é"), max_size=8),
    st.text(st.sampled_from("ab/.\n[é*?"), max_size=8),
)
@example("**?*", "ba/ab")
@example("****/**/", "/aab")
def test_path_glob_matches_like_its_regular_expression(glob, path):
    assert matches_glob(glob, path) == reference(glob, path)


@pytest.mark.parametrize(
    "glob", ["*a_" * 8, "*a" * 8 + "b", "**a" * 8 + "b", "**a_" * 8, "**/" * 8 + "b", "**" * 8]
)
@pytest.mark.parametrize("unit", ["a", "a/", "a_", "a_/"])
def test_each_path_segment_takes_the_same_number_of_steps(glob, unit):
    first, second, third = (steps(partial(matches_glob, glob, unit * n)) for n in (40, 80, 120))
    assert third - second <= 1.02 * (second - first)


@pytest.mark.parametrize("part", ["*a_", "**a_", "**/", "?"])
def test_glob_steps_grow_linearly_with_its_length(part):
    short, long = (steps(partial(matches_glob, part * n, "a_/a" * 20)) for n in (8, 16))
    assert long < 2.5 * short
