"""The session continues after any failure in a turn (R-LOOP-01, R-LOOP-02, R-PER-02)."""

import asyncio
from contextlib import suppress

import pytest

from tests.agent.harness import Bench, Checked, names, play
from tests.agent.killed_turns import PROMPT
from yourtool.agent.history import space
from yourtool.agent.history.space import SpaceWait
from yourtool.errors import BlobError, StoreError
from yourtool.events.catalog import message_of
from yourtool.events.files import FilesChanged
from yourtool.events.tools import ToolFailed
from yourtool.messages.blobs import is_blob, read_blob
from yourtool.messages.blocks import ImageBlock, iter_blocks
from yourtool.messages.invariants import validate_message, validate_session
from yourtool.messages.message import Role
from yourtool.providers.scripted import Scripted, calls, says

SCRIPT = [
    says("I look.") + calls("read_file", path="a.txt") + calls("shell", command="echo hi"),
    calls("write_file", path="b.txt", content="b\n"),
    says("All of it is done."),
    says("And going on works."),
    says("And again."),
]
TERMINAL = {"turn.completed", "turn.cancelled"}


def problems(session):
    messages = session.state.messages
    return [p for message in messages for p in validate_message(message)] + validate_session(
        messages
    )


def turns_without_one_end(session):
    """Return the turns that do not have exactly one terminal fact, their last."""
    found = []
    by_turn = {}
    for fact in session.state.facts:
        if fact.turn_id is not None:
            by_turn.setdefault(fact.turn_id, []).append(fact)
    for turn_id, facts in by_turn.items():
        kinds = names(facts)
        if sum(kind in TERMINAL for kind in kinds) != 1 or kinds[-1] not in TERMINAL:
            found.append((turn_id, kinds))
    return found


def orphans(session):
    """Return the facts whose parents do not lead to the start of their turn (R-EVT-02)."""
    by_id = {fact.id: fact for fact in session.state.facts}
    found = []
    for fact in session.state.facts:
        root = fact
        while root.parent_event_id is not None:
            root = by_id[root.parent_event_id]
        if fact.turn_id is not None and (names([root]), root.turn_id) != (
            ["turn.started"], fact.turn_id
        ):  # fmt: skip
            found.append((names([fact]), names([root])))
    return found


def stored_attachments(bench, facts):
    """Read every attachment that a stored message names, and return how many there are."""
    messages = [message for fact in facts if (message := message_of(fact)) is not None]
    blocks = [block for message in messages for block in iter_blocks(message.content)]
    sources = [block.source for block in blocks if isinstance(block, ImageBlock)]
    assert all(
        is_blob(source) and read_blob(bench.root / "blobs", source.data) for source in sources
    )
    return len(sources)


async def steps(count):
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("point", [*range(1, 60, 2), *range(60, 240, 12)])
@pytest.mark.parametrize("how", ["stop", "kill the task"])
@pytest.mark.sample(3)
async def test_session_continues_after_a_turn_that_failed_at_any_await(tmp_path, point, how):
    await check_failure_at(tmp_path, point, how)


@pytest.mark.reliability
@pytest.mark.timeout(3_600)
async def test_session_continues_after_a_turn_that_failed_at_a_thousand_awaits(tmp_path, figures):
    points = range(1, 501)
    for how in ("stop", "kill the task"):
        for point in points:
            place = tmp_path / f"{how} {point}"
            place.mkdir()
            await check_failure_at(place, point, how)
    figures("awaits", f"{2 * len(points):,} points, all valid, 0 processes")


