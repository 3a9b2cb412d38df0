import re
from functools import partial

import pytest
from hypothesis import given, settings
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
def test_a_path_glob_decides_as_its_regular_expression(glob, path):
    assert matches_glob(glob, path) == reference(glob, path)


@pytest.mark.parametrize(
    "glob", ["*a_" * 8, "*a" * 8 + "b", "**a" * 8 + "b", "**a_" * 8, "**/" * 8 + "b", "**" * 8]
)
@pytest.mark.parametrize("unit", ["a", "a/", "a_", "a_/"])
def test_every_further_piece_of_a_path_takes_the_same_steps_to_match(glob, unit):
    first, second, third = (steps(partial(matches_glob, glob, unit * n)) for n in (40, 80, 120))
    assert third - second <= 1.02 * (second - first)


@pytest.mark.parametrize("part", ["*a_", "**a_", "**/", "?"])
def test_twice_as_long_a_glob_takes_at_most_twice_the_steps_to_match(part):
    short, long = (steps(partial(matches_glob, part * n, "a_/a" * 20)) for n in (8, 16))
    assert long < 2.5 * short
