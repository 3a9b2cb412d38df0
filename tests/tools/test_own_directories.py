"""No tool reaches the program's own directories by any name or path."""

import gc
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions import own_directories
from yourtool.permissions.own_directories import OwnDirectories, OwnFiles
from yourtool.tools.workspace import directory_walk
from yourtool.tools.workspace.replacing import ABSENT
from yourtool.tools.workspace.workspace import Workspace

KEYS = "[keys]\nanthropic = 'sk-ant-0'\n"


@pytest.fixture
def project(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    (path / "a.txt").write_text("a")
    return path


def make_home(home):
    for name in ("data/blobs", "state/log", "state/spill/s1"):
        (home / name).mkdir(parents=True)
    (home / "credentials.toml").write_text(KEYS)
    (home / "permissions.toml").write_text("schema_version = 1\n")
    (home / "data" / "sessions.db").write_bytes(b"SQLite")
    (home / "state" / "spill" / "s1" / "out.txt").write_text("long")
    return home, home / "data", home / "state", home / "cache", home / "state" / "log"


def assert_closed(workspace, path):
    actions = (
        lambda: workspace.read(path, limit=100),
        lambda: workspace.write(path, b"x", expected=ABSENT),
        lambda: workspace.delete(path, expected=ABSENT),
        lambda: workspace.is_link(f"{path}/x"),
        lambda: workspace.locate(path),
        lambda: workspace.entries(path),
        lambda: next(directory_walk.iter_files(workspace, path, threading.Event())),
    )
    for action in actions:
        with pytest.raises(ToolError, match="a directory of `yourtool` itself") as caught:
            action()
        assert caught.value.failure is ToolFailure.PERMISSION_DENIED


@pytest.mark.parametrize(
    "path",
    [
        ".home", ".home/credentials.toml", ".home/permissions.toml", ".home/new.toml",
        ".home/data/sessions.db", ".home/state/spill", ".home/state/spill/s1/out.txt",
        "./src/../.home/credentials.toml", ".home/a/b/c", ".home/cache/x",
    ],
)  # fmt: skip
def test_home_inside_the_workspace_is_protected(project, path):
    (project / "src").mkdir()
    own = make_home(project / ".home")
    assert_closed(Workspace(project, own_directories=own), path)
    assert_closed(Workspace(project, own_directories=own), str(project / path))


def test_links_of_every_kind_are_rejected(project):
    own = make_home(project / ".home")
    (project / "link").symlink_to(".home")
    (project / "file").symlink_to(project / ".home" / "credentials.toml")
    os.link(project / ".home" / "permissions.toml", project / "hard.txt")
    workspace = Workspace(project, own_directories=own)
    for path in ("link/credentials.toml", "link/new", "file", "hard.txt"):
        assert_closed(workspace, path)


def test_hard_link_of_a_just_replaced_file_is_protected(project, tmp_path):
    home = tmp_path / "home"
    workspace = Workspace(project, own_directories=make_home(home))
    (home / "new").write_text(KEYS)
    (home / "new").replace(home / "credentials.toml")
    os.link(home / "credentials.toml", project / "hard.txt")
    assert_closed(workspace, "hard.txt")


def test_hard_link_is_protected_with_any_number_of_sibling_files(project, tmp_path):
    home = tmp_path / "home"
    own = make_home(home)
    for number in range(1_500):
        (home / f"{number}.toml").write_text(KEYS)
    for number in range(0, 1_500, 50):
        os.link(home / f"{number}.toml", project / f"hard{number}.txt")
    workspace = Workspace(project, own_directories=own)
    for number in range(0, 1_500, 50):
        with pytest.raises(ToolError, match="a directory of `yourtool` itself"):
            workspace.read(f"hard{number}.txt", limit=100)


def test_protected_directory_with_too_many_files_blocks_all_access(project, tmp_path, monkeypatch):
    monkeypatch.setattr(own_directories, "_MAX_ENTRIES", 6)
    home = tmp_path / "home"
    own = make_home(home)
    workspace = Workspace(project, own_directories=own)
    assert workspace.read("a.txt", limit=9) == b"a"
    for number in range(7):
        (home / str(number)).symlink_to("nowhere")
    for path in ("a.txt", ".", "new.txt"):
        with pytest.raises(ToolError, match=f"`{home}`, .* more than 6 entries"):
            workspace.check(path)
    for number in range(7):
        (home / str(number)).unlink()
    assert workspace.read("a.txt", limit=9) == b"a"


def test_directory_that_disappears_or_has_an_impossible_name_protects_nothing_else(
    project, tmp_path
):
    home = tmp_path / "home"
    long = Path("/") / ("x" * 300) / "y"
    workspace = Workspace(project, own_directories=(*make_home(home), long))
    shutil.rmtree(home)
    assert workspace.read("a.txt", limit=9) == b"a"


def test_directory_that_cannot_be_listed_protects_nothing_else(project, tmp_path):
    home = tmp_path / "home"
    workspace = Workspace(project, own_directories=make_home(home))
    home.chmod(0o300)
    project.chmod(0o755)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # everything is readable for root
    try:
        assert workspace.read("a.txt", limit=9) == b"a"
    finally:
        os.seteuid(user)
        home.chmod(0o700)


def test_settings_linked_into_the_workspace_are_protected(project, tmp_path):
    home = tmp_path / "home"
    own = make_home(home)
    (project / "dotfiles.toml").write_text("schema_version = 1\n")
    (home / "permissions.toml").unlink()
    (home / "permissions.toml").symlink_to(project / "dotfiles.toml")
    assert_closed(Workspace(project, own_directories=own), "dotfiles.toml")


def test_renamed_directory_stays_protected(project):
    workspace = Workspace(project, own_directories=make_home(project / ".home"))
    (project / ".home").rename(project / "renamed")
    assert_closed(workspace, "renamed/credentials.toml")
    os.link(project / "renamed" / "credentials.toml", project / "hard.txt")
    assert_closed(workspace, "hard.txt")
    (project / ".home").mkdir()
    assert_closed(workspace, ".home/permissions.toml")


@pytest.mark.parametrize("path", ["deep/.home", "deep/.HOME/x", "deep/.home/data/sessions.db"])
def test_missing_directory_is_protected(project, path):
    workspace = Workspace(project, own_directories=(project / "deep" / ".home",))
    with pytest.raises(ToolError, match="`yourtool` itself"):
        workspace.write(path, b"x", expected=ABSENT)
    assert not (project / "deep").exists()
    workspace.write("deep/other", b"x", expected=ABSENT)
    with pytest.raises(ToolError, match="`yourtool` itself"):
        workspace.write(path, b"x", expected=ABSENT)


def test_additional_directory_and_workspace_can_be_protected(project, tmp_path):
    home = tmp_path / "home"
    own = make_home(home)
    workspace = Workspace(project, (home,), own)
    assert_closed(workspace, str(home / "credentials.toml"))
    assert workspace.read("a.txt", limit=9) == b"a"
    for root in (home, home / "data", home / "data" / "blobs", home / "state" / "log"):
        assert_closed(Workspace(root, own_directories=own), "x")
        assert_closed(Workspace(root, own_directories=own), ".")


def test_directory_opened_inside_a_protected_one_can_be_used(project, tmp_path):
    home = tmp_path / "home"
    own = make_home(home)
    spill = home / "state" / "spill" / "s1"
    workspace = Workspace(project, (spill,), own)
    assert workspace.read(str(spill / "out.txt"), limit=9) == b"long"
    (home / "work").mkdir()
    inside = Workspace(home / "work", own_directories=own)
    inside.write("b.txt", b"b", expected=ABSENT)
    os.link(home / "credentials.toml", home / "work" / "hard.txt")
    assert_closed(inside, "hard.txt")


def test_spill_directory_inside_the_workspace_can_be_read(project):
    own = make_home(project / ".home")
    spill = project / ".home" / "state" / "spill" / "s1"
    workspace = Workspace(project, (spill,), own)
    assert workspace.read(str(spill / "out.txt"), limit=9) == b"long"
    assert_closed(workspace, str(spill.parent / "s2" / "out.txt"))


def test_files_at_any_depth_of_a_protected_directory_are_protected(project):
    deep = project / "a/b/c/d"
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"x")
    for own in (project / "a", project / "a/b", project / "a/b/c", deep):
        workspace = Workspace(project, own_directories=(own,))
        assert_closed(workspace, "a/b/c/d/file")
        assert_closed(workspace, "a/b/../b/c/d/file")


