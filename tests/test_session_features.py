"""Each feature of sessions names the tests that show it, in `session_features.toml`."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.removable import find_needs

ROOT = Path(__file__).parents[1]
FEATURES = tomllib.loads((ROOT / "tests/session_features.toml").read_text())


@cache
def find_functions(path):
    """Return the names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {each.name for each in tree.body if isinstance(each, functions)}


@pytest.mark.parametrize(
    "feature", [pytest.param(name, marks=find_needs(FEATURES[name])) for name in FEATURES]
)
def test_feature_has_tests_that_exist(feature):
    names = FEATURES[feature]
    assert names == sorted(set(names))
    for name in names:
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file(), path
        assert test in find_functions(path), name
    assert names
