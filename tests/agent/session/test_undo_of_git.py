"""`/undo` brings back what commands delete in a repository, over real git."""

import errno
import os
import shutil

import pytest

from tests.agent.harness import play
from tests.tools.protection.test_safety_copies import build_repository, content, git
from tests.trusted_folders import trust
from yourtool.events.files import FilesChanged, FilesRestored
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.tools.git import git_object_store
from yourtool.tui.transcript.session_changes import describe_lasting_changes

pytestmark = [
    pytest.mark.req("R-UNDO-01"),
    pytest.mark.blocks_loop("the test runs git itself"),
]
GIT = "git -c user.name=A -c user.email=a@example.org"


@pytest.fixture
def work(bench):
    return build_repository(bench.workspace)


async def run(bench, *commands, before=None):
    """Run one command in each turn, in order; return the session."""
    script = [
        step
        for line in commands
        for step in (calls("shell", command=line.replace("GIT ", f"{GIT} ")), says("Done."))
    ]
    session = await bench.session(Scripted(script), mode=Mode.AUTO)
    for number in range(len(commands)):
        await play(session.send(f"prompt {number}"))
    return session


def describe(root):
    """Return everything that a user has in a repository."""
    return {
        "head": (root / ".git/HEAD").read_text(),
        "refs": git(root, "for-each-ref", "--format=%(refname) %(objectname)"),
        "stash": git(root, "stash", "list"),
        "status": git(root, "status", "--porcelain"),
        "staged": git(root, "ls-files", "-s"),
        "files": content(root),
    }


def stash(root, text):
    (root / "a.txt").write_text(text)
    git(root, "stash", "push", "-qm", text)


def commit(root, text):
    (root / "a.txt").write_text(text)
    git(root, "commit", "-qam", text)


def prepare(root):
    """Add branches, tags, stashes and notes to a repository."""
    git(root, "branch", "merged")
    git(root, "checkout", "-qb", "side")
    commit(root, "side\n")
    git(root, "checkout", "-q", "main")
    commit(root, "second\n")
    git(root, "tag", "light")
    git(root, "tag", "-am", "text", "annotated")
    for text in ("one\n", "two\n", "three\n"):
        stash(root, text)
    git(root, "config", "branch.side.description", "text")


LOSSES = [
    "git stash drop",
    "git stash drop stash@{1}",
    "git stash clear",
    "git stash drop && git stash drop",
    "git branch -D side",
    "git branch -D side merged",
    "git branch -m side other && git branch -D other",
    "git update-ref -d refs/heads/side",
    "git update-ref -d refs/stash",
    "git tag -d light annotated",
    "git branch -f side main",
    "git reset -q --hard HEAD~1",
    "GIT commit -q --amend -m other",
    "git checkout -q side && git branch -D main",
    "git checkout -q --detach && git branch -D main",
    "rm -rf .git",
    "rm -rf .git && git init -q",
    "rm -rf .git/objects",
    "rm -rf .git/refs .git/packed-refs",
    "git pack-refs --all && git branch -D side",
    "git stash clear && git reflog expire --expire=now --all && git gc -q --prune=now",
    "git branch -D side && git reflog expire --expire=now --all && git gc -q --prune=now",
    "git branch -D side && git gc -q --prune=now && rm -rf .git",
    "git checkout -q --orphan new && git branch -D main",
    "git symbolic-ref HEAD refs/heads/none",
]


@pytest.mark.parametrize("line", LOSSES)
@pytest.mark.sample(25)
async def test_undo_brings_back_what_a_command_deletes(bench, work, line):
    prepare(work)
    before = describe(work)
    session = await run(bench, line)
    await play(session.files.undo())
    assert describe(work) == before
    git(work, "fsck", "--strict")
    for entry in range(3):
        git(work, "stash", "show", "-p", f"stash@{{{entry}}}")
    git(work, "log", "side")
    await session.close()


