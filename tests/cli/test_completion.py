"""`yourtool completion`: the scripts, and what a real bash completes with one."""

import json
import shutil
import subprocess
import sys

import pytest

from yourtool.cli.parser import COMMANDS

pytestmark = pytest.mark.usefixtures("own_logging")

_COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
[ "$(complete -p yourtool)" ] || exit 9
function_name=$(complete -p yourtool | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function_name yourtool "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""Calls the function that bash calls when somebody presses Tab."""


@pytest.fixture
def complete(line, tmp_path):
    code, script, err = line.bare("completion", "bash")
    assert (code, err) == (0, "")
    path = tmp_path / "yourtool.bash"
    path.write_text(script)

    def press_tab(*words: str) -> list[str]:
        bash = ["bash", "--norc", "-c", _COMPLETE, "bash", str(path), "yourtool", *words]
        run = subprocess.run(bash, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stderr) == (0, "")
        return run.stdout.split()

    return press_tab


@pytest.mark.req("R-CLI-01")
def test_bash_completes_commands_actions_and_values(complete):
    assert set(COMMANDS) <= set(complete(""))
    assert complete("sess") == ["sessions"]
    assert complete("sessions", "exp") == ["export"]
    assert complete("sessions", "export", "ID", "--format", "ma") == ["markdown"]
    assert complete("completion", "z") == ["zsh"]


def test_bash_completes_options(complete):
    assert complete("--max-c") == ["--max-cost"]
    assert complete("--mode", "acc") == ["accept-edits"]
    assert complete("cost", "--si") == ["--since"]
    assert complete("mcp", "add", "--hea") == ["--header"]


def test_bash_completes_files_and_directories(complete, tmp_path):
    (tmp_path / "servers.json").write_text("{}")
    (tmp_path / "server_folder").mkdir()
    assert set(complete("--mcp-config", "serv")) == {"servers.json", "server_folder"}
    assert complete("--cwd", "serv") == ["server_folder"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_script_of_each_shell_has_all_commands(line, shell):
    code, script, err = line.bare("completion", shell)
    assert (code, err) == (0, "")
    assert [each for each in COMMANDS if each not in script] == []
    comments = [each for each in script.splitlines() if each.startswith("# ")]
    assert comments[0] == f"# The words of yourtool, as `yourtool completion {shell}` prints them."
    assert "shtab " not in script and "Copy this" not in script
    if program := shutil.which(shell):
        run = subprocess.run([program, "-n"], input=script, text=True, capture_output=True)
        assert (run.returncode, run.stderr) == (0, "")


def test_shell_of_the_user_is_the_default(line, monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    code, out, _ = line.bare("completion", "--json")
    assert code == 0
    assert json.loads(out)["shell"] == "zsh"
    assert json.loads(out)["script"].startswith("#compdef yourtool")


@pytest.mark.parametrize(
    ("shell", "problem"), [("/bin/ksh", "`SHELL` is `/bin/ksh`"), ("", "`SHELL` is unset")]
)
def test_unknown_shell_of_the_user_is_named(line, monkeypatch, shell, problem):
    monkeypatch.setenv("SHELL", shell)
    code, out, err = line.bare("completion")
    assert (code, out) == (2, "")
    assert problem in err
    assert "yourtool completion bash|zsh|tcsh|fish" in err


def test_other_shells_are_rejected(line):
    code, out, err = line.bare("completion", "ksh")
    assert (code, out) == (2, "")
    assert "`ksh`" in err or "'ksh'" in err


def test_only_this_command_imports_the_library():
    program = "import sys; from yourtool.cli import main; main(['config', 'path'])"
    run = subprocess.run(
        [sys.executable, "-c", f"{program}; sys.exit('shtab' in sys.modules)"],
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0
