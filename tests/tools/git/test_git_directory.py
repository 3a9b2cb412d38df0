"""Changes in a git directory, which follow no link, over real git."""

import os
import shutil
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.tools.protection.test_safety_copies import build_repository, git
from yourtool.errors import ToolError
from yourtool.tools.git.git_directory import GitDirectory
from yourtool.tools.workspace.directory_opening import open_real_directory

pytestmark = [
    pytest.mark.req("R-UNDO-01"),
    pytest.mark.blocks_loop("the test runs git itself"),
]


@pytest.fixture
def work(tmp_path):
    return build_repository(tmp_path / "work")


@pytest.fixture
def directory(work):
    with open_real_directory(str(work / ".git")) as descriptor:
        yield GitDirectory(descriptor)


def commit(work):
    return git(work, "rev-parse", "HEAD").encode()


def test_reference_that_is_written_is_one_for_git(work, directory):
    directory.write("refs/heads/my/branch", commit(work), 0o644, None)
    assert git(work, "rev-parse", "my/branch") == git(work, "rev-parse", "HEAD")
    assert not list((work / ".git/refs").rglob("*.lock"))
    assert not list((work / ".git/refs").rglob(".yourtool*"))


def test_deleted_reference_is_gone_loose_and_packed(work, directory):
    git(work, "tag", "-am", "text", "v1")
    git(work, "tag", "-am", "text", "v2")
    git(work, "pack-refs", "--all")
    git(work, "tag", "-f", "v1", "HEAD")
    directory.delete_reference("refs/tags/v1")
    assert git(work, "tag").split() == ["v2"]
    git(work, "fsck", "--strict")
    directory.delete_reference("refs/tags/v1")


@pytest.mark.parametrize("place", ["refs", "refs/heads", "refs/heads/new", "refs/heads/new/branch"])
def test_no_part_of_a_path_may_be_a_link(work, directory, tmp_path, place):
    outside, content = tmp_path / "outside", commit(work)
    outside.mkdir()
    link = work / ".git" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.exists():
        link.rename(tmp_path / "moved")
    link.symlink_to(outside)
    with pytest.raises((OSError, ToolError)):
        directory.write("refs/heads/new/branch", content, 0o644, None)
    assert list(outside.iterdir()) == []
    assert link.is_symlink()


def test_link_that_is_exchanged_all_the_time_is_never_followed(work, directory, tmp_path):
    outside, aside, heads = tmp_path / "outside", tmp_path / "aside", work / ".git/refs/heads"
    outside.mkdir()
    content, ended = commit(work), threading.Event()

    def exchange():
        while not ended.is_set():
            # The other thread may have made the directory again in between.
            for step in (
                partial(heads.rename, aside),
                partial(heads.symlink_to, outside),
                heads.unlink,
                partial(aside.rename, heads),
            ):
                with suppress(OSError):
                    step()
            shutil.rmtree(aside, ignore_errors=True)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for number in range(500):
            try:
                directory.write(f"refs/heads/b{number}", content, 0o644, None)
            except (OSError, ToolError):
                continue
    finally:
        ended.set()
        thread.join()
    assert list(outside.iterdir()) == []


def test_file_that_git_has_locked_is_left(work, directory):
    (work / ".git/HEAD.lock").touch()
    with pytest.raises(ToolError, match=r"`\.git/HEAD` is locked: git is at work, or `HEAD\.lock`"):
        directory.write("HEAD", b"ref: refs/heads/x\n", 0o644, b"ref: refs/heads/main\n")
    assert (work / ".git/HEAD").read_text() == "ref: refs/heads/main\n"
    assert (work / ".git/HEAD.lock").exists()


def test_file_that_somebody_else_changed_is_left(work, directory):
    for change in (
        lambda: directory.write("HEAD", b"ref: refs/heads/x\n", 0o644, b"ref: refs/heads/y\n"),
        lambda: directory.write("HEAD", b"ref: refs/heads/x\n", 0o644, None),
        lambda: directory.delete("HEAD", b"ref: refs/heads/y\n"),
    ):
        with pytest.raises(ToolError, match=r"`\.git/HEAD` was changed since"):
            change()
    assert (work / ".git/HEAD").read_text() == "ref: refs/heads/main\n"
    assert not list((work / ".git").glob("*.lock"))


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_pipes_and_links_are_not_read_or_replaced(work, directory, kind):
    path = work / ".git/refs/heads/side"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to(Path("main"))
    for change in (
        lambda: directory.read("refs/heads/side"),
        lambda: directory.write("refs/heads/side", commit(work), 0o644, None),
        lambda: directory.delete("refs/heads/side", b""),
    ):
        with pytest.raises(ToolError, match="is a link, a pipe or a device"):
            change()
    assert os.path.lexists(path)


def test_empty_directories_give_way_to_a_file_and_others_do_not(work, directory):
    (work / ".git/refs/heads/side/below/deep").mkdir(parents=True)
    directory.write("refs/heads/side", commit(work), 0o644, None)
    (work / ".git/refs/heads/other/file").parent.mkdir()
    (work / ".git/refs/heads/other/file").write_bytes(commit(work))
    with pytest.raises(OSError, match="directory"):
        directory.write("refs/heads/other", commit(work), 0o644, None)
    assert git(work, "rev-parse", "side", "other/file").split()


def test_directories_are_removed_after_a_file_if_they_are_empty(work, directory):
    for name in ("sequencer/deep/todo", "sequencer/head"):
        (work / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        (work / ".git" / name).write_bytes(b"1")
    directory.delete("sequencer/deep/todo", b"1", ("sequencer", "sequencer/deep"))
    assert [each.name for each in (work / ".git/sequencer").iterdir()] == ["head"]
    directory.delete("sequencer/head", b"1", ("sequencer",))
    assert not (work / ".git/sequencer").exists()


@pytest.mark.parametrize("name", ["../x", "refs/../../x", "/tmp/x", "refs//x", "."])
def test_names_stay_below_the_directory(directory, name):
    with pytest.raises(ToolError, match="is not the name of a file"):
        directory.write(name, b"", 0o644, None)