@pytest.mark.sample(6)
@pytest.mark.parametrize("line", [each for each in LOSSES if ".git" not in each])
async def test_redo_makes_the_losses_again(bench, work, line):
    prepare(work)
    session = await run(bench, line)
    after = describe(work)
    await play(session.files.undo())
    await play(session.files.redo())
    assert describe(work) == after
    await session.close()


async def test_repository_that_undo_brought_back_is_not_deleted_again(bench, work):
    before = describe(work)
    session = await run(bench, "rm -rf .git")
    await play(session.files.undo())
    *_, last = await play(session.files.redo())
    assert "a repository is not deleted again" in last.text
    assert describe(work) == before
    await session.close()


@pytest.mark.remaining
async def test_several_losses_of_one_turn_come_back_together(bench, work):
    prepare(work)
    before = describe(work)
    lines = ("git stash drop", "git reset -q --hard HEAD~1", "git branch -D side", "rm -rf .git")
    script = [step for line in lines for step in (calls("shell", command=line),)]
    session = await bench.session(Scripted([*script, says("Done.")]), mode=Mode.AUTO)
    await play(session.send("go"))
    await play(session.files.undo())
    assert describe(work) == before
    await session.close()


async def test_stashes_that_one_line_makes_and_drops_are_in_the_files_again(bench, work):
    (work / "a.txt").write_text("work\n")
    (work / "b.txt").write_text("staged\n")
    git(work, "add", "b.txt")
    (work / "new.txt").write_text("new\n")
    before = describe(work)
    session = await run(bench, "git stash -q -u && git stash drop -q && git gc -q --prune=now")
    assert describe(work)["status"] == ""
    await play(session.files.undo())
    assert describe(work) == before
    await session.close()


async def test_undo_leaves_a_branch_that_somebody_else_moved_and_names_it(bench, work):
    prepare(work)
    session = await run(bench, "git branch -f side main~1 && git tag -d light")
    git(work, "branch", "-f", "side", "merged")
    git(work, "commit", "-q", "--allow-empty", "-m", "by the user")
    mine = git(work, "rev-parse", "main")
    git(work, "branch", "-f", "side", "main")
    *_, restored = await play(session.files.undo())
    assert isinstance(restored, FilesRestored)
    assert restored.paths == (".git/refs/tags/light",)
    assert [(each.path, each.reason) for each in restored.left] == [
        (".git/refs/heads/side", "was changed since")
    ]
    assert git(work, "rev-parse", "side") == git(work, "rev-parse", "main") == mine
    await session.close()


async def test_undo_leaves_a_branch_in_whose_place_others_are_and_names_both(bench, work):
    prepare(work)
    session = await run(bench, "git branch -D side && git branch side/new && git pack-refs --all")
    [_, restored] = await play(session.files.undo())
    [left] = [each for each in restored.left if each.path == ".git/refs/heads/side"]
    assert (
        left.reason == "`refs/heads/side` cannot be restored because there is `refs/heads/side/new`"
    )
    git(work, "fsck", "--strict")
    await session.close()


async def test_moves_of_branches_are_in_the_logs_of_git(bench, work):
    prepare(work)
    session = await run(bench, "git reset -q --hard HEAD~1")
    await play(session.files.undo())
    for name in ("HEAD", "main"):
        assert git(work, "reflog", "-1", "--format=%gs", name) == "undo\n"
        assert git(work, "rev-parse", f"{name}@{{1}}") == git(work, "rev-parse", "main~1")
    await session.close()


async def test_shallow_repository_keeps_its_new_commits(bench, tmp_path):
    source = build_repository(tmp_path / "source")
    prepare(source)
    work = bench.workspace
    git(tmp_path, "clone", "-q", "--depth=1", "-b", "main", f"file://{source}", str(work / "x"))
    for each in (work / "x").iterdir():
        each.rename(work / each.name)
    session = await run(bench, "GIT commit -q --allow-empty -m new")
    assert session.state.files.plan_undo() is not None
    [notice] = await play(session.files.undo())
    assert "no change of a file" in notice.text
    assert git(work, "log", "-1", "--format=%s") == "new\n"
    await session.close()


