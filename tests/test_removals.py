"""The program without the front end for editors, and without the client of MCP servers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.removable import REMOVABLE

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.remaining, *(pytest.mark.needs(part) for part in REMOVABLE)]


@pytest.fixture(params=[*((part,) for part in REMOVABLE), REMOVABLE], ids=" ".join)
def removed(request):
    return request.param


@pytest.fixture
def copy(tmp_path, removed):
    """Return a directory with a copy of the program and its tests, without those of the parts."""
    for name in ("yourtool", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / "copy" / name, ignore=ignored)
    for part in removed:
        for name in ("yourtool", "tests"):
            shutil.rmtree(tmp_path / "copy" / name / part)
    for name in ("config", "themes", "docs", "pyproject.toml"):
        (tmp_path / "copy" / name).symlink_to(ROOT / name)
    return tmp_path / "copy"


def run(copy, home, *words, module="yourtool"):
    command = [sys.executable, "-m", module, *words]
    env = {**os.environ, "PYTHONPATH": str(copy), "HOME": str(home), "YOURTOOL_DEMO_PACE": "0",
           "YOURTOOL_HOME": str(home)}  # fmt: skip
    return subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)


def test_program_without_a_part_answers(copy, home, removed):
    done = run(copy, home, "-p", "hello", "-m", "demo:tour")
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    for words in (("--help",), ("config", "check"), ("sessions", "list", "--json")):
        done = run(copy, home, *words)
        assert done.returncode == 0, done.stderr
    if "extensions/editors" in removed:
        assert run(copy, home, "acp").returncode != 0, "the copy was run"


def test_configured_server_without_the_client_has_one_message(copy, home, removed):
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"a": {"command": "true"}}}))
    is_missing = "tools/mcp" in removed
    message = "MCP servers are configured, but this installation has no client for them"
    done = run(copy, home, "-p", "hello", "-m", "demo:tour")
    assert done.returncode == 0 and done.stderr.count(message) == is_missing, done.stderr
    done = run(copy, home, "mcp", "list")
    assert done.returncode == 0 and done.stderr.count(message) == is_missing, done.stderr
    if is_missing:
        assert "pending" in done.stdout
    assert run(copy, home, "mcp", "add", "b", "https://example.org/mcp").returncode == 0
    done = run(copy, home, "mcp", "login", "b") if is_missing else None
    assert done is None or (done.returncode == 2 and "has no client for them" in done.stderr)
    assert run(copy, home, "mcp", "remove", "b").returncode == 0


@pytest.mark.timeout(600)
def test_other_tests_pass_without_a_part(copy, home):
    options = ("-q", "-x", "--tb=short", "--show-capture=no", "-p", "no:cacheprovider")
    tables = ("tests/test_cli_contract.py", "tests/test_promises.py", "tests/test_removals.py")
    places = (
        "tests/agent",
        "tests/extensions/settings_import",
        "tests/tools",
        "tests/cli",
        "tests/extensions/agents",
    )
    some = (*places, "-k", "mcp or server or acp or editor")
    for tests in (tables, some):
        done = run(copy, home, *options, *tests, module="pytest")
        assert done.returncode == 0, done.stdout[-3000:]
