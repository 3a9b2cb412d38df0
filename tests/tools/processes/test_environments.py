"""The variables of commands, hooks and servers."""

import os
import subprocess

import pytest

from yourtool.settings.shell_config import EnvironmentConfig
from yourtool.tools.processes.environments import Environments, build_for_reading, build_for_user

HARMLESS = {
    "FOO": "bar", "DATABASE_URL": "postgres://localhost/x", "DJANGO_SETTINGS_MODULE": "a.b",
    "NODE_ENV": "test", "LD_LIBRARY_PATH": "/opt/x", "PYTHONPATH": "/opt/y", "CC": "clang",
    "http_proxy": "http://proxy:1", "HTTPS_PROXY": "http://me:pw@proxy:1", "KUBECONFIG": "/k",
    "SSH_AUTH_SOCK": "/tmp/s", "DISPLAY": ":0", "PKG_CONFIG_PATH": "/p", "AWS_PROFILE": "dev",
    "DIRENV_DIR": "-/w", "IN_NIX_SHELL": "impure", "NIX_PATH": "/n", "MISE_SHELL": "bash",
    "BASH_ENV": "/b", "NODE_OPTIONS": "--max-old-space-size=4096", "GIT_ASKPASS": "/ask",
}  # fmt: skip
SECRET = {
    "ANTHROPIC_API_KEY": "x", "GITHUB_TOKEN": "x", "MY_SECRET": "x", "PGPASSWORD": "x",
    "SSHPASS": "x", "DB_PASS": "x", "BW_SESSION": "x", "OP_SESSION_me": "x", "PAT": "x",
    "GOOGLE_APPLICATION_CREDENTIALS": "/c", "ANY": "ghp_abc", "PEM": "-----BEGIN PRIVATE KEY-----",
}  # fmt: skip


def build(outer, **config):
    return Environments(EnvironmentConfig(**config)).build_for_model(outer)


def test_command_of_a_model_gets_all_variables_but_keys():
    passed = build({**HARMLESS, **SECRET})
    assert passed.items() >= HARMLESS.items()
    assert not SECRET.keys() & passed.keys()


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"hide": ("FOO",)}, {"BAR_FOO", "BAR"}),
        ({"hide": ("BAR*",)}, {"FOO"}),
        ({"hide": ("*FOO",)}, {"BAR"}),
        ({"hide": ("*R_F*",)}, {"FOO", "BAR"}),
        ({"hide": ("*",)}, set()),
        ({"allow": ("MY_TOKEN",)}, {"FOO", "BAR_FOO", "BAR", "MY_TOKEN"}),
        ({"allow": ("MY_*",), "hide": ("MY_TOKEN",)}, {"FOO", "BAR_FOO", "BAR"}),
    ],
)
def test_settings_hide_and_allow_variables_by_name(config, expected):
    outer = dict.fromkeys(("FOO", "BAR_FOO", "BAR", "MY_TOKEN"), "1")
    assert {each for each in build(outer, **config) if each in outer} == expected


def test_settings_set_variables_for_commands_of_models():
    assert build({"CC": "gcc"}, set={"CC": "clang", "PAGER": "less"}).items() >= {
        "CC": "clang", "PAGER": "less"
    }.items()  # fmt: skip


def test_key_of_a_provider_under_any_name_is_hidden_from_models_and_hooks(tmp_path):
    built = Environments(provider_keys=frozenset({"MY_SERVER"}))
    outer = {"MY_SERVER": "abc", "OTHER_TOKEN": "x"}
    assert not outer.keys() & built.build_for_model(outer).keys()
    own = built.build_for_own_program(outer, tmp_path)
    assert "MY_SERVER" not in own and own["OTHER_TOKEN"] == "x"


def test_path_of_a_command_is_that_of_the_user_without_relative_entries(tmp_path):
    outer = {"PATH": f":.:bin:{tmp_path}/node_modules/.bin:/usr/bin"}
    assert build(outer)["PATH"] == f"{tmp_path}/node_modules/.bin:/usr/bin"


