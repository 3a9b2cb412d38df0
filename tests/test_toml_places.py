"""Where the rules of a file are in its text."""

import pytest

from yourtool.toml_places import find_line, find_places

TEXT = """\
allow = ['a', "b" , # c
  '''d''',]
[x]
deny = []
[[workspace]]
"path" = '/w'
[[workspace.allow]]
rule = 'e'
[[workspace]]
allow = [{rule = 'f', list = ['g', 'h']}, 'i']
[y.z]
"""


def texts(path):
    span = find_places(TEXT)[path]
    return TEXT[span.start : span.end]


def test_elements_of_lists_are_found_without_blanks_and_comments():
    assert [texts(("allow", at)) for at in range(3)] == ["'a'", '"b"', "'''d'''"]
    found = texts(("workspace", 1, "allow", 0)), texts(("workspace", 1, "allow", 1))
    assert found == ("{rule = 'f', list = ['g', 'h']}", "'i'")
    assert ("allow", 3) not in find_places(TEXT)
    assert ("x", "deny", 0) not in find_places(TEXT)


def test_table_ends_where_one_starts_that_is_no_part_of_it():
    assert texts(("x",)) == "[x]\ndeny = []\n"
    first = texts(("workspace", 0))
    assert first.startswith('[[workspace]]\n"path"')
    assert first.endswith("rule = 'e'\n")
    assert texts(("workspace", 0, "allow", 0)) == "[[workspace.allow]]\nrule = 'e'\n"
    assert texts(("y", "z")) == "[y.z]\n"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("allow",), 1), (("allow", 0), 1), (("allow", 2), 2), (("allow", 9), 1),
        (("x", "deny"), 4),
        (("workspace", 0, "path"), 6), (("workspace", 0, "allow", 0, "rule"), 8),
        (("workspace", 1, "allow", 1), 10), (("workspace", 1, "other", 5), 9),
        (("y", "z", "a"), 11),
        (("other",), None), ((), None),
    ],
)  # fmt: skip
def test_line_is_that_of_the_value_or_of_the_nearest_table_around_it(path, line):
    assert find_line(find_places(TEXT), path) == line


@pytest.mark.parametrize("text", ["", "a = [", "a = ['b', ", "= 1", "[", "a = '''b"])
def test_text_that_is_no_toml_has_no_elements(text):
    found = find_places(text)
    assert not [path for path in found if isinstance(path[-1], int) and path[-1] > 0]