async def check_failure_at(tmp_path, point, how):
    """Check a session after a turn that was stopped, or whose task was killed, at some point."""
    bench = Bench(tmp_path)
    (bench.workspace / "a.txt").write_text("a cat\n")
    session = await bench.session(Checked(Scripted(SCRIPT)))
    sending = asyncio.create_task(play(session.send("go")))
    await steps(point)
    if how == "stop":
        session.cancel()
    else:
        sending.cancel()
    await asyncio.wait([sending])
    assert not session.busy
    rest = Scripted(SCRIPT[3:])
    session._env.requests.registry.only = Checked(rest)
    await play(session.send("go on"))
    assert session.state.messages[-1].role is Role.ASSISTANT
    assert problems(session) == []
    assert turns_without_one_end(session) == []
    assert orphans(session) == []
    assert await bench.store.pending_call_ids(session.id) == ()
    stored = await bench.store.read(session.id)
    assert list(stored) == session.state.facts
    await session.close()
    await bench.close()


@pytest.mark.parametrize("point", [*range(1, 24), *range(24, 90, 6)])
@pytest.mark.parametrize("how", ["stop", "kill the task"])
@pytest.mark.req("D14")
@pytest.mark.sample(3)
async def test_image_of_a_turn_that_failed_at_any_await_is_stored_if_its_message_is(
    tmp_path, point, how
):
    bench = Bench(tmp_path)
    session = await bench.session(Checked(Scripted([says("A dot.")])))
    sending = asyncio.create_task(play(session.send(PROMPT)))
    await steps(point)
    if how == "stop":
        session.cancel()
    else:
        sending.cancel()
    await asyncio.wait([sending])
    stored = await bench.store.read(session.id)
    before = stored_attachments(bench, stored)
    session._env.requests.registry.only = Checked(Scripted([says("Still a dot.")]))
    await play(session.send(PROMPT))
    assert stored_attachments(bench, await bench.store.read(session.id)) == before + 1
    assert problems(session) == []
    assert turns_without_one_end(session) == []
    await session.close()
    await bench.close()


@pytest.mark.parametrize("point", range(1, 8))
@pytest.mark.req("D14")
async def test_image_of_a_message_that_cannot_be_stored_is_sent_with_the_next_one(tmp_path, point):
    bench = Bench(tmp_path)
    session = await bench.session(Checked(Scripted([says("A dot."), says("A dot.")])))
    log = session.record._log = FailingLog(bench.store, point)
    with suppress(StoreError):  # what is stored during a request is stored with the next fact
        await play(session.send(PROMPT))
        await play(session.send(PROMPT))
    assert log.has_failed
    stored_attachments(bench, await bench.store.read(session.id))
    session._env.requests.registry.only = Checked(Scripted([says("Still a dot.")]))
    await play(session.send(PROMPT))
    assert stored_attachments(bench, await bench.store.read(session.id)) >= 1
    assert problems(session) == []
    assert turns_without_one_end(session) == []
    await session.close()
    await bench.close()


@pytest.mark.req("D14")
async def test_unstorable_image_stores_nothing_and_text_is_still_sent(tmp_path):
    bench = Bench(tmp_path)
    session = await bench.session(Checked(Scripted([says("Fine.")])))
    before = await bench.store.read(session.id)
    (bench.root / "blobs").write_text("in the way")
    with pytest.raises(BlobError, match="cannot be stored"):
        await play(session.send(PROMPT))
    assert await bench.store.read(session.id) == before
    assert not session.busy
    await play(session.send("go"))
    assert session.state.messages[-1].text == "Fine."
    await session.close()
    await bench.close()


class FailingLog:
    """A log that fails once, at the nth write, or at the nth write of a change of files."""

    def __init__(self, log, failing, *, at_change=False):
        self.log, self.left, self.at_change = log, failing, at_change

    async def append(self, *facts):
        is_change = any(isinstance(fact, FilesChanged) for fact in facts)
        self.left -= is_change or not self.at_change
        if self.left == 0 and (is_change or not self.at_change):
            raise StoreError("the disk is full")
        await self.log.append(*facts)

    @property
    def has_failed(self):
        return self.left <= 0


async def set_free_pages(bench, count):
    """Let SQLite report a full disk once the database has so many more pages."""

    def change(database):
        [pages] = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages + count}").fetchone()

    await bench.database.read(change)


