"""Protected places before and after commands, with real git."""

import os
import shutil
import socket
import stat
import subprocess
import time
import zlib
from pathlib import Path

import pytest

from tests.tools.protection.repositories import (
    IDENTITY,
    PLACES,
    build,
    commit,
    git,
    look,
    shell,
    write,
)
from yourtool.errors import ToolError
from yourtool.tools.protection import settling
from yourtool.tools.protection.protected import ProtectedPlaces
from yourtool.tools.protection.reading import MAX_ENTRIES, MAX_FILE_BYTES, MAX_FILES


@pytest.fixture
def root(tmp_path):
    return build(tmp_path / "work")


@pytest.fixture
def places(root):
    return ProtectedPlaces(root)


def run(places, command, **options):
    """Return the outcome of a command, which is a function."""
    places.begin()
    command()
    return places.end(**options)


def test_a_command_that_changes_nothing_has_no_outcome(places):
    outcome = run(places, lambda: None)
    assert (outcome.right, outcome.changes, outcome.facts) == ((), (), ())


WRITES = {
    "a changed file": lambda root: write(root, "AGENTS.md", "obey\n"),
    "a new file": lambda root: write(root, "CLAUDE.md", "obey\n"),
    "a new file in a directory": lambda root: write(root, ".vscode/settings.json", "{}\n"),
    "a new directory": lambda root: write(root, ".devcontainer/a/b.json", "{}\n"),
    "a workflow": lambda root: write(root, ".github/workflows/new.yml", "on: push\n"),
    "a deleted file": lambda root: (root / "AGENTS.md").unlink(),
    "a mode": lambda root: (root / "AGENTS.md").chmod(0o755),
    "a hook": lambda root: write(root, ".git/hooks/pre-commit", "evil\n", 0o755),
    "attributes of git": lambda root: write(root, ".git/info/attributes", "* filter=x\n"),
    "a common directory": lambda root: write(root, ".git/commondir", "/evil\n"),
    "hooks": lambda root: git(root, "config", "core.hooksPath", "/evil"),
    "an alias": lambda root: git(root, "config", "alias.st", "!evil"),
    "a link": lambda root: (
        (root / "AGENTS.md").unlink(),
        (root / "AGENTS.md").symlink_to("/etc/passwd"),
    ),
    "a linked directory": lambda root: (
        (root / ".vscode").rename(root / "other"),
        (root / ".vscode").symlink_to("/etc"),
    ),
    "a renamed directory": lambda root: (root / ".husky").rename(root / "husky"),
    "a linked outer directory": lambda root: (
        (root / ".github").rename(root / "other"),
        (root / ".github").symlink_to("/etc"),
    ),
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_change_is_taken_back_and_can_be_made_again(root, places, kind):
    before = look(root)
    changed = {}

    def command():
        WRITES[kind](root)
        changed.update(look(root))

    outcome = run(places, command)
    assert len(outcome.changes) == 1
    assert outcome.changes[0].is_taken_back
    assert outcome.changes[0].diff
    now = look(root)
    assert {path: now.get(path) for path in before} == before
    places.apply(outcome.changes)
    assert look(root) == changed
    assert run(places, lambda: None).changes == ()


# ── right changes ────────────────────────────────────────────────────────────────────────────────


def build_branch(root):
    """Commit other content of all protected places on a branch."""
    git(root, "checkout", "-qb", "other")
    write(root, "AGENTS.md", "other rules\n")
    write(root, "CLAUDE.md", "more rules\n")
    write(root, ".vscode/new.json", "{}\n")
    (root / ".github/workflows/ci.yml").unlink()
    commit(root, "other")
    git(root, "checkout", "-q", "main")


GIT = {
    "checkout": ["git checkout -q other"],
    "switch and back": ["git checkout -q other", "git checkout -q main"],
    "merge": ["git merge -q other"],
    "true merge": ["echo b > src/b.py", "git add src", "git commit -qm b", "git merge -q other"],
    "rebase": ["echo b > src/b.py", "git add src", "git commit -qm b", "git rebase -q other"],
    "cherry-pick": [
        "echo b > src/b.py",
        "git add src",
        "git commit -qm b",
        "git cherry-pick other",
    ],
    "reset": ["git reset -q --hard other"],
    "amended": ["git checkout -q other", "git commit -q --amend -m x", "git checkout -q main"],
    "older content": ["git merge -q other", "git checkout -q HEAD~1 -- AGENTS.md"],
    "older commit": ["git merge -q other", "git checkout -q HEAD~1"],
    "single file": ["git checkout other -- AGENTS.md"],
    "restore": ["git restore --source=other AGENTS.md .vscode"],
    "new branch": ["git checkout -qb third other"],
    "worktree": ["git worktree add -q ../linked other"],
    "inner worktree": ["git worktree add -q inner other"],
    "removed worktree": ["git worktree add -q inner other", "git worktree remove --force inner"],
    "tracking": ["git checkout -q --track -b topic main"],
    "sparse": ["git sparse-checkout set --no-cone src AGENTS.md .vscode .github .husky"],
    "renamed branch": ["git checkout -q --track -b topic main", "git branch -m topic topic2"],
    "bisect": ["git bisect start other main", "git bisect reset"],
    "description": ["git config branch.main.description text"],
    "gc": ["git gc -q", "git checkout -q other"],
    "reverted": ["git checkout -q other", "git revert --no-edit HEAD"],
    "removed": ["git rm -qr AGENTS.md .vscode && git commit -qm x"],
    "removed from an orphan": [
        "git checkout -q --orphan x && git rm -qrf . && git commit -qm x --allow-empty"
    ],
    "removed with changes": ["git checkout -q other", "git rm -q AGENTS.md && git commit -qm x"],
}


@pytest.mark.parametrize("kind", GIT)
def test_what_git_takes_from_commits_is_right(root, places, kind):
    build_branch(root)
    for line in GIT[kind]:
        made = {}

        def command(line=line, made=made):
            shell(root, line)
            made.update(look(root))

        outcome = run(places, command)
        assert outcome.changes == ()
        assert look(root) == made


def test_a_revert_that_deletes_a_submodule_is_right(root, places, tmp_path):
    build(tmp_path / "library")
    git(root, "submodule", "add", "-q", str(tmp_path / "library"), "library")
    commit(root, "library")
    assert run(places, lambda: git(root, "revert", "--no-edit", "HEAD")).changes == ()
    assert not (root / ".gitmodules").exists()


def test_a_deletion_that_no_commit_makes_is_named_as_one(root, places):
    def command():
        git(root, "rm", "-q", "AGENTS.md")
        shutil.rmtree(root / ".vscode")
        write(root, ".github/workflows/ci.yml", "on: pull_request\n")

    reasons = {each.path: each.reason for each in run(places, command).changes}
    assert reasons == {
        ".github/workflows/ci.yml": "its content is not from an existing commit",
        ".vscode": "it was deleted, but not by a commit",
        "AGENTS.md": "it was deleted, but not by a commit",
    }


def test_a_commit_that_deletes_the_only_copy_of_a_file_is_not_right(root, places):
    write(root, "AGENTS.md", "mine\n")

    def command():
        git(root, "rm", "-qf", "AGENTS.md")
        git(root, "commit", "-qm", "x")

    assert [each.path for each in run(places, command).changes] == ["AGENTS.md"]
    assert (root / "AGENTS.md").read_text() == "mine\n"


def test_a_command_cannot_commit_the_deletion_of_what_limits_it(root, places):
    write(root, ".yourtool/config.toml", "[permissions]\ndeny = ['shell(git push *)']\n")
    commit(root, "limits")

    def command():
        git(root, "rm", "-qr", ".yourtool")
        git(root, "commit", "-qm", "x")

    assert [each.path for each in run(places, command).changes] == [".yourtool"]
    assert (root / ".yourtool/config.toml").exists()


def test_an_earlier_commit_is_checked_out_without_what_limits_commands(root, places):
    write(root, ".yourtool/config.toml", "[permissions]\ndeny = ['shell(git push *)']\n")
    commit(root, "limits")
    assert run(places, lambda: git(root, "checkout", "-q", "HEAD~1")).changes == ()
    assert not (root / ".yourtool").exists()


def test_uncommitted_content_comes_back_from_the_stash(root, places):
    write(root, "AGENTS.md", "mine\n")
    write(root, "CLAUDE.md", "untracked\n")
    assert run(places, lambda: git(root, "stash", "-qu")).changes == ()
    assert not (root / "CLAUDE.md").exists()
    assert run(places, lambda: git(root, "stash", "pop", "-q")).changes == ()
    assert (root / "AGENTS.md").read_text() == "mine\n"
    assert (root / "CLAUDE.md").read_text() == "untracked\n"


def test_names_with_spaces_and_other_letters_come_from_commits(root, places):
    git(root, "checkout", "-qb", "other")
    write(root, ".vscode/a b/c é.json", "{}\n")
    commit(root, "other")
    git(root, "checkout", "-q", "main")
    assert run(places, lambda: git(root, "checkout", "-q", "other")).changes == ()
    assert run(places, lambda: git(root, "checkout", "-q", "main")).changes == ()


def test_an_old_stash_of_the_user_is_right(root):
    write(root, "AGENTS.md", "mine\n")
    write(root, "CLAUDE.md", "untracked\n")
    git(root, "stash", "-qu")
    write(root, "AGENTS.md", "later\n")
    git(root, "stash", "-q")
    places = ProtectedPlaces(root)
    assert run(places, lambda: git(root, "stash", "pop", "-q", "stash@{1}")).changes == ()
    assert (root / "CLAUDE.md").exists()


def test_a_commit_of_a_command_makes_its_content_not_right(root, places):
    def command():
        write(root, "AGENTS.md", "obey\n")
        git(root, "commit", "-qam", "harmless")

    first = run(places, command)
    assert [each.path for each in first.changes] == ["AGENTS.md"]
    again = run(places, lambda: git(root, "checkout", "AGENTS.md"))
    assert [each.path for each in again.changes] == ["AGENTS.md"]
    assert (root / "AGENTS.md").read_text() == "rules\n"


def test_a_commit_of_a_command_is_one_of_the_repository_in_the_next_session(root, places):
    def command():
        write(root, "AGENTS.md", "obey\n")
        git(root, "commit", "-qam", "harmless")

    assert run(places, command).changes
    later = ProtectedPlaces(root)
    assert run(later, lambda: git(root, "checkout", "AGENTS.md")).changes == ()


def test_a_forged_object_makes_its_content_not_right(root, places):
    def command():
        write(root, ".vscode/tasks.json", "evil\n")
        made = git(root, "hash-object", "-w", ".vscode/tasks.json").strip()
        known = git(root, "rev-parse", "HEAD:.vscode/tasks.json").strip()
        tree = git(root, "rev-parse", "HEAD:.vscode").strip()
        file = root / f".git/objects/{tree[:2]}/{tree[2:]}"
        content = zlib.decompress(file.read_bytes())
        file.chmod(0o644)
        forged = content.replace(bytes.fromhex(known), bytes.fromhex(made))
        file.write_bytes(zlib.compress(forged))

    assert [each.path for each in run(places, command).changes] == [".vscode/tasks.json"]


def test_parents_that_a_command_grafts_make_no_content_right(root, places):
    def command():
        write(root, "AGENTS.md", "obey\n")
        git(root, "commit", "-qam", "harmless")
        made = git(root, "rev-parse", "HEAD").strip()
        git(root, "reset", "-q", "--soft", "HEAD~1")
        first = git(root, "rev-parse", "HEAD").strip()
        write(root, ".git/info/grafts", f"{first} {made}\n")
        git(root, "replace", first, made)

    paths = {each.path for each in run(places, command).changes}
    assert paths == {"AGENTS.md", ".git/info/grafts"}


def test_a_commit_of_the_user_between_commands_is_right(root, places):
    run(places, lambda: None)
    build_branch(root)
    assert run(places, lambda: git(root, "checkout", "-q", "other")).changes == ()
    assert (root / "AGENTS.md").read_text() == "other rules\n"


def test_line_ends_of_a_checkout_are_right(root, places):
    build_branch(root)
    git(root, "config", "core.autocrlf", "true")
    assert run(places, lambda: git(root, "checkout", "-q", "other")).changes == ()
    assert (root / "AGENTS.md").read_bytes() == b"other rules\r\n"


def test_only_the_wrong_files_of_a_checkout_are_taken_back(root, places):
    build_branch(root)

    def command():
        git(root, "checkout", "-q", "other")
        write(root, ".vscode/evil.json", "{}\n")

    outcome = run(places, command)
    assert [each.path for each in outcome.changes] == [".vscode/evil.json"]
    assert (root / ".vscode/new.json").exists()
    assert not (root / ".vscode/evil.json").exists()


# ── the configuration of git ─────────────────────────────────────────────────────────────────────


def test_harmless_settings_stay_when_others_are_taken_back(root, places):
    def command():
        git(root, "config", "branch.main.description", "text")
        git(root, "config", "core.fsmonitor", "evil")
        git(root, "config", "user.name", "me")

    outcome = run(places, command)
    (change,) = outcome.changes
    assert "core.fsmonitor" in change.reason
    assert "fsmonitor" in change.diff
    assert "description" not in change.diff.replace(" \tdescription", "")
    assert git(root, "config", "branch.main.description") == "text\n"
    assert "fsmonitor" not in (root / ".git/config").read_text()
    places.apply(outcome.changes)
    assert git(root, "config", "core.fsmonitor") == "evil\n"


ADDRESS = "https://example.org/a.git"


def test_a_new_remote_needs_an_answer_unless_the_line_names_it(root, places):
    def command():
        git(root, "remote", "add", "origin", ADDRESS)

    (change,) = run(places, command).changes
    assert "remote.origin.url" in change.reason
    assert run(places, command, named_addresses=[ADDRESS]).changes == ()


def test_a_remote_can_be_renamed_but_not_redirected(root, places):
    git(root, "remote", "add", "origin", ADDRESS)
    assert run(places, lambda: git(root, "remote", "rename", "origin", "up")).changes == ()
    outcome = run(places, lambda: git(root, "remote", "set-url", "up", "https://evil.example"))
    assert len(outcome.changes) == 1
    assert git(root, "remote", "get-url", "up").strip() == ADDRESS


def test_a_new_repository_with_harmless_settings_is_right(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    places = ProtectedPlaces(root)
    assert run(places, lambda: git(root, "init", "-q")).changes == ()
    assert (root / ".git/config").exists()


def test_a_clone_is_right_and_its_own_hook_is_not(root, tmp_path):
    work = tmp_path / "new"
    work.mkdir()
    places = ProtectedPlaces(work)

    def command():
        git(work, "clone", "-q", str(root), ".")
        write(work, ".git/hooks/post-commit", "evil\n", 0o755)

    outcome = run(places, command)
    assert ".git/hooks/post-commit" in [each.path for each in outcome.changes]
    assert not (work / ".git/hooks/post-commit").exists()
    assert git(work, "remote", "get-url", "origin").strip() == str(root)


def test_what_a_command_is_deleting_is_not_put_back_meanwhile(root):
    git(root, "init", "-q", "--bare", "shared.git")
    places = ProtectedPlaces(root)
    snapshot = places.begin()
    (root / "shared.git/config").unlink()
    (root / "shared.git/hooks/pre-commit.sample").unlink()
    assert places.check_running(snapshot) == ()
    assert not (root / "shared.git/config").exists()
    assert not (root / "shared.git/hooks/pre-commit.sample").exists()
    shutil.rmtree(root / "shared.git")
    assert places.check_running(snapshot) == ()
    assert places.end(snapshot).changes == ()
    assert not (root / "shared.git").exists()


def test_a_check_takes_hooks_back_while_the_command_runs(root, places):
    places.begin()
    assert places.check_running() == ()
    write(root, ".git/hooks/pre-commit", "evil\n", 0o755)
    git(root, "config", "core.pager", "evil")
    changes = places.check_running()
    assert {each.path for each in changes} == {".git/hooks/pre-commit", ".git/config"}
    assert not (root / ".git/hooks/pre-commit").exists()
    assert places.check_running() == ()
    assert places.end().changes == ()


# ── directories of git ───────────────────────────────────────────────────────────────────────────


def test_a_replaced_directory_of_git_is_put_back(root, places):
    def command():
        (root / ".git").rename(root / ".old")
        git(root, "init", "-q")
        write(root, ".git/hooks/pre-commit", "evil\n", 0o755)

    outcome = run(places, command)
    assert [each.path for each in outcome.changes] == [".git"]
    assert git(root, "log", "--format=%s") == "start\n"
    assert not (root / ".old").exists()
    places.apply(outcome.changes)
    assert (root / ".git/hooks/pre-commit").exists()
    assert (root / ".old/HEAD").exists()


def test_a_link_in_the_place_of_a_directory_of_git_is_removed(root, places, tmp_path):
    build(tmp_path / "elsewhere")

    def command():
        (root / ".git").rename(root / "gone")
        (root / ".git").symlink_to(tmp_path / "elsewhere/.git")

    outcome = run(places, command)
    assert [each.path for each in outcome.changes] == [".git"]
    assert (root / ".git").is_dir()
    assert not (root / ".git").is_symlink()


def test_a_deleted_directory_of_git_is_a_fact(root, places):
    outcome = run(places, lambda: shutil.rmtree(root / ".git"))
    assert outcome.changes == ()
    assert outcome.facts == ("`.git` was deleted or renamed",)


def test_files_of_a_bare_repository_count_only_together(root, places):
    assert run(places, lambda: write(root, "config/app.yml", "a\n")).changes == ()
    assert run(places, lambda: write(root, "HEAD", "a\n")).changes == ()

    def command():
        shutil.rmtree(root / "config")
        (root / "objects").mkdir()
        (root / "refs").mkdir()
        write(root, "HEAD", "ref: refs/heads/main\n")
        write(root, "config", "[core]\n\tfsmonitor = evil\n")

    assert {each.path for each in run(places, command).changes} == {"HEAD", "config"}


def test_a_linked_work_tree_shares_its_protection(root, tmp_path):
    build_branch(root)
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "-q", str(linked), "other")
    places = ProtectedPlaces(linked)
    outcome = run(places, lambda: git(linked, "config", "core.hooksPath", "/evil"))
    assert [each.path for each in outcome.changes] == [str(root / ".git/config")]
    assert run(places, lambda: git(linked, "checkout", "-q", "--detach", "main")).changes == ()
    outcome = run(places, lambda: write(linked, ".git", "gitdir: /evil\n"))
    assert [each.path for each in outcome.changes] == [".git"]


def test_a_workspace_in_a_repository_protects_the_top(root):
    places = ProtectedPlaces(root / "src")
    outcome = run(places, lambda: write(root, "AGENTS.md", "obey\n"))
    assert [each.path for each in outcome.changes] == [str(root / "AGENTS.md")]
    outcome = run(places, lambda: git(root, "config", "alias.a", "!b"))
    assert [each.path for each in outcome.changes] == [str(root / ".git/config")]


def test_named_hooks_of_the_work_tree_are_protected(root):
    write(root, "scripts/hooks/pre-commit", "true\n", 0o755)
    git(root, "config", "core.hooksPath", "scripts/hooks")
    places = ProtectedPlaces(root)
    outcome = run(places, lambda: write(root, "scripts/hooks/pre-commit", "evil\n", 0o755))
    assert [each.path for each in outcome.changes] == ["scripts/hooks/pre-commit"]


def test_a_pull_from_a_local_repository_outside_is_right(tmp_path):
    build(tmp_path / "upstream")
    git(tmp_path, "clone", "-q", "upstream", "work")
    root = tmp_path / "work"
    build_branch(tmp_path / "upstream")
    git(tmp_path / "upstream", "merge", "-q", "other")
    assert run(ProtectedPlaces(root, ()), lambda: git(root, "pull", "-q")).changes == ()
    assert (root / "AGENTS.md").read_text() == "other rules\n"


def test_a_pull_of_what_a_command_made_is_not_right(tmp_path):
    build(tmp_path / "upstream")
    git(tmp_path, "clone", "-q", "upstream", "work")
    root = tmp_path / "work"
    places = ProtectedPlaces(root, ())

    def command():
        build_branch(tmp_path / "upstream")
        git(root, "pull", "-q", "origin", "other")

    paths = {each.path for each in run(places, command).changes}
    assert {"AGENTS.md", "CLAUDE.md"} <= paths


@pytest.mark.parametrize("is_relative", [False, True])
def test_submodules_of_the_project_are_right(tmp_path, is_relative):
    build(tmp_path / "library")
    upstream = build(tmp_path / "upstream")
    address = "../library" if is_relative else str(tmp_path / "library")
    git(upstream, "remote", "add", "origin", str(tmp_path / "upstream"))
    git(upstream, "submodule", "--quiet", "add", address, "inner/library")
    commit(upstream, "module")
    git(tmp_path, "clone", "-q", "upstream", "work")
    root = tmp_path / "work"
    places = ProtectedPlaces(root)
    made = run(places, lambda: git(root, "submodule", "--quiet", "update", "--init"))
    assert made.changes == ()
    assert (root / "inner/library/src/a.py").exists()
    config = root / ".git/modules/inner/library/config"
    outcome = run(places, lambda: git(root / "inner/library", "config", "core.pager", "evil"))
    assert [each.path for each in outcome.changes] == [".git/modules/inner/library/config"]
    assert "pager" not in config.read_text()
    outcome = run(places, lambda: write(root, "inner/library/.git", "gitdir: /evil\n"))
    assert [each.path for each in outcome.changes] == ["inner/library/.git"]


def test_a_repository_made_in_a_directory_is_right_and_its_hook_is_not(root, places):
    def command():
        git(root, "init", "-q", "inner")
        write(root, "inner/.git/hooks/pre-commit", "evil\n", 0o755)

    outcome = run(places, command)
    assert [each.path for each in outcome.changes] == ["inner/.git/hooks/pre-commit"]
    assert (root / "inner/.git/config").exists()


def hide(directory, command):
    """Run a command and set the time of a directory back."""
    before = directory.stat()
    command()
    os.utime(directory, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_repository_is_found_although_the_time_of_its_directory_is_set_back(root, places):
    write(root, "sub/a.py", "a = 1\n")
    run(places, lambda: None)
    time.sleep(0.03)  # so that the directory counts as unchanged
    run(places, lambda: None)

    def command():
        git(root, "init", "-q", "sub")
        git(root / "sub", "config", "core.fsmonitor", "evil")

    outcome = run(places, lambda: hide(root / "sub", command))
    assert [each.path for each in outcome.changes] == ["sub/.git/config"]


FAKES = {
    "directories": "mkdir objects refs",
    "files": "touch objects refs && chmod +x objects refs",
    "another directory": "mkdir -p e/objects e/refs && echo e > commondir && touch e/config",
}


@pytest.mark.parametrize("kind", FAKES)
@pytest.mark.parametrize("place", ["sub", "."])
def test_a_directory_that_a_command_makes_a_repository_runs_nothing(tmp_path, kind, place):
    root = tmp_path / "work"
    sub = root / place
    sub.mkdir(parents=True)
    write(sub, "a.py", "a = 1\n")
    places = ProtectedPlaces(root)

    def command():
        shell(sub, f"{FAKES[kind]}; echo 'ref: refs/heads/main' > HEAD")
        settings = "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch made; false\n"
        write(sub, "e/config" if kind == "another directory" else "config", settings)

    assert run(places, command).changes
    subprocess.run(("git", "status"), cwd=sub, capture_output=True)
    assert not (sub / "made").exists()


def test_a_repository_above_the_workspace_is_compared(root):
    workspace = root / "packages/inner"
    write(workspace, "a.py", "a = 1\n")
    places = ProtectedPlaces(workspace)

    def command():
        git(root, "init", "-q", "packages")
        git(workspace, "config", "core.fsmonitor", "evil")

    outcome = run(places, command)
    assert [each.path for each in outcome.changes] == [str(root / "packages/.git/config")]


@pytest.mark.parametrize("other", ["other", "src/other"])
def test_a_replaced_workspace_does_not_end_the_comparison_of_the_repository(root, other):
    workspace = root / "packages/inner"
    write(workspace, "AGENTS.md", "inner\n")
    places = ProtectedPlaces(workspace)

    def command():
        (root / "packages").rename(root / other)
        write(workspace, "AGENTS.md", "obey\n")
        write(root, f"{other}/inner/AGENTS.md", "obey\n")
        write(root, "AGENTS.md", "obey\n")
        write(root, ".github/workflows/new.yml", "on: push\n")
        git(root, "config", "core.fsmonitor", "evil")

    before = look(root)
    outcome = run(places, command)
    now = look(root)
    if other == "other":
        assert outcome.facts == ()
        assert "packages" in {Path(each.place).name for each in outcome.changes}
        assert now == before
    else:
        assert f"`{workspace}` was replaced" in outcome.facts[-1]
        del before["packages/inner/AGENTS.md"]
        assert {path: now[path] for path in before} == before
        assert not (workspace / "AGENTS.md").exists()
    assert not (root / ".github/workflows/new.yml").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rebase-merge/git-rebase-todo", "exec evil\n"),
        ("rebase-merge/strategy", "x/../evil\n"),
        ("sequencer/opts", "[options]\n\tstrategy = x/../evil\n"),
        ("config", "[core]\n\tfsmonitor = evil\n"),
    ],
)
def test_what_git_runs_in_another_worktree_is_compared(root, places, tmp_path, name, text):
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    file = root / ".git/worktrees/linked" / name
    outcome = run(places, lambda: write(file.parent, file.name, text))
    assert [each.path for each in outcome.changes] == [f".git/worktrees/linked/{name}"]
    assert not file.exists() or file.read_text() == ""


