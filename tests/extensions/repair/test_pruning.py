"""Old sessions and contents without a reference are deleted (R-PER-10)."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from tests.store.turns import FactBuilder, changed
from yourtool.errors import BlobError
from yourtool.extensions.repair.pruning import find_old_sessions, prune
from yourtool.messages.blobs import read_blob, store_blob
from yourtool.messages.blocks import ImageBlock, ImageSource
from yourtool.messages.message import now
from yourtool.paths import resolve_paths
from yourtool.store.unused_contents import MIN_AGE

pytestmark = pytest.mark.req("R-PER-10")


@pytest.fixture
def paths(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    return resolve_paths()


async def store_session(store, *references, days=0):
    """Store a session that was last used some days ago."""
    builder = FactBuilder()
    start, asked = builder.session_start(), builder.turn_start()
    pictures = tuple(ImageBlock(ImageSource("file_ref", each), "image/png") for each in references)
    asked = changed(asked, message=changed(asked.message, content=asked.message.content + pictures))
    past = now() - timedelta(days=days)
    await store.append(*(changed(fact, timestamp=past) for fact in (start, asked)))
    return builder.session_id


def store_old(paths, content):
    reference = store_blob(paths.blobs, content)
    old = (datetime.now(UTC) - MIN_AGE - timedelta(hours=1)).timestamp()
    os.utime(paths.blobs / reference.removeprefix("sha256:"), (old, old))
    return reference


def is_stored(paths, reference):
    try:
        return bool(read_blob(paths.blobs, reference))
    except BlobError:
        return False


async def test_sessions_are_old_by_their_last_use_but_the_last_ones_stay(store):
    old, older, oldest = [await store_session(store, days=days) for days in (10, 20, 30)]

    async def found(days, keep=None):
        before = None if days is None else now() - timedelta(days=days)
        return [each.id for each in await find_old_sessions(store, before, keep)]

    assert await found(15) == [older, oldest]
    assert await found(5, keep=1) == [older, oldest]
    assert await found(25, keep=1) == [oldest]
    assert await found(None, keep=2) == [oldest]
    assert await found(None) == []
    assert old in [each.id for each in await store.list()]


async def test_contents_stay_while_a_session_refers_to_them(store, paths):
    own, shared, unused = [store_old(paths, content) for content in (b"own", b"shared", b"unused")]
    fresh = store_blob(paths.blobs, b"fresh")
    gone = await store_session(store, own, shared, days=30)
    await store_session(store, shared)
    old = await find_old_sessions(store, now() - timedelta(days=7), None)
    trial = await prune(store, paths, old, now(), is_trial=True)
    assert ([each.id for each in trial.sessions], trial.contents) == ([gone], 1)
    assert all(is_stored(paths, each) for each in (own, shared, unused, fresh))
    pruned = await prune(store, paths, old, now(), is_trial=False)
    assert ([each.id for each in pruned.sessions], pruned.contents) == ([gone], 2)
    assert pruned.content_bytes == len(b"own" + b"unused")
    stored = [is_stored(paths, each) for each in (own, shared, unused, fresh)]
    assert stored == [False, True, False, True]
    assert len(await store.list()) == 1


async def test_open_session_stays(store, paths):
    session_id = await store_session(store, days=30)
    lease = store.lease(session_id)
    old = await find_old_sessions(store, now(), None)
    assert (await prune(store, paths, old, now(), is_trial=False)).busy == (session_id,)
    lease.release()
    assert len(await store.list()) == 1


async def test_content_that_is_stored_again_stays(store, paths):
    reference = store_old(paths, b"again")
    store_blob(paths.blobs, b"again")
    assert (await prune(store, paths, (), now(), is_trial=False)).contents == 0
    assert is_stored(paths, reference)
