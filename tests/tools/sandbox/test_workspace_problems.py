"""Problems of a workspace, named at the start."""

import os
import subprocess
import sys

import pytest

from tests.tools.sandbox.levels import build_sandbox, find_reason, require
from yourtool.foundation.files import is_read_only
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.sandbox.confinement import find_means
from yourtool.tools.sandbox.workspace_problems import find_problems

READ_ONLY = """
import sys
from pathlib import Path
from yourtool.tools.sandbox.workspace_problems import find_problems
print(*find_problems(Path(sys.argv[1]), None), sep="\\n")
"""


def test_ordinary_workspace_has_no_problem(tmp_path):
    assert list(find_problems(tmp_path, None)) == []
    assert not is_read_only(tmp_path / "missing")


def test_workspace_on_a_read_only_file_system_is_named(tmp_path):
    require(SandboxLevel.FULL)
    line = [find_means().bubblewrap, "--bind", "/", "/", "--ro-bind", tmp_path, tmp_path]
    line += [sys.executable, "-c", READ_ONLY, tmp_path]
    ran = subprocess.run(line, check=True, capture_output=True, text=True)
    problem = f"Nothing can be changed here: `{tmp_path}` is on a read-only file system."
    assert ran.stdout == f"{problem}\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_workspace_in_which_the_user_has_no_right_to_write_is_named(tmp_path):
    tmp_path.chmod(0o555)
    (problem,) = find_problems(tmp_path, None)
    tmp_path.chmod(0o755)
    assert problem.startswith("Nothing can be created here: you have no right to write in")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(("mode", "count"), [(0o755, 1), (0o775, 1), (0o777, 0)])
def test_workspace_of_another_user_is_named_if_root_has_a_sandbox(tmp_path, mode, count):
    find_reason(SandboxLevel.FULL)
    tmp_path.chmod(mode)
    os.chown(tmp_path, 4_000_123, 4_000_123)
    problems = list(find_problems(tmp_path, build_sandbox(tmp_path, SandboxLevel.FULL)))
    assert len(problems) == count
    assert all("belongs to `user 4000123`, and root has no special" in each for each in problems)
    assert list(find_problems(tmp_path, None)) == []


def test_missing_sandbox_is_named_with_its_reason(tmp_path):
    sandbox = build_sandbox(tmp_path, SandboxLevel.NONE, fallback="none")
    (problem,) = find_problems(tmp_path, sandbox)
    reason = "bubblewrap (`bwrap`) is not installed"
    assert problem.startswith(f"No sandbox: {reason}. Every command of the model asks")