async def check_full_disk(tmp_path, room):
    """Play a turn on a disk that is full after some pages and then has space; return the waits."""
    bench = Bench(tmp_path)
    (bench.workspace / "a.txt").write_text("a cat\n" * 500)
    session = await bench.session(Checked(Scripted(SCRIPT)))
    waits, freed = [], []

    def show(is_waiting):
        waits.append(is_waiting)
        if is_waiting:
            freed.append(asyncio.create_task(set_free_pages(bench, 10_000)))

    session.record._space = SpaceWait()
    session.record._space.on_change = show
    await set_free_pages(bench, room)
    visible = await play(session.send("go " * 2_000))
    assert session.state.messages[-1].text == "All of it is done."
    assert problems(session) == []
    assert turns_without_one_end(session) == []
    stored = await bench.store.read(session.id)
    assert list(stored) == session.state.facts
    ids = [fact.id for fact in stored]
    assert len(ids) == len(set(ids))
    assert {each.id for each in visible if getattr(each, "id", None)} <= set(ids)
    assert waits == [True, False] * (len(waits) // 2)
    check = await bench.database.read(lambda db: db.execute("PRAGMA integrity_check").fetchall())
    assert check == [("ok",)]
    await session.close()
    await bench.close()
    return len(waits) // 2


@pytest.mark.parametrize("room", [0, 3, 9])
async def test_turn_on_a_disk_that_is_full_for_a_moment_completes(tmp_path, room, monkeypatch):
    monkeypatch.setattr(space, "RETRY_SECONDS", 0.01)
    assert await check_full_disk(tmp_path, room) == 1


@pytest.mark.reliability
@pytest.mark.timeout(3_600)
async def test_turn_completes_after_a_full_disk_at_any_write(tmp_path, figures, monkeypatch):
    monkeypatch.setattr(space, "RETRY_SECONDS", 0.001)
    room = 0
    while True:
        place = tmp_path / str(room)
        place.mkdir()
        if await check_full_disk(place, room) == 0:
            break
        room += 1
    figures("full disk", f"full at {room} places, all completed, 0 lost, integrity ok")
    assert room > 10


@pytest.mark.parametrize("point", range(2, 18))
async def test_fact_that_cannot_be_stored_is_never_shown_and_the_next_turn_repairs(tmp_path, point):
    bench = Bench(tmp_path)
    (bench.workspace / "a.txt").write_text("a cat\n")
    session = await bench.session(Checked(Scripted(SCRIPT)))
    log = session.record._log = FailingLog(bench.store, point - 1)
    visible = []
    with suppress(StoreError):  # what is stored during a request is stored with the next fact
        async for event in session.send("go"):
            visible.append(event)
        await play(session.send("more"))
    assert log.has_failed
    stored = {fact.id for fact in await bench.store.read(session.id)}
    assert all(fact.id in stored for fact in visible if getattr(fact, "id", None))
    session._env.requests.registry.only = Checked(Scripted(SCRIPT[3:]))
    await play(session.send("go on"))
    assert problems(session) == []
    assert turns_without_one_end(session) == []
    await session.close()
    await bench.close()


@pytest.mark.req("R-TOOL-15")
async def test_a_change_of_a_file_that_cannot_be_recorded_is_not_made(tmp_path):
    bench = Bench(tmp_path)
    (bench.workspace / "a.txt").write_text("a cat\n")
    session = await bench.session(Checked(Scripted(SCRIPT)))
    session.record._log = FailingLog(bench.store, 1, at_change=True)
    await play(session.send("go"))
    await play(session.send("more"))
    failed = [each for each in session.state.facts if isinstance(each, ToolFailed)]
    assert any("cannot be stored for undo" in each.error_message for each in failed)
    assert [each.name for each in bench.workspace.iterdir()] == ["a.txt"]
    assert problems(session) == []
    await session.close()
    await bench.close()
