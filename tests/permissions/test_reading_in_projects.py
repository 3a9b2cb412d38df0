"""Reading commands in real projects: which of them need an approval, and why."""

import shutil
import subprocess

import pytest

from tests.permissions.projects import (
    CERTIFICATES,
    PRIVATE_KEY,
    PROJECTS,
    READING,
    commit_all,
    make_python_project,
    run_git,
    write,
)
from yourtool.effects import Subject
from yourtool.permissions import credential_search
from yourtool.permissions.credential_search import FilesBelow, find_unreadable
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import RuleSet
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "work").mkdir()
    return (tmp_path / "work").resolve()


def decide(root, line, *, is_trusted=True):
    subjects = CallSubjects((Subject("command", line, str(root)),))
    return Gate(RuleSet(), Mode.ASK, is_trusted=is_trusted).decide(shell.definition, subjects, None)


@pytest.mark.parametrize("make_project", PROJECTS)
@pytest.mark.req("R-CONF-04")
def test_reading_is_free_in_a_real_project(root, make_project):
    make_project(root)
    decided = {line: decide(root, line) for line in READING}
    assert {line: each.reason for line, each in decided.items() if each.verdict != "allow"} == {}


@pytest.mark.parametrize("name", [".env", "id_rsa", "config/secrets.yml", "deep/er/server.key"])
@pytest.mark.req("R-CONF-04")
def test_credential_file_below_the_searched_path_is_named_in_the_reason(root, name):
    make_python_project(root)
    write(root, name)
    asked = decide(root, "grep -r . .")
    assert asked.verdict == "ask"
    assert asked.reason == f"it reads `{name}`, which may contain credentials"
    assert decide(root, "grep -r . src").verdict == "allow"
    assert decide(root, "cd src && grep -r .").verdict == "allow"


