"""What a sandbox hides and protects."""

import os
import socket
import sys
from pathlib import Path

import pytest

from yourtool.permissions.credential_files import DIRECTORIES
from yourtool.tools.sandbox import bubblewrap, landlock, seatbelt
from yourtool.tools.sandbox import layout as layouts
from yourtool.tools.sandbox.layout import (
    Layout,
    LayoutError,
    find_hidden,
    find_protected,
    find_sockets,
)


def build_layout(root, **changes):
    repositories, protected = find_protected(root)
    temporary = root.parent / "temporary"
    return Layout(
        workspace=root,
        temporary=temporary,
        repositories=repositories,
        protected=protected,
        **changes,
    )


@pytest.fixture
def repository(root):
    for name in (".git/hooks", "src", ".github/workflows", "inner/.git/hooks"):
        (root / name).mkdir(parents=True)
    for name in (".git/HEAD", ".git/config", "AGENTS.md", "README.md", "inner/.git/HEAD"):
        (root / name).write_text("x")
    return root


def test_protected_names_are_found_also_if_they_are_missing(repository):
    repositories, protected = find_protected(repository)
    found = {str(point.path.relative_to(repository)) for point in protected}
    assert {".git/hooks", ".git/config", ".git/commondir", ".git/info", "AGENTS.md",
            ".github/workflows", ".vscode", ".claude", "inner/.git/hooks"} <= found  # fmt: skip
    assert not found & {"README.md", "src", ".git", ".git/HEAD", "HEAD"}
    assert set(repositories) == {repository / ".git", repository / "inner/.git"}


def test_repositories_are_found_below_directories_the_nearest_first(repository, monkeypatch):
    for name in ("a/b/c/.git/hooks", "vendor/lib"):
        (repository / name).mkdir(parents=True)
    (repository / "a/b/c/.git/HEAD").write_text("x")
    (repository / "vendor/lib/.git").write_text("gitdir: ../../.git/modules/lib")
    (repository / "link").symlink_to("a")
    repositories, protected = find_protected(repository)
    found = {point.path for point in protected}
    assert repositories[-1] == repository / "a/b/c/.git"
    assert {repository / "a/b/c/.git/hooks", repository / "vendor/lib/.git"} <= found
    layout = Layout(
        workspace=repository, temporary=repository, repositories=repositories, protected=protected
    )
    for name in ("a", "a/b", "a/b/c", "vendor", "vendor/lib"):
        assert repository / name in layout.pinned
    monkeypatch.setattr(layouts, "_MAX_DIRECTORIES", 4)
    assert find_protected(repository)[0] == repositories[:-1]


def test_directory_without_a_repository_cannot_become_one(root):
    _, protected = find_protected(root)
    assert {root / ".git", root / "HEAD"} <= {point.path for point in protected}


def test_link_to_the_repository_cannot_be_protected(root):
    (root / ".git").symlink_to("/nonexistent")
    with pytest.raises(LayoutError, match="symbolic link"):
        find_protected(root)


def test_credential_places_of_the_home_directory_are_hidden(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (*DIRECTORIES, ".local/share/keyrings", ".mozilla", "project"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".netrc", ".npmrc", ".bash_history", ".gitconfig", "notes.txt", "my.pem"):
        (tmp_path / name).write_text("x")
    hidden = {path.name for path in find_hidden(()) if path.is_relative_to(tmp_path)}
    assert hidden == {*DIRECTORIES, "keyrings", ".mozilla", ".netrc", ".npmrc", ".bash_history",
                      "my.pem"}  # fmt: skip


def test_directories_of_the_program_are_hidden(tmp_path):
    assert tmp_path in find_hidden((tmp_path, tmp_path / "missing"))
    assert tmp_path / "missing" not in find_hidden((tmp_path / "missing",))


@pytest.mark.skipif(sys.platform != "linux", reason="the sockets are listed in /proc/net/unix")
def test_sockets_of_other_programs_are_found(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(tmp_path)
        server.bind(str(tmp_path / "s")) if len(str(tmp_path)) < 90 else pytest.skip("long path")
        server.listen()
        assert tmp_path / "s" in find_sockets(())
        assert tmp_path / "s" not in find_sockets((tmp_path,))


def test_git_is_a_mount_point_with_read_only_hooks(repository, tmp_path):
    arguments = bubblewrap.build_arguments("bwrap", build_layout(repository), repository, 9)
    line = " ".join(arguments)
    git = repository / ".git"
    assert f"--bind {repository} {repository} " in line
    assert f"--bind {git} {git} " in line
    assert line.index(f"--bind {git} ") < line.index(f"--ro-bind {git}/hooks {git}/hooks")
    for option in ("--unshare-pid", "--unshare-net", "--new-session", "--die-with-parent",
                   "--seccomp 9", "--tmpfs /run", "--cap-drop ALL"):  # fmt: skip
        assert option in line


def test_hidden_place_in_the_workspace_is_covered_after_it(repository, tmp_path):
    hidden = repository / "state"
    hidden.mkdir()
    line = " ".join(
        bubblewrap.build_arguments("bwrap", build_layout(repository, hidden=(hidden,)), tmp_path, 9)
    )
    assert line.index(f"--bind {repository} ") < line.index(f"--tmpfs {hidden}")
    assert f"--remount-ro {hidden}" in line


def test_only_a_program_of_the_system_is_used_as_bubblewrap(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o777)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bubblewrap.find_bubblewrap() != str(fake)
    monkeypatch.setattr(bubblewrap, "_DIRECTORIES", (str(tmp_path),))
    assert bubblewrap.find_bubblewrap() is None, "others can write it"


def test_landlock_policy_has_no_protected_and_no_hidden_place(repository):
    hidden = repository / "src/hidden"
    hidden.mkdir()
    (repository / "src/open").mkdir()
    policy = landlock.build_policy(build_layout(repository, hidden=(hidden,)), b"")
    rules = {os.fsdecode(each) for each in policy[4:].split(b"\0")}
    assert f"w{repository}/src/open" in rules
    assert f"w{repository}/README.md" in rules
    closed = ("", "/src", "/.git", "/.git/hooks", "/AGENTS.md", "/.github/workflows", "/src/hidden")
    for name in closed:
        assert f"w{repository}{name}" not in rules
    assert f"r{hidden}" not in rules
    assert f"r{hidden.parent}" not in rules
    assert "r/" not in rules


def test_profile_for_macos_denies_protected_places_after_it_allows_the_workspace(repository):
    strange = repository / 'a "name" \\ ü'
    strange.mkdir()
    layout = build_layout(repository, hidden=(strange,), readable=(Path("/spill"),))
    profile = seatbelt.build_profile(layout)
    lines = profile.splitlines()
    assert lines[:4] == ["(version 1)", "(allow default)", "(deny network*)", "(deny file-write*)"]
    allowed = lines.index(f'(allow file-write* (subpath "{repository}"))')
    assert lines.index(f'(deny file-write* (subpath "{repository}/.git/hooks"))') > allowed
    assert f'(deny file-write-unlink (literal "{repository}/.git"))' in lines
    quoted = str(strange).replace("\\", "\\\\").replace('"', '\\"')
    assert f'(deny file-read* file-write* (subpath "{quoted}"))' in lines
    assert seatbelt.build_arguments("sandbox-exec", layout)[:2] == ["sandbox-exec", "-p"]
