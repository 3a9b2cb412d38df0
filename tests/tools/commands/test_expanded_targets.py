"""What destructive commands would do now, as approval prompts show it."""

import os
import subprocess
import threading

import pytest

from yourtool.tools.commands import expanded_targets
from yourtool.tools.commands.expanded_targets import (
    MAX_COUNTED_FILES,
    TargetSurvey,
    find_consequences,
)


@pytest.fixture
def home(tmp_path):
    directory = tmp_path / "home"
    directory.mkdir()
    return directory


@pytest.fixture
def work(tmp_path):
    directory = tmp_path / "work"
    directory.mkdir()
    return directory


@pytest.fixture
def describe(work, home):
    """Return a function that returns the consequences of a line."""

    def describe(line, **variables):
        environment = {"HOME": str(home), **variables}
        return TargetSurvey(work, environment, threading.Event(), 60).describe(line)

    return describe


def fill(directory, *names):
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345678\n")


def git(directory, *arguments):
    subprocess.run(
        ("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments),
        cwd=directory, check=True, capture_output=True,
    )  # fmt: skip


@pytest.fixture
def repository(work):
    git(work, "init", "-q")
    fill(work, "a.txt", "src/main.c", "src/util.c")
    (work / ".gitignore").write_text("build/\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "start")
    return work


@pytest.mark.req("T29")
def test_glob_shows_how_many_files_and_the_first_names(describe, work):
    fill(work, *(f"build/{number}.o" for number in range(7)), "build/keep.c")
    found = describe("rm -f build/*.o")
    assert found.cautions == ()
    assert found.lines[0] == (
        "`rm` deletes 7 files, 63 bytes: build/0.o, build/1.o, build/2.o, build/3.o, build/4.o,"
        " and 2 more"
    )
    assert found.lines[1] == "no git repository has a copy of them"


@pytest.mark.req("T29")
def test_directory_is_counted_with_its_contents(describe, work):
    fill(work, "out/a", "out/deep/b", "out/deep/c")
    assert describe("rm -rf out").lines[0] == ("`rm` deletes 3 files in 2 folders, 27 bytes: out/")
    assert "deletes" not in "".join(describe("rm out").lines)


@pytest.mark.req("T29")
def test_files_that_git_has_no_copy_of_are_named(describe, repository):
    fill(repository, "notes.txt", "build/x.o")
    (repository / "src/main.c").write_text("changed\n")
    assert describe("rm -rf src notes.txt build").lines[1] == (
        "git has no copy of notes.txt (untracked), src/main.c (changed), build/ (ignored)"
    )
    assert len(describe("rm src/util.c").lines) == 1
    assert "notes.txt (untracked)" in describe("rm -rf .").lines[1]


@pytest.mark.req("T29")
@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("rm -rf /", "the whole file system"),
        ("rm -rf ~", "your home directory"),
        ('rm -rf "$HOME/"', "your home directory"),
        ("rm -rf .", "the workspace itself: ./"),
        ("rm -rf ../work", "the workspace itself"),
        ("rm -rf ..", "your home directory|contains the workspace"),
        ("rm -rf .git", "files of a git repository: .git/"),
        ("rm .git/config", "files of a git repository"),
        ("rm ../other/x", "files outside the workspace: ../other/x"),
        ("mv ~/z .", "files outside the workspace"),
        ("rm -rf vendor", "files of repositories: vendor/lib"),
        ("rm link/x", "files outside the workspace: link/x"),
        ('rm -rf "$UNSET"/*', "your home directory|contains the workspace|outside"),
    ],
)
def test_places_that_nobody_means_are_warned_about(describe, repository, home, line, warning):
    fill(repository.parent, "other/x", "home/z")
    fill(repository, "vendor/lib/.git/HEAD")
    (repository / "link").symlink_to(repository.parent / "other")
    found = describe(line)
    assert any(part in " ".join(found.cautions) for part in warning.split("|")), found


def test_link_is_removed_and_not_what_it_leads_to(describe, work):
    fill(work.parent, "other/x")
    (work / "link").symlink_to(work.parent / "other")
    found = describe("rm -rf link")
    assert found.cautions == ()
    assert found.lines[0].startswith("`rm` deletes 1 file,")


