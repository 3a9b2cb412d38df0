"""States of files are read and restored without following links or losing a byte."""

import os
import stat
import sys
from pathlib import Path

import pytest

from yourtool.errors import ToolError
from yourtool.foundation.file_images import ABSENT_FILE, FileImage, FileRestore
from yourtool.tools.workspace import file_states
from yourtool.tools.workspace.file_states import (
    ChangedElsewhereError,
    describe_difference,
    file_state,
    find_missing_directories,
    read_state,
    restore_file,
)
from yourtool.tools.workspace.replacing import digest
from yourtool.tools.workspace.workspace import Workspace

pytestmark = pytest.mark.req("R-UNDO-01", "R-UNDO-02")


def link_image(target):
    return FileImage("link", digest(target), size=len(target))


FILE, OTHER_FILE = file_state(b"x", 0o600).image, file_state(b"y", 0o640).image
LINK, OTHER = link_image(b"x"), FileImage("other")


@pytest.fixture
def workspace(root):
    return Workspace(root)


@pytest.fixture
def file(root):
    """A file in the state `FILE`."""
    path = root / "d/a"
    path.parent.mkdir()
    path.write_bytes(b"x")
    path.chmod(0o600)
    return path


def restore(workspace, before, after, content=None, directories=()):
    item = FileRestore(path="d/a", before=before, after=after, directories=directories)
    restore_file(workspace, item, content)


