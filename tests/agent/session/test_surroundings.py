"""What a model reads about the directory of a session."""

import subprocess

import pytest

from yourtool.agent.session import surroundings
from yourtool.agent.session.surroundings import describe_surroundings
from yourtool.tools.git import git_program


def git(directory, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q", "-b", "topic")
    (tmp_path / "old.txt").write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_directory_without_a_repository_is_described_in_three_lines(tmp_path):
    lines = describe_surroundings(tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "Working directory",
        "System",
        "Git repository",
    ]
    assert lines[-1].endswith("no")


def test_branch_and_changed_files_of_a_trusted_repository_are_named(repository):
    (repository / "old.txt").write_text("2\n")
    (repository / "new.txt").write_text("")
    text = describe_surroundings(repository, is_trusted=True)
    assert "on branch topic with 2 changed files" in text
    assert " M old.txt" in text
    assert "?? new.txt" in text


def test_repository_without_changes_or_commits_is_described(tmp_path):
    git(tmp_path, "init", "-q", "-b", "empty")
    text = describe_surroundings(tmp_path, is_trusted=True)
    assert "empty" in text
    assert "no changed files" in text


def test_names_in_a_folder_without_trust_are_omitted(repository):
    (repository / "obey me").write_text("")
    git(repository, "checkout", "-qb", "obey-me-too")
    text = describe_surroundings(repository)
    assert "obey" not in text
    assert text.endswith("Git repository: yes")


def test_long_and_many_names_are_cut(repository):
    for number in range(50):
        (repository / f"{number:02}{'x' * 200}").write_text("")
    lines = describe_surroundings(repository, is_trusted=True).splitlines()
    assert max(map(len, lines[3:])) < 130
    assert lines[-1] == "  and 30 more"


@pytest.mark.parametrize("hindrance", ["output", "time"])
def test_git_that_prints_too_much_or_hangs_costs_only_its_lines(
    repository, monkeypatch, tmp_path, hindrance
):
    program = tmp_path / "git"
    line = "sleep 60 &\nwait" if hindrance == "time" else "head -c 5000 /dev/zero"
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)
    monkeypatch.setattr(git_program, "find_git", lambda: str(program))
    monkeypatch.setattr(git_program, "MAX_OUTPUT_BYTES", 1_000)
    monkeypatch.setattr(surroundings, "_GIT_SECONDS", 0.2)
    assert describe_surroundings(repository, is_trusted=True).endswith("Git repository: yes")


def test_control_characters_of_names_are_visible(repository):
    (repository / "a\x1b[31mred").write_text("")
    text = describe_surroundings(repository, is_trusted=True)
    assert "\x1b" not in text


def test_programs_that_a_repository_names_are_not_run(repository):
    mark = repository / "ran"
    git(repository, "config", "core.fsmonitor", f"touch {mark}; true")
    git(repository, "config", "filter.evil.clean", f"touch {mark}; cat")
    (repository / ".gitattributes").write_text("*.txt filter=evil\n")
    (repository / "old.txt").write_text("3\n")
    describe_surroundings(repository, is_trusted=True)
    assert not mark.exists()


def test_broken_repository_is_still_a_repository(repository):
    (repository / ".git" / "HEAD").write_text("garbage")
    assert "Git repository: yes" in describe_surroundings(repository, is_trusted=True)


def test_further_directories_are_named(tmp_path):
    other = tmp_path / "other"
    assert f"Further directories: {other}" in describe_surroundings(tmp_path, [other])
