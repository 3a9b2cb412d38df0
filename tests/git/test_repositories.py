"""The directories of real repositories, and of some that only look like one."""

import os
import subprocess

import pytest

from tests.git.plain_git import git
from yourtool.git.repositories import (
    find_branch,
    find_repository,
    is_bare,
    open_repository,
    parse_git_file,
)


@pytest.fixture
def repository(tmp_path):
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "a")
    return main


def test_directory_below_the_top_belongs_to_the_repository(repository):
    below = repository / "a/b"
    below.mkdir(parents=True)
    found = find_repository(below)
    assert found is not None
    assert found.top == repository
    assert found.directory == found.common == repository / ".git"
    assert found.locate_files() == (repository / ".git", "")


def test_linked_worktree_shares_the_directory_of_the_main_one(repository):
    linked = repository.parent / "fix"
    git(repository, "worktree", "add", "-q", str(linked))
    found = find_repository(linked)
    assert found is not None
    assert found.top == linked
    assert found.directory == repository / ".git/worktrees/fix"
    assert found.common == repository / ".git"
    assert found.locate_files() == (repository / ".git", "worktrees/fix/")


@pytest.mark.parametrize("content", ["nothing", "gitdir: nowhere\n"])
def test_directory_without_head_is_passed_over_as_git_does(content, repository):
    below = repository / "below"
    below.mkdir()
    if content == "nothing":
        (below / ".git").mkdir()
    else:
        (below / ".git").write_text(content)
    found = find_repository(below)
    assert found is not None
    assert found.top == repository


@pytest.mark.parametrize("name", [".git", ".git/commondir"])
def test_pipe_at_the_place_of_a_file_of_git_does_not_block(name, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    found = open_repository(tmp_path / ".git")
    assert found is None or found.common == tmp_path / ".git"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"gitdir: ../main/.git/worktrees/fix\n", "../main/.git/worktrees/fix"),
        (b"gitdir:/a", "/a"),
        (b"gitdir: \n", None),
        (b"gitdir: a\0b\n", None),
        (b"[core]\n", None),
        (b"", None),
    ],
)
def test_file_of_git_names_one_directory(content, named):
    assert parse_git_file(content) == named


def test_bare_repository_is_recognised_by_its_files(repository):
    assert is_bare(repository / ".git")
    assert not is_bare(repository)


@pytest.mark.parametrize("names", [("objects", "refs"), ("commondir",)])
def test_directory_that_git_accepts_without_the_usual_directories_is_bare(names, repository):
    fake = repository / "fake"
    fake.mkdir()
    for name in names:
        (fake / name).write_text("../.git\n")
        (fake / name).chmod(0o755)
    assert not is_bare(fake)
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    git(fake, "--git-dir=.", "symbolic-ref", "HEAD")
    assert is_bare(fake)


def test_branch_is_read_without_a_process(tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "topic/x", tmp_path], check=True)
    (tmp_path / "deep").mkdir()
    assert find_branch(tmp_path / "deep") == "topic/x"
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert find_branch(tmp_path) == "01234567"


def test_branch_of_a_worktree_is_found(tmp_path):
    real = tmp_path / "repo" / ".git" / "worktrees" / "w"
    real.mkdir(parents=True)
    (real / "HEAD").write_text("ref: refs/heads/side\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {real}\n")
    assert find_branch(tmp_path / "w") == "side"


@pytest.mark.parametrize("kind", ["pipe", "device", "large", "directory", "marker_with_nul"])
def test_branch_of_a_hostile_repository_is_not_waited_for(tmp_path, kind):
    head = tmp_path / ".git" / "HEAD"
    if kind == "marker_with_nul":
        (tmp_path / ".git").write_bytes(b"gitdir: a\0b\n")
    else:
        head.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(head)
    elif kind == "device":
        head.symlink_to("/dev/zero")
    elif kind == "large":
        head.write_text("ref: refs/heads/" + "a" * 10_000_000)
    elif kind == "directory":
        head.mkdir()
    assert find_branch(tmp_path) == ""