async def test_dropped_stash_comes_back_below_one_that_the_user_made_since(bench, work):
    prepare(work)
    session = await run(bench, "git stash drop stash@{1}")
    stash(work, "by the user\n")
    await play(session.files.undo())
    names = [row.rpartition(" ")[2] for row in git(work, "stash", "list").splitlines()]
    assert names == ["user", "three", "two", "one"]
    assert "by the user" in git(work, "stash", "show", "-p")
    git(work, "stash", "drop", "-q", "stash@{1}")
    await session.close()


async def test_changes_of_git_are_not_counted_as_files(bench, work):
    session = await run(bench, "git branch -D side; git tag x; echo 1 > a.txt; git add a.txt")
    [prompt] = session.state.prompts
    assert session.state.files.count(prompt.id).files == 1
    await session.close()


async def test_undo_keeps_commits_and_takes_back_the_turn_before_them(bench, work):
    session = await run(
        bench, "echo agent > a.txt", "GIT commit -qam agent; git branch new; git tag x"
    )
    await play(session.files.undo())
    assert git(work, "log", "-1", "--format=%s", "new") == "agent\n"
    assert git(work, "log", "-1", "--format=%s") == "agent\n"
    assert (work / "a.txt").read_text() == "a.txt as committed\n"
    assert git(work, "status", "--porcelain") == " M a.txt\n"
    await session.close()


async def test_reset_and_later_commits_of_one_turn_are_taken_back(bench, work):
    prepare(work)
    before = describe(work)
    lines = (
        "git reset -q --hard HEAD~1",
        "GIT commit -q --allow-empty -m other".replace("GIT", GIT),
    )
    script = [calls("shell", command=line) for line in lines]
    session = await bench.session(Scripted([*script, says("Done.")]), mode=Mode.AUTO)
    await play(session.send("go"))
    await play(session.files.undo())
    assert describe(work) == before
    await session.close()


async def test_checkout_of_another_branch_is_taken_back_with_its_files(bench, work):
    prepare(work)
    before = describe(work)
    session = await run(bench, "git checkout -q side && echo x > a.txt && git add a.txt")
    await play(session.files.undo())
    assert describe(work) == before
    await session.close()


async def test_conflict_of_a_popped_stash_is_taken_back_and_the_stash_stays(bench, work):
    prepare(work)
    commit(work, "conflict\n")
    before = describe(work)
    session = await run(bench, "git stash pop")
    assert "UU a.txt" in describe(work)["status"]
    await play(session.files.undo())
    assert describe(work) == before
    await session.close()


async def test_merge_with_a_conflict_is_taken_back(bench, work):
    prepare(work)
    before = describe(work)
    session = await run(bench, f"{GIT} merge side")
    assert (work / ".git/MERGE_HEAD").exists()
    await play(session.files.undo())
    assert describe(work) == before
    assert not (work / ".git/MERGE_HEAD").exists()
    await session.close()


