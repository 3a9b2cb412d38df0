"""Each line of the contract of the command line names the tests that drive it.

The table is `cli_contract.toml`; a command, option or exit code without a row fails here, and so
does an argument of the parser that no test gives to its command.
"""

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.removable import find_needs, needs_all
from tests.test_session_features import find_functions
from yourtool.cli import parser, run_options
from yourtool.run_result import ExitCode

ROOT = Path(__file__).parents[1]
CONTRACT = tomllib.loads((ROOT / "tests/cli_contract.toml").read_text())
ROWS = [
    pytest.param(part, name, marks=find_needs(tests))
    for part, rows in CONTRACT.items()
    for name, tests in rows.items()
]
COMMANDS = [
    pytest.param(name, marks=find_needs(tests))
    for name, tests in CONTRACT["commands"].items()
    if name != "PROMPT"
]
OF_ALL = {"--model", "--cwd", "--session-dir", "--no-color"}
"""Options that the same code adds to all commands; they have rows as options of a run."""
WITHOUT_EFFECT = {"acp --json", "mcp accept --json", "permissions edit --json"}
"""What is accepted because other actions of the command have it."""
FOLDERS = ("agent", "cli", "e2e", "extensions", "tools/mcp", "tui")


@pytest.mark.parametrize(("part", "name"), ROWS)
def test_line_has_tests_that_exist(part, name):
    tests = CONTRACT[part][name]
    assert tests and tests == sorted(set(tests))
    for each in tests:
        path, _, test = each.partition("::")
        assert test in find_functions(path), each


@pytest.mark.parametrize("name", COMMANDS)
def test_tests_of_a_command_have_its_words(name):
    tests = (each.partition("::") for each in CONTRACT["commands"][name])
    found = set[str]().union(*(find_words(path)[test] for path, _, test in tests))
    assert set(name.split()) <= found


def test_every_command_has_a_row():
    rows = {name.split()[0] for name in CONTRACT["commands"]}
    assert set(parser.COMMANDS) <= rows


def test_every_option_of_a_run_has_a_row():
    options = argparse.ArgumentParser(add_help=False)
    run_options.add_run_options(options)
    described = re.findall(r"^  .*?(--[a-z-]+)", options.format_help(), re.MULTILINE)
    assert set(CONTRACT["options"]) == set(described)


def test_every_exit_code_has_a_row():
    assert set(CONTRACT["exit_codes"]) == {str(int(code)) for code in ExitCode}


def iter_lines(of: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the command with each of its actions, options and values.

    The spellings of an option are one word, with `|` between them.
    """
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield (*words, name)
                yield from iter_lines(inner, (*words, name))
        elif not isinstance(action, argparse._HelpAction) and not (
            words and OF_ALL & {*action.option_strings}
        ):
            given = (*words, "|".join(action.option_strings)) if action.option_strings else words
            yield from [(*given, str(each)) for each in action.choices or ()] or [given]


def find_lines() -> list[tuple[str, ...]]:
    """Return all that the parser accepts, a line for each."""
    options = argparse.ArgumentParser(add_help=False)
    run_options.add_run_options(options)
    lines = [*iter_lines(options, ())]
    for name in parser.COMMANDS:
        built = parser.build_parser([name])
        [commands] = (each for each in built._actions if each.dest == "command")
        assert isinstance(commands.choices, dict)
        lines += [(name,), *iter_lines(commands.choices[name], (name,))]
    return lines


def has_line(words: set[str], line: tuple[str, ...]) -> bool:
    """Return whether a test with these words gives a line to the parser."""
    return all(words & {*word.split("|")} for word in line)


@cache
def find_words(path: str) -> dict[str, set[str]]:
    """Return the words in the strings of each test, and of what it uses of its module."""
    module = ast.parse((ROOT / path).read_text())
    parts = dict[str, ast.AST]()
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            parts[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            parts[node.targets[0].id] = node
    return {
        name: set[str]().union(*(_words(parts[each]) for each in _used(name, parts)))
        for name in parts
        if name.startswith("test_")
    }


def _used(name: str, parts: dict[str, ast.AST]) -> set[str]:
    """Return a part with those that it uses, directly or not."""
    found, waiting = set[str](), [name]
    while waiting:
        if (each := waiting.pop()) not in found:
            found.add(each)
            waiting += _names(parts[each]) & {*parts}
    return found


def _names(node: ast.AST) -> set[str]:
    """Return the names that a test uses; fixtures are arguments."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} | {
        each.arg for each in ast.walk(node) if isinstance(each, ast.arg)
    }


def _words(node: ast.AST) -> set[str]:
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    words = {word for text in texts if isinstance(text, str) for word in text.split()}
    return words | {word.partition("=")[0] for word in words if word.startswith("--")}


@needs_all
def test_every_argument_of_the_parser_is_given_by_a_test():
    files = [
        *sorted(
            file for folder in FOLDERS for file in (ROOT / "tests" / folder).rglob("test_*.py")
        ),
        ROOT / "tests/test_headless.py",
    ]
    given = [
        words for file in files for words in find_words(file.relative_to(ROOT).as_posix()).values()
    ]
    lines = find_lines()
    missing = {" ".join(line) for line in lines if not any(has_line(each, line) for each in given)}
    assert len(lines) > 100 and missing == WITHOUT_EFFECT
