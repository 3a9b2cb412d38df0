"""Each line of the contract of the command line names the tests that drive it.

The table is `cli_contract.toml`; a command, option or exit code without a row fails here.
"""

import argparse
import re
import tomllib
from pathlib import Path

import pytest

from tests.test_session_features import find_functions
from yourtool.cli import parser, run_options
from yourtool.run_result import ExitCode

ROOT = Path(__file__).parents[1]
CONTRACT = tomllib.loads((ROOT / "tests/cli_contract.toml").read_text())
ROWS = [(part, name) for part, rows in CONTRACT.items() for name in rows]


@pytest.mark.parametrize(("part", "name"), ROWS)
def test_line_has_tests_that_exist(part, name):
    tests = CONTRACT[part][name]
    assert tests and tests == sorted(set(tests))
    for each in tests:
        path, _, test = each.partition("::")
        assert test in find_functions(path), each


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
