"""The files of a home directory that commands see."""

import os

import pytest

from tests.tools.contexts import Contexts, answer, call
from tests.tools.sandbox.levels import FixedMeter, build_sandbox, require
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.home.home import find_visible
from yourtool.tools.sandbox.home.home_settings import Limits
from yourtool.tools.sandbox.sandbox import Sandbox

FULL = SandboxLevel.FULL
NONE = Limits()


def test_settings_are_copied_without_values_and_sections_that_look_like_secrets(home):
    (home / ".npmrc").write_text("registry=https://r.example\n//r.example/:_authToken=abc\n")
    (home / ".gitconfig").write_text(
        '[user]\n\tname = n\n[url "https://u:p@h.example"]\n\tinsteadOf = h:\n'
    )
    copies = dict(find_visible(home, {}, NONE).copies)
    assert copies[home / ".npmrc"] == b"registry=https://r.example\n"
    assert copies[home / ".gitconfig"] == b"[user]\n\tname = n\n"


SECRETS = {
    ".npmrc": "registry=https://r.example\n//r.example/:_authToken=canary\n_password = canary\n",
    ".yarnrc": '"//r.example/:_authToken" canary\n',
    ".yarnrc.yml": "npmRegistries:\n  //r.example:\n    npmAuthToken: canary\n# token: canary\n",
    ".condarc": "channels: [https://u:canary@h.example]\n",
    ".gemrc": ":sources:\n- https://u:canary@h\n:rubygems_api_key: canary\n",
    ".prettierrc": '{"token":\t"canary"}',
    ".cargo/config.toml": '[registries.private]\ntoken = "canary"\n[env]\nKEY = "https://u:canary@h"\n',
    ".bunfig.toml": '[install.scopes]\na = {token = "canary", url = "https://r.example"}\n',
    ".config/uv/uv.toml": 'extra-index-url = ["https://u:canary@h"]\n# token = "canary"\n',
    ".config/mise/config.toml": 'token = "canary"\nbroken\n',
    ".config/pip/pip.conf": "[global]\nindex-url = https://u:canary@h\npassword =\n  canary\n",
    ".config/go/env": "GOPROXY=https://u:canary@h.example\n",
    ".bazelrc": "build --remote_header=Authorization=canary\nbuild --auth_token \\\n canary\n",
    ".gitconfig": '[url "https://u:canary@h.example"]\n\tinsteadOf = h:\n[http "https://h.example"]\n'
    '\textraHeader = "Authorization: canary"\n[credential]\n\thelper = "!echo password=canary"\n'
    "[github] token = canary\n# token = canary\n",
}  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_secrets_of_no_format_are_in_the_copies(end, home):
    for name, text in SECRETS.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.replace("\n", end).encode())
    copies = dict(find_visible(home, {}, NONE).copies)
    assert set(copies) == {home / name for name in SECRETS}
    assert [path for path, content in copies.items() if b"canary" in content] == []


def test_files_of_patterns_are_copied_whole(home):
    text = b"credentials.json\n*.token\nsecrets/\n"
    (home / ".gitignore_global").write_bytes(text)
    assert find_visible(home, {}, NONE).copies == ((home / ".gitignore_global", text),)


def test_settings_are_also_copied_where_a_variable_moves_them(home):
    (home / "xdg/pip").mkdir(parents=True)
    (home / "xdg/pip/pip.conf").write_text("[global]\nretries = 1\n")
    found = find_visible(home, {"XDG_CONFIG_HOME": str(home / "xdg")}, NONE)
    assert found.copies == ((home / "xdg/pip/pip.conf", b"[global]\nretries = 1\n"),)


def test_pipe_and_link_in_place_of_a_setting_are_no_setting(home):
    os.mkfifo(home / ".npmrc")
    (home / ".gitconfig").symlink_to("/nonexistent")
    (home / ".yarnrc").symlink_to(".yarnrc")
    assert find_visible(home, {}, NONE).copies == ()


async def test_command_that_adds_hidden_files_to_git_gets_a_note(home, tmp_path):
    (home / ".npmrc").write_text("_authToken=canary\n")
    sandbox = build_sandbox(home, FULL)
    context = Contexts(home, tmp_path)(sandbox=sandbox)
    output = await call(shell, context, command="git init -q && git add -A")
    assert output.blocked.cause.startswith("the sandbox hides files with credentials")
    await sandbox.close()


@pytest.mark.parametrize(
    ("readable", "file"),
    [
        ("~/.gitignore_global", ".gitignore_global"),
        ("~/.npmrc", ".npmrc"),
        ("~/.gitconfig", ".gitconfig"),
        ("~/.config", ".config/pip/pip.conf"),
        ("~/.cargo", ".cargo/config.toml"),
    ],
)
async def test_file_that_the_user_makes_readable_is_shown_as_it_is(
    readable, file, root, home, contexts
):
    (home / file).parent.mkdir(parents=True, exist_ok=True)
    (home / file).write_text("token = shown\n")
    require(FULL)
    config = SandboxConfig(enabled=True, readable=(readable,))
    sandbox = Sandbox(config, root, FixedMeter(config, FULL))
    said = await answer(shell, contexts(sandbox=sandbox), command=f"cat ~/{file}")
    assert said == "token = shown\n[exit code 0]"
    await sandbox.close()
