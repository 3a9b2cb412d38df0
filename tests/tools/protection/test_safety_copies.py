"""Uncommitted work that git commands would discard, and the safety copies of it."""

import os
import subprocess

import pytest

from yourtool.tools.git.git_program import GitError
from yourtool.tools.git.lost_work import find_lost_work
from yourtool.tools.protection import safety_copies
from yourtool.tools.protection.safety_copies import copy_work, describe_copy

STORES = []
"""The directory of saved objects."""
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")


def git(directory, *arguments, **options):
    done = subprocess.run(
        ("git", *IDENTITY, *arguments), cwd=directory, check=True, capture_output=True, **options
    )
    return done.stdout.decode()


def build_repository(root):
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    for name in ("a.txt", "b.txt", "src/c.txt", "gone.txt"):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{name} as committed\n")
    (root / ".gitignore").write_text("build/\n*.log\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    return root


def make_dirty(root):
    """Change, stage, delete and add files; return the content of all files."""
    (root / "a.txt").write_bytes(b"a changed\r\n")
    (root / "b.txt").write_text("b staged\n")
    git(root, "add", "b.txt")
    (root / "b.txt").write_text("b changed again\n")
    (root / "gone.txt").unlink()
    (root / "new é.txt").write_text("new\n")
    (root / "link").symlink_to("a.txt")
    (root / "tool.sh").write_text("#!/bin/sh\n")
    (root / "tool.sh").chmod(0o755)
    (root / "build").mkdir(exist_ok=True)
    (root / "build/out.o").write_text("built\n")


def content(root):
    return {
        str(path.relative_to(root)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if (path.is_file() or path.is_symlink()) and ".git" not in path.relative_to(root).parts[:1]
    }


def state(root):
    """Return everything that a copy must not touch."""
    directory = root / git(root, "rev-parse", "--git-dir").strip()
    return (
        content(root),
        (directory / "index").read_bytes() if (directory / "index").exists() else None,
        (directory / "HEAD").read_bytes(),
        git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/stash"),
    )


@pytest.fixture(autouse=True)
def stores(tmp_path_factory):
    STORES.append(tmp_path_factory.mktemp("stores"))


@pytest.fixture
def repository(tmp_path):
    return build_repository(tmp_path / "work")


def lose(line, root):
    return find_lost_work(line, root, {"HOME": str(root)}, 60)


def keep(line, root, is_secret=lambda path: path.endswith(".env")):
    return copy_work(lose(line, root), root, STORES[-1], is_secret, 60)


def fetch(root, copy):
    """Bring a copy into a repository, as a user would."""
    git(root, "fetch", "-q", str(copy.directory), copy.ref)


@pytest.mark.req("T29")
@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("git checkout -- .", {"a.txt", "b.txt"}),
        ("git checkout a.txt", {"a.txt"}),
        ("cd src && git checkout -- .", set()),
        ("git -C src restore ../a.txt", {"a.txt"}),
        ("git restore '*.txt'", {"a.txt", "b.txt"}),
        ("git restore *.txt", {"a.txt", "b.txt"}),
        ("git reset --hard && make", {"a.txt", "b.txt"}),
        ("bash -c 'git reset --hard'", {"a.txt", "b.txt"}),
        ('g"i"t reset --hard', {"a.txt", "b.txt"}),
        ("$'\\x67it' reset --hard", {"a.txt", "b.txt"}),
        ("gi\\t reset --hard", {"a.txt", "b.txt"}),
        ("sudo git switch -f main", {"a.txt", "b.txt"}),
        ("git clean -fd", {"new é.txt", "link", "tool.sh"}),
        ("git clean -fdx", {"new é.txt", "link", "tool.sh", "build/"}),
        ("git clean -fX", set()),
        ("git clean -fdX", {"build/"}),
        ("git checkout main", set()),
        ("git restore --staged .", set()),
        ("git status", set()),
    ],
)
def test_files_that_a_command_would_discard_are_found(repository, line, lost):
    make_dirty(repository)
    found = lose(line, repository)
    assert ({each.path for each in found.files} if found else set()) == lost


def test_nothing_is_lost_in_a_clean_tree_or_without_a_repository(repository, tmp_path):
    assert lose("git reset --hard", repository) is None
    assert lose("git reset --hard", tmp_path) is None


@pytest.mark.req("T29")
def test_question_names_what_is_lost(repository):
    make_dirty(repository)
    found = lose("git reset --hard; git clean -fd; git push -f", repository).describe()
    assert found.cautions == (
        "`git reset` discards the uncommitted changes of 2 files: a.txt (changed), b.txt (changed)",
        "`git clean` deletes what git has no copy of: link, 'new é.txt', tool.sh",
        "`git push` replaces or deletes what the remote has; there is no copy of it",
    )
    assert found.lines == ("a safety copy is made first, from which `/undo` restores it",)


def test_directory_that_is_not_known_may_lose_anything(repository):
    make_dirty(repository)
    found = lose("cd $(pwd) && git reset --hard", repository)
    assert found.is_unknown and found.has_copy
    assert "not known before it runs" in found.describe().cautions[0]


