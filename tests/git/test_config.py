import os
import subprocess

import pytest

from yourtool.git import config as git_config
from yourtool.git.config import find_git_helper


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("home", "work/.git", "work/src"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work/.git/config").write_text("[core]\n\tbare = false\n")
    return (tmp_path / "work").resolve()


def found(root, directory="."):
    helper = find_git_helper((root / directory).resolve(), root)
    return None if helper is None else (helper.key, helper.file)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
        ("[CORE]FSMonitor=x", "core.fsmonitor"),
        ("[core][core]\r\nhooksPath=x\r\n", "core.hookspath"),
        ("[alias]\n\tX = !x\n", "alias.x"),
        ('[filter "a.b"]\n\tclean = x\n', "filter.a.b.clean"),
        ('[diff "a"]\n\ttextconv = x\n', "diff.a.textconv"),
        ("[diff.a]\n\ttextconv = x\n", "diff.a.textconv"),
        ("[alias]\n\tst = status\n", "alias.st"),
        ("[include]\n\tpath = ../x\n", "include.path"),
        ('[includeIf "gitdir:."]\n\tpath = x\n', "includeif.gitdir:..path"),
        ('[submodule "a"]\n\tupdate = !x\n', "submodule.a.update"),
        ("[core]\n\tworktree = /\n", "core.worktree"),
        ("[gpg]\n\tprogram = x\n", "gpg.program"),
        ('[remote "a"]\n\tpromisor = true\n', "remote.a.promisor"),
        ('[hook "a"]\n\tevent = post-index-change\n', "hook.a.event"),
        ("# a comment \\\n[alias]\nx = y\n", "a line that cannot be read"),
        ("[core]\n\tx = y \\\n[alias]\nx = y\n", "a line that cannot be read"),
        ("[ core ]\n", "a line that cannot be read"),
        ("[core]\n\tfsmonitor\x01 = x\n", "a line that cannot be read"),
        ("; note\n\n# note\n[core] ; note\n\t\n[alias]\nx = y\n", "alias.x"),
        ("fsmonitor = x\n", "a line that cannot be read"),
        ('[core "\n', "a line that cannot be read"),
    ],
)
def test_setting_of_the_repository_that_names_a_program_is_found(root, text, key):
    (root / ".git/config").write_text(text)
    assert found(root) == (key, ".git/config")
    assert found(root, "src") == (key, ".git/config")


@pytest.mark.parametrize(
    "text",
    [
        '[branch "editor-filter"]\n\tremote = origin\n\tmerge = refs/heads/editor-filter\n',
        '[remote "origin"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/*:refs/*\n',
        "[core]\n\tfsmonitor = true\n\tignorecase = false ; a comment\n\n# another\n",
        "[gpg]\n\tformat = ssh\n[user]\n\tname = A \"B\" C\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "[pull]\n\trebase\n",
    ],
)  # fmt: skip
def test_ordinary_settings_name_no_program(root, text):
    (root / ".git/config").write_text(text)
    assert found(root) is None


def test_settings_of_submodules_and_of_the_worktree_are_read(root):
    (root / ".git/modules/a/b").mkdir(parents=True)
    (root / ".git/modules/a/b/config").write_text("[core]\n\tworktree = ../../../../b\n")
    assert found(root) is None
    (root / ".git/modules/a/b/config").write_text('[filter "x"]\nclean = y\n')
    assert found(root) == ("filter.x.clean", ".git/modules/a/b/config")
    (root / ".git/modules/a/b/config").unlink()
    (root / ".git/config.worktree").write_text('[filter "x"]\nclean = y\n')
    assert found(root) == ("filter.x.clean", ".git/config.worktree")


@pytest.mark.req("R-CONF-04", "T3")
def test_module_that_names_another_directory_and_too_many_modules_are_not_read(root, monkeypatch):
    for name in "abc":
        (root / ".git/modules" / name).mkdir(parents=True)
        (root / ".git/modules" / name / "config").write_text("")
    monkeypatch.setattr(git_config, "_MAX_MODULES", 3)
    assert found(root) is None
    monkeypatch.setattr(git_config, "_MAX_MODULES", 2)
    assert found(root)[0] == "modules"
    monkeypatch.setattr(git_config, "_MAX_MODULES", 3)
    (root / ".git/modules/a/commondir").write_text("../../../..\n")
    assert found(root)[0] == "commondir"


def test_settings_of_a_linked_worktree_are_those_of_its_repository(root):
    main = root.parent / "main/.git"
    (main / "worktrees/work").mkdir(parents=True)
    (main / "config").write_text("[core]\n\tbare = false\n")
    (main / "worktrees/work/commondir").write_text("../..\n")
    (root / ".git/config").unlink()
    (root / ".git").rmdir()
    (root / ".git").write_text(f"gitdir: {main}/worktrees/work\n")
    assert found(root) is None
    (main / "config").write_text("[core]\n\tfsmonitor = ./x\n")
    assert found(root)[0] == "core.fsmonitor"
    (root / ".git").write_text("something else\n")
    assert found(root) == ("a line that cannot be read", ".git")