def test_search_skips_protected_directories(project):
    own = make_home(project / ".home")
    found = list(
        directory_walk.iter_files(Workspace(project, own_directories=own), ".", threading.Event())
    )
    assert found == ["a.txt"]


def test_bind_mount_is_protected(project, tmp_path):
    home = tmp_path / "home"
    own = make_home(home)
    (project / "mounted").mkdir()
    target = project / "mounted"
    mounted = subprocess.run(
        ["mount", "--bind", str(home / "data"), str(target)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount")
    try:
        assert_closed(Workspace(project, own_directories=own), "mounted/sessions.db")
    finally:
        subprocess.run(["umount", "--lazy", str(target)], check=True)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files")
@pytest.mark.remaining
def test_repeated_checks_open_each_directory_once(tmp_path):
    own = OwnDirectories(make_home(tmp_path / "home"))
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        own.snapshot()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


@pytest.mark.parametrize("name", ["blobs", "locks", "log", "themes"])
def test_directory_that_the_program_creates_is_protected_wherever_it_is_opened(tmp_path, name):
    for each in (name, "mine"):
        (tmp_path / "own" / each).mkdir(parents=True)
    own = (tmp_path / "own",)
    assert_closed(Workspace(tmp_path / "own" / name, own_directories=own), "x")
    inside = Workspace(tmp_path / "own/mine", own_directories=own)
    inside.write("x", b"x", expected=ABSENT)


def test_everything_is_protected_if_the_file_system_root_is():
    own = OwnFiles(frozenset({(1, 1)}))
    assert own.covers([(1, 1)], [])
    assert own.covers([(1, 1), (1, 2)], [])
    assert own.covers([(1, 1), (1, 2)], [(1, 1)])
    assert not own.covers([(1, 1), (1, 2)], [(1, 2)])
    assert not own.covers([(1, 3)], [])


def test_file_in_the_place_of_a_directory_is_none(tmp_path):
    (tmp_path / "own").touch()
    assert OwnDirectories([tmp_path / "own"]).snapshot().directories == frozenset()


def test_new_target_of_a_link_is_protected_without_a_change_of_its_directory(tmp_path):
    own, target = tmp_path / "own", tmp_path / "target"
    own.mkdir()
    target.touch()
    (own / "link").symlink_to(target)
    os.utime(own, ns=(0, 0))
    directories = OwnDirectories([own])
    assert directories.snapshot().contains(target.stat())
    (tmp_path / "new").touch()
    (tmp_path / "new").rename(target)
    assert directories.snapshot().contains(target.stat())
