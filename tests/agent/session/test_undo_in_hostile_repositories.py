"""`/undo` in repositories in which a command left links and pipes."""

import os

import pytest

from tests.agent.harness import play
from tests.agent.session.test_undo_of_git import prepare, run
from tests.tools.protection.test_safety_copies import build_repository, git
from yourtool.events.deltas import Notice
from yourtool.tools.git import git_restoring

pytestmark = [
    pytest.mark.req("R-UNDO-01"),
    pytest.mark.blocks_loop("the test runs git itself"),
]


@pytest.fixture
def work(bench):
    work = build_repository(bench.workspace)
    prepare(work)
    return work


@pytest.fixture
def outside(bench):
    outside = bench.root / "outside"
    (outside / "directory/heads").mkdir(parents=True)
    (outside / "file").write_text("# of the user\n")
    return outside


def contents(root):
    """Return the content of all files below a directory; None for directories."""
    return {path: path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


LINKS = {
    "log of a branch": (
        "git branch -qf side main; git config user.name '$(id)';"
        " rm .git/logs/refs/heads/side; ln -s {0}/file .git/logs/refs/heads/side"
    ),
    "log of HEAD": (
        "git reset -q --hard HEAD~1; rm .git/logs/HEAD .git/logs/refs/heads/main;"
        " ln -s {0}/file .git/logs/HEAD; ln -s {0}/file .git/logs/refs/heads/main"
    ),
    "branches of which all are packed": (
        "git branch -qf side main; git pack-refs --all; rm -rf .git/refs/heads;"
        " ln -s {0}/directory .git/refs/heads"
    ),
    "branches": "git branch -qD side; rm -rf .git/refs/heads; ln -s {0}/directory .git/refs/heads",
    "references": "git branch -qD side; rm -rf .git/refs; ln -s {0}/directory .git/refs",
    "one branch": "git branch -qD side; ln -s {0}/file .git/refs/heads/side",
    "logs": "git branch -qD side; rm -rf .git/logs/refs; ln -s {0}/directory .git/logs/refs",
    "stashes": "git stash clear; rm -rf .git/logs/refs; ln -s {0}/directory .git/logs/refs",
    "packed references": "git branch -qD side; mv .git/HEAD x; ln -s {0}/file .git/packed-refs",
    "index": "echo 5 > a.txt; git add a.txt; rm .git/index; ln -s {0}/file .git/index",
    "objects": (
        "git branch -qD side; git reflog expire --expire=now --all; git gc -q --prune=now;"
        " mv .git/objects .git/o; ln -s {0}/directory .git/objects"
    ),
    "packs": (
        "git branch -qD side; git reflog expire --expire=now --all; git gc -q --prune=now;"
        " mv .git/objects/pack .git/p; ln -s {0}/directory .git/objects/pack"
    ),
    "a deleted repository": "rm -rf .git; ln -s {0}/new .git",
    "another repository": "git branch -qD side; mv .git o; ln -s {0}/other/.git .git",
}


@pytest.mark.parametrize("kind", LINKS)
async def test_undo_changes_nothing_outside_through_a_link(bench, work, outside, kind):
    build_repository(outside / "other")
    session = await run(bench, LINKS[kind].format(outside))
    before = contents(outside)
    await play(session.files.undo())
    assert contents(outside) == before
    await session.close()


@pytest.mark.parametrize("kind", ["log of a branch", "log of HEAD"])
async def test_branch_comes_back_without_its_log_if_that_is_a_link(bench, work, outside, kind):
    before = git(work, "rev-parse", "side", "main")
    session = await run(bench, LINKS[kind].format(outside))
    await play(session.files.undo())
    assert git(work, "rev-parse", "side", "main") == before
    await session.close()


async def test_undo_does_not_write_the_name_that_git_is_configured_with(bench, work):
    session = await run(bench, "git branch -qf side main; git config user.name '$(id)'")
    (work / ".git/config").write_text("[user]\n\tname = $(id)\n")
    await play(session.files.undo())
    log = (work / ".git/logs/refs/heads/side").read_text()
    assert log.endswith("+0000\tundo\n") and "$(id)" not in log.splitlines()[-1]
    await session.close()


@pytest.mark.parametrize(
    "place", ["refs/heads/side", "packed-refs.lock", "logs/refs/heads/new", "shallow"]
)
async def test_repository_with_a_pipe_is_refused_with_the_reason(bench, work, place):
    session = await run(bench, f"git branch -qD side; mkfifo .git/{place}")
    [notice] = await play(session.files.undo())
    assert isinstance(notice, Notice)
    assert f"`.git/{place}` is a pipe or a device" in notice.text
    (work / ".git" / place).unlink()
    await play(session.files.undo())
    git(work, "rev-parse", "side")
    await session.close()


async def test_undo_does_not_wait_for_a_pipe_among_the_objects(bench, work, monkeypatch):
    monkeypatch.setattr(git_restoring, "SECONDS", 0.5)
    commit = git(work, "rev-parse", "side").strip()
    path = work / ".git/objects" / commit[:2] / commit[2:]
    session = await run(bench, "git branch -qf side main; git tag -d light")
    path.unlink()
    os.mkfifo(path)
    [notice] = await play(session.files.undo())
    assert "the branch side (git took too long to read its objects)" in notice.text
    await session.close()
