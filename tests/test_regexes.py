"""No regular expression of the package takes more than linear time."""

import ast
import importlib
import re
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.regexes import attacks, overlaps, parse
from yourtool.foundation.masking import Mask
from yourtool.foundation.wildcards import parse_wildcard
from yourtool.permissions.shell.open_rules import load_stars
from yourtool.providers.requests.output_limits import MOST_PATTERNS, WHOLE_PATTERNS
from yourtool.tui.input.completer import subsequence_pattern

ROOT = Path(__file__).parents[1]
COMPILE = "compile"
METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
WILDCARDS = "".join(f"({parse_wildcard(each).regex})|" for each in ("*a*b", "a/**/b*/c", "?[!x]*"))
MASK = Mask(["sk-abcdefghijklmnop", "aaaaaaaaaaaaaaaaaaaa"])
BUILT = {
    "yourtool/foundation/wildcards.py: source": [WILDCARDS + "x"],
    "yourtool/providers/estimate.py: letters": ["[\u0370-\u03ff]+"],
    "yourtool/extensions/settings_import/targets.py: _LIST.format(effect)": [
        r"^[ \t]*allow[ \t]*=[ \t]*\["
    ],
    "yourtool/settings/saved_settings.py: f'#\\\\s*{re.escape(name)}\\\\s*='": [r"#\s*theme\s*="],
    "yourtool/tui/transcript/search.py: '\\\\s+'.join(map(re.escape, words))": [r"ab\s+b"],
    "yourtool/tui/transcript/search.py: f'{between}\\\\s+{between}'.join(parts)": [
        r"a[*_`]*b[*_`]*\s+[*_`]*b[*_`]*a"
    ],
    "yourtool/tui/input/choice_filter.py: subsequence_pattern(letters)": [
        subsequence_pattern("aab")
    ],
    "yourtool/providers/requests/output_limits.py: each": [*MOST_PATTERNS, *WHOLE_PATTERNS],
    "yourtool/permissions/shell/open_rules.py: each": [
        pattern for row in load_stars().values() for pattern in row.matches
    ],
    "yourtool/permissions/shell/programs/arguments.py: row.forms.get(name, '.*')": [
        form for row in load_stars().values() if row.only for form in row.only.forms.values()
    ],
    "yourtool/tui/input/completer.py: subsequence_pattern(folded_query)": [
        subsequence_pattern("aab")
    ],
}
"""Patterns that are built at run time, by location, with examples."""
ONLY_MATCHED = {"yourtool/foundation/wildcards.py: source"}
FOREIGN = {
    "yourtool/tools/schema.py: value",  # a schema that the user gave
    "yourtool/tools/schema.py: pattern",
}
"""Patterns that users write."""
LONGEST = 4_096
MOST_ATTACKS = 40
SOAKED = 300
"""How many attacks on a pattern are tried, and how many in the long version."""
QUICK = 0.01
GROWTH = 36


class Found(NamedTuple):
    place: str
    pattern: str
    flags: int
    methods: tuple[str, ...]


@cache
def read_sources():
    paths = sorted((ROOT / "yourtool").rglob("*.py"))
    return {path.relative_to(ROOT): path.read_text("utf-8") for path in paths}


@cache
def find_called():
    """Return the methods that the package calls on each name, also on that of a function."""
    called = defaultdict(set)
    for source in read_sources().values():
        for name, method in re.findall(rf"\b(\w+)(?:\(\))?\.({'|'.join(METHODS)})\b", source):
            called[name].add(method)
    return called


@cache
def find_patterns():
    return list(iter_patterns())


