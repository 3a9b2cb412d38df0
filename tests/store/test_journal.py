"""Which changes of files are found by file, lines, call, prompt and session."""

from datetime import UTC, datetime

import pytest

from tests.agent.harness import Bench, play
from tests.store.memory import MemoryStore
from yourtool.events.files import FileChangeFailed
from yourtool.foundation.file_images import FileImage, Hunk, RecordedChange, find_hunks
from yourtool.paths import Paths
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.store.edits import delete_session
from yourtool.store.forks import fork
from yourtool.store.journal import ChangeFilter, StoredChange, changes_of_lines

pytestmark = pytest.mark.req("R-UNDO-01")


def write(path, content):
    return calls("write_file", path=path, content=content)


@pytest.fixture(params=["sqlite", "memory"])
async def bench(request, tmp_path):
    bench = Bench(tmp_path, None if request.param == "sqlite" else MemoryStore())
    yield bench
    await bench.close()


async def talk(bench, *lines):
    script = [step for line in lines for step in (line, says("Done."))]
    session = await bench.session(Scripted(script), mode=Mode.AUTO)
    for number in range(len(lines)):
        await play(session.send(f"prompt {number}"))
    return session


async def paths_of(bench, **wanted):
    return [each.change.path for each in await bench.store.file_changes(ChangeFilter(**wanted))]


async def test_changes_are_found_by_file_call_prompt_session_and_workspace(bench):
    session = await talk(bench, write("a", "1\n") + write("b", "1\n"), write("a", "2\n"))
    other = await talk(bench, write("c", "1\n"))
    first, second = (prompt.id for prompt in session.state.prompts)
    assert await paths_of(bench) == ["a", "b", "a", "c"]
    assert await paths_of(bench, path="a") == ["a", "a"]
    assert await paths_of(bench, prompt_id=first) == ["a", "b"]
    assert await paths_of(bench, prompt_id=second, path="b") == []
    assert await paths_of(bench, session_id=other.id) == ["c"]
    assert await paths_of(bench, workspace=str(bench.workspace)) == ["a", "b", "a", "c"]
    assert await paths_of(bench, workspace="/elsewhere") == []
    *_, last = await bench.store.file_changes(ChangeFilter(path="a"))
    assert await paths_of(bench, tool_use_id=last.tool_use_id) == ["a"]
    assert (last.change.added, last.change.removed) == (1, 1)


async def test_a_change_that_failed_is_not_found(bench):
    session = await talk(bench, write("a", "1\n"))
    [change] = await bench.store.file_changes(ChangeFilter())
    await session.record(
        FileChangeFailed(tool_use_id=change.tool_use_id, changed_event_id=change.event_id)
    )
    assert await bench.store.file_changes(ChangeFilter()) == ()


async def test_a_fork_has_the_changes_of_its_prompts_as_copies(bench):
    session = await talk(bench, write("a", "1\n"))
    copy = await fork(bench.store, session.id)
    [change] = await bench.store.file_changes(ChangeFilter(session_id=copy))
    assert change.is_copy
    assert change.prompt_id != session.state.prompts[0].id
    assert await paths_of(bench, workspace=str(bench.workspace)) == ["a"]


async def test_deleting_a_session_deletes_contents_that_no_other_session_uses(bench):
    session = await talk(bench, write("a", "shared\n") + write("b", "alone\n"))
    other = await talk(bench, write("c", "shared\n"))
    contents = bench.root / "blobs" / "files"
    paths = Paths(bench.root, bench.root, bench.root, bench.root)
    assert {each.read_text() for each in contents.iterdir()} == {"shared\n", "alone\n"}
    assert contents.stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in contents.iterdir()} == {0o600}
    await session.close()
    await delete_session(bench.store, session.id, paths)
    assert {each.read_text() for each in contents.iterdir()} == {"shared\n"}
    await other.close()
    await delete_session(bench.store, other.id, paths)
    assert list(contents.iterdir()) == []


async def test_changes_of_lines_follow_the_lines_through_later_changes(bench):
    await talk(
        bench,
        write("a", "1\n2\n3\n4\n"),
        write("a", "0\n1\n2\n3\n4\n"),
        write("a", "0\n1\n2\nthree\n4\n"),
    )
    first, second, third = changes = await bench.store.file_changes(ChangeFilter(path="a"))
    assert changes_of_lines(changes, 4, 4) == (third, first)
    assert changes_of_lines(changes, 1, 1) == (second,)
    assert changes_of_lines(changes, 5, 5) == (first,)
    assert changes_of_lines(changes, 1, 5) == (third, second, first)
    assert changes_of_lines(changes, 9, 9) == ()


