"""The copy that the demo works in."""

import os
import subprocess
import time

import pytest

from yourtool.agent.session import demo_workspace
from yourtool.agent.session.demo_workspace import make_scratch_copy
from yourtool.errors import UsageError


def test_scratch_copy_has_the_visible_files_and_the_original_is_unchanged(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    (project / "src").mkdir()
    (project / "src" / "app.py").write_text("print()\n")
    (project / ".gitignore").write_text("secret\n")
    (project / "secret").write_text("key")
    (project / "link").symlink_to("/etc/passwd")
    scratch = make_scratch_copy(project, tmp_path / "cache")
    assert (scratch / "src" / "app.py").read_text() == "print()\n"
    assert not (scratch / "secret").exists()
    assert not (scratch / "link").exists()
    assert (scratch / ".git").is_dir()
    (scratch / "src" / "app.py").write_text("changed")
    assert (project / "src" / "app.py").read_text() == "print()\n"


def test_only_files_too_large_for_the_copy_are_omitted(tmp_path, monkeypatch):
    monkeypatch.setattr(demo_workspace, "MAX_BYTES", 10)
    project = tmp_path / "plain"
    project.mkdir()
    (project / "a-large.bin").write_bytes(b"x" * 11)
    (project / "small.txt").write_text("x")
    scratch = make_scratch_copy(project, tmp_path / "cache")
    assert [path.name for path in scratch.iterdir() if path.name != ".git"] == ["small.txt"]


@pytest.mark.req("R-CRD-02")
def test_git_gets_no_key_while_copying(tmp_path, monkeypatch):
    programs, project = tmp_path / "bin", tmp_path / "project"
    programs.mkdir()
    project.mkdir()
    git = programs / "git"
    git.write_text(f"#!/bin/sh\nenv >> {tmp_path}/told\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    make_scratch_copy(project, tmp_path / "copies")
    environment = (tmp_path / "told").read_text()
    assert "PATH=" in environment
    assert "canary" not in environment


def test_copies_older_than_a_week_are_deleted_at_the_next_start(tmp_path):
    project, copies = tmp_path / "project", tmp_path / "copies"
    project.mkdir()
    week = 7 * 24 * 3600
    for name, age in (("old", week + 60), ("young", week - 60)):
        (copies / name).mkdir(parents=True)
        (copies / name / "file").write_text("x")
        os.utime(copies / name, (time.time() - age,) * 2)
    make_scratch_copy(project, copies)
    assert not (copies / "old").exists()
    assert (copies / "young" / "file").exists()


def test_copy_to_an_unusable_directory_is_rejected_with_a_solution(tmp_path):
    project, occupied = tmp_path / "project", tmp_path / "cache"
    project.mkdir()
    occupied.write_text("a file where the directory should be")
    with pytest.raises(
        UsageError, match=r"cannot copy this directory to `.*cache`: .*free some space"
    ):
        make_scratch_copy(project, occupied)