def states_of_commands(root):
    """Return the directories of commands that are not finished."""
    names = {"rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "MERGE_HEAD"}
    return sorted(each.name for each in (root / ".git").iterdir() if each.name in names)


@pytest.mark.parametrize(
    "line",
    [
        f"{GIT} rebase side",
        f"{GIT} rebase --apply side",
        f"git format-patch -q -1 --stdout side > ../patch; {GIT} am ../patch",
    ],
)
@pytest.mark.sample(3)
async def test_state_of_a_command_that_stopped_at_a_conflict_is_removed(bench, work, line):
    prepare(work)
    before = describe(work)
    session = await run(bench, line)
    stopped = states_of_commands(work)
    assert stopped
    for _ in range(2):
        await play(session.files.undo())
        assert (describe(work), states_of_commands(work)) == (before, [])
        await play(session.files.redo())
        assert states_of_commands(work) == stopped
    await session.close()


async def test_index_is_whole_again_after_a_commit_and_a_conflict_of_one_command(bench, work):
    prepare(work)
    git(work, "checkout", "-q", "-b", "picked", "main~1")
    (work / "new.txt").write_text("new\n")
    git(work, "add", "new.txt")
    git(work, "commit", "-qm", "first")
    commit(work, "conflict\n")
    git(work, "checkout", "-q", "main")
    before = describe(work)
    session = await run(bench, f"{GIT} cherry-pick picked~1 picked")
    assert "UU a.txt" in describe(work)["status"]
    assert git(work, "log", "-1", "--format=%s") == "first\n"
    await play(session.files.undo())
    after = describe(work)
    assert (after["staged"], after["files"]) == (before["staged"], before["files"])
    assert git(work, "log", "-1", "--format=%s") == "first\n", "commits stay"
    assert states_of_commands(work) == []
    await session.close()


async def test_removed_worktree_in_the_workspace_comes_back(bench, work):
    git(work, "worktree", "add", "-q", "--detach", "wt")
    (work / "wt/a.txt").write_text("work\n")
    before = describe(work)
    session = await run(bench, "git worktree remove --force wt")
    await play(session.files.undo())
    assert describe(work) == before
    assert git(work / "wt", "status", "--porcelain") == " M a.txt\n"
    await session.close()


async def test_everything_that_was_tracked_comes_back_with_its_repository(bench, work):
    prepare(work)
    before = describe(work)
    session = await run(bench, "rm -rf .git * .gitignore")
    assert list(work.iterdir()) == []
    await play(session.files.undo())
    assert describe(work) == before
    await session.close()


async def test_workspace_in_a_subdirectory_uses_its_repository(bench):
    outer = bench.root / "outer"
    build_repository(outer)
    prepare(outer)
    bench.workspace = outer / "src"
    before = describe(outer)
    session = await run(bench, "git stash drop && git reset -q --hard HEAD~1", "rm -rf ../.git")
    await play(session.files.undo())
    await play(session.files.undo())
    after = describe(outer)
    for key in ("head", "refs", "stash", "staged"):
        assert after[key] == before[key]
    await session.close()


async def test_linked_worktree_uses_the_common_repository(bench, tmp_path):
    main = build_repository(tmp_path / "main")
    prepare(main)
    shutil.rmtree(bench.workspace)
    git(main, "worktree", "add", "-q", "-b", "linked", str(bench.workspace), "side")
    work = bench.workspace
    (work / "a.txt").write_text("staged\n")
    git(work, "add", "a.txt")
    keys = ("refs", "stash", "status", "staged", "files")
    before = {key: value for key, value in describe_linked(work).items() if key in keys}
    line = "git stash drop && git reset -q --hard HEAD~1 && git checkout -q --detach"
    session = await run(bench, f"{line} && git tag -d light")
    await play(session.files.undo())
    assert {key: value for key, value in describe_linked(work).items() if key in keys} == before
    assert git(work, "symbolic-ref", "HEAD") == "refs/heads/linked\n"
    await session.close()


def describe_linked(root):
    """Return the same as `describe` for a linked worktree."""
    return {
        "refs": git(root, "for-each-ref", "--format=%(refname) %(objectname)"),
        "stash": git(root, "stash", "list"),
        "status": git(root, "status", "--porcelain"),
        "staged": git(root, "ls-files", "-s"),
        "files": content(root),
    }


async def comes_back(bench, *lines):
    """Undo each line, the last first, and compare the repository with that before them."""
    before = describe(bench.workspace)
    session = await run(bench, *lines)
    for _ in lines:
        await play(session.files.undo())
    assert describe(bench.workspace) == before
    await session.close()


async def test_repository_with_sha_256_comes_back(bench):
    work = bench.workspace
    git(work, "init", "-q", "--object-format=sha256", "-b", "main")
    (work / "a.txt").write_text("1\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "start")
    stash(work, "stashed\n")
    (work / "a.txt").write_text("staged\n")
    git(work, "add", "a.txt")
    await comes_back(
        bench, "git stash drop; git reset -q --hard; git gc -q --prune=now", "rm -rf .git"
    )


async def test_unborn_head_comes_back_with_what_was_staged(bench):
    work = bench.workspace
    git(work, "init", "-q", "-b", "main")
    (work / "a.txt").write_text("staged\n")
    git(work, "add", "a.txt")
    await comes_back(
        bench, "git rm -q --cached a.txt && git gc -q --prune=now && rm a.txt", "rm -rf .git"
    )


async def test_detached_head_comes_back(bench, work):
    prepare(work)
    git(work, "checkout", "-q", "--detach")
    git(work, "commit", "-q", "--allow-empty", "-m", "detached")
    before = describe(work)
    line = "git checkout -q main && git reflog expire --expire=now --all && git gc -q --prune=now"
    session = await run(bench, line)
    await play(session.files.undo())
    assert describe(work) == before
    git(work, "fsck", "--strict")
    await session.close()


@pytest.mark.parametrize("kind", ["fifo", "link", "bare", "unreadable", "file"])
async def test_strange_git_directories_do_no_harm(bench, tmp_path, kind):
    work = bench.workspace
    match kind:
        case "fifo":
            os.mkfifo(work / ".git")
        case "link":
            build_repository(tmp_path / "real")
            (work / ".git").symlink_to(tmp_path / "real/.git")
        case "bare":
            git(work, "init", "-q", "--bare", ".")
        case "unreadable":
            build_repository(work)
            (work / ".git").chmod(0)
        case _:
            (work / ".git").write_text("gitdir: /nowhere\n")
    (work / "mine").write_text("1\n")
    session = await run(bench, "echo 2 > mine; rm -f .git")
    await play(session.files.undo())
    assert (work / "mine").read_text() == "1\n"
    if kind == "link":
        assert (work / ".git").is_symlink()
    await session.close()


async def test_nothing_outside_is_read_or_written_through_links_in_a_repository(bench, work):
    prepare(work)
    outside = bench.root / "outside"
    outside.mkdir()
    (outside / "ab").mkdir()
    (outside / "secret").write_text("secret\n")
    (outside / "ab" / ("c" * 38)).write_text("secret\n")
    (work / ".git/hooks/linked").symlink_to(outside / "secret")
    (work / ".git/objects/ab").symlink_to(outside / "ab") if not (
        work / ".git/objects/ab"
    ).exists() else None
    session = await run(bench, f"git stash drop; rm -rf .git/logs; ln -s {outside} .git/logs")
    await play(session.files.undo())
    assert sorted(each.name for each in outside.iterdir()) == ["ab", "secret"]
    for store in (bench.root / "blobs").rglob("*"):
        assert not store.is_file() or store.read_bytes() != b"secret\n"
    await session.close()


async def test_reading_command_that_needs_no_approval_takes_no_notes(bench, work):
    trust(work)
    script = [calls("shell", command="cat a.txt"), says("Done.")]
    session = await bench.session(Scripted(script), mode=Mode.ASK)
    await play(session.send("go"))
    assert "a.txt as committed" in str(session.state.messages)
    assert not (bench.root / "blobs/repositories").exists()
    await session.close()


@pytest.mark.parametrize("limit", ["MAX_COPIED_BYTES", "MAX_LINKS"])
async def test_repository_whose_objects_are_missing_is_named_after_it_is_deleted(
    bench, work, monkeypatch, limit
):
    monkeypatch.setattr(git_object_store, limit, 0)
    monkeypatch.setattr(git_object_store, "link_object", refuse_link)
    script = [calls("shell", command="rm -rf .git"), says("Done.")]
    session = await bench.session(Scripted(script), mode=Mode.AUTO)
    events = await play(session.send("go"))
    [changed] = [each for each in events if isinstance(each, FilesChanged)]
    assert describe_lasting_changes(changed) == "/undo cannot take back changes to .git"
    await session.close()


async def test_objects_are_copied_where_links_are_impossible(bench, work, monkeypatch):
    prepare(work)
    monkeypatch.setattr(git_object_store, "link_object", refuse_link)
    before = describe(work)
    session = await run(bench, "rm -rf .git")
    await play(session.files.undo())
    assert describe(work) == before
    git(work, "fsck", "--strict")
    await session.close()


def refuse_link(source, target, directory=None):
    """Fail as a link to another file system does."""
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source), None, str(target))