async def test_lines_are_not_followed_beyond_an_edit_of_the_user(bench):
    session = await talk(bench, write("a", "1\n2\n"))
    (bench.workspace / "a").write_text("9\n1\n2\n")
    journal = bench.session(Scripted([write("a", "9\n1\ntwo\n"), says("Done.")]), mode=Mode.AUTO)
    await play((await journal).send("go"))
    changes = await bench.store.file_changes(ChangeFilter(path="a"))
    assert len(changes) == 2
    assert changes_of_lines(changes, 3, 3) == (changes[1],)
    assert changes_of_lines(changes, 1, 1) == ()
    await session.close()


def test_hunks_are_the_changed_lines():
    [hunk] = find_hunks(b"a\nb\nc\n", b"a\nB\nc\nd\n")[:1]
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (2, 1, 2, 1)
    assert find_hunks(b"a\0", b"b") == ()
    many = b"".join(b"%d\n" % number for number in range(5_000))
    [hunk] = find_hunks(b"x\n", many)
    assert (hunk.old_count, hunk.new_count) == (1, 5_000)


def change(before, after, *hunks):
    images = (
        FileImage("absent" if each is None else "file", str(each), 0o600)
        for each in (before, after)
    )
    return StoredChange(
        event_id=f"e{after}", session_id="s", prompt_id="p", tool_use_id="t",
        timestamp=datetime(2026, 1, 1, tzinfo=UTC), is_copy=False,
        change=RecordedChange(
            path="a", before=next(images), after=next(images),
            hunks=tuple(Hunk(*each) for each in hunks),
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("hunk", "first", "last", "found"),
    [
        ((3, 1, 3, 2), 1, 2, False),
        ((3, 1, 3, 2), 2, 3, True),
        ((3, 1, 3, 2), 4, 9, True),
        ((3, 1, 3, 2), 5, 9, False),
        # lines removed before line 3
        ((3, 2, 3, 0), 2, 3, True),
        ((3, 2, 3, 0), 3, 4, False),
        ((3, 2, 3, 0), 1, 2, False),
        ((3, 2, 3, 0), 3, 3, False),
    ],
)
def test_a_change_touched_the_lines_of_its_hunks(hunk, first, last, found):
    only = change(1, 2, hunk)
    assert changes_of_lines((only,), first, last) == ((only,) if found else ())


@pytest.mark.parametrize(
    ("hunk", "line", "earlier"),
    [
        ((3, 1, 3, 3), 2, 2),
        ((3, 1, 3, 3), 6, 4),
        ((3, 4, 3, 1), 4, 7),
        ((3, 2, 3, 0), 3, 5),
        ((3, 0, 3, 2), 5, 3),
    ],
)
def test_lines_around_a_hunk_are_followed_to_their_earlier_numbers(hunk, line, earlier):
    second = change(2, 3, hunk)
    for number in range(1, 12):
        first = change(1, 2, (number, 1, number, 1))
        expected = (first,) if number == earlier else ()
        assert changes_of_lines((first, second), line, line) == expected


def test_lines_in_a_hunk_are_followed_to_all_lines_that_it_replaced():
    second = change(2, 3, (3, 3, 3, 2))
    for number in range(1, 9):
        first = change(1, 2, (number, 1, number, 1))
        expected = (second, first) if 3 <= number <= 5 else (second,)
        assert changes_of_lines((first, second), 4, 4) == expected


def test_lines_that_a_change_added_are_not_followed_further():
    changes = (change(1, 2, (2, 1, 2, 1)), change(2, 3, (2, 0, 2, 1)))
    assert changes_of_lines(changes, 2, 2) == changes[1:]


def test_lines_are_followed_to_the_creation_of_the_file_and_no_further():
    old, new = change(1, 2, (1, 1, 1, 1)), change(None, 2, (1, 0, 1, 1))
    assert changes_of_lines((old, new), 1, 1) == (new,)
    assert changes_of_lines((), 1, 1) == ()


def test_lines_are_not_followed_past_a_change_that_the_next_one_did_not_start_from():
    first, between, last = change(0, 2, (1, 1, 1, 1)), change(2, 1), change(2, 3, (1, 1, 1, 1))
    assert changes_of_lines([first, between, last], 1, 1) == (last,)
    assert changes_of_lines([first, last], 1, 1) == (last, first)
