"""What `/diff` shows: the changes of files by each call, from the journal."""

import pytest

from tests.agent.harness import Checked, play
from yourtool.agent.commands.base import ShowChanges
from yourtool.agent.commands.sessions.changes import show_changes
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode

pytestmark = pytest.mark.req("R-UNDO-01")


@pytest.fixture
async def open_session(bench):
    opened = []

    async def open_session(*script, **options):
        session = await bench.session(Checked(Scripted(script)), mode=Mode.AUTO, **options)
        opened.append(session)
        return session

    yield open_session
    for session in opened:
        await session.close()


async def show(session, argument=""):
    [shown] = [each async for each in show_changes(session, None, argument)]
    return shown


def shell(command):
    return calls("shell", command=command)


def rows(shown):
    return [(call.call, [each.name for each in call.changes]) for call in shown.calls]


async def test_changes_of_commands_are_below_the_call_that_made_them(bench, open_session):
    (bench.workspace / "old.txt").write_text("1\n2\n3\n")
    session = await open_session(
        calls("write_file", path="x.py", content="a\n"),
        shell("sed -i s/2/two/ old.txt; rm x.py; echo n > new.txt"),
        shell("true"),
        says("done"),
    )
    assert isinstance(await show(session), Notice)
    await play(session.send("go"))
    shown = await show(session)
    assert isinstance(shown, ShowChanges)
    assert shown.title == "4 changes of 3 files"
    assert rows(shown) == [
        ("write_file", ["x.py (created)"]),
        (
            "$ sed -i s/2/two/ old.txt; rm x.py; echo n > new.txt",
            ["new.txt (created)", "old.txt", "x.py (removed)"],
        ),
    ]
    new, old, removed = shown.calls[1].changes
    assert new.diff == "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+n"
    assert old.diff == "--- a/old.txt\n+++ b/old.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3"
    assert removed.diff == "--- a/x.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a"


async def test_change_taken_back_is_shown_under_the_command_that_took_it_back(open_session):
    session = await open_session(shell("echo a > a.txt"), says("done"))
    await play(session.send("go"))
    await play(session.files.undo())
    assert rows(await show(session)) == [
        ("$ echo a > a.txt", ["a.txt (created)"]),
        ("/undo", ["a.txt (removed)"]),
    ]


async def test_only_the_last_turn_is_shown_on_request(open_session):
    session = await open_session(
        shell("echo a > a.txt"), says("one"), shell("echo b > b.txt"), says("two"), says("three")
    )
    await play(session.send("go"))
    await play(session.send("go"))
    assert rows(await show(session, "turn")) == [("$ echo b > b.txt", ["b.txt (created)"])]
    await play(session.send("go"))
    notice = await show(session, "turn")
    assert notice.text == "No call has changed a file in the last turn."
    with pytest.raises(UsageError, match="not `all`"):
        await show(session, "all")


async def test_what_a_diff_cannot_show_is_named(bench, open_session):
    work = bench.workspace
    (work / ".env").write_text("KEY=1\n")
    (work / "run").write_text("x\n")
    (work / "run").chmod(0o644)
    (work / "lines").write_bytes(b"a\n")
    session = await open_session(
        shell(
            "printf 'a\\0b' > binary; ln -s run link; chmod 755 run; printf 'a\\r\\n' > lines;"
            " echo KEY=2 > .env"
        ),
        says("done"),
    )
    await play(session.send("go"))
    [call] = (await show(session)).calls
    found = {change.path: change for change in call.changes}
    unshown = "not text, too large, or only the ends of lines differ"
    assert found["binary"].note == f"created; {unshown}"
    assert found["link"].note == "created a link"
    assert "+run" in found["link"].diff
    assert found["run"].note == "mode 644 to 755"
    assert found["lines"].note == unshown
    assert found[".env"].note == "content before and after unknown"
    assert not any("KEY" in change.diff for change in call.changes)


async def test_content_that_is_not_stored_any_more_is_unknown(bench, open_session):
    session = await open_session(shell("echo a > a.txt"), says("done"))
    await play(session.send("go"))
    for path in (bench.root / "blobs/files").rglob("*"):
        if path.is_file():
            path.unlink()
    [call] = (await show(session)).calls
    assert [change.name for change in call.changes] == ["a.txt (created; content after unknown)"]


async def test_changes_that_failed_are_not_shown(bench, open_session):
    (bench.workspace / "d").mkdir()
    session = await open_session(
        calls("edit_file", path="missing", edits=[{"old": "a", "new": "b"}]), says("done")
    )
    await play(session.send("go"))
    assert isinstance(await show(session), Notice)


async def test_commands_of_one_reply_change_files_one_after_the_other(bench, open_session):
    slow, fast = "echo a > a.txt; sleep 0.3; echo c > c.txt", "echo b >> c.txt"
    session = await open_session(shell(slow) + shell(fast), says("done"))
    await play(session.send("go"))
    assert rows(await show(session)) == [
        (f"$ {slow}", ["a.txt (created)", "c.txt (created)"]),
        (f"$ {fast}", ["c.txt"]),
    ]