def iter_patterns():
    for path, source in read_sources().items():
        if "re." not in source:
            continue
        tree = ast.parse(source)
        if not any(map(is_call_of_re, ast.walk(tree))):
            continue
        module = importlib.import_module(".".join(path.with_suffix("").parts))
        names = {
            id(value): target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target, value in assigned(node)
        }
        names |= {
            id(node.body[-1].value): node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and isinstance(node.body[-1], ast.Return)
        }
        for node in ast.walk(tree):
            if not is_call_of_re(node):
                continue
            place = f"{path.as_posix()}: {ast.unparse(node.args[0])}"
            flags = flags_of(node, vars(module))
            methods = used(names.get(id(node))) if node.func.attr == COMPILE else (node.func.attr,)
            methods = ("match",) if place in ONLY_MATCHED else methods
            if place in FOREIGN:
                continue
            if place.startswith("yourtool/foundation/masking.py"):
                continue
            for pattern in BUILT.get(place) or [value_of(node.args[0], vars(module))]:
                text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
                yield Found(f"{path.as_posix()}:{node.lineno}", text, flags, methods)
    for made in (MASK._pattern, MASK._first_bytes):  # of bytes, from keys
        yield Found(
            "yourtool/foundation/masking.py", made.pattern.decode("latin-1"), 0, ("search", "sub")
        )


def assigned(node):
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=True)
            yield from (pair for pair in pairs if isinstance(pair[0], ast.Name))


def is_call_of_re(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in (COMPILE, *METHODS)
    )


def value_of(node, names):
    return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(names))


def flags_of(node, names):
    last = node.args[-1]
    given = [each.value for each in node.keywords if each.arg == "flags"]
    if not given and len(node.args) > 1 and "re." in ast.unparse(last):
        given = [last]
    return int(value_of(given[0], names)) if given else 0


def used(name):
    return tuple(sorted(find_called().get(name, ()))) or ("search", "fullmatch")


def test_every_pattern_is_found():
    assert len(find_patterns()) > 80
    for source in read_sources().values():
        assert not re.search(r"^\s*from re import|import re as|from fnmatch", source, re.MULTILINE)
        assert not re.search(r"\bfnmatch\.(?!translate\b)", source)


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+b", "(?:a|b*)*c", r"\s+\s*x", "(?:a?b*)+b", r"(?:\w+ ?)+$", ".*.*x", "(a*)(a*)x"],
)
def test_the_checker_finds_an_ambiguous_repetition(pattern):
    assert list(overlaps(parse(pattern)))


@pytest.mark.parametrize("pattern", ["(?:[^/]*/)*x", r"(?:\*[ \t]*){3,}", r"\d+\.\d+", "(?:ab)+c*"])
def test_the_checker_accepts_an_unambiguous_repetition(pattern):
    assert not list(overlaps(parse(pattern)))


def test_no_pattern_has_an_ambiguous_repetition():
    assert not [each for each in find_patterns() if list(overlaps(parse(each.pattern, each.flags)))]


@pytest.mark.parametrize("most", [MOST_ATTACKS, pytest.param(SOAKED, marks=pytest.mark.soak)])
@pytest.mark.parametrize("third", range(3))
@pytest.mark.sample(3)
def test_matching_takes_time_in_proportion_to_the_text(third, most):
    assert not [slow for found in find_patterns()[third::3] for slow in slow_matches(found, most)]


def slow_matches(found, most):
    """Yield the place, the method and the text of each match that takes too long."""
    pattern = re.compile(found.pattern, found.flags)
    every = list(attacks(parse(found.pattern, found.flags)))
    for method in found.methods:
        for attack in every[:: 1 + len(every) // most]:
            if slowdown(pattern, method, *attack) >= GROWTH:
                yield found.place, method, attack


def slowdown(pattern, method, beginning, unit, end):
    """Return how much longer an input takes that is eight times as long, if it takes long."""
    size = 64
    while size <= LONGEST and seconds(pattern, method, beginning + unit * size + end) < QUICK:
        size *= 4
    if size > LONGEST:
        return 1
    short, long = (beginning + unit * (size // part) + end for part in (8, 1))
    return min(seconds(pattern, method, long) / seconds(pattern, method, short) for _ in range(3))


def seconds(pattern, method, text):
    work = getattr(pattern, method)
    arguments = ("", text) if method.startswith("sub") else (text,)
    started = time.process_time()
    outcome = work(*arguments)
    if method == "finditer":
        for _ in outcome:
            pass
    return time.process_time() - started
