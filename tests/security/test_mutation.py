"""How much of the code that protects the user is tested, and how well."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = 5
"""Changes in each module; `make mutation N=40` makes more."""


def run(*command, **environment):
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.security
def test_every_branch_is_taken(figures, tmp_path):
    file = str(tmp_path / "coverage")
    done = run("make", "coverage", COVERAGE_FILE=file)
    total = run(sys.executable, "-m", "coverage", "report", "--format=total", COVERAGE_FILE=file)
    figures("coverage", f"{total.stdout.strip()} %")
    assert done.returncode == 0, done.stdout[-3_000:]


@pytest.mark.security
def test_small_changes_are_noticed(figures):
    done = run(sys.executable, "-m", "tests.mutation", str(SAMPLE))
    found = re.findall(r"^(\w+): (\d+) of (\d+) mutants killed", done.stdout, re.MULTILINE)
    for part, killed, total in found:
        figures("mutants", f"{killed} of {total}", part=part)
    assert found
    assert done.returncode == 0, done.stdout
