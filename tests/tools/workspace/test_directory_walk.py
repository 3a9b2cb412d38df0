import os
import threading
from pathlib import Path

import pytest

from yourtool.foundation import ignore_rules
from yourtool.tools.workspace import directory_walk
from yourtool.tools.workspace.directory_walk import Folder, iter_files, open_tree, sort_newest_first
from yourtool.tools.workspace.workspace import Workspace


@pytest.fixture
def workspace(root):
    for path in ("a/b/file", "a/other", "c/file"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return Workspace(root)


def find(workspace, path="."):
    return list(iter_files(workspace, path, threading.Event()))


def count_descriptors():
    return len(list(Path("/dev/fd").iterdir()))


def test_files_below_any_directory_have_their_paths_in_the_workspace(workspace):
    assert find(workspace) == ["a/other", "a/b/file", "c/file"]
    assert find(workspace, "a/b") == ["a/b/file"]
    assert find(workspace, "a") == ["a/other", "a/b/file"]


def test_pipes_and_links_are_no_files(workspace, root):
    os.mkfifo(root / "c/pipe")
    (root / "c/link").symlink_to("file")
    (root / "d").symlink_to("a")
    assert find(workspace, "c") == ["c/file"]
    with open_tree(workspace, "c", threading.Event()) as tree:
        [folder] = tree.folders
    assert folder.links == ["link"]
    assert "d/other" not in find(workspace)


def test_rules_of_the_directories_above_apply(workspace, root):
    (root / "a/.gitignore").write_text("file\n")
    assert find(workspace, "a/b") == []
    assert find(workspace, "c") == ["c/file"]
    (root / "a/.gitignore").write_text("b\n")
    assert find(workspace, "a/b") == ["a/b/file"], "a directory that is named is walked"
    assert find(workspace, "a") == ["a/.gitignore", "a/other"]


def test_pattern_for_directories_ignores_no_file_and_no_link(workspace, root):
    (root / ".gitignore").write_text("file/\nlink/\na/\n")
    (root / "c/link").symlink_to("..")
    assert find(workspace) == [".gitignore", "c/file"]
    with open_tree(workspace, "c", threading.Event()) as tree:
        [folder] = tree.folders
    assert folder.links == ["link"]


def test_ignore_file_that_is_no_regular_file_has_no_rules(workspace, root):
    os.mkfifo(root / "a/.gitignore")
    (root / "c/.gitignore").symlink_to("../rules")
    (root / "rules").write_text("*\n")
    assert find(workspace, "a/b") == ["a/b/file"]
    assert find(workspace, "c") == ["c/file"]


def test_ignore_file_with_too_many_patterns_is_read_in_part_and_named(workspace, root, monkeypatch):
    monkeypatch.setattr(ignore_rules, "_MAX_PATTERNS", 2)
    (root / "a/.gitignore").write_text("x\nother\n")
    assert find(workspace, "a") == ["a/.gitignore", "a/b/file"]
    (root / "a/.gitignore").write_text("x\ny\nother\n")
    assert "a/other" in find(workspace, "a")
    with open_tree(workspace, "a", threading.Event()) as tree:
        list(tree.folders)
        assert tree.truncated_ignore_files == ["a/.gitignore"]


def test_walk_stops_when_it_is_cancelled(workspace):
    cancelled = threading.Event()
    with open_tree(workspace, ".", cancelled) as tree:
        assert next(tree.folders).path == ""
        cancelled.set()
        assert list(tree.folders) == []


def test_walk_closes_every_directory(workspace):
    before = count_descriptors()
    with open_tree(workspace, ".", threading.Event()) as tree:
        next(tree.folders)
        next(tree.folders)
    assert count_descriptors() == before


@pytest.mark.parametrize(
    "name",
    [".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox"],
)
def test_directories_of_programs_are_not_walked_unless_they_are_named(workspace, root, name):
    (root / "c" / name).mkdir()
    (root / "c" / name / "inner").touch()
    assert find(workspace, "c") == ["c/file"]
    assert find(workspace, f"c/{name}") == [f"c/{name}/inner"]


def test_directories_are_walked_to_a_greatest_depth_and_none_stays_open(
    workspace, root, monkeypatch
):
    monkeypatch.setattr(directory_walk, "_MAX_LEVELS", 3)
    deep = root / "c/1/2/3"
    deep.mkdir(parents=True)
    for each in (root / "c/1", root / "c/1/2", deep):
        (each / "file").touch()
    before = count_descriptors()
    found = find(workspace, "c")
    assert "c/1/2/file" in found
    assert "c/1/2/3/file" not in found
    assert count_descriptors() == before


def test_files_are_sorted_by_their_last_change_and_those_that_are_gone_come_last(root):
    for path, seconds in (("a", 1), ("d/b", 3), ("d/c", 2), ("e", 3)):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).touch()
        os.utime(root / path, ns=(0, seconds * 10**9))
    descriptor = os.open(root, os.O_RDONLY)
    folders = [Folder("", ["a", "e", "gone"]), Folder("d/", ["b", "c"])]
    found = [(each.path, each.names) for each in sort_newest_first(descriptor, folders)]
    os.close(descriptor)
    assert found == [("", ["e"]), ("d/", ["b", "c"]), ("", ["a", "gone"])]


@pytest.mark.req("R-TOOL-06")
def test_directory_that_becomes_a_link_during_a_walk_is_not_entered(workspace, root, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/file").touch()
    with open_tree(workspace, ".", threading.Event()) as tree:
        assert next(tree.folders).path == ""
        (root / "a").rename(tmp_path / "moved")
        (root / "a").symlink_to(tmp_path / "secret")
        assert [each.path for each in tree.folders] == ["c/"]