@pytest.mark.parametrize("step", ["exec evil", "x evil \t", " exec evil ", "exec evil \r"])
def test_command_among_the_steps_of_a_rebase_is_taken_out_with_its_blanks(root, places, step):
    text = f"pick 1234567 a\n{step}\nnoop\n"
    outcome = run(places, lambda: write(root, ".git/rebase-merge/git-rebase-todo", text))
    assert len(outcome.changes) == 1
    kept = (root / ".git/rebase-merge/git-rebase-todo").read_text()
    assert kept == "pick 1234567 a\nnoop\n"


@pytest.mark.parametrize("kind", ["link", "large"])
def test_steps_of_a_rebase_that_cannot_be_read_are_taken_back(root, places, kind):
    steps = root / ".git/rebase-merge/git-rebase-todo"

    def command():
        write(root, "steps", "exec evil\n" + "# \n" * MAX_FILE_BYTES)
        steps.parent.mkdir()
        if kind == "link":
            steps.symlink_to(root / "steps")
        else:
            (root / "steps").rename(steps)

    assert len(run(places, command).changes) == 1
    assert not os.path.lexists(steps)


def test_a_commit_in_a_branch_that_a_command_rewrites_in_place_is_not_right(root, places):
    git(root, "branch", "other")
    write(root, "AGENTS.md", "obey\n")
    git(root, "add", "AGENTS.md")
    tree = git(root, "write-tree").strip()
    git(root, "reset", "-q", "--hard")
    time.sleep(0.03)  # so that the refs count as unchanged
    run(places, lambda: None)
    branch = root / ".git/refs/heads/other"

    def command():
        with branch.open("r+") as file:
            file.write(git(root, "commit-tree", "-p", "HEAD", "-m", "x", tree))

    run(places, lambda: hide(branch, command))
    write(root, "src/a.py", "a = 2\n")
    git(root, "commit", "-qam", "of the user")
    outcome = run(places, lambda: git(root, "checkout", "-q", "other", "--", "."))
    assert [each.path for each in outcome.changes] == ["AGENTS.md"]


