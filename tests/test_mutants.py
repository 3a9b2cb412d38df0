"""The changes of code that `make mutation` tests."""

import ast

import pytest

from tests.mutants import find_mutants
from tests.mutation import PARTS, ROOT, find_functions


def changed(source):
    tree = ast.parse(source)
    return [ast.unparse(each.build(tree)) for each in find_mutants(tree)]


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("a < b", ["a <= b"]),
        ("a == b != c", ["a != b != c", "a == b == c"]),
        ("a in b", ["a not in b"]),
        ("a is b", ["a is not b"]),
        ("a or b", ["a and b"]),
        ("a + b", ["a - b"]),
        ("not a", ["a"]),
        ("a = True", ["a = False"]),
        ("a = 1", ["a = 2"]),
        ("a = 'b'", ["a = 'Xb'"]),
        ("f()", ["pass"]),
        ("[a for a in b if a]", ["[a for a in b if not a]"]),
        ("while a:\n    continue", ["while a:\n    break"]),
        ("if a:\n    b", ["if not a:\n    b"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
    ],
)
def test_small_changes_are_made_one_at_a_time(source, mutants):
    assert changed(source) == mutants


@pytest.mark.parametrize(
    "source",
    ["'words of a message'",
     "def f(a: 'b') -> 'c':\n    'doc'\n    return None", "a: 'b'", "f'x{a}'",
     "if TYPE_CHECKING:\n    import a", "def f():\n    return ()",
     "class A(B, frozen=True):\n    pass"],
)  # fmt: skip
def test_types_messages_and_documentation_are_not_changed(source):
    assert changed(source) == []


def test_functions_are_found_by_their_qualified_names():
    code = compile("def f():\n  g = lambda: 1\nclass A:\n  def m(self): pass", "x", "exec")
    assert set(find_functions(code)) == {"f", "A.m", "A"}


def test_parts_name_modules_and_tests_that_exist():
    for part in PARTS.values():
        assert all(list((ROOT / "yourtool").glob(each)) for each in part.modules)
        assert all((ROOT / "tests" / each).exists() for each in part.tests)