async def test_objects_cost_no_space_while_the_repository_has_them(bench, work):
    session = await run(bench, "git branch new", "git branch newer")
    [store] = (bench.root / "blobs/repositories").iterdir()
    objects = [each for each in (store / "objects").rglob("*") if len(each.name) == 38]
    assert len(objects) > 5
    for each in objects:
        assert each.samefile(work / ".git" / each.relative_to(store))
    await session.close()


async def test_objects_that_only_undo_has_are_removed_in_the_end(bench, work, monkeypatch):
    git(work, "branch", "side")
    session = await run(bench, "git branch new", "git branch newer")
    [store] = (bench.root / "blobs/repositories").iterdir()
    own = store / "objects/ab" / ("c" * 38)
    own.parent.mkdir(exist_ok=True)
    own.write_text("only here")
    kept = {each for each in store.rglob("*") if each.is_file()} - {own}
    (store / "pruned").unlink()
    monkeypatch.setattr(git_object_store, "DAYS", -1)
    git_object_store.GitObjectStore(store.parent, (work / ".git").resolve()).open()
    assert not own.exists()
    assert {each for each in store.rglob("*") if each.is_file()} >= kept
    await session.close()


async def test_submodules_come_back_with_the_repository(bench, work, tmp_path):
    inner = build_repository(tmp_path / "inner")
    git(work, "submodule", "add", "-q", str(inner), "sub")
    git(work, "commit", "-qm", "sub")
    before = describe(work)
    session = await run(bench, "rm -rf .git")
    await play(session.files.undo())
    assert describe(work) == before
    assert git(work / "sub", "log", "-1", "--format=%s") == "start\n"
    git(work / "sub", "fsck", "--strict")
    await session.close()


