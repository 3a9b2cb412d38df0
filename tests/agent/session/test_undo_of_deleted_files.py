"""`/undo` restores untracked and ignored files that commands delete, and names the others."""

import os

import pytest

from tests.agent.harness import play
from tests.agent.session.test_file_restoring import tree
from tests.tools.protection.test_safety_copies import build_repository
from yourtool.events.files import FilesChanged
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.agent_config import UndoConfig
from yourtool.settings.config import Mode
from yourtool.tui.transcript.session_changes import describe_lasting_changes

pytestmark = pytest.mark.req("R-UNDO-02")


@pytest.fixture
def work(bench):
    return build_repository(bench.workspace)


async def run(bench, *commands, **limits):
    """Run each command in a turn; return the session and the changes of the last one."""
    script = [step for line in commands for step in (calls("shell", command=line), says("Done."))]
    settings = {"undo": UndoConfig(**limits)}
    session = await bench.session(Scripted(script), mode=Mode.AUTO, settings=settings)
    for number in range(len(commands)):
        events = await play(session.send(f"prompt {number}"))
    return session, [each for each in events if isinstance(each, FilesChanged)]


def write(path, content=b"x\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


async def test_deleted_ignored_and_untracked_files_come_back(bench, work):
    write(work / "server.log")
    write(work / "build/deep/out.o", b"\0built")
    write(work / "notes/mine.txt", b"untracked\n")
    (work / "build/deep/out.o").chmod(0o755)
    before = tree(work)
    session, [changed] = await run(bench, "rm -rf server.log build notes")
    paths = {each.path for each in changed.changes}
    assert paths == {"server.log", "build/deep/out.o", "notes/mine.txt"}
    assert describe_lasting_changes(changed) == ""
    await play(session.files.undo())
    assert tree(work) == before
    await play(session.files.redo())
    assert not (work / "build/deep/out.o").exists() and not (work / "server.log").exists()
    await session.close()


async def test_deleted_links_come_back_wherever_they_lead(bench, work):
    (work / "inside").symlink_to("a.txt")
    (work / "outside").symlink_to("/nowhere/else")
    (work / "to-a-key").symlink_to("/home/somebody/.ssh/id_rsa")
    (work / "ignored.log").symlink_to("..")
    before = tree(work)
    session, _ = await run(bench, "rm inside outside to-a-key ignored.log", max_files=0)
    await play(session.files.undo())
    assert tree(work) == before
    await session.close()


async def test_ignored_files_beyond_the_limits_are_named(bench, work):
    write(work / "large.log", b"x" * 100)
    write(work / "small.log")
    session, [changed] = await run(bench, "rm *.log", max_file_bytes=50)
    assert describe_lasting_changes(changed) == "/undo cannot take back changes to large.log"
    await play(session.files.undo())
    assert (work / "small.log").exists() and not (work / "large.log").exists()
    await session.close()


@pytest.mark.parametrize("limits", [{"max_files": 2}, {"max_bytes": 10}])
async def test_latest_ignored_files_are_copied_up_to_the_limits(bench, work, limits):
    for number, name in enumerate("abcd"):
        write(work / f"{name}.log", b"12345")
        os.utime(work / f"{name}.log", (number, number))
    session, _ = await run(bench, "rm *.log", **limits)
    await play(session.files.undo())
    assert len(list(work.glob("*.log"))) == 2
    await session.close()


@pytest.mark.parametrize("name", ["node_modules", ".venv", "target", "env-with-a-mark"])
async def test_deleted_directory_that_a_program_makes_again_is_only_named(bench, work, name):
    (work / ".gitignore").write_text("node_modules\n.venv\ntarget\nenv-with-a-mark\n")
    write(work / name / "package/index.js")
    write(work / name / "CACHEDIR.TAG")
    session, [changed] = await run(bench, f"rm -rf {name}")
    assert describe_lasting_changes(changed) == f"/undo cannot take back changes to {name}/"
    assert not any((bench.root / "blobs/files").glob("*"))
    await session.close()


async def test_deleted_credential_file_is_named_and_not_copied(bench, work):
    (work / ".gitignore").write_text(".env\n")
    write(work / ".env", b"KEY=secret\n")
    session, [changed] = await run(bench, "rm .env")
    assert describe_lasting_changes(changed) == "/undo cannot take back changes to .env"
    stored = [each for each in (bench.root / "blobs").rglob("*") if each.is_file()]
    assert not any(b"KEY=secret" in each.read_bytes() for each in stored)
    await session.close()


async def test_what_commands_write_into_ignored_files_is_not_recorded(bench, work):
    write(work / "server.log")
    session, changes = await run(bench, "echo more >> server.log; mkdir -p build; touch build/x")
    assert changes == []
    await session.close()


@pytest.mark.blocks_loop("the test reads many files itself")
@pytest.mark.remaining
async def test_more_deleted_files_than_changes_of_one_command_come_back(bench, work):
    for number in range(1_050):
        write(work / f"many/{number}.txt")
    before = tree(work)
    session, [changed] = await run(bench, "rm -rf many")
    assert (len(changed.changes), changed.omitted) == (1_050, 0)
    await play(session.files.undo())
    assert tree(work) == before
    await session.close()
