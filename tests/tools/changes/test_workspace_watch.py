"""What is known about the changes of a command, over real files and repositories."""

import os
import subprocess
import time
from contextlib import contextmanager

import pytest

from yourtool.foundation.file_images import ABSENT_FILE
from yourtool.settings.agent_config import UndoConfig
from yourtool.tools.changes import workspace_watch
from yourtool.tools.changes.workspace_watch import CommandChanges, WorkspaceWatch
from yourtool.tools.workspace.replacing import digest, new_temporary_name
from yourtool.tools.workspace.workspace import Workspace

pytestmark = pytest.mark.req("R-UNDO-02")

_OLD = 10**18
LIMITS = UndoConfig()


def write(path, content=b"before", *, old=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if old:
        os.utime(path, ns=(_OLD, _OLD))


def wait_for_the_clock():
    """Wait until a change has another time than the last one, on every file system."""
    time.sleep(0.04)


@pytest.fixture
def watch(root):
    return WorkspaceWatch(Workspace(root))


@contextmanager
def watched(watch):
    """Collect the changes of the block, by path."""
    found = {}
    watch.begin()
    yield found
    changes = watch.end()
    found.update({each.path: each for each in changes.changes})
    found["omitted"] = changes.omitted


def test_content_before_and_after_is_known(watch, root):
    write(root / "edited")
    write(root / "deleted", b"deleted")
    write(root / "kept")
    with watched(watch) as found:
        (root / "edited").write_bytes(b"after it")
        (root / "deleted").unlink()
        (root / "d/e").mkdir(parents=True)
        (root / "d/e/new").write_bytes(b"new")
    assert set(found) == {"edited", "deleted", "d/e/new", "omitted"}
    assert found["omitted"] == 0
    edited, deleted, new = found["edited"], found["deleted"], found["d/e/new"]
    assert (edited.before.content, edited.after.content) == (b"before", b"after it")
    assert (deleted.before.content, deleted.after.image) == (b"deleted", ABSENT_FILE)
    assert (new.before.image, new.after.content) == (ABSENT_FILE, b"new")
    assert new.directories == ("d", "d/e")
    assert edited.directories == deleted.directories == ()


def test_directory_that_existed_is_not_one_that_the_command_created(watch, root):
    (root / "d").mkdir()
    with watched(watch) as found:
        write(root / "d/e/new", old=False)
    assert found["d/e/new"].directories == ("d/e",)


def test_new_mode_alone_is_a_change_with_the_same_content(watch, root):
    write(root / "large", b"x" * (LIMITS.max_file_bytes + 1))
    (root / "large").chmod(0o600)
    with watched(watch) as found:
        (root / "large").chmod(0o755)
    change = found["large"]
    assert (change.before.image.mode, change.after.image.mode) == (0o600, 0o755)
    assert change.before.content == change.after.content
    assert change.before.image.digest == change.after.image.digest != ""


def test_content_of_a_large_file_before_the_command_is_not_known(watch, root):
    write(root / "fits", b"x" * LIMITS.max_file_bytes)
    write(root / "large", b"x" * (LIMITS.max_file_bytes + 1))
    (root / "large").chmod(0o640)
    with watched(watch) as found:
        (root / "fits").write_bytes(b"y")
        (root / "large").write_bytes(b"y")
    assert found["fits"].before.content is not None
    before = found["large"].before
    assert (before.content, before.image.digest) == (None, "")
    assert (before.image.kind, before.image.mode) == ("file", 0o640)
    assert before.image.size == LIMITS.max_file_bytes + 1


def test_kind_of_a_path_before_the_command_is_known(watch, root, monkeypatch):
    watch.limits = UndoConfig(max_files=0)
    (root / "link").symlink_to("nowhere")
    with watched(watch) as found:
        (root / "link").unlink()
        (root / "link").symlink_to("elsewhere")
    assert found["link"].before.image.kind == "link"
    assert found["link"].after.content == b"elsewhere"


def test_what_is_no_file_before_the_command_stays_unknown(watch, root):
    with watched(watch):
        write(root / "a", old=False)
    (root / "a").unlink()
    os.mkfifo(root / "a")
    with watched(watch) as found:
        (root / "a").unlink()
        write(root / "a", old=False)
    assert found["a"].before.image.kind == "other"
    assert found["a"].after.content == b"before"


def test_latest_files_are_copied_up_to_the_limits(watch, root, monkeypatch):
    watch.limits = UndoConfig(max_files=3, max_bytes=25)
    for number, name in enumerate(("oldest", "small", "wide", "latest")):
        write(root / name, b"x" * (20 if name == "wide" else 10))
        os.utime(root / name, ns=(_OLD, _OLD + number))
    with watched(watch) as found:
        for path in root.iterdir():
            path.write_bytes(b"after")
    known = {name for name in found if name != "omitted" and found[name].before.content}
    assert known == {"small", "latest"}


def test_copies_fill_the_limit_to_the_last_byte(watch, root, monkeypatch):
    watch.limits = UndoConfig(max_bytes=12)
    for name in ("a", "b", "c"):
        write(root / name, b"before")
    with watched(watch) as found:
        for path in root.iterdir():
            path.write_bytes(b"after")
    assert [found[name].before.content for name in "abc"].count(b"before") == 2


def test_a_copy_is_used_again_for_the_next_command(watch, root, monkeypatch):
    write(root / "a")
    wait_for_the_clock()
    with watched(watch):
        pass
    watch.limits = UndoConfig(max_files=0)
    with watched(watch) as found:
        (root / "a").write_bytes(b"after")
    assert found["a"].before.content == b"before"


def test_copies_of_earlier_commands_count_for_the_limit(watch, root, monkeypatch):
    watch.limits = UndoConfig(max_bytes=10)
    write(root / "a")
    wait_for_the_clock()
    with watched(watch):
        pass
    write(root / "b")
    with watched(watch) as found:
        (root / "a").write_bytes(b"after")
        (root / "b").write_bytes(b"after")
    assert (found["a"].before.content, found["b"].before.content) == (b"before", None)


def test_content_before_is_that_of_git_for_files_that_did_not_change(watch, root, monkeypatch):
    watch.limits = UndoConfig(max_files=0)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    write(root / "clean", b"clean\n")
    write(root / "dirty", b"dirty\n")
    (root / "clean").chmod(0o640)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    write(root / "dirty", b"other\n")
    os.utime(root / "dirty", ns=(_OLD + 1, _OLD + 1))
    with watched(watch) as found:
        (root / "clean").write_bytes(b"after\n")
        (root / "dirty").write_bytes(b"after\n")
    clean, dirty = found["clean"].before, found["dirty"].before
    assert (clean.content, clean.image.mode) == (b"clean\n", 0o640)
    assert (clean.image.kind, clean.image.size) == ("file", 6)
    assert clean.image.digest == digest(b"clean\n")
    assert (dirty.content, dirty.image.digest) == (None, "")


def test_ignored_files_are_watched_only_if_a_call_changed_them(watch, root):
    write(root / ".gitignore", b"ignored\n")
    with watched(watch) as found:
        write(root / "ignored", old=False)
    assert set(found) == {"omitted"}
    with watch.writing("ignored"):
        write(root / "ignored", b"tool", old=False)
    with watched(watch) as found:
        (root / "ignored").write_bytes(b"command")
    change = found["ignored"]
    assert (change.before.content, change.after.content) == (b"tool", b"command")


def test_ignored_files_that_git_tracks_are_watched(watch, root):
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    write(root / ".gitignore", b"ignored\n")
    write(root / "ignored")
    subprocess.run(["git", "add", "-f", "ignored"], cwd=root, check=True)
    with watched(watch) as found:
        (root / "ignored").write_bytes(b"after")
    assert found["ignored"].before.content == b"before"


@pytest.mark.parametrize("folder", [".git", "node_modules", "a/node_modules", ".venv", "venv"])
def test_directories_of_tools_are_not_watched(watch, root, folder):
    write(root / folder / "x")
    with watched(watch) as found:
        (root / folder / "x").write_bytes(b"after")
        write(root / folder / "y", old=False)
    assert set(found) == {"omitted"}


def test_what_a_tool_writes_meanwhile_is_no_change_of_the_command(watch, root):
    for name in ("a", "b", "c"):
        write(root / name)
    with watched(watch) as found:
        with watch.writing("a"):
            write(root / "a", b"tool")
        with watch.writing("b"):
            (root / "b").unlink()
        with watch.writing("d/new"):
            write(root / "d/new", b"tool")
        with watch.writing("gone/new"):
            pass
        with watch.writing("c/through a file"):
            pass
        (root / "c").write_bytes(b"after")
    assert set(found) - {"omitted"} <= {"a", "c", "d/new"}
    assert found["c"].after.content == b"after"
    for name in ("a", "d/new"):  # new enough to have changed again in the same tick
        assert name not in found or found[name].after.content == b"tool"


def test_file_of_a_command_is_taken_before_a_tool_writes_it(watch, root):
    write(root / ".gitignore", b"ignored\n")
    for name in ("a", "b", "same", "ignored"):
        write(root / name)
    with watched(watch) as found:
        write(root / "a", b"command")
        write(root / "b", b"command")
        write(root / "d/new", b"command")
        for name, before in (("a", b"before"), ("d/new", None)):
            (change,) = watch.take_file(name).changes
            assert (change.before.content, change.after.content) == (before, b"command")
            with watch.writing(name):
                write(root / name, b"tool")
        assert change.directories == ("d",)
        assert not any(map(watch.take_file, ("a", "d/new", "same", "ignored", "missing")))
        write(root / "d/more", b"command")
    assert set(found) == {"b", "d/more", "omitted"}
    assert found["d/more"].directories == ()


def test_writing_outside_of_commands_is_no_change_of_the_next_one(watch, root):
    with watch.writing("a"):
        write(root / "a", old=False)
    with watched(watch) as found:
        pass
    assert set(found) == {"omitted"}


def test_commands_at_the_same_time_share_their_changes(watch, root):
    watch.begin()
    write(root / "one", old=False)
    watch.begin()
    write(root / "two", old=False)
    first = watch.end()
    write(root / "three", old=False)
    second = watch.end()
    assert {each.path for each in first.changes} == {"one", "two"}
    assert {each.path for each in second.changes} == {"three"}


def test_credential_files_have_no_content(watch, root):
    write(root / ".env", b"KEY=1")
    with watched(watch) as found:
        (root / ".env").write_bytes(b"KEY=22")
    assert found[".env"].before.content is None
    assert found[".env"].after.image.kind == "other"


def test_more_changes_than_the_limit_are_counted(watch, root, monkeypatch):
    monkeypatch.setattr(workspace_watch, "MAX_COMMAND_CHANGES", 2)
    with watched(watch) as found:
        for name in "abcde":
            write(root / name, old=False)
    assert set(found) == {"a", "b", "omitted"}
    assert found["omitted"] == 3


def test_file_whose_name_cannot_be_stored_is_counted(watch, root):
    new, changed = (root / os.fsdecode(each) for each in (b"\xff", b"\xfe"))
    write(changed, old=False)
    with watched(watch) as found:
        write(new, old=False)
        write(changed, b"after it", old=False)
        write(root / "a", old=False)
    assert set(found) == {"a", "omitted"}
    assert found["omitted"] == 2


def test_content_beyond_the_total_limit_is_not_stored(watch, root, monkeypatch):
    monkeypatch.setattr(workspace_watch, "_MAX_TOTAL_STORED_BYTES", 6)
    with watched(watch) as found:
        for name in "abc":
            write(root / name, b"123", old=False)
    assert [found[name].after.content for name in "abc"] == [b"123", b"123", None]
    assert found["c"].after.image.digest == digest(b"123")


def test_only_the_first_files_of_a_huge_workspace_are_compared(watch, root, monkeypatch):
    monkeypatch.setattr(workspace_watch, "MAX_WATCHED_FILES", 2)
    for name in ("a/1", "b/1", "c/1"):
        write(root / name)
    with watched(watch) as found:
        for name in ("b/1", "c/1"):
            (root / name).write_bytes(b"after")
        (root / "a/1").unlink()
        write(root / "a/2", old=False)
    assert set(found) == {"a/1", "b/1", "omitted"}
    assert found["a/1"].after.image == ABSENT_FILE


def test_path_that_becomes_a_directory_is_a_deleted_file(watch, root):
    with watched(watch):
        write(root / "a", old=False)
    with watched(watch) as found:
        (root / "a").unlink()
        write(root / "a/b", old=False)
    assert found["a"].after.image == ABSENT_FILE
    assert found["a/b"].before.image == ABSENT_FILE


def test_content_moved_in_from_elsewhere_is_not_the_commands(watch, root, tmp_path):
    write(tmp_path / "of the user")
    write(root / "moved inside")
    with watched(watch) as found:
        (tmp_path / "of the user").rename(root / "here")
        (root / "moved inside").rename(root / "there")
    assert found["here"].before.image.kind == "other"
    assert found["there"].before.image == ABSENT_FILE
    assert found["moved inside"].after.image == ABSENT_FILE


def test_what_new_rules_uncover_is_not_the_commands(watch, root):
    write(root / ".gitignore", b"secret\n")
    write(root / "secret")
    with watched(watch) as found:
        (root / ".gitignore").write_bytes(b"")
        (root / "secret").touch()
        write(root / "sub/.gitignore", b"x", old=False)
    assert found["secret"].before.image.kind == "other"
    assert found["sub/.gitignore"].before.image == ABSENT_FILE


def test_workspace_that_disappears_has_no_changes(watch, root, caplog):
    watch.begin()
    root.rmdir()
    assert watch.end() == CommandChanges()
    assert "the changes of a command cannot be undone" in caplog.text
    watch.begin()
    assert "changes of commands cannot be undone" in caplog.text
    assert watch.end() == CommandChanges()


def test_file_that_is_deleted_while_it_is_copied_is_unknown(root, monkeypatch):
    workspace = Workspace(root)
    watch, read = WorkspaceWatch(workspace), workspace_watch.read_state
    for name in ("replaced", "deleted"):
        write(root / name)

    def change_and_read(workspace, path, limit):
        state = read(workspace, path, limit)
        if path == "replaced":
            (root / path).write_bytes(b"other")
        else:
            (root / path).unlink(missing_ok=True)
        return state

    watch.begin()
    (root / "replaced").write_bytes(b"after")
    (root / "deleted").write_bytes(b"after")
    monkeypatch.setattr(workspace_watch, "read_state", change_and_read)
    found = {each.path: each for each in watch.end().changes}
    assert found["replaced"].after.image.kind == "other"
    assert found["deleted"].after.image.kind == "other"


def test_incomplete_file_of_a_write_at_the_same_time_is_no_change_of_the_command(watch, root):
    with watched(watch) as found:
        write(root / new_temporary_name(), b"half")
        write(root / ".yourtool-notes.tmp", b"of the command")
    assert set(found) == {".yourtool-notes.tmp", "omitted"}


@pytest.mark.parametrize("is_filled", [False, True])
def test_empty_directory_of_a_command_belongs_to_the_file_that_is_written_to_it(
    watch, root, is_filled
):
    watch.begin()
    watch.begin()
    (root / "out/below").mkdir(parents=True)
    if is_filled:
        (root / "out/first").write_bytes(b"first")
    [*first] = watch.end().changes
    (root / "out/below/result").write_bytes(b"result")
    [second] = watch.end().changes
    assert [(each.path, each.directories) for each in first] == [
        ("out/first", ("out",))
    ] * is_filled
    created = ("out/below",) if is_filled else ("out", "out/below")
    assert (second.path, second.directories) == ("out/below/result", created)