def test_find_shows_what_it_would_find(describe, work):
    fill(work, "a.o", "deep/b.o", "deep/c.c")
    assert describe("find . -name '*.o' -type f -delete").lines[0] == (
        "`find` deletes 2 files, 18 bytes: ./a.o, ./deep/b.o"
    )
    assert describe("find . -maxdepth 1 -name '*.o' -delete").lines[0].endswith(": ./a.o")
    assert (
        describe("find . -type f -mtime +3 -delete")
        .lines[0]
        .startswith("`find` deletes up to 3 files")
    )


def test_moved_files_and_those_that_they_replace_are_named(describe, work):
    fill(work, "a", "b", "into/a")
    assert describe("mv a b").lines == ("`mv` moves 1 file, 9 bytes: a", "it replaces b")
    assert describe("mv a b into").lines[1] == "it replaces into/a"


def test_names_that_are_not_known_are_said_to_be_so(describe, work):
    fill(work, "a")
    assert describe('rm "$(cat list)" a').lines[0] == (
        "`rm` deletes files whose names are not known before it runs: '\"$(cat list)\"'"
    )
    assert describe("rm nothing*").lines == ("nothing matches now: nothing*",)


def test_names_cannot_imitate_the_list(describe, work):
    fill(work, "a, 0 files", "b\nwarning: none", "it's")
    line = describe("rm *").lines[0]
    assert line.endswith("'a, 0 files', 'b\nwarning: none', 'it\\'s'")


def test_large_trees_are_counted_up_to_a_limit(describe, work, monkeypatch):
    monkeypatch.setattr(expanded_targets, "MAX_COUNTED_FILES", 20)
    assert MAX_COUNTED_FILES == 20_000
    fill(work, *(f"big/{number}" for number in range(60)))
    line = describe("rm -rf big").lines[0]
    assert line.startswith("`rm` deletes at least 20 files in 1 folder, at least ")
    assert describe("rm big/*").lines[0].startswith("`rm` deletes at least ")
    assert describe("find big -delete").lines[0].startswith("`find` deletes at least 20 files")


def test_an_earlier_end_is_an_incomplete_count(work, home):
    fill(work, "big/a")
    cancelled = threading.Event()
    cancelled.set()
    survey = TargetSurvey(work, {"HOME": str(home)}, cancelled, 60)
    assert survey.describe("rm -rf big").lines[0].startswith("`rm` deletes at least 0 files")


async def test_commands_that_destroy_nothing_have_no_consequences(work):
    found = await find_consequences("ls | wc -l", work, {})
    assert (found.cautions, found.lines) == ((), ())


@pytest.mark.req("T3")
def test_looking_up_what_git_has_runs_no_program_of_the_repository(describe, repository):
    touch = f"touch {repository.parent}/RAN; cat"
    (repository / ".gitattributes").write_text("* filter=evil.a=b diff=evil\n")
    for name, value in (
        ("core.fsmonitor", touch), ("filter.evil.a=b.clean", touch), ("core.hooksPath", "hooks"),
        ("filter.evil.a=b.required", "true"), ("diff.evil.textconv", touch),
    ):  # fmt: skip
        git(repository, "config", name, value)
    (repository / "src/main.c").write_text("other\n")
    os.utime(repository / "a.txt", (1, 1))
    assert "src/main.c (changed)" in describe("rm -rf src a.txt").lines[1]
    assert not (repository.parent / "RAN").exists()


@pytest.mark.parametrize(
    "line",
    [
        "rm a* 'a b' \"c*\" d\\ e",
        "rm {a,b}1 x{1,{2,3}}y [ab]1 ?1",
        'd=sub; rm "$d"/* $d/.h* ${NOPE}a1',
        "rm *.txt no*match ~/q \\~ '~'",
    ],
)
def test_expansion_names_the_same_files_as_bash(line, describe, work, monkeypatch):
    fill(work, "a1", "a b", "b1", "c1", "d e", "x.txt", "sub/q", "sub/.h", "~", "x1y", "x3y")
    monkeypatch.setattr(expanded_targets, "list_names", "|".join)
    stub = f'rm() {{ printf "%s\\n" "$@"; }}; {line}'
    done = subprocess.run(
        ("bash", "--norc", "-c", stub), cwd=work, env={"HOME": f"{work}/sub", "PATH": os.defpath},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    shown = describe(line, HOME=f"{work}/sub").lines[0].partition(": ")[2].split("|")
    named = [name for name in done.stdout.splitlines() if (work / name).exists()]
    assert sorted(shown) == sorted(set(named))
