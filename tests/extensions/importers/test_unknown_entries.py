"""Entries of unknown kinds stay with the session, and no model gets them (R-SEED-06)."""

import json

import pytest

from tests.store.memory import MemoryStore
from yourtool.agent.history.state import State
from yourtool.events.catalog import message_of
from yourtool.events.sessions import EntryImported
from yourtool.extensions.importers import parts
from yourtool.extensions.importers.importing import import_foreign
from yourtool.extensions.importers.source import Source
from yourtool.store.exports import from_jsonl, to_jsonl
from yourtool.store.pi_export import to_pi

find_problems = pytest.importorskip("yourtool.extensions.repair.checks").find_problems

pytestmark = pytest.mark.req("R-SEED-06")
AT = "2026-04-03T09:00:00.000Z"
EXTRA = {"code": "canary-entry", "parts": [{"at": 1.5}]}


def pi():
    def line(kind, own, parent, **fields):
        return {"type": kind, "id": own, "parentId": parent, "timestamp": AT, **fields}

    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {}}
    reply = {"role": "assistant", "content": [call], "provider": "openai", "model": "gpt"}
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "x"}
    return [
        {"type": "session", "version": 3, "id": "s", "timestamp": AT, "cwd": "/x"},
        line("message", "a", None, message={"role": "user", "content": "look"}),
        line("message", "b", "a", message=reply),
        line("hologram", "h", "b", **EXTRA),
        line("message", "r", "h", message=result),
        line("custom", "k", "r", customType="todo", data=EXTRA),
    ]


def claude_code():
    def line(kind, own, parent, **fields):
        given = {"sessionId": "s", "timestamp": AT, "uuid": own, "parentUuid": parent}
        return {**given, "type": kind, **fields}

    def reply(call):
        use = {"type": "tool_use", "id": call, "name": "Read", "input": {}}
        return {"id": "m", "role": "assistant", "model": "claude", "content": [use]}

    def result(call):
        found = {"type": "tool_result", "tool_use_id": call, "content": "x"}
        return {"role": "user", "content": [found]}

    return [
        line("user", "a", None, message={"role": "user", "content": "look"}),
        line("assistant", "b", "a", message=reply("1")),
        line("hologram", "h", "b", **EXTRA),
        line("system", "n", "h", content="A notice."),
        line("progress", "p", "b"),
        line("assistant", "c", "b", message=reply("2")),
        line("user", "r", "b", message=result("1")),
        line("user", "q", "c", message=result("2")),
    ]


def codex():
    def item(**payload):
        return {"timestamp": AT, "type": "response_item", "payload": payload}

    return [
        {"timestamp": AT, "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}},
        item(type="message", role="user", content=[{"type": "input_text", "text": "look"}]),
        item(type="function_call", call_id="1", name="shell", arguments="{}"),
        item(type="hologram", **EXTRA),
        {"timestamp": AT, "type": "beam", "payload": EXTRA},
        item(type="function_call_output", call_id="1", output="x"),
    ]


def attocode():
    said = [{"role": "user", "content": "look"}, {"role": "oracle", "content": "canary-entry"}]
    return [
        {"timestamp": AT, "type": "checkpoint", "data": {"messages": said}},
        {"timestamp": AT, "type": "hologram", "data": EXTRA},
    ]


def operator_use():
    def line(kind, own, parent, **fields):
        return {"type": kind, "id": own, "parent_id": parent, "timestamp": 1.0, **fields}

    asked = {"role": "user", "contents": [{"type": "text", "content": "look"}]}
    return [
        {"type": "session", "version": 3, "id": "s", "timestamp": 1.0, "cwd": "/x"},
        line("message", "a", None, message=asked),
        line("hologram", "h", "a", **EXTRA),
    ]


def suna():
    def row(kind, content, is_llm_message):
        return {
            "message_id": kind, "thread_id": "t", "type": kind, "content": content,
            "is_llm_message": is_llm_message, "metadata": {}, "created_at": AT,
        }  # fmt: skip

    return [row("user", {"role": "user", "content": "look"}, True), row("hologram", EXTRA, False)]


KINDS = {
    pi: ["hologram", "custom"],
    claude_code: ["hologram"],
    codex: ["hologram", "beam"],
    attocode: ["hologram", "oracle"],
    operator_use: ["hologram"],
    suna: ["hologram"],
}


async def take(store, lines, place):
    is_document = "thread_id" in lines[0]
    rows = [json.dumps(each).encode() for each in lines]
    content = json.dumps(lines).encode() if is_document else b"\n".join(rows)
    outcome = await import_foreign(store, Source(content), "s", place, place / "blobs")
    return outcome, await store.read(outcome.session_id)


def entries(facts):
    return [fact for fact in facts if isinstance(fact, EntryImported)]


@pytest.mark.parametrize("build", KINDS, ids=lambda build: build.__name__)
async def test_unknown_entry_is_stored_reported_and_never_sent(build, tmp_path):
    outcome, facts = await take(MemoryStore(), build(), tmp_path)
    found = entries(facts)
    assert sorted(each.kind for each in found) == sorted(KINDS[build])
    assert all("canary-entry" in each.text for each in found)
    assert all(
        any(f"`{kind}`, which no" in loss for loss in outcome.losses) for kind in KINDS[build]
    )
    state = State()
    for fact in facts:
        state.apply(fact)
    assert "canary-entry" not in repr(state.messages) + repr(state.sent_messages)
    assert state.turn_count == 1
    assert list(find_problems(facts, tmp_path / "blobs")) == []
    assert not any(
        "result of a call" in loss or "without a call" in loss for loss in outcome.losses
    )
    lines = b"".join(to_jsonl(facts, str, tmp_path)).splitlines()
    again = from_jsonl(lines, tmp_path / "blobs")
    assert [each.text for each in entries(again)] == [each.text for each in found]


@pytest.mark.parametrize("build", KINDS, ids=lambda build: build.__name__)
async def test_unknown_entry_survives_an_export_for_pi_and_its_import(build, tmp_path):
    _, facts = await take(MemoryStore(), build(), tmp_path)
    exported = [json.loads(line) for line in to_pi(facts, str, tmp_path / "blobs")]
    if build is pi:
        kept = [{k: v for k, v in each.items() if k not in ("id", "parentId")} for each in exported]
        assert {"type": "hologram", "timestamp": AT, **EXTRA} in kept
    _, again = await take(MemoryStore(), exported, tmp_path)

    def content(each):
        raw = json.loads(each.text)
        own = ("id", "parentId")
        return each.system, each.kind, {k: v for k, v in raw.items() if k not in own}

    assert list(map(content, entries(again))) == list(map(content, entries(facts)))
    messages = [m for m in map(message_of, facts) if m is not None]
    others = [m for m in map(message_of, again) if m is not None]
    assert [(m.role, m.text) for m in messages] == [(m.role, m.text) for m in others]


@pytest.mark.parametrize(
    ("limit", "value"), [("MAX_UNKNOWN_BYTES", 60), ("MAX_UNKNOWN_ENTRIES_BYTES", 250)]
)
async def test_unknown_entries_above_a_limit_are_only_named(tmp_path, monkeypatch, limit, value):
    monkeypatch.setattr(parts, limit, value)
    outcome, facts = await take(MemoryStore(), pi(), tmp_path)
    assert len(entries(facts)) < 2
    assert any("too large to store" in loss for loss in outcome.losses)
