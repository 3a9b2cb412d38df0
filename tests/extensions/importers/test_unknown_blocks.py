"""Blocks of unknown kinds stay with the session, and no model gets them (R-SEED-06)."""

import json

import pytest

from tests.agent.harness import Bench, Checked, play
from tests.store.memory import MemoryStore
from yourtool.agent.history.state import State
from yourtool.events.catalog import message_of
from yourtool.extensions.importers.importing import import_foreign
from yourtool.extensions.importers.parts import MAX_UNKNOWN_BYTES
from yourtool.extensions.importers.source import Source
from yourtool.messages.message import Role
from yourtool.providers.scripted import Scripted, says
from yourtool.store.exports import from_jsonl, to_jsonl
from yourtool.store.forks import import_session
from yourtool.store.pi_export import to_pi

find_problems = pytest.importorskip("yourtool.extensions.repair.checks").find_problems

pytestmark = pytest.mark.req("R-SEED-06")

HOLOGRAM = {"type": "hologram", "depth": 3, "code": "canary-block", "parts": [{"at": 1.5}]}
PLACE = "[unknown block `hologram`]"
AT = "2026-04-03T09:00:00.000Z"


def pi(block):
    asked = {"role": "user", "content": [{"type": "text", "text": "look"}, block]}
    reply = {
        "role": "assistant",
        "content": [block, {"type": "text", "text": "I see."}, block],
        "provider": "openai",
        "model": "gpt",
        "stopReason": "stop",
    }
    return [
        {"type": "session", "version": 3, "id": "s", "timestamp": AT, "cwd": "/x"},
        {"type": "message", "id": "a", "parentId": None, "timestamp": AT, "message": asked},
        {"type": "message", "id": "b", "parentId": "a", "timestamp": AT, "message": reply},
    ]


def claude_code(block):
    line = {"sessionId": "s", "cwd": "/x", "timestamp": AT}
    asked = {"role": "user", "content": [{"type": "text", "text": "look"}, block]}
    said = [block, {"type": "text", "text": "I see."}, block]
    reply = {"id": "m", "role": "assistant", "model": "claude", "content": said}
    return [
        {**line, "type": "user", "uuid": "a", "parentUuid": None, "message": asked},
        {**line, "type": "assistant", "uuid": "b", "parentUuid": "a", "message": reply},
    ]


def codex(block):
    def item(**payload):
        return {"timestamp": AT, "type": "response_item", "payload": payload}

    asked = [{"type": "input_text", "text": "look"}, block]
    said = [{"type": "output_text", "text": "I see."}]
    call = {**block, "type": f"{block['type']}_call"}
    return [
        {"timestamp": AT, "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}},
        item(type="message", role="user", content=asked),
        item(**call),
        item(type="message", role="assistant", content=said),
        item(**call),
    ]


async def take(store, lines, root):
    content = "\n".join(map(json.dumps, lines)).encode()
    return await import_foreign(store, Source(content), "x", root, root / "blobs")


def blocks_of(facts):
    """Return the unknown blocks of the prompt and of the reply."""
    messages = [each for each in map(message_of, facts) if each is not None]
    return [each.metadata.import_source.extra["unknown_blocks"] for each in messages]


@pytest.mark.parametrize("file", [pi, claude_code, codex])
async def test_unknown_block_is_stored_and_exported_but_never_sent(file, tmp_path):
    bench = Bench(tmp_path)
    outcome = await take(bench.store, file(HOLOGRAM), bench.workspace)
    facts = await bench.store.read(outcome.session_id)
    asked, replied = blocks_of(facts)
    assert asked == [HOLOGRAM] and len(replied) == 2
    assert all({**each, "type": "hologram"} == HOLOGRAM for each in replied)
    assert any("hologram" in loss and "no model gets" in loss for loss in outcome.losses)
    lines = list(to_jsonl(facts, lambda text: text, tmp_path / "blobs"))
    copy = await import_session(MemoryStore(), from_jsonl(lines, tmp_path), tmp_path)
    assert copy == outcome.session_id
    assert blocks_of(from_jsonl(lines, tmp_path)) == [asked, replied]
    adapter = Checked(Scripted([says("Go on.")]))
    session = await bench.session(adapter, resume=outcome.session_id)
    assert session.state.messages[0].text.endswith(PLACE)
    await play(session.send("and now?"))
    assert "canary-block" not in repr([each.content for each in adapter.requests[-1].messages])
    assert list(find_problems(await bench.store.read(session.id), tmp_path / "blobs")) == []
    await session.close()


async def test_unknown_block_of_pi_is_in_its_place_in_an_export_for_pi(tmp_path):
    store = MemoryStore()
    outcome = await take(store, pi(HOLOGRAM), tmp_path)
    facts = await store.read(outcome.session_id)
    lines = [json.loads(line) for line in to_pi(facts, lambda text: text, tmp_path)]
    contents = [line["message"]["content"] for line in lines if line["type"] == "message"]
    assert contents == [each["message"]["content"] for each in pi(HOLOGRAM)[1:]]
    masked = b"".join(to_pi(facts, lambda text: text.replace("canary-block", "***"), tmp_path))
    assert b"canary-block" not in masked and b'"***"' in masked
    again = MemoryStore()
    outcome = await take(again, lines, tmp_path)
    assert blocks_of(await again.read(outcome.session_id)) == blocks_of(facts)


@pytest.mark.parametrize(
    "content", ["x" * (MAX_UNKNOWN_BYTES + 1), {"a": [[[[]]]]}, "\ud800", 1e308]
)
async def test_large_or_odd_unknown_block_is_at_least_named(content, tmp_path):
    store = MemoryStore()
    outcome = await take(store, pi({"type": "hologram", "content": content}), tmp_path)
    state = State()
    await store.replay(outcome.session_id, state.apply)
    [asked, replied] = state.messages
    assert asked.text.endswith(PLACE) and replied.role is Role.ASSISTANT
    size = len(repr(asked.metadata.import_source.extra))
    assert size < MAX_UNKNOWN_BYTES * 2
