"""Git commands of the program run nothing that a repository names."""

import pytest

from tests.git.plain_git import git
from yourtool.git.repositories import find_repository
from yourtool.tools.git.git_program import GitRunner


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / ".gitattributes").write_text("* filter=evil\n")
    (root / "a.txt").write_text("1\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "a")
    return root


@pytest.mark.req("T13")
@pytest.mark.parametrize("worktree", [False, True])
def test_filter_that_appears_between_two_commands_never_runs(worktree, repository, tmp_path):
    if worktree:
        git(repository, "worktree", "add", "-q", str(tmp_path / "fix"))
    top = tmp_path / "fix" if worktree else repository
    runner = GitRunner(find_repository(top), 20)
    runner.run("status", "--porcelain")
    for key in ("filter.evil.clean", "core.fsmonitor", "core.hooksPath"):
        git(repository, "config", key, f"touch {tmp_path}/ran; cat")
    (top / "a.txt").write_text("2\n")
    assert runner.run("status", "--porcelain") == b" M a.txt\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("setting", "value", "status"),
    [
        ("core.fileMode", "false", b""),
        ("core.fileMode", "true", b" M a.txt\n"),
        ("core.excludesFile", "ignored", b" M a.txt\n"),
    ],
)
def test_settings_that_change_what_is_new_apply(setting, value, status, repository):
    (repository / "ignored").write_text("ignored\nnew.txt\n")
    if setting == "core.excludesFile":
        (repository / "new.txt").write_text("x")
        value = str(repository / "ignored")
    else:
        (repository / "ignored").unlink()
    (repository / "a.txt").chmod(0o755)
    git(repository, "config", setting, value)
    assert GitRunner(find_repository(repository), 20).run("status", "--porcelain") == status


def test_branch_with_an_odd_name_has_its_upstream(repository):
    name = 'a"b'
    git(repository, "update-ref", "refs/remotes/origin/x", "HEAD")
    git(repository, "checkout", "-q", "-b", name)
    git(repository, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    git(repository, "config", f"branch.{name}.remote", "origin")
    git(repository, "config", f"branch.{name}.merge", "refs/heads/x")
    printed = GitRunner(find_repository(repository), 20).run("status", "--porcelain", "--branch")
    assert printed == b'## a"b...origin/x\n'


def test_nothing_is_left_in_the_temporary_directory(repository, tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    GitRunner(find_repository(repository), 20).run("status")
    assert list(place.iterdir()) == []
