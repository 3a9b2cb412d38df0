"""Where the rules of a file are in its text."""

import pytest

from tests.doubling import LINEAR, growth
from yourtool.settings.toml_places import find_line, find_places, line_of

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


def test_keys_are_found_by_their_values_and_not_as_they_are_written():
    places = find_places('"a\\"b\\u0063" = 1\n[x."\\\\y"]\n\'\\z\' = 2\n')
    assert list(places) == [('a"bc',), ("x", "\\y"), ("x",), ("x", "\\y", "\\z")]


def test_elements_of_lists_count_from_1_in_keys_of_errors():
    assert line_of(TEXT, ("workspace", "1", "allow", "1", "rule")) == 8
    assert line_of(TEXT, ("workspace", "2", "allow")) == 10
    assert line_of("a = [{x = 1},\n{x = 2}]", ("a", "2", "x")) == 2


@pytest.mark.parametrize(
    ("head", "unit", "tail"),
    [
        ("a = [", "'x',\n", "]"), ("a = [", "{x = [1]},\n", "]"), ("", "[[a]]\n", ""),
        ("", "[[a]]\n[[a.b]]\n[c]\n", ""), ("a = {x = [", "[],", "]}"),
        ("a = \'\'\'", "\\'\\n", "\'\'\'"), ("", "#'\n", ""),
    ],
)  # fmt: skip
def test_places_of_any_file_are_found_in_linear_time(head, unit, tail):
    assert growth(find_places, lambda size: f"{head}{unit * size}{tail}") < LINEAR


def test_lines_of_many_missing_keys_are_found_in_linear_time():
    def find_each(size):
        text = "a = {" + ", ".join(f"k{at} = 1" for at in range(size)) + "}\n"
        text += "".join(f"k{at} = 1\n" for at in range(size))
        return [line_of(text, ("a", f"k{at}")) for at in range(size)]

    assert growth(find_each, lambda size: size) < LINEAR
