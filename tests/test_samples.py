"""Cases of `make test` and of `make test-remaining`."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def collected(marks):
    """Return the cases of one sampled test, among the recordings of this clone."""
    file = "tests/providers/test_rechunked.py"
    test = "test_body_cut_at_any_byte_has_the_same_frames"
    listed = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--collect-only",
            "-p",
            "no:xdist",
            "-m",
            marks,
            file,
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout.splitlines()
    return {line for line in listed if f"::{test}[" in line}


@pytest.mark.remaining
def test_sampled_cases_are_run_by_one_of_two_commands():
    usual, others = "not recorded and not remaining", "remaining and not recorded"
    every = collected("not recorded")
    assert collected(usual) | collected(others) == every
    assert len(collected(usual)) == (len(every) + 2) // 3
    assert len(collected(others)) == len(every) - len(collected(usual))


def test_remaining_cases_are_none_of_another_command():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    left_out = set(re.findall(r"not (\w+)", " ".join(options["addopts"])))
    [own] = re.findall(r"^OWN := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {*own.split(" or "), "remaining"} == left_out