async def test_directory_of_saved_objects_that_is_deleted_is_made_again(bench, work):
    script = [calls("shell", command=line) for line in ("touch x", "rm -rf .git")]
    script = [step for call in script for step in (call, says("Done."))]
    session = await bench.session(Scripted(script), mode=Mode.AUTO)
    await play(session.send("one"))
    before = describe(work)
    shutil.rmtree(bench.root / "blobs/repositories")
    await play(session.send("two"))
    await play(session.files.undo())
    assert describe(work) == before
    await session.close()


async def test_bare_repository_as_workspace_is_restored_as_files(bench, tmp_path):
    source = build_repository(tmp_path / "source")
    prepare(source)
    git(tmp_path, "clone", "-q", "--bare", str(source), str(bench.workspace / "x"))
    bench.workspace = bench.workspace / "x"
    before = git(bench.workspace, "for-each-ref")
    session = await run(bench, "git branch -D side && git tag -d light annotated")
    assert git(bench.workspace, "for-each-ref") != before
    await play(session.files.undo())
    assert git(bench.workspace, "for-each-ref") == before
    await session.close()


async def test_reftable_changes_are_named(bench, work):
    (work / ".git/reftable").mkdir()
    script = [calls("shell", command="echo x > .git/reftable/tables.list"), says("Done.")]
    session = await bench.session(Scripted(script), mode=Mode.AUTO)
    events = await play(session.send("go"))
    [changed] = [each for each in events if isinstance(each, FilesChanged)]
    text = "/undo cannot take back changes to .git/reftable/tables.list"
    assert describe_lasting_changes(changed) == text
    await session.close()