# ── limits ───────────────────────────────────────────────────────────────────────────────────────


def test_a_new_file_that_is_too_large_is_moved_away(root, places):
    outcome = run(places, lambda: write(root, "AGENTS.md", "x" * (MAX_FILE_BYTES + 1)))
    (change,) = outcome.changes
    assert (root / "AGENTS.md").read_text() == "rules\n"
    assert (root / change.held).stat().st_size == MAX_FILE_BYTES + 1
    places.apply(outcome.changes)
    assert (root / "AGENTS.md").stat().st_size == MAX_FILE_BYTES + 1
    assert not (root / change.held).exists()


def test_an_old_file_that_is_too_large_is_named(root):
    write(root, "AGENTS.md", "x" * (MAX_FILE_BYTES + 1))
    places = ProtectedPlaces(root)
    (change,) = run(places, lambda: write(root, "AGENTS.md", "obey\n")).changes
    assert not change.is_taken_back
    assert "too large" in change.reason
    assert (root / "AGENTS.md").read_text() == "obey\n"


@pytest.mark.remaining
def test_a_flood_of_files_does_not_hide_a_change(root, places):
    def command():
        write(root, ".vscode/tasks.json", "evil\n")
        for number in range(MAX_ENTRIES + 1):
            (root / f".vscode/{number}").touch()

    outcome = run(places, command)
    assert [each.path for each in outcome.changes] == [".vscode"]
    assert (root / ".vscode/tasks.json").read_text() == PLACES[".vscode/tasks.json"]
    assert [each.name for each in (root / ".vscode").iterdir()] == ["tasks.json"]