def test_reading_command_gets_few_variables_and_no_directory_of_the_workspace(tmp_path):
    outer = {
        **HARMLESS,
        "PATH": f"{tmp_path}/bin:/usr/bin:{tmp_path}/.venv/bin",
        "VIRTUAL_ENV": f"{tmp_path}/.venv",
        "LC_ALL": "C",
    }
    passed = build_for_reading(outer, tmp_path)
    assert passed["PATH"] == f"/usr/bin:{tmp_path}/.venv/bin" and passed["LC_ALL"] == "C"
    assert not HARMLESS.keys() & passed.keys()


def test_own_command_of_the_user_gets_everything(tmp_path):
    outer = {**HARMLESS, **SECRET, "PATH": ".:/bin"}
    assert build_for_user(outer).items() >= outer.items()


@pytest.mark.parametrize(
    ("name", "value", "passes"),
    [
        ("PYTHONPATH", "/opt/lib", True),
        ("PYTHONPATH", "/opt/lib:{root}/src", False),
        ("PYTHONPATH", "src", False),
        ("LD_LIBRARY_PATH", "/opt/lib:", False),
        ("NODE_OPTIONS", "--max-old-space-size=4096", True),
        ("NODE_OPTIONS", "--require ./hook.js", False),
        ("NODE_OPTIONS", "--require {root}/hook.js", False),
        ("DATA", "{root}/data", True),
        ("GITHUB_TOKEN", "x", True),
    ],
)
def test_own_hook_or_server_loads_no_code_of_the_workspace(tmp_path, name, value, passes):
    outer = {name: value.format(root=tmp_path), "PATH": f"{tmp_path}/.venv/bin:/usr/bin"}
    outer["VIRTUAL_ENV"] = f"{tmp_path}/.venv"
    passed = Environments().build_for_own_program(outer, tmp_path)
    assert (name in passed) == passes
    assert passed["PATH"] == "/usr/bin"


def test_variables_of_the_starting_shell_do_not_reach_programs(tmp_path):
    outer = {"PWD": "/elsewhere", "OLDPWD": "/before", "_": "/bin/yourtool"}
    outer |= {"CDPATH": "/elsewhere", "GLOBIGNORE": "a*", "BASHOPTS": "dotglob"}
    assert not outer.keys() & build(outer).keys()
    assert not outer.keys() & Environments().build_for_own_program(outer, tmp_path).keys()


@pytest.fixture
def run_git(tmp_path, monkeypatch):
    """Runs a command line in the repository of a user with an editor."""
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = "[user]\nname = Ada\nemail = ada@example.invalid\n[core]\neditor = cat > opened <"
    (tmp_path / ".gitconfig").write_text(settings)
    repository = tmp_path / "a b"
    subprocess.run(("git", "init", "-q", repository), check=True)

    def run(line, **outer):
        environment = build({**os.environ, "VISUAL": "vim", "GIT_EDITOR": "vim", **outer})
        command = ("bash", "-c", line)
        return subprocess.run(command, cwd=repository, env=environment, check=False).returncode

    return run


_WRITE = """'sh -c "echo x > \\"\\$1\\"" editor'"""


@pytest.mark.parametrize(
    "line",
    [
        f"GIT_EDITOR={_WRITE} git commit --allow-empty",
        f"EDITOR={_WRITE} git commit --allow-empty",
        f"git -c core.editor={_WRITE} commit --allow-empty",
        "git commit --allow-empty -m a && git commit --allow-empty -m b"
        " && GIT_EDITOR=true git rebase -i HEAD~1 && EDITOR=true git rebase -i HEAD~1"
        " && git -c sequence.editor=true rebase -i HEAD~1"
        " && git -c core.editor=true commit --amend --allow-empty",
    ],
)
def test_editor_that_a_command_names_is_used(run_git, line):
    assert run_git(line) == 0


@pytest.mark.parametrize("line", ["git commit --allow-empty", "git commit --allow-empty -e -m x"])
def test_editor_of_the_user_is_not_opened(run_git, tmp_path, line):
    assert run_git(line) != 0
    assert not (tmp_path / "a b/opened").exists()


def test_settings_of_git_in_variables_reach_commands(run_git):
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.x", "GIT_CONFIG_VALUE_0": "1"}
    assert run_git("test $(git config user.x) = 1", **given) == 0
    assert run_git("git commit --allow-empty", **given) != 0
