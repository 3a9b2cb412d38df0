"""What a call changes is stored before it happens, and a failure is recorded."""

import asyncio
import shutil
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.agent.harness import Bench, play
from yourtool.agent.turn.calls import change_journal
from yourtool.agent.turn.calls.change_journal import CallJournal
from yourtool.events.files import FileChangeFailed, FilesChanged
from yourtool.events.tools import ToolFailed
from yourtool.foundation.file_images import FileImage, FileState
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.tools.changes.workspace_watch import CommandChange, CommandChanges
from yourtool.tools.workspace.file_states import MAX_STORED_BYTES, file_state
from yourtool.tools.workspace.workspace import Workspace

pytestmark = pytest.mark.req("R-UNDO-01")


@pytest.fixture
async def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


async def run(bench, call):
    session = await bench.session(Scripted([call, says("Done.")]), mode=Mode.AUTO)
    return session, await play(session.send("go"))


def fill_disk(bench):
    """Make it impossible to store contents."""
    shutil.rmtree(bench.root / "blobs", ignore_errors=True)
    (bench.root / "blobs").write_text("")


def get_changes(events):
    return [change for each in events if isinstance(each, FilesChanged) for change in each.changes]


async def test_file_whose_content_cannot_be_stored_is_not_changed_by_a_tool(bench):
    (bench.workspace / "a").write_text("user\n")
    fill_disk(bench)
    _, events = await run(bench, calls("write_file", path="new", content="agent\n"))
    [failed] = [each for each in events if isinstance(each, ToolFailed)]
    assert "`new` was not changed" in failed.error_message
    assert not (bench.workspace / "new").exists()
    assert get_changes(events) == []


async def test_change_of_a_command_that_cannot_be_stored_is_recorded_without_content(bench):
    work = bench.workspace
    (work / "a").write_text("user\n")
    fill_disk(bench)
    session, events = await run(bench, calls("shell", command="echo agent > a; echo x > new"))
    first, second = get_changes(events)
    assert (first.path, second.path) == ("a", "new")
    assert not first.is_undoable and not second.is_undoable
    assert (first.before.kind, first.before.digest, first.before.size) == ("file", "", 5)
    assert second.before.kind == "absent"
    assert first.after.mode == (work / "a").stat().st_mode & 0o777
    [notice] = await play(session.files.undo())
    assert "No file was restored" in notice.text
    assert (work / "a").read_text() == "agent\n"


async def test_content_that_another_process_deletes_meanwhile_is_stored_again(bench):
    """Deleting a session deletes contents that no stored fact names yet."""
    (bench.workspace / "a").write_text("user\n")
    script = [calls("shell", command="cat a"), calls("write_file", path="b", content="x\n")]
    session = await bench.session(Scripted([*script, says("Done.")]), mode=Mode.AUTO)
    contents = bench.root / "blobs" / "files"

    class Deleting:
        async def append(self, *facts):
            if any(isinstance(each, FilesChanged) for each in facts):
                for each in contents.iterdir():
                    each.unlink()
            await bench.store.append(*facts)

    session.record._log = Deleting()
    await play(session.send("go"))
    assert [each.read_bytes() for each in contents.iterdir()] == [b"x\n"]
    await play(session.files.undo())
    assert not (bench.workspace / "b").exists()


class SlowWatch:
    """A watch whose start waits until the test allows it."""

    def __init__(self):
        self.running = 0
        self.started, self.allowed = threading.Event(), threading.Event()
        self.changes = self.taken = CommandChanges()

    def begin(self, copy=None):
        self.started.set()
        self.allowed.wait(20)
        self.running += 1

    def end(self):
        self.running -= 1
        return self.changes

    def take_file(self, path):
        return self.taken

    def writing(self, path):
        return nullcontext()


@pytest.fixture
def journal(tmp_path):
    """A journal over a slow watch, and the facts that it recorded."""
    recorded = []

    async def record(fact, parent):
        recorded.append((fact, parent))
        return fact

    async def build():
        watch = SlowWatch()
        workspace = Workspace(tmp_path)
        place = SimpleNamespace(watch=watch, blobs=tmp_path, workspace=workspace)
        turn = SimpleNamespace(env=SimpleNamespace(place=place), record=record)
        return CallJournal(turn, "tu_1", "parent"), watch, recorded

    return build


async def wait_for(event):
    while not event.is_set():
        await asyncio.sleep(0.001)