@pytest.mark.parametrize(
    ("line", "is_free"),
    [
        ("rg x", True),
        ("rg x app", True),
        ("rg --hidden x", False),
        ("rg -uu x", False),
        ("rg -u x", False),
        ("rg --no-ignore x", False),
        ("rg x -g '*.py'", True),
        ("rg x -g '.env*'", False),
        ("rg x -g '*.{py,key}'", False),
        ("rg x -g '!*.py'", True),
        ("rg --files", True),
        ("rg --files --hidden", True),
        ("git grep x", True),
        ("git grep x -- app", True),
        ("git grep --untracked x", False),
        ("git grep x -- ':(top)'", False),
        ("grep -rn x", False),
        ("grep -rn x app", True),
        ("grep -rn x *", False),
        ("grep -rn x a*", True),
        ("grep -rn x --include=*.py", True),
        ("grep -rn x --include=*.k*", False),
        ("grep -rn x --include=*.py --include=.e*", False),
        ("grep -n x app/a.py", True),
        ("diff -r . app", False),
        ("diff -r app app", True),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_only_what_the_program_reads_is_searched_for_credential_files(root, line, is_free):
    write(root, "app/a.py", **{".gitignore": "local.key\n"})
    commit_all(root)
    write(root, ".env", "local.key")
    asked = decide(root, line)
    assert (asked.verdict == "allow") is is_free
    assert is_free or asked.reason


def test_tracked_credential_file_is_found_by_git_grep_wherever_it_is(root):
    write(root, "app/.env", "app/a.py", "lib/a.py")
    commit_all(root)
    assert "`app/.env`" in decide(root, "git grep x").reason
    assert "`app/.env`" in decide(root, "cd lib && git grep x -- '*.py'").reason
    assert "`app/.env`" in decide(root, "git grep x main").reason
    assert decide(root, "git grep x lib").verdict == "allow"
    assert decide(root, "cd lib && git grep x").verdict == "allow"
    for version in ("4", "2"):
        run_git(root, "update-index", "--index-version", version)
        assert "`app/.env`" in decide(root, "git grep x").reason
    run_git(root, "update-index", "--split-index")
    assert "`app/.env`" in decide(root, "git grep x").reason


def test_linked_worktree_has_its_own_index(root):
    write(root, "a.py", **{".gitignore": ".env\n"})
    commit_all(root)
    run_git(root, "worktree", "add", "-q", "../tree")
    tree = root.parent / "tree"
    write(tree, ".env")
    assert decide(tree, "git grep x").verdict == "allow"
    assert "`.env`" in decide(tree, "grep -r x").reason


IGNORE_FILES = {
    ".gitignore": ("*.key", "build/", "/a/*.pem", "*.pem\n!b.pem", "**/deep/*", "*.key\n!deep/"),
    ".ignore": ("!*.key", "*.pem", "!build/"),
    "sub/.gitignore": ("*.pem", "!*.key", "/a.key"),
    "sub/.rgignore": ("!*",),
    "sub/inner/.gitignore": ("*", "!a.key"),
}
CANDIDATES = """
a.key b.pem build/a.key a/a.pem sub/a.key sub/a.pem sub/deep/a.key sub/inner/a.key
sub/inner/deep/a.pem .hidden/a.key sub/.a.pem
"""


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize("repositories", [(), (".",), ("sub/inner",), (".", "sub/inner")])
@pytest.mark.parametrize("start", [".", "sub", "build"])
def test_no_file_that_ripgrep_reads_is_overlooked(root, repositories, start):
    write(root, *CANDIDATES.split())
    for each in repositories:
        (root / each / ".git").mkdir()
    for name, texts in IGNORE_FILES.items():
        for text in texts:
            write(root, **{name: f"{text}\n"})
            words = ["rg", "--no-config", "--files", start]
            listed = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
            files = FilesBelow(start, "visible")
            found = find_unreadable(files, root / start, root)
            reads = any(line.endswith((".key", ".pem")) for line in listed.stdout.splitlines())
            assert found is not None or not reads, (name, text, listed.stdout)


def test_files_that_only_certify_are_no_credential_files(root):
    write(root, **{"a.pem": CERTIFICATES, "b/ca.PEM": CERTIFICATES})
    for line in ("grep -r x .", "cat a.pem", "rg x b", "head a*"):
        assert decide(root, line).verdict == "allow", line
    write(root, **{"b/ca.PEM": CERTIFICATES + PRIVATE_KEY})
    assert "`b/ca.PEM`" in decide(root, "grep -r x .").reason
    assert decide(root, "cat b/ca.PEM").verdict == "ask"
    for text in ("", "x\n", CERTIFICATES + 2**20 * "#", PRIVATE_KEY):
        write(root, **{"b/ca.PEM": text})
        assert decide(root, "grep -r x b").verdict == "ask"


def test_directory_is_a_virtual_environment_only_with_its_file(root):
    write(root, ".venv/.env", "a.py")
    assert "`.venv/.env`" in decide(root, "grep -r x .").reason
    write(root, ".venv/pyvenv.cfg")
    assert decide(root, "grep -r x .").verdict == "allow"
    assert decide(root, "grep -r x .venv").verdict == "allow"
    write(root, "pyvenv.cfg", ".env")
    assert "`.env`" in decide(root, "grep -r x .").reason


def test_dependencies_are_not_walked_and_other_trees_only_up_to_a_limit(root, monkeypatch):
    monkeypatch.setattr(credential_search, "_MAX_FILES", 20)
    write(root, *(f"node_modules/p{n}/index.js" for n in range(50)), "src/a.py")
    assert decide(root, "grep -r x .").verdict == "allow"
    assert decide(root, "rg x").verdict == "allow"
    write(root, *(f"data/{n}" for n in range(50)))
    asked = decide(root, "grep -r x .")
    assert asked.verdict == "ask"
    assert asked.reason == (
        "it has to be searched for credential files, and `.` has more than 20 files"
    )
    commit_all(root)
    assert decide(root, "git grep x").verdict == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "make test", "ls > x", "cat .env", "cat ../x", "ls $x", "for a in b; do c; done", "rm x",
        "grep -f a b", "FOO=1 ls", "cd .. && ls", "curl -s http://127.0.0.1", "git push",
        "find . -delete", "sed -i p x", "cat < .env", "diff -r a b", "python3 -c 'x'", "", "ls &",
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.req("R-CONF-04")
def test_question_always_has_a_reason(root, line, is_trusted):
    (root / "a").mkdir()
    (root / "a/out").symlink_to("/etc")
    asked = decide(root, line, is_trusted=is_trusted)
    assert (asked.verdict, asked.reason == "") == ("ask", False)