@pytest.mark.req("T29")
def test_copy_has_every_byte_and_touches_nothing_else(repository):
    make_dirty(repository)
    before = state(repository)
    copy = keep("git reset --hard", repository)
    assert state(repository) == before
    assert copy.omitted == ()
    files = {name: data for name, data in before[0].items() if not name.startswith("build/")}
    git(repository, "reset", "-q", "--hard")
    git(repository, "clean", "-qfd")
    fetch(repository, copy)
    git(repository, "restore", "--source=FETCH_HEAD", "--", ".")
    assert {**content(repository)}.keys() - {"build/out.o"} == files.keys()
    assert {each: content(repository)[each] for each in files} == files
    assert os.access(repository / "tool.sh", os.X_OK)
    assert git(repository, "show", "FETCH_HEAD^2:b.txt") == "b staged\n"
    assert git(repository, "rev-parse", "FETCH_HEAD^1") == git(repository, "rev-parse", "HEAD")
    git(repository, "fsck", "--strict")


def test_ignored_files_are_copied_if_they_would_be_deleted(repository):
    make_dirty(repository)
    assert "build/out.o" in keep("git clean -fdx", repository).paths
    assert "build/out.o" not in keep("git clean -fd", repository).paths


@pytest.mark.req("T29", "R-CRD-04")
def test_secret_and_large_files_are_left_out_and_counted(repository, monkeypatch):
    (repository / ".env").write_text("KEY=1\n")
    (repository / "big").write_text("x" * 100)
    (repository / "small").write_text("x")
    monkeypatch.setattr(safety_copies, "MAX_FILE_BYTES", 50)
    copy = keep("git clean -fd", repository)
    assert (copy.paths, set(copy.omitted)) == (("small",), {".env", "big"})
    assert "it lacks 2 files" in describe_copy(copy)


@pytest.mark.req("T29")
@pytest.mark.parametrize(
    ("name", "limit", "kept"),
    [("MAX_FILES", 2, {"c", "d"}), ("MAX_BYTES", 25, {"c", "d"}), ("MAX_FILE_BYTES", 9, set())],
)
def test_latest_files_are_copied_up_to_each_limit(repository, monkeypatch, name, limit, kept):
    for number, path in enumerate("abcd"):
        (repository / path).write_text("x" * 10)
        os.utime(repository / path, (number, number))
    monkeypatch.setattr(safety_copies, name, limit)
    copy = keep("git clean -fd", repository)
    assert set(copy.paths if copy else ()) == kept
    assert kept == set() or set(copy.omitted) == set("abcd") - kept


def test_repository_in_the_repository_is_left_out_and_counted(repository):
    (repository / "inner").mkdir()
    git(repository / "inner", "init", "-q")
    (repository / "inner/file").write_text("x")
    (repository / "new").write_text("x")
    copy = keep("git clean -ffd", repository)
    assert (copy.paths, copy.omitted) == (("new",), ("inner/",))
    assert "it lacks 1 file, which is secret, too large or a repository" in describe_copy(copy)


def test_copy_that_takes_too_long_is_given_up(repository):
    make_dirty(repository)
    with pytest.raises(GitError):
        copy_work(lose("git reset --hard", repository), repository, STORES[-1], lambda _: False, 0)


@pytest.mark.req("T29")
def test_copy_is_seen_by_no_command_of_the_repository(repository, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "mirror")
    make_dirty(repository)
    before = git(repository, "count-objects", "-v")
    keep("git reset --hard", repository)
    git(repository, "push", "-q", "--mirror", str(tmp_path / "mirror"))
    git(tmp_path, "clone", "-q", "--mirror", str(repository), "clone")
    for root in (repository, tmp_path / "mirror", tmp_path / "clone"):
        assert git(root, "log", "--all", "--format=%s").splitlines() == ["start"]
        assert git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main\n"
    assert git(repository, "count-objects", "-v") == before


@pytest.mark.req("T3", "T29")
def test_copying_runs_no_program_of_the_repository(repository, tmp_path):
    touch = f"touch {tmp_path}/RAN; cat"
    hooks = repository / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "pre-commit", "post-index-change", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/RAN\n")
        (hooks / name).chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    for name, value in (
        ("core.fsmonitor", touch), ("filter.evil.clean", touch), ("core.hooksPath", "hooks"),
        ("filter.evil.process", touch), ("commit.gpgSign", "true"), ("gpg.program", touch),
        ("filter.evil.required", "true"), ("core.logAllRefUpdates", "always"),
    ):  # fmt: skip
        git(repository, "config", name, value)
    (repository / "a.txt").write_text("other\n")
    assert "a.txt" in keep("git reset --hard", repository).paths
    assert not (tmp_path / "RAN").exists()


def test_unborn_head(tmp_path):
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a").write_text("a\n")
    (root / "b").write_text("b\n")
    git(root, "add", "b")
    before = state(root)
    copy = keep("git clean -fd", root)
    assert state(root) == before
    assert git(copy.directory, "show", f"{copy.ref}:a") == "a\n"


