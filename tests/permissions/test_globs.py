import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
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


@pytest.mark.parametrize("glob", ["*a" * 30 + "b", "**a" * 30 + "b", "**/" * 30 + "b", "**" * 30])
def test_matching_a_path_glob_is_linear(glob):
    assert growth(lambda path: matches_glob(glob, path), lambda size: "a/" * size, 20) < LINEAR
    assert growth(lambda path: matches_glob(glob, path), lambda size: "a" * size, 20) < LINEAR
