"""What is deleted leaves a record without content, and unused sessions can be deleted."""

from datetime import timedelta

import pytest

from tests.store.memory import MemoryStore
from tests.store.turns import PROMPT, FactBuilder, changed
from yourtool.agent.history.retention import delete_unused_sessions
from yourtool.errors import SessionNotFoundError
from yourtool.events.branches import BranchLabelled
from yourtool.events.files import FilesChanged
from yourtool.foundation.file_images import ABSENT_FILE, FileImage, RecordedChange
from yourtool.ids import new_id
from yourtool.messages.message import now
from yourtool.paths import resolve_paths
from yourtool.store.edits import delete_session, rename

USER = "usr_01M85F2RMG2JJ6QSCWQX2N5C33"


@pytest.fixture
def paths(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    return resolve_paths()


@pytest.fixture(params=["sqlite", "memory"])
def any_store(request, store):
    return store if request.param == "sqlite" else MemoryStore()


async def store_session(store, days=0, user=None, worker_of=None):
    """Store a session of one turn that was last used some days ago."""
    builder = FactBuilder()
    start = builder.session_start() if worker_of is None else builder.session_start(worker_of)
    facts = [start, *builder.turn()]
    if user is not None:
        facts = [with_user(fact, user) for fact in facts]
    past = now() - timedelta(days=days)
    await store.append(*(changed(fact, timestamp=past) for fact in facts))
    return builder.session_id


def with_user(fact, user):
    message = getattr(fact, "message", None)
    if not message:
        return fact
    metadata = changed(message.metadata, user_id=user)
    return changed(fact, message=changed(message, metadata=metadata))


@pytest.mark.parametrize("is_absolute", [True, False])
async def test_path_in_place_of_a_digest_deletes_no_file(store, paths, is_absolute):
    directory, victim = paths.blobs / "files", paths.blobs.parent / "victim"
    directory.mkdir(parents=True)
    victim.write_text("mine")
    digest = str(victim) if is_absolute else "../../victim"
    builder = FactBuilder()
    image = FileImage("file", digest=digest, stored=True)
    change = RecordedChange(path="a.txt", before=image, after=ABSENT_FILE)
    fact = builder.fact(FilesChanged, tool_use_id="", changes=(change,))
    await store.append(builder.session_start(), *builder.turn(), fact)
    await delete_session(store, builder.session_id, paths)
    assert victim.read_text() == "mine"


@pytest.mark.req("R-CRD-06")
async def test_each_removal_has_one_record_without_content(store, paths, path):
    session_id, other = await store_session(store), await store_session(store)
    worker = await store_session(store, worker_of=session_id)
    count = len(await store.read(session_id))
    assert await store.removals() == ()
    before = now()
    await delete_session(store, session_id, paths)
    await delete_session(store, other, paths, "pruned")
    with pytest.raises(SessionNotFoundError):
        await delete_session(store, other, paths)
    last, *first = await store.removals()
    assert (last.subject, last.reason) == (other, "pruned")
    assert {each.subject for each in first} == {session_id, worker}
    assert all(before <= each.removed_at <= now() for each in (last, *first))
    assert all(0 < each.messages < count for each in (last, *first))
    await store.close()
    content = path.read_bytes()
    assert PROMPT.encode() not in content and session_id.encode() in content


@pytest.mark.req("R-CRD-06")
async def test_forgotten_user_is_in_no_message_and_the_rest_is_unchanged(store, path):
    session_id = await store_session(store, user=USER)
    other = await store_session(store, user="usr_other")
    expected = [with_user(fact, None) for fact in await store.read(session_id)]
    unchanged = await store.read(other)
    count = await store.count_user(USER)
    assert count > 2
    assert await store.forget_user(USER) == count
    assert list(await store.read(session_id)) == expected
    assert await store.read(other) == unchanged
    assert await store.find_damage(session_id) == ()
    assert await store.count_user(USER) == await store.forget_user(USER) == 0
    again, first = await store.removals()
    assert (again.reason, again.messages, first.messages) == ("forgotten", 0, count)
    assert again.subject == first.subject and again.subject.startswith("redacted_")
    await store.close()
    assert USER.encode() not in path.read_bytes()


@pytest.mark.req("R-PER-10")
async def test_unused_sessions_are_deleted_but_not_open_named_or_labelled_ones(any_store, paths):
    old, opened, named, labelled = [await store_session(any_store, days=40) for _ in range(4)]
    fresh = await store_session(any_store, days=10)
    await store_session(any_store, days=40, worker_of=fresh)
    await rename(any_store, named, "The plan")
    label = BranchLabelled(target=(await any_store.list())[0].id, label="here")
    past = now() - timedelta(days=40)
    await any_store.append(changed(label, id=new_id(), timestamp=past, session_id=labelled))
    lease = any_store.lease(opened)
    assert await delete_unused_sessions(any_store, paths, 0) is None
    notice = await delete_unused_sessions(any_store, paths, 30)
    assert notice.text == "1 session was deleted: not used for 30 days (`[sessions] keep_days`)."
    assert await delete_unused_sessions(any_store, paths, 30) is None
    lease.release()
    assert {each.id for each in await any_store.list()} == {opened, named, labelled, fresh}
    assert len(await any_store.list(workers=True)) == 5
    with pytest.raises(SessionNotFoundError):
        await any_store.read(old)


async def test_deletion_of_unused_sessions_is_recorded(store, paths):
    session_id = await store_session(store, days=2)
    await delete_unused_sessions(store, paths, 1)
    [record] = await store.removals()
    assert (record.subject, record.reason) == (session_id, "retention")