def names(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_state_has_kind_mode_size_and_content(workspace, root):
    (root / "file").write_bytes(b"abc")
    (root / "file").chmod(0o640)
    (root / "link").symlink_to("nowhere")
    (root / "d").mkdir()
    os.mkfifo(root / "pipe")
    state = read_state(workspace, "file")
    assert state.image == FileImage("file", digest(b"abc"), 0o640, 3)
    assert state.content == b"abc"
    link = read_state(workspace, "link")
    assert (link.image, link.content) == (link_image(b"nowhere"), b"nowhere")
    for name in ("pipe", "d"):
        assert read_state(workspace, name).image == OTHER
    for name in ("gone", "gone/a", "d/gone"):
        assert read_state(workspace, name).image == ABSENT_FILE


def test_content_is_read_up_to_the_limit_and_hashed_beyond(workspace, root, monkeypatch):
    (root / "file").write_bytes(b"abc")
    assert read_state(workspace, "file", 3).content == b"abc"
    beyond = read_state(workspace, "file", 2)
    assert beyond.content is None
    assert (beyond.image.digest, beyond.image.size) == (digest(b"abc"), 3)
    monkeypatch.setattr(file_states, "_MAX_HASHED_BYTES", 3)
    assert read_state(workspace, "file", 2).image.digest == digest(b"abc")
    monkeypatch.setattr(file_states, "_MAX_HASHED_BYTES", 2)
    unknown = read_state(workspace, "file", 2).image
    assert (unknown.kind, unknown.digest, unknown.size) == ("file", "", 3)


@pytest.mark.skipif(sys.platform != "linux", reason="the files are Linux's")
def test_unreadable_file_is_reported():
    workspace = Workspace(Path(f"/proc/{os.getpid()}"))
    with pytest.raises(ToolError, match="`mem` could not be read"):
        read_state(workspace, "mem")


@pytest.mark.skipif(sys.platform != "linux", reason="the files are Linux's")
def test_file_that_is_longer_than_its_size_is_read_up_to_the_limit():
    workspace = Workspace(Path(f"/proc/{os.getpid()}"))
    state = read_state(workspace, "maps", 10)
    assert (state.content, state.image.size) == (None, 11)
    whole = read_state(workspace, "maps")
    assert whole.content is not None
    assert whole.image.size == len(whole.content) > 11


def test_missing_directories_are_named_outermost_first(workspace, root):
    (root / "a/b").mkdir(parents=True)
    assert find_missing_directories(workspace, "a/b/c/d/e") == ("a/b/c", "a/b/c/d")
    assert find_missing_directories(workspace, "a/b/c") == ()
    assert find_missing_directories(workspace, "c") == ()


def test_file_is_created_with_its_directories_and_mode(workspace, root):
    after = file_state(b"new", 0o751).image
    restore(workspace, ABSENT_FILE, after, b"new")
    assert (root / "d/a").read_bytes() == b"new"
    assert stat.S_IMODE((root / "d/a").stat().st_mode) == 0o751
    restore(workspace, ABSENT_FILE, after, b"other")
    assert (root / "d/a").read_bytes() == b"new", "it was in that state already"
    assert names(root) == ["d", "d/a"]


def test_file_is_removed_with_the_empty_directories_of_its_call(workspace, root, file):
    (root / "d/inner").mkdir()
    restore(workspace, FILE, ABSENT_FILE, directories=("d", "d/inner"))
    assert names(root) == []


def test_directories_that_are_in_use_or_replaced_are_kept(workspace, root):
    (root / "d").mkdir()
    (root / "d/of the user").touch()
    (root / "elsewhere").mkdir()
    (root / "link").symlink_to("elsewhere")
    directories = ("d", "link", "link/x", "gone/x")
    restore(workspace, FILE, ABSENT_FILE, directories=directories)
    assert names(root) == ["d", "d/of the user", "elsewhere", "link"]


def test_links_are_restored_as_links(workspace, file):
    restore(workspace, FILE, link_image(b"../nowhere"), b"../nowhere")
    assert file.readlink() == Path("../nowhere")
    restore(workspace, link_image(b"../nowhere"), FILE, b"x")
    assert file.read_bytes() == b"x"
    assert not file.is_symlink()


def test_attributes_of_a_file_are_kept(workspace, file):
    try:
        os.setxattr(file, "user.note", b"kept")
    except (OSError, AttributeError):
        pytest.skip("this file system has no attributes of users")
    restore(workspace, FILE, OTHER_FILE, b"y")
    assert os.getxattr(file, "user.note") == b"kept"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_state_that_cannot_be_restored_leaves_the_file_and_no_other(workspace, root, file):
    target = b"x" * 5_000
    with pytest.raises(ToolError, match="`d/a` could not be restored: File name too long"):
        restore(workspace, FILE, link_image(target), target)
    assert names(root) == ["d", "d/a"]
    assert file.read_bytes() == b"x"


def test_file_that_changes_while_it_is_restored_is_left(workspace, root, file, monkeypatch):
    sync = os.fsync

    def change_and_sync(descriptor):
        file.write_bytes(b"of the user")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", change_and_sync)
    with pytest.raises(ChangedElsewhereError, match="`d/a` was changed since"):
        restore(workspace, FILE, OTHER_FILE, b"y")
    assert file.read_bytes() == b"of the user"
    assert names(root) == ["d", "d/a"]


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        (ABSENT_FILE, FILE, "no longer exists"),
        (FILE, ABSENT_FILE, "exists again"),
        (LINK, FILE, "is now a link"),
        (OTHER, FILE, "is no longer the same kind of file"),
        (FILE, LINK, "is no longer the same kind of file"),
        (FILE, file_state(b"x", 0o640).image, "has another mode now"),
        (FILE, OTHER_FILE, "was changed since"),
        (FILE, file_state(b"y", 0o600).image, "was changed since"),
        (OTHER, OTHER, "was changed since"),
    ],
)
def test_difference_between_two_states_has_a_name(found, expected, said):
    assert describe_difference(found, expected) == said


@pytest.mark.parametrize("kind", ["content", "mode", "deleted", "link"])
def test_file_in_another_state_is_left(kind, workspace, root, file):
    match kind:
        case "content":
            file.write_bytes(b"z")
        case "mode":
            file.chmod(0o644)
        case "deleted":
            file.unlink()
        case "link":
            file.rename(root / "d/b")
            file.symlink_to("b")
    before = names(root)
    with pytest.raises(ChangedElsewhereError):
        restore(workspace, FILE, OTHER_FILE, b"y")
    assert names(root) == before
