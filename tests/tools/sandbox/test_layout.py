"""Visible and writable files of commands."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from yourtool.tools.sandbox import bubblewrap, landlock, layout, seatbelt
from yourtool.tools.sandbox.layout import Surroundings, build_layout, find_hidden, find_sockets
from yourtool.tools.sandbox.repositories import find_writable_repository


def git(root, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@example.org",
         "-c", "protocol.file.allow=always", *arguments],
        cwd=root, check=True, capture_output=True,
    )  # fmt: skip


@pytest.fixture
def repository(root):
    git(root, "init", "-q")
    (root / "src").mkdir()
    (root / "src/a").write_text("a")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    return root


@pytest.fixture
def home(tmp_path, monkeypatch):
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setattr(layout, "find_homes", lambda: {path})
    monkeypatch.setenv("HOME", str(path))
    return path


def make(place, *names):
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("canary")


def test_repository_is_writable_as_a_whole_from_one_of_its_directories(repository, home):
    built = build_layout(repository / "src", Surroundings())
    assert repository in built.writable
    assert built.pinned == (repository / ".git",)
    assert built.sealed == (repository / ".git/hooks",)


def test_hidden_linked_worktree_shows_the_file_without_which_git_forgets_it(repository, home):
    git(repository, "worktree", "add", "-q", str(home / "linked"))
    built = build_layout(repository, Surroundings())
    file = home / "linked/.git"
    assert (file.resolve(), file.read_bytes()) in built.copies
    assert built.hides(home / "linked/src/a")


def test_linked_worktree_can_write_the_directory_that_it_shares(repository, home, tmp_path):
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    built = build_layout(tmp_path / "tree", Surroundings())
    assert repository / ".git" in built.writable
    assert repository not in built.writable
    assert built.sealed == (repository / ".git/hooks",)


def test_submodule_can_write_its_git_directory(repository, home, tmp_path):
    git(tmp_path, "init", "-q", "lib")
    git(tmp_path / "lib", "commit", "-qm", "one", "--allow-empty")
    git(repository, "submodule", "add", "-q", str(tmp_path / "lib"), "sub")
    found = find_writable_repository(repository / "sub")
    assert found is not None
    assert found.directory == repository / ".git/modules/sub"


@pytest.mark.parametrize("way", ["the other repository", "its worktree", "a link"])
def test_git_file_that_names_a_repository_of_somebody_else_opens_nothing(
    way, repository, home, tmp_path
):
    forged = tmp_path / "forged"
    forged.mkdir()
    if way == "a link":
        (forged / ".git").symlink_to(repository / ".git")
    else:
        git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
        inner = "" if way == "the other repository" else "/worktrees/tree"
        (forged / ".git").write_text(f"gitdir: {repository}/.git{inner}\n")
    assert find_writable_repository(forged) is None
    assert build_layout(forged, Surroundings()).writable == ()


def test_directory_around_the_workspace_in_a_private_place_cannot_be_written(root, home):
    built = build_layout(root, Surroundings())
    inside = [place for place in built.private if root.is_relative_to(place)]
    assert bool(inside) is any(root.is_relative_to(each) for each in built.closed)


def test_repository_around_a_home_directory_is_not_opened(repository, home, monkeypatch):
    inner = repository / "src"
    assert find_writable_repository(inner, (repository / "src/home",)) is None


def test_home_directory_is_private_except_for_toolchains_and_caches(root, home, monkeypatch):
    make(home, ".ssh/id_rsa", ".rustup/toolchain", ".cargo/registry/x", "other/project/.env",
         ".local/bin/tool", ".aws/credentials", ".config/any/new-agent.json", "sdk/x", "lib/mine",
         ".kept/secret")  # fmt: skip
    monkeypatch.setenv("PATH", f"{home}/lib:/usr/bin")
    around = Surroundings(seen_in_home=(home / ".kept",), hidden_in_home=(home / "sdk",))
    built = build_layout(root, around)
    assert home in built.closed
    assert home / ".cache" in built.private
    assert home / ".gradle" not in built.private
    seen = {str(path.relative_to(home)) for path in built.readable if path.is_relative_to(home)}
    assert seen == {".rustup", ".cargo/registry", ".local/bin", "lib", ".kept"}
    assert [path.relative_to(home) for path in built.caches] == [Path(".cargo/registry")]


def test_credential_file_in_a_toolchain_is_hidden(root, home):
    make(home, ".pyenv/.env", ".pyenv/version")
    assert home / ".pyenv/.env" in build_layout(root, Surroundings()).hidden


def test_workspace_that_contains_the_home_directory_is_not_hidden_but_its_secrets_are(home):
    make(home, ".ssh/id_rsa", "notes.txt", "my.pem")
    built = build_layout(home, Surroundings())
    assert built.is_home_open
    assert home not in built.closed
    assert {home / ".ssh", home / "my.pem"} <= set(built.hidden)


def test_directories_of_settings_outside_the_home_directory_are_hidden(
    root, home, tmp_path, monkeypatch
):
    make(tmp_path, "settings/any")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    built = build_layout(root, Surroundings(own=(tmp_path / "missing",)))
    assert layout.TEMPORARY[0] in built.private
    is_elsewhere = not tmp_path.is_relative_to(layout.TEMPORARY[0])
    assert (tmp_path / "settings" in built.hidden) is is_elsewhere


def test_secrets_are_found_where_a_home_directory_cannot_be_replaced(home):
    make(home, ".netrc", ".mozilla/x", ".bash_history", "project/x", ".gitconfig")
    names = {path.name for path in find_hidden(()) if path.is_relative_to(home)}
    assert names == {".netrc", ".mozilla", ".bash_history"}


def test_private_places_are_mounted_before_what_is_visible_in_them(root, home):
    make(home, ".rustup/x")
    mounts = bubblewrap.list_mounts(build_layout(root, Surroundings()))
    order = [mount.path for mount in mounts]
    assert order.index(home) < order.index(home / ".rustup")
    assert not next(each for each in mounts if each.path == home / ".rustup").is_writable


def test_plan_of_the_mounts_has_device_and_inode_of_each_source(repository, home):
    plan = {
        each["path"]: each
        for each in bubblewrap.find_intended(build_layout(repository, Surroundings()))
    }
    status = (repository / ".git/hooks").stat()
    hooks = plan[str(repository / ".git/hooks")]
    assert (hooks["device"], hooks["inode"]) == (status.st_dev, status.st_ino)
    assert not hooks["is_writable"]
    assert plan[str(repository)]["is_writable"]
    assert plan[str(home)]["inode"] is None


def test_landlock_policy_has_no_protected_and_no_hidden_place(repository, home, tmp_path):
    make(repository, ".github/workflows/ci.yml", "AGENTS.md", "README.md", "src/hidden/x")
    own = (repository / "src/hidden",)
    policy = landlock.build_policy(
        build_layout(repository, Surroundings(own=own)), tmp_path / "t", b""
    )
    rules = {os.fsdecode(each) for each in policy[4:].split(b"\0")}
    assert f"w{repository}/src/a" in rules
    assert f"w{repository}/README.md" in rules
    for name in ("", "/src", "/.git", "/AGENTS.md", "/.github/workflows"):
        assert f"w{repository}{name}" not in rules
    assert "r/" not in rules


def test_profile_for_macos_denies_protected_places_after_it_allows_the_workspace(
    repository, home, tmp_path
):
    built = build_layout(repository, Surroundings())
    lines = seatbelt.build_profile(built, tmp_path / "t").splitlines()
    assert lines[:4] == ["(version 1)", "(allow default)", "(deny network*)", "(deny file-write*)"]
    allowed = lines.index(f'(allow file-write* (subpath "{repository}"))')
    assert lines.index(f'(deny file-write* (subpath "{repository}/.git/hooks"))') > allowed
    assert f'(deny file-write-unlink (literal "{repository}/.git"))' in lines


def test_only_a_program_of_the_system_is_used_as_bubblewrap(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o777)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bubblewrap.find_bubblewrap() != str(fake)
    monkeypatch.setattr(bubblewrap, "_DIRECTORIES", (str(tmp_path),))
    assert bubblewrap.find_bubblewrap() is None, "others can write it"
    reason = f"bubblewrap (`{fake}`) does not belong to root, or others can change it"
    assert bubblewrap.explain_absence() == reason


@pytest.mark.skipif(sys.platform != "linux", reason="the sockets are listed in /proc/net/unix")
def test_sockets_of_other_programs_are_found(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(tmp_path)
        server.bind(str(tmp_path / "s")) if len(str(tmp_path)) < 90 else pytest.skip("long path")
        server.listen()
        assert tmp_path / "s" in find_sockets(())
        assert tmp_path / "s" not in find_sockets((tmp_path,))
