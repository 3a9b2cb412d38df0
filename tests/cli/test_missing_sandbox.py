"""`yourtool -p` on a machine where the sandbox is switched on and cannot be used."""

import json

import pytest

from yourtool.paths import resolve_paths
from yourtool.settings.config import config_file
from yourtool.tools.sandbox import bubblewrap

pytestmark = pytest.mark.usefixtures("own_logging")

TOUCH = [{"call": "shell", "input": {"command": "touch made"}}]
END = [{"say": "done"}]
WARNING = (
    "yourtool: No sandbox: bubblewrap (`bwrap`) is not installed. Every command of the model asks,"
    " and in the mode auto and with `-p` it is refused. `--no-sandbox`, or `[sandbox] enabled ="
    " false` in `config.toml`, runs commands without it.\n"
)


@pytest.fixture(autouse=True)
def machine_without_bubblewrap(monkeypatch):
    monkeypatch.setenv("YOURTOOL_SANDBOX_ENABLED", "true")
    monkeypatch.setattr(bubblewrap, "_DIRECTORIES", ())


@pytest.mark.parametrize("options", [("--mode", "auto"), ("--allow", "shell")])
def test_command_is_refused_with_the_reason_and_the_ways_out(line, options):
    line.script(TOUCH, END)
    code, out, err = line("-p", "go", *options)
    assert (code, out) == (3, "done\n")
    assert err.startswith(WARNING)
    refusal = err.removeprefix(WARNING)
    assert "cannot be used: bubblewrap (`bwrap`) is not installed" in refusal
    assert "`--no-sandbox`" in refusal and "`[sandbox] enabled = false`" in refusal


def test_option_runs_commands_without_the_sandbox_in_this_run(line):
    line.script(TOUCH, END)
    assert line("-p", "go", "--allow", "shell", "--no-sandbox") == (0, "done\n", "")


def test_setting_that_switches_it_off_is_no_missing_sandbox(line, monkeypatch):
    line.script(TOUCH, END)
    monkeypatch.delenv("YOURTOOL_SANDBOX_ENABLED", raising=False)
    with config_file(resolve_paths()).open("a") as file:
        file.write("[sandbox]\nenabled = false\n")
    assert line("-p", "go", "--allow", "shell") == (0, "done\n", "")


def test_events_have_the_level_in_which_a_command_ran(line):
    line.script(TOUCH, END)
    events = line.events("-p", "go", "--allow", "shell", "--no-sandbox")
    [called] = [each for each in events if each["type"] == "tool.called"]
    [done] = [each for each in events if each["type"] == "tool.completed"]
    assert called["sandbox"] == "none"
    assert done["message"]["metadata"]["details"]["sandbox"] == "none"


def test_check_says_that_a_rule_does_not_skip_the_question(line):
    code, out, _ = line("permissions", "check", "--allow", "shell", "make")
    missing = "no sandbox: bubblewrap (`bwrap`) is not installed"
    assert (code, out) == (0, f"ask\nruns in: {missing}\n")
    _, out, _ = line("--mode", "auto", "permissions", "check", "--json", "make")
    found = json.loads(out)
    assert (found["decision"], found["sandbox"], found["where"]) == ("deny", "none", missing)
    _, out, _ = line("--no-sandbox", "permissions", "check", "--allow", "shell", "make")
    assert out == "allow\nrule: shell\n"
