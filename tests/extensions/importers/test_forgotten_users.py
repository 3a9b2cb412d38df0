"""A user who is forgotten is in nothing that an import stored."""

import json

import pytest

from yourtool.events.sessions import EntryImported
from yourtool.extensions.importers.importing import import_foreign
from yourtool.extensions.importers.source import Source
from yourtool.messages.blocks import canonical_json

USER = "usr_01M85F2RMG2JJ6QSCWQX2N5C33"


@pytest.mark.req("R-CRD-06", "R-SEED-06")
async def test_forgotten_user_is_in_no_imported_entry_and_no_unknown_block(store, path, tmp_path):
    at = "2026-04-03T09:00:00.000Z"
    own = {"owner": USER, "by": [USER, "other"], "names": {USER: 1, "other": 1.50}, "code": 2**60}
    block = {"type": "hologram", "depth": 1, **own}
    asked = {"role": "user", "content": [{"type": "text", "text": f"I am {USER}x"}, block]}
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": at, "cwd": "/x"},
        {"type": "message", "id": "a", "parentId": None, "timestamp": at, "message": asked},
        {"type": "beam", "id": "b", "parentId": "a", "timestamp": at, **own},
        {"type": "beam", "id": "c", "parentId": "b", "timestamp": at, "owner": "other"},
    ]
    content = b"\n".join(canonical_json(each) for each in lines)
    outcome = await import_foreign(store, Source(content), "s", tmp_path, tmp_path / "blobs")
    before = await store.read(outcome.session_id)
    assert await store.count_user(USER) == 2
    assert await store.forget_user(USER) == 2
    after = await store.read(outcome.session_id)
    rest = {"owner": None, "by": [None, "other"], "names": {"other": 1.5}, "code": 2**60}
    [message] = [fact.message for fact in after if getattr(fact, "message", None)]
    assert message.metadata.import_source.extra == {
        "unknown_blocks": [{"type": "hologram", "depth": 1, **rest}]
    }
    assert message.text.startswith(f"I am {USER}x")
    first, second = [fact for fact in after if isinstance(fact, EntryImported)]
    assert json.loads(first.text).items() >= rest.items()
    assert second in before
    assert await store.find_damage(outcome.session_id) == ()
    assert await store.count_user(USER) == 0
    await store.close()
    assert path.read_bytes().count(USER.encode()) == path.read_bytes().count(f"{USER}x".encode())