def make_pipe(path):
    os.mkfifo(path)


@pytest.mark.parametrize(
    "make",
    [
        make_pipe,
        lambda path: path.symlink_to(path),
        lambda path: path.write_bytes(b"gitdir: a\0b"),
        lambda path: path.write_text(f"gitdir: {'x' * 300}"),
    ],
)
@pytest.mark.req("R-CONF-04", "T3")
def test_repository_that_cannot_be_read_counts_as_one_that_runs_programs(root, make):
    (root / ".git/config").unlink()
    (root / ".git").rmdir()
    make(root / ".git")
    assert found(root, "src") is not None


def test_included_file_of_an_unknown_user_is_no_file_of_the_workspace(root):
    (root.parent / "home/.gitconfig").write_text("[include]\n\tpath = ~no-such-user/x\n")
    assert found(root) is None


def test_what_may_be_a_repository_without_a_directory_of_its_own_is_found(root):
    (root / "src/HEAD").write_text("ref: refs/heads/main\n")
    assert found(root, "src") == ("HEAD", "src")
    assert found(root) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[filter "lfs"]\n\tprocess = git-lfs filter-process\n', None),
        ("[core]\n\tpager = delta\n[alias]\n\tst = !git status \\\n -s\n", None),
        ('[filter "x"]\n\tclean = ./clean.sh\n', "filter.x.clean"),
        ('[filter "x"]\n\tclean = sh ./clean.sh\n', "filter.x.clean"),
        ('[filter "x"]\n\tclean = tools/clean\n', "filter.x.clean"),
        ('[diff "x"]\n\ttextconv = {root}/x\n', "diff.x.textconv"),
        ("[include]\n\tpath = {root}/settings\n", "include.path"),
        ("[include]\n\tpath = other\n", "filter.x.clean"),
    ],
)
def test_setting_of_the_user_counts_if_its_program_may_be_in_the_workspace(root, text, key):
    home = root.parent / "home"
    (home / "other").write_text('[filter "x"]\n\tclean = ./x\n')
    (home / ".gitconfig").write_text(text.replace("{root}", str(root)))
    assert (found(root) or (None,))[0] == key


def test_files_that_include_each_other_end(root):
    (root.parent / "home/.gitconfig").write_text("[include]\n\tpath = .gitconfig\n")
    assert found(root)[0] == "include.path"


def test_a_limited_number_of_included_files_is_read(root, monkeypatch):
    home = root.parent / "home"
    (home / ".gitconfig").write_text("[include]\n\tpath = a\n")
    (home / "a").write_text("[user]\n\tname = a\n")
    count = len(git_config._SYSTEM_FILES) + 3
    monkeypatch.setattr(git_config, "_MAX_INCLUDES", count)
    assert found(root) is None
    monkeypatch.setattr(git_config, "_MAX_INCLUDES", count - 1)
    assert found(root)[0] == "include.path"


def test_options_that_switch_helpers_off_exist(tmp_path):
    """The canonical form of a command is understood by the git of this machine."""
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True, env=environment)
    (tmp_path / "a").write_text("a\n")
    person = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (["add", "a"], ["commit", "-qm", "a"]):
        subprocess.run(["git", *person, *command], cwd=tmp_path, check=True, env=environment)
    for command in (
        ["blame", "--no-textconv", "a"],
        ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"],
        ["status", "--ignore-submodules=dirty"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=environment)


@pytest.mark.parametrize(
    ("text", "is_unused"),
    [
        ("[core]\n\thooksPath = .husky\n", True),
        ("[core]\n\tfsmonitor = ./x\n\tsshCommand = y\n\teditor = z\n", True),
        ("[alias]\n\tst = !x\n[credential]\n\thelper = x\n[pager]\n\tlog = x\n", True),
        ('[remote "a"]\n\tuploadpack = x\n', True),
        ('[remote "a.vcs"]\n\tpromisor = true\n', False),
        ('[filter "a"]\n\tclean = x\n', False),
        ('[diff "a"]\n\ttextconv = x\n', False),
        ("[include]\n\tpath = x\n", False),
        ("[core]\n\thooksPath = .husky\n\tworktree = /\n", False),
    ],
)
def test_reading_command_is_not_concerned_by_what_it_does_not_use(root, text, is_unused):
    (root / ".git/config").write_text(text)
    assert (find_git_helper(root, root, only_reads=True) is None) is is_unused
    assert find_git_helper(root, root) is not None