def test_configurations_beyond_a_number_are_taken_back_without_a_look(root, places, monkeypatch):
    monkeypatch.setattr(settling, "_MAX_CONFIGURATIONS", 3)
    names = [f".git/modules/m{number}/config" for number in range(5)]
    harmless = "[core]\n\tbare = false\n"
    outcome = run(places, lambda: [write(root, name, harmless) for name in names])
    assert {each.reason for each in outcome.changes} == {
        "the command changed too many of them to compare each"
    }
    left = [name for name in names if (root / name).exists()]
    assert len(left) == 3 and len(outcome.changes) == 2


@pytest.mark.remaining
def test_large_directories_leave_the_other_places_their_room(root):
    large = (".agents", ".claude", ".cursor")
    for name in large:
        for number in range(MAX_FILES * 2 // 3):
            write(root, f"{name}/{number}", "x")
    places = ProtectedPlaces(root)

    def command():
        for name in large:
            shutil.rmtree(root / name)
        write(root, "AGENTS.md", "obey\n")
        git(root, "config", "core.fsmonitor", "evil")

    before = look(root)
    outcome = run(places, command)
    assert {each.path for each in outcome.changes} == {*large, "AGENTS.md", ".git/config"}
    assert all(each.is_taken_back for each in outcome.changes)
    assert look(root) == before


def test_fifos_and_sockets_are_taken_away(root, places):
    def command():
        (root / "AGENTS.md").unlink()
        os.mkfifo(root / "AGENTS.md")
        with socket.socket(socket.AF_UNIX) as opened:
            os.chdir(root)
            opened.bind(".envrc")

    outcome = run(places, command)
    assert {each.path for each in outcome.changes} == {"AGENTS.md", ".envrc"}
    assert (root / "AGENTS.md").read_text() == "rules\n"
    assert not (root / ".envrc").exists()


def test_a_directory_without_rights_gets_them_back(root, places):
    outcome = run(places, lambda: (root / ".vscode").chmod(0))
    assert outcome.changes == ()
    assert stat.S_IMODE((root / ".vscode").stat().st_mode) == 0o755


def test_a_change_is_not_made_over_a_later_one(root, places):
    outcome = run(places, lambda: write(root, "AGENTS.md", "obey\n"))
    write(root, "AGENTS.md", "mine\n")
    with pytest.raises(ToolError, match="changed meanwhile"):
        places.apply(outcome.changes)
    assert (root / "AGENTS.md").read_text() == "mine\n"


def test_commands_at_the_same_time_share_the_state_before_the_first(root, places):
    places.begin()
    places.begin()
    write(root, "AGENTS.md", "obey\n")
    assert len(places.end().changes) == 1
    assert places.end().changes == ()


def test_a_change_that_was_allowed_stays_while_another_command_runs(root, places):
    places.begin()
    outcome = run(places, lambda: write(root, "CLAUDE.md", "mine\n"))
    write(root, ".envrc", "evil\n")
    places.apply(outcome.changes)
    assert [each.path for each in places.end().changes] == [".envrc"]
    assert (root / "CLAUDE.md").exists()


def test_what_a_tool_writes_during_a_command_stays(root, places):
    places.begin()
    write(root, ".github/workflows/new.yml", "on: push\n")
    write(root, "AGENTS.md", "mine\n")
    write(root, ".envrc", "evil\n")
    places.accept(["AGENTS.md", ".github/workflows/new.yml"])
    assert [each.path for each in places.end().changes] == [".envrc"]


def test_a_checkout_stays_right_for_a_command_that_ends_later(root, places):
    build_branch(root)
    places.begin()
    assert run(places, lambda: git(root, "checkout", "-q", "other")).changes == ()
    git(root, "config", "branch.main.description", "text")
    assert places.end().changes == ()
    assert (root / "CLAUDE.md").exists()


def test_a_deleted_workspace_stays_deleted(root, places):
    outcome = run(places, lambda: shutil.rmtree(root))
    assert outcome.changes == ()
    assert "deleted" in outcome.facts[0]
    assert not root.exists()


def test_commands_among_the_steps_of_a_rebase_are_taken_out(root, places):
    build_branch(root)
    steps = root / ".git/rebase-merge/git-rebase-todo"

    def command():
        git(root, "checkout", "-qb", "mine")
        write(root, "AGENTS.md", "conflict\n")
        git(root, "commit", "-qam", "mine")
        done = subprocess.run(
            ("git", *IDENTITY, "rebase", "-x", "evil", "other"), cwd=root, capture_output=True
        )
        assert done.returncode
        assert "exec evil" in steps.read_text()

    paths = {each.path for each in run(places, command).changes}
    assert ".git/rebase-merge/git-rebase-todo" in paths
    assert "exec" not in steps.read_text()


def test_running_rebase_keeps_the_commands_among_its_steps(root, places):
    build_branch(root)
    steps = root / ".git/rebase-merge/git-rebase-todo"
    places.begin()
    write(root, ".git/rebase-merge/git-rebase-todo", "pick 1\nexec make test\n")
    assert places.check_running() == ()
    assert "exec" in steps.read_text()
    assert places.end().changes and "exec" not in steps.read_text()


def test_commands_in_the_steps_of_an_earlier_rebase_are_taken_out_at_once(root, places):
    write(root, ".git/rebase-merge/git-rebase-todo", "pick 1\n")
    places.begin()
    write(root, ".git/rebase-merge/git-rebase-todo", "exec evil\npick 1\n")
    assert len(places.check_running()) == 1
    assert (root / ".git/rebase-merge/git-rebase-todo").read_text() == "pick 1\n"


@pytest.mark.parametrize("workspace", [".", "main"])
def test_work_tree_of_a_bare_repository_in_the_workspace_is_right(root, tmp_path, workspace):
    build_branch(root)
    top = tmp_path / "layout"
    git(root, "clone", "-q", "--bare", ".", str(top / ".bare"))
    write(top, ".git", "gitdir: ./.bare\n")
    git(top, "worktree", "add", "-q", "main")
    places = ProtectedPlaces(top / workspace)
    assert run(places, lambda: git(top, "worktree", "add", "-q", "other")).changes == ()
    assert git(top / "other", "status", "--short") == ""


def test_directory_of_a_work_tree_without_its_repository_is_taken_back(root, places):
    def command():
        write(root, "a/worktrees/b/HEAD", "ref: refs/heads/main\n")
        write(root, "a/worktrees/b/commondir", "../..\n")
        write(root, "a/config", "[core]\n\tfsmonitor = evil\n")

    assert run(places, command).changes
    assert not (root / "a/worktrees/b/commondir").exists()


@pytest.mark.parametrize("is_directory", [False, True])
def test_changed_file_behind_a_link_of_a_hook_is_taken_back(root, is_directory):
    write(root, "scripts/pre-commit", "check\n", 0o755)
    hooks = root / ".git/hooks"
    if is_directory:
        shutil.rmtree(hooks)
        hooks.symlink_to("../scripts")
    else:
        (hooks / "pre-commit").symlink_to("../../scripts/pre-commit")
    places = ProtectedPlaces(root)
    outcome = run(places, lambda: write(root, "scripts/pre-commit", "evil\n"))
    assert [each.path for each in outcome.changes] == ["scripts/pre-commit"]
    assert (root / "scripts/pre-commit").read_text() == "check\n"


def test_a_refused_remote_leaves_nothing_of_it(root, places):
    before = (root / ".git/config").read_bytes()

    def command():
        git(root, "remote", "add", "origin", "https://evil.example")
        git(root, "config", "branch.main.remote", "origin")
        git(root, "config", "branch.main.merge", "refs/heads/main")

    outcome = run(places, command)
    assert (root / ".git/config").read_bytes() == before
    places.apply(outcome.changes)
    assert git(root, "config", "branch.main.remote") == "origin\n"


@pytest.mark.remaining
def test_a_flood_of_ordinary_names_does_not_hide_a_change(root, places):
    def command():
        for number in range(MAX_ENTRIES * 2):
            (root / f"{number}").touch()
            (root / f".git/{number}").touch()
        write(root, "AGENTS.md", "obey\n")
        write(root, ".git/hooks/pre-commit", "evil\n")

    paths = {each.path for each in run(places, command).changes}
    assert paths == {"AGENTS.md", ".git/hooks/pre-commit"}
    assert git(root, "status", "--porcelain", "AGENTS.md") == ""
