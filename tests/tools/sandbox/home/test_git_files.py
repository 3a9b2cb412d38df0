"""Git in the sandbox uses what the user's own settings name, as in a shell."""

import asyncio
import os
import subprocess

import pytest

from tests.tools.contexts import answer
from tests.tools.sandbox.levels import build_sandbox
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.home.git_files import find_named_by_git
from yourtool.tools.sandbox.home.home_settings import Limits

FULL = SandboxLevel.FULL
SECRET = "canary"


@pytest.fixture
def home(home, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def repository(root):
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=root, check=True)
    (root / "plain.txt").write_text("plain\n")
    (root / "a.token").write_text("token\n")
    return root


def write(home, files):
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("@"):
            (home / name).symlink_to(f"../notes/{text[1:]}")
            continue
        (home / name).write_text(text)
        (home / name).chmod(0o755 if text.startswith("#!") else 0o644)


async def compare(root, contexts, line):
    """Run a line in the sandbox and in a shell; return the output, which is the same."""
    context = contexts(sandbox=build_sandbox(root, FULL))
    said = await answer(shell, context, command=line)
    await context.sandbox.close()
    assert said == await asyncio.to_thread(run_outside, root, line)
    return said


def run_outside(root, line):
    done = subprocess.run(
        ["sh", "-c", line], cwd=root, env=dict(os.environ), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return f"{done.stdout}{done.stderr}[exit code {done.returncode}]"


IGNORED = "credentials.json\n*.token\nsecrets/\n"


@pytest.mark.parametrize(
    "files",
    [
        {".gitconfig": "[core]\n\texcludesFile = ~/.gitignore_global\n",
         ".gitignore_global": IGNORED},
        {".config/git/ignore": IGNORED},
        {".gitconfig": "[core]\n\texcludesFile = ~/dotfiles/ignored # note\n",
         "dotfiles/ignored": IGNORED},
        {".gitconfig": "[include]\n\tpath = dotfiles/more\n",
         "dotfiles/more": "[core]\n\texcludesFile = ~/dotfiles/ignored\n",
         "dotfiles/ignored": IGNORED},
    ],
)  # fmt: skip
async def test_files_that_the_user_ignores_everywhere_are_not_added(
    files, repository, home, contexts
):
    write(home, files)
    assert "a.token" not in await compare(repository, contexts, "git add -A -n")


async def test_author_of_an_included_file_is_used(repository, home, contexts):
    write(home, {
        ".gitconfig": f'[user]\n\temail = a@example.org\n[includeIf "gitdir:{repository}/"]\n'
        "\tpath = ~/.gitconfig-work\n",
        ".gitconfig-work": "[user]\n\temail = work@example.org\n[http]\n"
        f"\textraHeader = Authorization: {SECRET}\n",
    })  # fmt: skip
    assert "work@" in await compare(repository, contexts, "git config user.email")
    context = contexts(sandbox=build_sandbox(repository, FULL))
    assert SECRET not in await answer(shell, context, command="grep -r . ~")
    await context.sandbox.close()


async def test_hooks_attributes_and_templates_of_the_user_are_used(repository, home, contexts):
    write(home, {
        ".gitconfig": "[core]\n\thooksPath = ~/.githooks\n\tattributesFile = ~/.attributes\n"
        "[init]\n\ttemplateDir = ~/.template\n[commit]\n\ttemplate = ~/.message\n"
        "[blame]\n\tignoreRevsFile = ~/.revisions\n",
        ".githooks/pre-commit": "#!/bin/sh\n. ~/.githooks/lib/common\n",
        ".githooks/lib/common": "echo the hook of the user\n",
        ".attributes": "*.token binary\n",
        ".template/marker": "marker\n",
        ".message": "no password in this message\n",
        ".revisions": "",
    })  # fmt: skip
    said = await compare(repository, contexts, "git hook run pre-commit")
    assert "the hook of the user" in said
    assert "binary: set" in await compare(repository, contexts, "git check-attr -a a.token")
    line = "git init -q inner && cat inner/.git/marker && rm -rf inner; cat ~/.message ~/.revisions"
    assert "marker\nno password" in await compare(repository, contexts, line)


@pytest.mark.parametrize("is_in_home", [True, False])
async def test_variables_that_move_the_settings_of_git_are_followed(
    is_in_home, repository, home, contexts, monkeypatch, tmp_path
):
    place = home if is_in_home else tmp_path / "elsewhere"
    write(place, {"xdg/git/config": "[user]\n\tname = x\n", "xdg/git/ignore": IGNORED})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "xdg"))
    assert "x\n" in await compare(repository, contexts, "git config user.name")
    assert "a.token" not in await compare(repository, contexts, "git add -A -n")
    write(place, {"dotfiles/gc": "[user]\n\tname = y\n"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(place / "dotfiles/gc"))
    assert "y\n" in await compare(repository, contexts, "git config user.name")


def test_linked_home_directory_has_its_files_at_their_real_paths(home, tmp_path, monkeypatch):
    write(home, {".gitconfig": "[core]\n\thooksPath = ~/.githooks\n", ".githooks/x": ""})
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    found = find_named_by_git(Limits())
    assert found.readable == (home / ".githooks",)
    assert home / ".gitconfig" in dict(found.copies)


@pytest.mark.parametrize("is_directory_linked", [True, False])
async def test_linked_settings_of_git_are_followed(is_directory_linked, repository, home, contexts):
    write(home, {
        "dotfiles/git/config": "[core]\n\thooksPath = ~/.githooks\n",
        "dotfiles/hooks/pre-commit": "#!/bin/sh\necho the hook of the user\n",
    })  # fmt: skip
    (home / ".config").mkdir()
    (home / ".config/git").symlink_to("../dotfiles/git")
    if is_directory_linked:
        (home / ".githooks").symlink_to(home / "dotfiles/hooks")
    else:
        (home / ".githooks").mkdir()
        (home / ".githooks/pre-commit").symlink_to("../dotfiles/hooks/pre-commit")
    assert "the hook" in await compare(repository, contexts, "git hook run pre-commit")


@pytest.mark.parametrize(
    "files",
    [
        {"ws/.git/config": "[core]\n\texcludesFile = ~/diary\n"},
        {"ws/settings": "[core]\n\texcludesFile = ~/diary\n",
         "home/.gitconfig": "[include]\n\tpath = ../ws/settings\n"},
        {"home/.gitconfig": "[core]\n\texcludesFile = ~/.netrc\n", "home/.netrc": SECRET},
        {"home/.gitconfig": "[core]\n\texcludesFile = ~/.ssh/config\n", "home/.ssh/config": SECRET},
        {"home/.gitconfig": "[core]\n\texcludesFile = ~/notes/diary\n", "home/notes/diary": SECRET},
        {"home/.gitconfig": "[core]\n\thooksPath = ~/notes\n", "home/notes/diary": SECRET},
        {"home/.gitconfig": "[core]\n\thooksPath = ~\n"},
        {"home/.gitconfig": "[core]\n\thooksPath = ~/hooks\n", "home/hooks/link": "@diary",
         "home/notes/diary": SECRET},
        {"home/.gitconfig": "[core]\n\thooksPath = ~/hooks\n", "home/hooks/a/id_rsa": SECRET},
        {"home/.gitconfig": "[core]\n\thooksPath = ~/hooks\n",
         **{f"home/hooks/{number}": SECRET for number in range(501)}},
    ],
)  # fmt: skip
async def test_files_of_the_home_directory_are_not_shown_by_naming_them(
    files, repository, home, contexts, tmp_path
):
    write(tmp_path, {"home/diary": SECRET, **files})
    sandbox = build_sandbox(repository, FULL, hidden=("~/notes",))
    context = contexts(sandbox=sandbox)
    assert SECRET not in await answer(shell, context, command="grep -r . ~ | head -50")
    assert sandbox.level is FULL
    await sandbox.close()


@pytest.mark.parametrize("name", [".gitignore_global", ".npmrc", ".githooks"])
async def test_link_in_the_workspace_shows_nothing_of_the_home_directory(
    name, repository, home, contexts
):
    write(home, {"diary/pre-commit": SECRET, ".gitconfig": "[core]\n\thooksPath = ~/.githooks\n"})
    (home / name).symlink_to(repository / "link")
    (repository / "link").symlink_to(
        home / ("diary" if name == ".githooks" else "diary/pre-commit")
    )
    context = contexts(sandbox=build_sandbox(repository, FULL))
    assert SECRET not in await answer(shell, context, command="grep -rs . ~ ~/.githooks/*")
    await context.sandbox.close()
