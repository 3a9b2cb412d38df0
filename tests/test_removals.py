"""The program without one of its extensions, and without the client of MCP servers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal
from tests.removable import REMOVABLE

ROOT = Path(__file__).parents[1]
COMMANDS = {
    ("acp", "--help"): "extensions/editors",
    ("import", "settings", "--help"): "extensions/settings_import",
    ("sessions", "check", "--help"): "extensions/repair",
    ("sessions", "prune", "--help"): "extensions/repair",
    ("sessions", "replay", "--help"): "extensions/lab",
    ("sessions", "salvage", "--help"): "extensions/repair",
}
"""The commands of parts that have some."""
KEYS = {
    "extensions/agents": "agents",
    "extensions/lab": "routing.patterns",
    "extensions/linear": "ui.linear",
    "extensions/vim": "ui.vim",
}
SETTINGS = """
[agents.other]
command = ["other"]
[routing]
patterns = true
[ui]
linear = true
vim = true
"""
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
    for name in ("config", "themes", "docs", "pyproject.toml", "README.md", "Makefile"):
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
    for words in (
        ("--help",),
        ("config", "check"),
        ("sessions", "list", "--json"),
        ("models",),
        ("route", "hello", "-m", "demo:tour"),
        ("doctor",),
    ):
        done = run(copy, home, *words)
        assert done.returncode == 0 or words == ("doctor",), done.stderr
        assert "internal error" not in done.stderr


def test_command_of_a_removed_part_is_unknown(copy, home, removed):
    for words, part in COMMANDS.items():
        done = run(copy, home, *words)
        if part in removed:
            assert done.returncode == 2 and done.stderr, done.stdout
            assert "unknown command" in done.stderr or "invalid choice" in done.stderr
        else:
            assert done.returncode == 0 and "usage: yourtool" in done.stdout, done.stderr


def test_first_screen_is_painted_without_a_part(copy, home, removed):
    env = {"PYTHONPATH": str(copy), "YOURTOOL_HOME": str(home)}
    with Terminal((sys.executable, "-m", "yourtool"), cwd=copy, env=env) as terminal:
        terminal.wait("demo:tour|Welcome|/help")
        terminal.say("/quit")
        assert terminal.end() == 0


def test_setting_of_a_removed_part_is_a_problem(copy, home, removed):
    (home / "config.toml").write_text(SETTINGS)
    done = run(copy, home, "config", "check")
    for part, key in KEYS.items():
        line = f"`{key}`: the extension `{part.rpartition('/')[2]}` is not in this installation"
        assert (line in done.stderr) == (part in removed), done.stderr


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


@pytest.mark.timeout(900)
def test_other_tests_pass_without_a_part(copy, home, removed):
    options = ("-q", "-x", "--tb=short", "--show-capture=no", "-p", "no:cacheprovider")
    tables = ("tests/test_cli_contract.py", "tests/test_promises.py", "tests/test_removals.py")
    places = ("tests/agent", "tests/extensions", "tests/tools", "tests/cli")
    some = (*places, "-k", "mcp or server or acp or editor")
    # What cannot be collected without one part cannot be collected without all of them, either.
    of_all = (("--collect-only", "tests"), some) if len(removed) > 1 else ()
    for tests in (tables, *of_all):
        done = run(copy, home, *options, *tests, module="pytest")
        assert done.returncode == 0, done.stdout[-3000:]
