"""The index of real repositories in every form that git writes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from yourtool.tools.git import git_index
from yourtool.tools.git.git_index import GitIndex, read_index

pytestmark = pytest.mark.req("R-UNDO-02")

_TIME = 1_500_000_000 * 10**9 + 123_456_789
_ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(root, *arguments, text=None):
    command = ("git", *arguments)
    done = subprocess.run(
        command, cwd=root, env=_ENVIRONMENT, input=text, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def write(root, path, content=b"x\n"):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    os.utime(file, ns=(_TIME, _TIME))


NAMES = ("a", "a.txt", "dir/b", "dir/b.py", "dir/deeper/c", "über", "z z")


@pytest.fixture
def repository(root):
    git(root, "init", "-q")
    for name in NAMES:
        write(root, name, f"content of {name}\n".encode())
    git(root, "add", ".")
    return root


def find_clean(workspace):
    """Return the paths of the files that are as in the index."""
    index = read_index(workspace)
    return {
        path for path, entry in index.entries.items() if entry.is_clean((workspace / path).lstat())
    }


@pytest.mark.parametrize("version", [2, 3, 4])
def test_files_are_found_in_each_version_of_the_index(version, repository):
    if version == 3:
        git(repository, "update-index", "--skip-worktree", "a.txt")
        git(repository, "update-index", "--skip-worktree", "dir/deeper/c")
    git(repository, "update-index", "--index-version", "4" if version == 4 else "2")
    assert (repository / ".git/index").read_bytes()[4:8] == bytes([0, 0, 0, version])
    index = read_index(repository)
    assert set(index.entries) == set(NAMES)
    assert find_clean(repository) == set(NAMES)
    objects = git(repository, "ls-files", "-s", "-z").split("\0")
    ids = {line.partition("\t")[2]: line.split()[1] for line in objects if line}
    assert {path: entry.object_id for path, entry in index.entries.items()} == ids


def test_names_with_any_common_start_are_found_in_a_compressed_index(repository):
    long = "d" * 200
    for name in (f"{long}/{long}/a", f"{long}/{long}/b", f"{long}b", "e"):
        write(repository, name)
    git(repository, "add", ".")
    git(repository, "update-index", "--index-version", "4")
    assert find_clean(repository) == {
        *NAMES, f"{long}/{long}/a", f"{long}/{long}/b", f"{long}b", "e"
    }  # fmt: skip


@pytest.mark.parametrize("version", ["2", "4"])
def test_names_of_any_length_are_found(version, repository):
    empty = git(repository, "hash-object", "-w", "--stdin", text=b"")
    names = ["m/" + "n" * length for length in (4092, 4093, 4094, 5000, 20_000)]
    lines = "".join(f"100644 {empty}\t{name}\n" for name in names)
    git(repository, "update-index", "--index-info", text=lines.encode())
    git(repository, "update-index", "--index-version", version)
    assert set(read_index(repository).entries) == {*NAMES, *names}


def test_only_what_is_in_the_workspace_is_found(repository):
    index = read_index(repository / "dir")
    assert index.directory == repository / ".git"
    assert set(index.entries) == {"b", "b.py", "deeper/c"}
    assert find_clean(repository / "dir") == {"b", "b.py", "deeper/c"}


@pytest.mark.parametrize("version", ["2", "4"])
def test_files_that_will_be_added_are_never_clean(version, repository):
    write(repository, "new", b"")
    git(repository, "add", "-N", "new")
    git(repository, "update-index", "--index-version", version)
    assert find_clean(repository) == set(NAMES)


def test_links_and_unmerged_files_are_not_found(repository):
    (repository / "link").symlink_to("a")
    git(repository, "add", "link")
    blob = git(repository, "hash-object", "-w", "--stdin", text=b"x")
    lines = "".join(f"100644 {blob} {stage}\tmerging\n" for stage in (1, 2, 3))
    git(repository, "update-index", "--index-info", text=lines.encode())
    assert set(read_index(repository).entries) == set(NAMES)


def test_a_file_that_changed_with_the_index_is_not_clean(repository):
    """It can have changed again in the same tick of the clock."""
    os.utime(repository / ".git/index", ns=(_TIME, _TIME))
    assert find_clean(repository) == set()
    os.utime(repository / ".git/index", ns=(_TIME + 1, _TIME + 1))
    assert find_clean(repository) == set(NAMES)


@pytest.mark.parametrize("change", ["content", "time", "inode", "kind", "size"])
def test_a_changed_file_is_not_clean(change, repository):
    file = repository / "a"
    match change:
        case "content":
            file.write_bytes(b"content of b\n")
        case "time":
            os.utime(file, ns=(_TIME, _TIME + 1))
        case "inode":
            shutil.copy2(file, repository / "copy")
            (repository / "copy").replace(file)
        case "kind":
            file.unlink()
            file.symlink_to("b")
        case "size":
            file.write_bytes(b"longer than before\n")
            os.utime(file, ns=(_TIME, _TIME))
    assert find_clean(repository) == set(NAMES) - {"a"}


@pytest.mark.parametrize("field", ["mtime_ns", "ctime_ns", "inode", "size"])
def test_each_recorded_value_of_a_file_counts(field, repository):
    entry = read_index(repository).entries["a"]
    status = (repository / "a").lstat()
    assert entry.is_clean(status)
    assert not _with_other(entry, field).is_clean(status)


def _with_other(entry, field):
    values = {each: getattr(entry, each) for each in entry.__struct_fields__}
    values[field] += 1
    return type(entry)(**values)


def test_there_is_no_index_without_a_repository(root):
    assert read_index(root) == GitIndex()
    (root / ".git").mkdir()
    assert read_index(root) == GitIndex()


def damage(index, kind):
    content = index.read_bytes()
    match kind:
        case "empty":
            index.write_bytes(b"")
        case "not an index":
            index.write_bytes(b"XIRC" + content[4:])
        case "unknown version":
            index.write_bytes(content[:7] + b"\5" + content[8:])
        case "cut":
            index.write_bytes(content[:100])
        case "cut name":
            index.write_bytes(content[:12] + content[12:72] + b"\xff\xff" + b"n" * 9)
        case "directory":
            index.unlink()
            index.mkdir()
        case "too large":
            os.truncate(index, 2**26 + 1)


@pytest.mark.parametrize(
    "kind",
    ["empty", "not an index", "unknown version", "cut", "cut name", "directory", "too large"],
)
def test_damaged_index_has_no_files(kind, repository):
    damage(repository / ".git/index", kind)
    assert not read_index(repository).entries


def test_damaged_compressed_index_has_no_files(repository):
    git(repository, "update-index", "--index-version", "4")
    index = repository / ".git/index"
    content = index.read_bytes()
    index.write_bytes(content[: 12 + 62] + b"\xff" * 8)
    assert not read_index(repository).entries


def test_largest_index_is_read(repository):
    os.truncate(repository / ".git/index", 2**26)
    assert set(read_index(repository).entries) == set(NAMES)


def test_index_with_hashes_of_another_length_has_no_clean_file(root):
    git(root, "init", "-q", "--object-format=sha256")
    for name in NAMES:
        write(root, name)
    git(root, "add", ".")
    index = read_index(root)
    assert not index.entries.keys() & set(NAMES)


def test_index_of_another_worktree_is_found(repository, tmp_path):
    git(repository, "commit", "-qm", "x")
    git(repository, "worktree", "add", "-q", tmp_path / "other")
    written = repository / ".git/worktrees/other/index"
    os.utime(written, ns=(2**62, 2**62))
    index = read_index(tmp_path / "other")
    assert index.directory == repository / ".git/worktrees/other"
    assert set(index.entries) == set(NAMES)


@pytest.mark.parametrize("attribute", ["* filter=lfs", "* ident", "*.txt working-tree-encoding=x"])
@pytest.mark.parametrize(
    "place",
    [".gitattributes", "dir/.gitattributes", "dir/deeper/.gitattributes", ".git/info/attributes"],
)
def test_objects_are_not_used_if_attributes_convert_content(attribute, place, repository):
    write(repository, place, f"*.py text\n{attribute}\n".encode())
    git(repository, "add", "--", *([place] if not place.startswith(".git/") else ["a"]))
    assert read_index(repository / "dir") == GitIndex()


def test_attributes_that_only_name_texts_are_no_conversions(repository):
    write(repository, ".gitattributes", b"*.py text eol=lf diff=python\n")
    write(repository, "dir/.gitattributes", b"x" * (2**18 - 1))
    git(repository, "add", ".")
    assert "a" in read_index(repository).entries


def test_attributes_that_are_no_file_count_as_conversions(repository):
    os.mkfifo(repository / ".gitattributes")
    assert read_index(repository) == GitIndex()


def test_attributes_beyond_the_limit_count_as_conversions(repository):
    write(repository, ".gitattributes", b"x" * 2**18)
    assert read_index(repository) == GitIndex()
    (repository / ".gitattributes").unlink()
    for number in range(201):
        write(repository, f"many/{number}/.gitattributes", b"")
    git(repository, "add", ".")
    assert read_index(repository) == GitIndex()
    git(repository, "rm", "-q", "--cached", "many/0/.gitattributes")
    assert "a" in read_index(repository).entries


def test_content_of_objects_is_read_up_to_a_limit(repository):
    write(repository, "binary", b"\0\n\xff\n\n")
    write(repository, "empty", b"")
    write(repository, "large", b"y" * 1_000)
    git(repository, "add", ".")
    index = read_index(repository)
    ids = {name: entry.object_id for name, entry in index.entries.items()}
    found = index.read_objects([*ids.values(), "0" * 40], 999)
    expected = {ids[name]: (repository / name).read_bytes() for name in ids if name != "large"}
    assert found == expected
    assert index.read_objects([ids["large"]], 1_000) == {ids["large"]: b"y" * 1_000}
    assert index.read_objects([ids["large"]], 999) == {}
    assert index.read_objects([], 999) == {}
    assert GitIndex().read_objects([ids["a"]], 999) == {}


def test_trees_and_commits_are_not_content(repository):
    git(repository, "commit", "-qm", "x")
    index = read_index(repository)
    ids = [git(repository, "rev-parse", each) for each in ("HEAD", "HEAD^{tree}", "HEAD:a")]
    assert index.read_objects(ids, 999) == {ids[2]: b"content of a\n"}


def test_object_that_is_deleted_meanwhile_is_omitted(repository, monkeypatch):
    ids = {name: entry.object_id for name, entry in read_index(repository).entries.items()}
    run = git_index._run

    def delete_and_run(command, object_ids):
        if command[-1] == "--batch":
            (repository / ".git/objects" / ids["a"][:2] / ids["a"][2:]).unlink(missing_ok=True)
        return run(command, object_ids)

    monkeypatch.setattr(git_index, "_run", delete_and_run)
    found = read_index(repository).read_objects([ids["a"], ids["z z"]], 999)
    assert found == {ids["z z"]: b"content of z z\n"}


def test_repository_in_which_git_waits_has_no_content(repository, monkeypatch):
    monkeypatch.setattr(git_index, "_TIMEOUT_SECONDS", 0.2)
    index = read_index(repository)
    (repository / ".git/config").unlink()
    os.mkfifo(repository / ".git/config")
    assert index.read_objects([index.entries["a"].object_id], 999) == {}


@pytest.mark.req("R-UNDO-02")
def test_configuration_of_the_repository_runs_nothing_when_content_is_read(repository, tmp_path):
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "filter.x.smudge", "core.alternateRefsCommand", "core.pager"):
        git(repository, "config", name, script)
    git(repository, "config", "core.hooksPath", tmp_path)
    index = read_index(repository)
    assert index.read_objects([index.entries["a"].object_id], 999)
    assert not Path(tmp_path, "ran").exists()