def test_conflicts_of_a_merge_that_is_aborted(repository):
    git(repository, "checkout", "-qb", "side")
    (repository / "a.txt").write_text("side\n")
    git(repository, "commit", "-qam", "side")
    git(repository, "checkout", "-q", "main")
    (repository / "a.txt").write_text("main\n")
    git(repository, "commit", "-qam", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "side")
    (repository / "a.txt").write_text("resolved by hand\n")
    before = state(repository)
    copy = keep("git merge --abort", repository)
    assert state(repository) == before
    assert git(copy.directory, "show", f"{copy.ref}:a.txt") == "resolved by hand\n"


@pytest.mark.remaining
def test_linked_worktree_and_submodule(repository, tmp_path):
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", str(other))
    make_dirty(other)
    before = state(other)
    assert keep("git reset --hard", other).paths
    assert state(other) == before
    outer = build_repository(tmp_path / "outer")
    git(outer, "submodule", "add", "-q", str(repository), "sub")
    git(outer, "commit", "-qm", "sub")
    make_dirty(outer / "sub")
    before = state(outer / "sub")
    assert "a.txt" in keep("git checkout -- .", outer / "sub").paths
    assert state(outer / "sub") == before
    assert lose("cd sub && git checkout -- .", outer).is_unknown, "another repository"
    (outer / "a.txt").write_text("outer\n")
    assert keep("git checkout -- .", outer).paths == ("a.txt",)
    git(outer, "submodule", "deinit", "-q", "-f", "sub")
    assert keep("git checkout -- .", outer).paths == ("a.txt",)


def test_sparse_checkout_and_split_index(repository):
    git(repository, "sparse-checkout", "set", "--no-cone", "/*", "!/src/")
    git(repository, "update-index", "--split-index")
    (repository / "a.txt").write_text("other\n")
    before = state(repository)
    copy = keep("git reset --hard", repository)
    assert state(repository) == before
    assert git(copy.directory, "show", f"{copy.ref}:src/c.txt") == "src/c.txt as committed\n"
    assert git(copy.directory, "show", f"{copy.ref}:a.txt") == "other\n"


def test_workspace_below_the_root_of_the_repository(repository):
    (repository / "a.txt").write_text("other\n")
    (repository / "src/c.txt").write_text("other\n")
    copy = keep("git reset --hard", repository / "src")
    assert set(copy.paths) == {"a.txt", "src/c.txt"}
    assert set(copy.index.entries) == {"c.txt"}


def test_stashes_and_branches_are_copied(repository):
    (repository / "a.txt").write_text("stashed\n")
    git(repository, "stash", "-q")
    (repository / "a.txt").write_text("stashed later\n")
    git(repository, "stash", "-q")
    git(repository, "branch", "old")
    found = lose("git stash clear; git branch -D old", repository)
    assert found.describe().cautions == (
        "`git stash` removes 2 stashes", "`git branch` removes 1 branch: old",
    )  # fmt: skip
    stash = git(repository, "rev-parse", "stash@{1}").strip()
    copy = keep("git stash clear", repository)
    git(repository, "stash", "clear")
    assert stash in git(copy.directory, "rev-list", copy.ref).split()
    assert stash[:12] in describe_copy(copy)
    assert lose("git stash clear", repository) is None
    assert lose("git branch -D missing", repository) is None


def test_failed_copy_says_why(repository):
    make_dirty(repository)
    lost = lose("git reset --hard", repository)
    with pytest.raises(GitError, match="too long"):
        copy_work(lost, repository, STORES[-1], lambda _: False, 0)
    objects = repository / ".git/objects"
    (repository / ".git/moved").mkdir()
    objects.rename(repository / ".git/moved/objects")
    with pytest.raises(GitError):
        copy_work(lost, repository, STORES[-1], lambda _: False, 60)


@pytest.mark.parametrize("place", ["a.txt", "src"])
def test_link_that_another_process_puts_in_place_is_not_followed(
    place, repository, tmp_path_factory, monkeypatch
):
    outside = tmp_path_factory.mktemp("outside")
    for name in ("a.txt", "c.txt"):
        (outside / name).write_text("private\n")
    for name in ("a.txt", "src/c.txt"):
        (repository / name).write_text("changed\n")
    choose = safety_copies._Copying._choose_files

    def choose_then_swap(self, changes):
        yield from list(choose(self, changes))
        (repository / place).rename(repository / "kept")
        (repository / place).symlink_to(outside / "a.txt" if place == "a.txt" else outside)

    monkeypatch.setattr(safety_copies._Copying, "_choose_files", choose_then_swap)
    copy = keep("git checkout .", repository)
    kept = "src/c.txt" if place == "a.txt" else "a.txt"
    assert (copy.paths, len(copy.omitted)) == ((kept,), 1)
    shown = git(copy.directory, "grep", "-h", "-e", "private", "-e", "changed", copy.ref)
    assert shown == "changed\n"