async def test_watching_ends_also_if_the_call_is_stopped_before_its_command(journal):
    changes, watch, recorded = await journal()

    async def run_command():
        async with changes.watching():
            raise AssertionError("the command must not start")

    running = asyncio.create_task(run_command())
    await wait_for(watch.started)
    running.cancel()
    watch.allowed.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert watch.running == 0
    assert recorded == []


async def test_changes_of_a_failed_command_are_recorded(journal):
    changes, watch, recorded = await journal()
    watch.allowed.set()
    change = CommandChange("a", file_state(b"1\n", 0o600), file_state(b"1\n2\n", 0o600), ("d",))
    watch.changes = CommandChanges((change,), omitted=3)
    with pytest.raises(ZeroDivisionError):
        async with changes.watching():
            raise ZeroDivisionError
    [(fact, parent)] = recorded
    assert changes.changes == [*fact.changes]
    assert (parent, fact.tool_use_id, fact.omitted) == ("parent", "tu_1", 3)
    [stored] = fact.changes
    assert stored.before.stored and stored.after.stored
    assert (stored.path, stored.directories) == ("a", ("d",))
    assert (stored.added, stored.removed) == (1, 0)


@pytest.mark.parametrize("fails", [False, True])
async def test_files_that_were_written_are_known_to_checks(journal, fails):
    changes, _, recorded = await journal()
    absent, written = FileState(FileImage("absent")), file_state(b"x", 0o600)

    def change(path, before, after):
        with changes.changing(path, before, after):
            if fails:
                raise ZeroDivisionError

    for path, before, after in (("a", absent, written), ("b", written, absent)):
        working = asyncio.to_thread(change, path, before, after)
        [result] = await asyncio.gather(working, return_exceptions=True)
        assert isinstance(result, ZeroDivisionError) is fails
    assert changes.edited == ([] if fails else ["a"])
    kinds = [FilesChanged, FileChangeFailed] if fails else [FilesChanged]
    assert [type(fact) for fact, _ in recorded] == kinds * 2


async def test_change_that_a_command_left_is_recorded_before_that_of_a_tool(journal):
    changes, watch, recorded = await journal()
    first, second, third = (file_state(text, 0o600) for text in (b"1\n", b"2\n", b"3\n"))
    watch.taken = CommandChanges((CommandChange("a", first, second),))

    def change():
        with changes.changing("a", second, third):
            pass

    await asyncio.to_thread(change)
    digests = [(each.before.digest, each.after.digest) for f, _ in recorded for each in f.changes]
    assert len(recorded) == len(digests) == 2
    assert digests[0][1] == digests[1][0] and len({*digests[0], *digests[1]}) == 3


@pytest.mark.parametrize(("changed", "omitted", "count"), [(0, 0, 0), (0, 1, 1), (1, 0, 1)])
async def test_a_fact_is_recorded_only_if_something_changed(journal, changed, omitted, count):
    changes, watch, recorded = await journal()
    watch.allowed.set()
    change = CommandChange("a", file_state(b"1", 0o600), file_state(b"2", 0o600))
    watch.changes = CommandChanges((change,) * changed, omitted)
    async with changes.watching():
        pass
    assert len(recorded) == count


async def test_content_up_to_the_limit_is_stored(journal, tmp_path):
    changes, watch, recorded = await journal()
    watch.allowed.set()
    fits, large = b"x" * MAX_STORED_BYTES, b"y" * (MAX_STORED_BYTES + 1)
    unknown = FileState(FileImage("other"))
    watch.changes = CommandChanges(
        (
            CommandChange("a", unknown, file_state(fits, 0o600)),
            CommandChange("b", file_state(b"1\n", 0o600), file_state(large, 0o600)),
        )
    )
    async with changes.watching():
        pass
    [(fact, _)] = recorded
    assert [each.after.stored for each in fact.changes] == [True, False]
    assert [each.before.stored for each in fact.changes] == [False, True]
    assert fact.changes[0].hunks == ()
    sizes = sorted(each.stat().st_size for each in (tmp_path / "files").iterdir())
    assert sizes == [2, MAX_STORED_BYTES]


async def test_content_over_the_limit_is_not_stored_at_all(bench, monkeypatch):
    monkeypatch.setattr(change_journal, "MAX_STORED_BYTES", 3)
    (bench.workspace / "a").write_text("12")
    _, events = await run(bench, calls("write_file", path="a", content="1234"))
    [changed] = get_changes(events)
    assert (changed.before.stored, changed.after.stored) == (True, False)
    stored = [each.read_bytes() for each in (bench.root / "blobs/files").rglob("*")]
    assert b"1234" not in stored
    assert b"12" in stored
