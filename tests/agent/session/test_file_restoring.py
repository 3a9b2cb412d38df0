"""`/undo`, `/redo` and files of `/rewind`, over real files."""

import asyncio
import os
import threading
from types import SimpleNamespace

import pytest

from tests.agent.harness import ALLOW, Bench, User, play
from yourtool.agent.commands.sessions.undo import rewind_session
from yourtool.agent.session import file_restoring
from yourtool.agent.session.file_restoring import describe_left
from yourtool.errors import UsageError
from yourtool.events.branches import BranchSelected
from yourtool.events.deltas import Notice
from yourtool.events.files import FileChangeFailed, FilesChanged, FilesRestored, FilesRestoring
from yourtool.foundation.file_images import LeftFile
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.tools.changes import ignored_files

pytestmark = pytest.mark.req("R-UNDO-01", "R-TOOL-15")


def write(path, content):
    return calls("write_file", path=path, content=content)


def run(command):
    return calls("shell", command=command)


async def talk(bench, *lines, **options):
    """Return a session, in which each prompt runs the calls of one line."""
    script = [step for line in lines for step in (line, says("Done."))]
    return await bench.session(Scripted(script), mode=Mode.AUTO, **options)


def tree(root):
    """Return the kind, mode and content of everything below a directory."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = ("directory",)
        else:
            found[name] = (path.stat().st_mode, path.read_bytes())
    return found


async def test_undo_restores_content_mode_and_existence_and_redo_makes_them_again(bench):
    work = bench.workspace
    (work / "old.sh").write_text("echo 1\n")
    (work / "old.sh").chmod(0o750)
    before = tree(work)
    session = await talk(bench, write("old.sh", "echo 2\n") + write("a/b/new.txt", "new\n"))
    await play(session.send("go"))
    after = tree(work)
    assert after != before
    for _ in range(2):
        await play(session.files.undo())
        assert tree(work) == before
        await play(session.files.redo())
        assert tree(work) == after


async def test_undo_takes_back_one_turn_after_the_other(bench):
    session = await talk(bench, write("a", "1\n"), write("a", "2\n"), write("b", "1\n"))
    states = [tree(bench.workspace)]
    for prompt in ("one", "two", "three"):
        await play(session.send(prompt))
        states.append(tree(bench.workspace))
    for expected in states[-2::-1]:
        await play(session.files.undo())
        assert tree(bench.workspace) == expected
    [notice] = await play(session.files.undo())
    assert notice.level == "info"
    assert "no change of a file" in notice.text
    for expected in states[1:]:
        await play(session.files.redo())
        assert tree(bench.workspace) == expected
    [notice] = await play(session.files.redo())
    assert "Nothing was taken back" in notice.text


@pytest.mark.parametrize("edit", ["content", "mode", "deleted", "link", "directory is a link"])
async def test_undo_leaves_and_names_a_file_that_somebody_else_changed(bench, edit):
    work = bench.workspace
    session = await talk(bench, write("d/mine", "agent\n") + write("other", "agent\n"))
    await play(session.send("go"))
    file = work / "d" / "mine"
    match edit:
        case "content":
            file.write_text("user\n")
        case "mode":
            file.chmod(0o600)
        case "deleted":
            file.unlink()
        case "link":
            file.rename(work / "moved")
            file.symlink_to("../moved")
        case _:
            (work / "d").rename(work / "e")
            (work / "d").symlink_to("e")
    kept = {name: state for name, state in tree(work).items() if name != "other"}
    *_, restored = await play(session.files.undo())
    assert isinstance(restored, FilesRestored)
    assert restored.paths == ("other",)
    assert tree(work) == kept
    if edit != "deleted":
        assert [each.path for each in restored.left] == ["d/mine"]


async def test_undo_stops_at_an_edit_of_the_user_between_two_changes(bench):
    file = bench.workspace / "a"
    session = await talk(bench, write("a", "agent 1\n"), run("echo agent 2 > a"))
    await play(session.send("one"))
    file.write_text("user\n")
    await play(session.send("two"))
    assert file.read_text() == "agent 2\n"
    await play(session.files.undo())
    assert file.read_text() == "user\n"
    *_, last = await play(session.files.undo())
    assert file.read_text() == "user\n"
    assert isinstance(last, Notice)
    assert "a (" in last.text


async def test_nothing_to_undo_when_every_file_was_changed_by_somebody_else(bench):
    session = await talk(bench, write("a", "agent\n"))
    await play(session.send("one"))
    (bench.workspace / "a").write_text("user\n")
    [notice] = await play(session.files.undo())
    assert notice.level == "warning"
    assert "a (was changed since)" in notice.text
    assert session.state.files.plan_redo() is None


async def test_undo_takes_back_the_turn_before_one_of_which_nothing_can_be(bench):
    work = bench.workspace
    (work / "x").write_text("of the user\n")
    session = await talk(bench, run("rm x"), run("echo 1 > y"))
    for prompt in ("one", "two"):
        await play(session.send(prompt))
    (work / "y").write_text("1\n2\n")
    [notice] = await play(session.files.undo())
    assert notice.text == (
        "No file was restored. Left as they are: y (was changed since)."
        " The next /undo takes back the turn before."
    )
    assert not (work / "x").exists()
    notice, *_, restored = await play(session.files.undo())
    assert notice.text == ("Went on to the turn before. Left as they are: y (was changed since).")
    assert restored.paths == ("x",)
    assert (work / "y").read_text() == "1\n2\n"
    [notice] = await play(session.files.undo())
    assert notice.text == "No file was restored. Left as they are: y (was changed since)."
    (work / "y").write_text("1\n")
    *_, restored = await play(session.files.undo())
    assert restored.paths == ("y",)
    await play(session.files.redo())
    await play(session.files.redo())
    assert set(tree(work)) == {"y"}
    await session.close()


async def test_the_fact_of_a_change_is_stored_before_the_file_changes(bench):
    session = await talk(bench, write("a", "agent\n"))
    seen = []

    class Watching:
        def __init__(self, store):
            self._store = store

        def __getattr__(self, name):
            return getattr(self._store, name)

        async def append(self, *facts):
            seen.extend(
                (bench.workspace / "a").exists() for each in facts if isinstance(each, FilesChanged)
            )
            await self._store.append(*facts)

    session.record._log = Watching(bench.store)
    await play(session.send("go"))
    assert seen == [False]
    assert (bench.workspace / "a").exists()


async def test_a_change_that_failed_is_not_taken_back(bench):
    work = bench.workspace
    (work / "d").mkdir()
    (work / "d" / "a").write_text("user\n")
    session = await talk(bench, write("d/a", "agent\n"))
    record = session.record

    class Racing:
        async def append(self, *facts):
            await bench.store.append(*facts)
            if any(isinstance(each, FilesChanged) for each in facts):
                (work / "d" / "a").write_text("raced\n")

    record._log = Racing()
    events = await play(session.send("go"))
    assert [each for each in events if isinstance(each, FileChangeFailed)]
    assert (work / "d" / "a").read_text() == "raced\n"
    assert session.state.files.plan_undo() is None


@pytest.mark.req("R-UNDO-02")
async def test_changes_by_a_command_are_taken_back(bench):
    work = bench.workspace
    (work / "changed").write_text("user 1\n")
    (work / "removed").write_text("user 2\n")
    (work / "mode").write_text("user 3\n")
    (work / "link").symlink_to("changed")
    (work / "moved").write_text("user 4\n")
    before = tree(work)
    command = (
        "echo agent > changed; rm removed; chmod 755 mode; ln -sfn removed link;"
        " mkdir -p x/y; echo new > x/y/new; mv moved x/elsewhere; ln -s nowhere dangling"
    )
    session = await talk(bench, run(command))
    events = await play(session.send("go"))
    [changed] = [each for each in events if isinstance(each, FilesChanged)]
    assert {change.path for change in changed.changes} == {
        "changed", "removed", "mode", "link", "moved", "x/y/new", "x/elsewhere", "dangling"
    }  # fmt: skip
    after = tree(work)
    await play(session.files.undo())
    assert tree(work) == before
    await play(session.files.redo())
    assert tree(work) == after


@pytest.mark.req("R-UNDO-02")
async def test_what_a_command_moved_in_from_an_unwatched_place_is_left(bench):
    work = bench.workspace
    outside = bench.root / "thesis"
    outside.write_text("of the user\n")
    (work / ".gitignore").write_text("secret\n")
    (work / "secret").write_text("of the user\n")
    for path in (outside, work / "secret"):
        os.utime(path, ns=(10**18, 10**18))
    session = await talk(bench, run(f"mv {outside} here; mv secret there; echo agent > new"))
    await play(session.send("go"))
    *_, restored = await play(session.files.undo())
    assert restored.paths == ("new", "secret")
    assert (work / "here").exists()
    assert (work / "there").exists()
    assert {each.path for each in restored.left} == {"here", "there"}


@pytest.mark.req("R-UNDO-02")
async def test_ignored_files_that_a_command_uncovers_are_left(bench):
    work = bench.workspace
    (work / ".gitignore").write_text("secret\n")
    (work / "secret").write_text("of the user\n")
    session = await talk(bench, run("rm .gitignore; touch secret"))
    await play(session.send("go"))
    *_, restored = await play(session.files.undo())
    assert restored.paths == (".gitignore",)
    assert (work / "secret").read_text() == "of the user\n"


@pytest.mark.req("R-UNDO-02")
@pytest.mark.parametrize(
    "command",
    [
        "git init -q && mkdir src && echo 1 > src/a.py && echo 2 > b.py"
        " && printf '.venv/\\nnode_modules/\\n' > .gitignore",
        "echo build/ >> .gitignore && echo 5 > e.py",
        "echo '*.o' > .gitignore && echo 5 > e.py && echo 6 > e.o && echo > .gitignore",
        "rm -f .gitignore && echo 5 > e.py",
    ],
)
@pytest.mark.parametrize("has_rules", [False, True])
async def test_new_files_are_removed_also_if_ignore_rules_change(bench, command, has_rules):
    work = bench.workspace
    (work / "node_modules").mkdir()
    (work / "node_modules" / "of the user").write_text("1\n")
    if has_rules:
        (work / ".gitignore").write_text("node_modules/\n*.log\n")
        (work / "x.log").write_text("of the user\n")
    before = tree(work)
    session = await talk(bench, run(command))
    events = await play(session.send("go"))
    [changed] = [each for each in events if isinstance(each, FilesChanged)]
    assert all(each.is_undoable for each in changed.changes)
    await play(session.files.undo())
    assert {name: each for name, each in tree(work).items() if name[:4] != ".git"} == {
        name: each for name, each in before.items() if name[:4] != ".git"
    }
    await session.close()


@pytest.mark.req("R-UNDO-02")
async def test_ignored_files_beyond_the_limit_are_left_if_rules_change(bench, monkeypatch):
    monkeypatch.setattr(ignored_files, "MAX_IGNORED_FILES", 1)
    work = bench.workspace
    (work / ".gitignore").write_text("*.log\n")
    for name in ("a.log", "b.log"):
        (work / name).write_text("of the user\n")
    session = await talk(bench, run("rm .gitignore; touch a.log b.log; echo 1 > new"))
    await play(session.send("go"))
    *_, restored = await play(session.files.undo())
    assert restored.paths == (".gitignore",)
    assert {"a.log", "b.log"} <= set(tree(work))
    await session.close()


async def test_a_credential_file_is_not_copied_and_undo_leaves_it(bench):
    work = bench.workspace
    session = await talk(bench, write(".env", "TOKEN=first\n") + write("a", "1\n"),
                         confirm=User(ALLOW))  # fmt: skip
    events = await play(session.send("go"))
    changed = [each for each in events if isinstance(each, FilesChanged)]
    assert [each.path for fact in changed for each in fact.changes if not each.is_undoable] == [
        ".env"
    ]
    stored = [each.read_bytes() for each in (bench.root / "blobs" / "files").iterdir()]
    assert not any(b"TOKEN" in each for each in stored)
    *_, restored = await play(session.files.undo())
    assert restored.paths == ("a",)
    assert (work / ".env").exists()


async def test_a_file_too_large_to_store_is_left(bench):
    session = await talk(bench, run("truncate -s 20M big; echo 1 > small"))
    events = await play(session.send("go"))
    [changed] = [each for each in events if isinstance(each, FilesChanged)]
    assert [each.path for each in changed.changes if not each.is_undoable] == ["big"]
    *_, restored = await play(session.files.undo())
    assert restored.paths == ("small",)
    assert (bench.workspace / "big").exists()


async def test_the_model_is_told_which_files_were_taken_back(bench):
    adapter = Scripted([write("a", "1\n"), says("Done."), says("Again.")])
    session = await bench.session(adapter, mode=Mode.AUTO)
    await play(session.send("one"))
    await play(session.files.undo())
    await play(session.send("two"))
    texts = [message.text for message in session.state.conversation]
    assert any("took back your changes to these files: `a`" in text for text in texts)
    assert [prompt.text for prompt in session.state.prompts] == ["one", "two"]


async def test_an_interrupted_undo_is_finished_by_the_next_one(bench):
    work = bench.workspace
    session = await talk(bench, write("a", "1\n") + write("b", "1\n") + write("c", "1\n"))
    await play(session.send("one"))
    plan = session.state.files.plan_undo()
    started = FilesRestoring(kind="undo", turns=plan.turns, files=plan.files)
    await session.record(started)
    (work / "b").unlink()  # the first file was restored when the program died
    await session.close()
    again = await talk(bench, resume=session.id)
    *_, restored = await play(again.files.undo())
    assert set(restored.paths) == {"a", "b", "c"}
    assert tree(work) == {}
    await play(again.files.redo())
    assert set(tree(work)) == {"a", "b", "c"}


async def test_undo_is_refused_during_a_turn(bench):
    session = await talk(bench, write("a", "1\n"), write("a", "2\n"))
    await play(session.send("one"))
    events = session.send("two")
    await anext(events)
    with pytest.raises(UsageError, match="turn is running"):
        await play(session.files.undo())
    await events.aclose()


async def test_a_write_during_a_command_belongs_to_the_writing_call(bench):
    line = run("echo one > x; sleep 0.3; echo two > y") + write("z", "agent\n")
    session = await talk(bench, line)
    events = await play(session.send("go"))
    changed = [each for each in events if isinstance(each, FilesChanged)]
    paths = sorted(each.path for fact in changed for each in fact.changes)
    assert paths == ["x", "y", "z"]
    await play(session.files.undo())
    assert tree(bench.workspace) == {}


async def test_undo_works_after_a_resume_and_in_a_fork(bench):
    session = await talk(bench, write("a", "1\n"))
    await play(session.send("one"))
    await session.close()
    again = await talk(bench, resume=session.id)
    await play(again.files.undo())
    assert tree(bench.workspace) == {}


async def test_a_file_whose_old_content_is_gone_is_left(bench):
    work = bench.workspace
    (work / "a").write_text("user\n")
    session = await talk(bench, run("echo agent > a; echo new > b"))
    await play(session.send("one"))
    for each in (bench.root / "blobs" / "files").iterdir():
        each.unlink()
    *_, restored = await play(session.files.undo())
    assert restored.paths == ("b",)
    assert [each.path for each in restored.left] == ["a"]
    assert (work / "a").read_text() == "agent\n"
    assert not (work / "b").exists()


async def test_an_undo_that_is_stopped_is_finished_by_the_next_one(bench, monkeypatch):
    session = await talk(bench, write("a", "1\n"))
    await play(session.send("one"))
    entered, allowed, restore = threading.Event(), threading.Event(), file_restoring.restore_file

    def restore_slowly(workspace, item, content):
        entered.set()
        allowed.wait(20)
        restore(workspace, item, content)

    monkeypatch.setattr(file_restoring, "restore_file", restore_slowly)
    undoing = asyncio.create_task(play(session.files.undo()))
    while not entered.is_set():
        await asyncio.sleep(0.001)
    undoing.cancel()
    asyncio.get_running_loop().call_later(0.02, allowed.set)
    with pytest.raises(asyncio.CancelledError):
        await undoing
    assert allowed.is_set(), "the call waits for the file that is being restored"
    assert tree(bench.workspace) == {}, "no file is restored after the call has ended"
    notice, restored = await play(session.files.undo())
    assert (notice.level, notice.text) == ("info", "Finishing what was interrupted.")
    assert restored.paths == ("a",)


@pytest.mark.parametrize(("count", "more"), [(100, ""), (102, " and 2 more")])
async def test_the_model_is_told_the_first_names_of_many(bench, count, more):
    session = await talk(bench, run(f"for i in $(seq 100 {99 + count}); do echo > f$i; done"))
    await play(session.send("one"))
    *_, restored = await play(session.files.undo())
    assert len(restored.paths) == count
    assert f"`f199`{more}. Read them again" in restored.message.text
    assert "`f200`" not in restored.message.text
    *_, restored = await play(session.files.redo())
    assert "made your changes to these files again" in restored.message.text


def test_a_sentence_names_some_of_the_files_that_were_left():
    left = [LeftFile(f"f{number}", "was changed since") for number in range(7)]
    assert describe_left([]) == ""
    assert describe_left(left[:1]) == " Left as they are: f0 (was changed since)."
    assert describe_left(left[:5]).endswith("f4 (was changed since).")
    assert describe_left(left).endswith("f4 (was changed since), and 2 more.")
    assert describe_left(left, limit=7).endswith("f6 (was changed since).")


@pytest.fixture
async def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


async def choose_before(bench, session, number, what):
    """Go back to before a prompt; return the results after the choice of what to restore."""
    runtime = SimpleNamespace(store=bench.store)
    [prompts] = [each async for each in rewind_session(session, runtime, "")]
    [question] = [each async for each in prompts.then(prompts.choices[-number].value)]
    assert [each.value for each in question.choices] == ["both", "conversation", "files"]
    return prompts, [each async for each in question.then(what)]


@pytest.mark.parametrize("what", ["both", "conversation", "files"])
async def test_rewind_restores_the_conversation_the_files_or_both(bench, what):
    session = await talk(bench, write("a", "1\n"), write("a", "1\n2\n") + write("b", "1\n"))
    await play(session.send("one"))
    await play(session.send("two"))
    before = tree(bench.workspace)
    prompts, results = await choose_before(bench, session, 2, what)
    assert [each.detail.split(" · ")[-1] for each in prompts.choices] == [
        "+2 -0 in 2 files",
        "+1 -0 in 1 file",
    ]
    left = {"a"} if what != "conversation" else {"a", "b"}
    assert set(tree(bench.workspace)) == left
    assert ((bench.workspace / "a").read_text() == "1\n") == (what != "conversation")
    moved = [each for each in results if isinstance(each, BranchSelected)]
    assert bool(moved) == (what != "files")
    if what == "files":
        await play(session.files.redo())
        assert tree(bench.workspace) == before
    elif what == "both":
        await session.close()
        again = await talk(bench, resume=session.id)
        assert [prompt.text for prompt in again.state.prompts] == ["one"]
        assert not any("took back" in message.text for message in again.state.messages)
        await play(again.files.redo())
        assert tree(bench.workspace) == before


async def test_undo_takes_back_no_commit_of_a_command(bench):
    git = "git -c user.name=A -c user.email=a@example.org"
    (bench.workspace / "a").write_text("1\n")
    command = f"git init -q; echo 2 > a; git add a; {git} commit -qm two"
    session = await talk(bench, run(command))
    await play(session.send("go"))
    await play(session.files.undo())
    logged = (bench.workspace / ".git" / "logs" / "HEAD").read_text().splitlines()
    assert [row.rpartition(": ")[2] for row in logged] == ["two"]
    assert (bench.workspace / "a").read_text() == "1\n"
    await session.close()


async def test_undo_finishes_a_write_in_place_that_a_kill_interrupted(bench):
    (bench.workspace / "a").write_text("the old text\n")
    session = await talk(bench, write("a", "some new text\n"))
    await play(session.send("go"))
    (bench.workspace / "a").write_text("some ld text\n")
    await play(session.files.undo())
    assert (bench.workspace / "a").read_text() == "the old text\n"
