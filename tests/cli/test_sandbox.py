"""The sandbox as it is without any setting, through `yourtool -p`."""

import sys

import pytest

from tests.tools.sandbox.levels import require
from yourtool.paths import resolve_paths
from yourtool.settings.config import config_file
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel

pytestmark = pytest.mark.usefixtures("own_logging")

SHOW_LEVEL = [{"call": "shell", "input": {"command": "echo level:$YOURTOOL_SANDBOX"}}]
END = [{"say": "done"}]


@pytest.fixture
def by_default(monkeypatch):
    """No setting for the sandbox; the machine is measured before the test, which blocks."""
    require(SandboxLevel.FULL)
    monkeypatch.delenv("YOURTOOL_SANDBOX_ENABLED", raising=False)


def configure(settings):
    """Add settings of the sandbox to those of the script."""
    with config_file(resolve_paths()).open("a") as file:
        file.write(f"[sandbox]\n{settings}\n")


def get_result(line, *arguments):
    """Return the result of the only call of a run."""
    events = line.events("-p", "go", "--allow", "shell", *arguments)
    [done] = [each for each in events if each["type"] == "tool.completed"]
    [block] = done["message"]["content"]
    return "\n".join(each["text"] for each in block["content"])


def test_commands_are_in_the_full_sandbox_by_default(line, by_default):
    line.script(SHOW_LEVEL, END)
    assert get_result(line).startswith("level:full\n")


@pytest.mark.parametrize("way", ["file", "variable"])
def test_setting_or_variable_switches_the_sandbox_off(line, by_default, monkeypatch, way):
    line.script(SHOW_LEVEL, END)
    if way == "file":
        configure("enabled = false")
    else:
        monkeypatch.setenv("YOURTOOL_SANDBOX_ENABLED", "false")
    assert get_result(line).startswith("level:\n")


def test_named_command_is_outside_and_others_are_not(line, by_default):
    line.script(SHOW_LEVEL, END)
    configure('outside = ["sh level.sh"]')
    assert get_result(line).startswith("level:full\n")
    (line.workspace / "level.sh").write_text("echo level:$YOURTOOL_SANDBOX\n")
    line.script([{"call": "shell", "input": {"command": "sh level.sh"}}], END)
    configure('outside = ["sh level.sh"]')
    assert get_result(line).startswith("level:\n")


def test_blocked_command_names_the_cause_and_the_way_out(line, by_default):
    look_up = "import socket; socket.getaddrinfo('example.invalid', 80)"
    command = f'{sys.executable} -c "{look_up}"'
    fail = {"call": "shell", "input": {"command": command}}
    line.script([fail], [fail], END)
    code, out, err = line("-p", "go", "--allow", "shell")
    assert (code, out) == (0, "done\n")
    assert err == (
        "yourtool: A command did not leave the sandbox, because no user is present to answer: the"
        " command asked for `example.invalid`, and the sandbox has no network. To allow it, name"
        " `example.invalid` in `[sandbox] hosts` of `config.toml`, or the command in `[sandbox]"
        " outside`.\n"
    ), "once for each cause"


def test_variable_that_is_neither_true_nor_false_is_a_mistake(line, monkeypatch):
    monkeypatch.setenv("YOURTOOL_SANDBOX_ENABLED", "off")
    line.script(END)
    code, _, err = line("-p", "go")
    assert code == 2
    variable = "environment YOURTOOL_SANDBOX_ENABLED"
    assert f"{variable}: `sandbox.enabled`: must be `true` or `false`, not `off`" in err


@pytest.mark.parametrize(("system", "is_used"), [("linux", True), ("darwin", False)])
def test_sandbox_is_used_by_default_on_linux_only(monkeypatch, system, is_used):
    monkeypatch.setattr(sys, "platform", system)
    assert SandboxConfig().is_used is is_used
    assert SandboxConfig(enabled=True).is_used
    assert not SandboxConfig(enabled=False).is_used
    for settings in ({"require": "full"}, {"auto_allow": True}):
        assert SandboxConfig(enabled=False, **settings).is_used
