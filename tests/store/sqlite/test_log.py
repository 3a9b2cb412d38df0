import json
import logging
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.turns import MODEL, PROMPT, FactBuilder, changed, tool_call
from tests.strategies import histories
from yourtool.errors import InvalidMessageError, SessionNotFoundError, StoreError
from yourtool.events.catalog import FACT_TYPES
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.sessions import SessionModelSelected
from yourtool.events.tools import ToolFailed
from yourtool.events.turns import TurnStarted
from yourtool.ids import is_ulid, new_id
from yourtool.messages.blocks import TextBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import ReplyMessage, Role
from yourtool.messages.metadata import (
    MessageStatus,
    PromptMetadata,
    ReplyMetadata,
    ResultMetadata,
)
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore


@pytest.mark.req("R-PER-04")
async def test_appended_facts_are_read_back_equal_by_another_process(path, store):
    builder = FactBuilder()
    facts = (builder.session_start(), *builder.turn(), *builder.turn())
    for fact in facts:
        await store.append(fact)
    await store.database.close()
    again = Database(path)
    assert await SqliteStore(again).read(builder.session_id) == facts
    await again.close()


@settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)
@given(history=histories())
@pytest.mark.req("R-CAN-01")
@pytest.mark.remaining
async def test_any_valid_conversation_is_read_back_equal_and_in_order(tmp_path_factory, history):
    database = Database(tmp_path_factory.mktemp("db") / "sessions.db")
    store, builder = SqliteStore(database), FactBuilder(history[0].session_id)
    await store.append(builder.session_start())
    for message in history:
        await store.append(_bringing(builder, message))
    read = [
        fact.message for fact in await store.read(builder.session_id) if hasattr(fact, "message")
    ]
    assert tuple(read) == history
    assert [each.metadata.provider_raw for each in read if isinstance(each, ReplyMessage)] == [
        each.metadata.provider_raw for each in history if isinstance(each, ReplyMessage)
    ]
    assert validate_session(read) == []
    assert await store.pending_call_ids(builder.session_id) == ()
    await database.close()


def _bringing(builder, message):
    """Return the fact that adds a message to a session."""
    match message.role:
        case Role.USER:
            return changed(builder.turn_start(), message=message)
        case Role.ASSISTANT:
            return changed(builder.reply(), message=message)
        case _:
            use = tool_call()
            done = builder.tool_result(use)
            return changed(done, tool_use_id=message.result.tool_use_id, message=message)


def _broken(builder):
    """Return one invalid complete message for each rule that a message can violate."""
    said, use = builder.reply(TextBlock("hello")), tool_call()
    metadata = said.message.metadata

    def reply(**fields):
        lacking = changed(metadata, **fields)
        return changed(said, message=changed(said.message, metadata=lacking))

    asked = builder.turn_start()
    result = builder.tool_result(use)
    return {
        "M1": changed(asked, message=changed(asked.message, content=())),
        "M3": changed(asked, message=changed(asked.message, content=(use,))),
        "D1": reply(provider=None),
        "D2": reply(routing=None),
        "D3": reply(usage=None),
        "D4": changed(result, message=changed(result.message, metadata=ResultMetadata())),
        "T2": changed(asked, message=changed(asked.message, session_id="sess_other")),
    }


@pytest.mark.parametrize("code", ["M1", "M3", "D1", "D2", "D3", "D4", "T2"])
@pytest.mark.req("R-CAN-04")
async def test_invalid_complete_message_is_rejected_and_nothing_is_written(store, rows, code):
    builder = FactBuilder()
    await store.append(builder.session_start())
    before = rows("SELECT * FROM sessions"), rows("SELECT * FROM events")
    with pytest.raises(InvalidMessageError, match=code):
        await store.append(builder.route(), _broken(builder)[code])
    assert (rows("SELECT * FROM sessions"), rows("SELECT * FROM events")) == before
    assert rows("SELECT count(*) FROM messages") == [(0,)]


@pytest.mark.req("R-CAN-04")
async def test_partial_message_is_not_validated(store, rows):
    builder = FactBuilder()
    asked = builder.turn_start()
    empty = changed(
        asked.message, content=(), metadata=PromptMetadata(status=MessageStatus.PARTIAL)
    )
    await store.append(builder.session_start(), changed(asked, message=empty))
    assert rows("SELECT count(*) FROM messages") == [(1,)]


async def test_result_of_an_unknown_call_is_rejected(store):
    builder, first, second = FactBuilder(), tool_call(), tool_call()
    await store.append(builder.session_start(), builder.turn_start(), builder.reply(first, second))
    swapped = changed(builder.tool_result(first), message=builder.result_message(second, "fine"))
    with pytest.raises(InvalidMessageError, match=f"not the result of `{first.id}`"):
        await store.append(swapped)


@pytest.mark.req("R-PER-03")
async def test_call_is_pending_until_its_result_is_stored(store, rows):
    builder = FactBuilder()
    uses = [
        tool_call("shell"),
        tool_call("read_file"),
        tool_call("edit_file"),
        tool_call("glob"),
        tool_call("grep"),
    ]
    good, bad, failing, stopped, open_ = uses
    await store.append(builder.session_start(), builder.turn_start())
    reply = builder.reply(*uses)
    await store.append(reply)
    assert rows("SELECT DISTINCT status, completed_at, result_message_id FROM tool_calls") == [
        ("pending", None, None)
    ]
    results = (
        builder.tool_result(good),
        builder.tool_result(bad, success=False),
        builder.tool_failure(failing),
        builder.tool_failure(stopped, "cancelled"),
    )
    await store.append(*results)
    assert rows("SELECT name, status, result_message_id FROM tool_calls ORDER BY id") == [
        ("shell", "succeeded", results[0].message.id),
        ("read_file", "failed", results[1].message.id),
        ("edit_file", "failed", results[2].message.id),
        ("glob", "cancelled", results[3].message.id),
        ("grep", "pending", None),
    ]
    assert rows("SELECT DISTINCT message_id FROM tool_calls") == [(reply.message.id,)]
    assert await store.pending_call_ids(builder.session_id) == (open_.id,)


@pytest.mark.parametrize("again", ["tool_result", "tool_failure"])
@pytest.mark.req("R-PER-03")
async def test_second_result_is_rejected_and_nothing_is_written(store, rows, again):
    builder, use = FactBuilder(), tool_call()
    await store.append(
        builder.session_start(), builder.turn_start(), builder.reply(use), builder.tool_result(use)
    )
    tables = ("events", "messages", "tool_calls", "sessions")
    before = [rows(f"SELECT * FROM {table}") for table in tables]
    with pytest.raises(StoreError, match=f"`{use.id}` was not stored"):
        await store.append(builder.route(), getattr(builder, again)(use))
    assert [rows(f"SELECT * FROM {table}") for table in tables] == before


@pytest.mark.req("R-PER-03")
async def test_result_for_a_call_of_another_session_is_rejected(store):
    mine, theirs, use = FactBuilder(), FactBuilder(), tool_call()
    await store.append(
        mine.session_start(), theirs.session_start(), theirs.turn_start(), theirs.reply(use)
    )
    with pytest.raises(StoreError, match="was not stored"):
        await store.append(mine.tool_result(use))


async def test_failed_request_stores_the_partial_reply(store, rows):
    builder, use = FactBuilder(), tool_call()
    begin = builder.session_start(), builder.turn_start()
    message = builder.message(
        Role.ASSISTANT, (TextBlock("half a"), use), ReplyMetadata(status=MessageStatus.CANCELLED)
    )
    fact = builder.broken(message=message)
    await store.append(*begin, fact)
    assert (await store.read(builder.session_id))[-1] == fact
    assert await store.pending_call_ids(builder.session_id) == (use.id,)


async def test_provider_ids_are_stored(store):
    builder, named, unnamed = FactBuilder(), tool_call(), tool_call()
    await store.append(
        builder.session_start(),
        builder.turn_start(),
        builder.reply(named),
        builder.tool_result(named),
        builder.reply(unnamed, wire_ids=False),
    )
    assert await store.provider_call_ids(builder.session_id) == (
        (named.id, "anthropic", f"toolu_{named.id[-6:]}"),
    )


async def test_selected_model_is_that_of_the_last_selection(store, rows):
    builder = FactBuilder()
    await store.append(changed(builder.session_start(), initial_active_model="demo:tour"))
    for model in ("openai:gpt-5", None, MODEL):
        await store.append(builder._fact(SessionModelSelected, model=model))
        assert rows("SELECT active_model FROM sessions") == [(model,)]


async def test_facts_of_a_session_that_was_not_created_are_rejected(store, rows):
    with pytest.raises(SessionNotFoundError, match="no session `sess_"):
        await store.append(FactBuilder().turn_start())
    assert rows("SELECT count(*) FROM messages") == [(0,)]


async def test_reading_an_unknown_session_raises(store):
    with pytest.raises(SessionNotFoundError, match="`sess_nobody`"):
        await store.read("sess_nobody")


async def test_fact_without_an_id_is_rejected(store):
    with pytest.raises(StoreError, match="without an id"):
        await store.append(changed(FactBuilder().session_start(), id=""))


async def test_duplicate_fact_id_is_rejected(store):
    builder = FactBuilder()
    created = builder.session_start()
    await store.append(created)
    with pytest.raises(StoreError, match=r"UNIQUE constraint failed: events\.id"):
        await store.append(changed(builder.route(), id=created.id))


async def test_message_content_is_stored_once_and_not_in_events(store, rows):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn(output="contents of a file"))
    payloads = [row[0] for row in rows("SELECT payload_json FROM events")]
    for text in (PROMPT, "let me see", "contents of a file", "done"):
        assert not any(text in payload for payload in payloads)
        assert rows("SELECT count(*) FROM messages WHERE instr(content_json, ?)", text) == [(1,)]
    stored = {row[0] for row in rows("SELECT id FROM messages")}
    named = {json.loads(payload).get("message_id") for payload in payloads} - {None}
    assert named == stored


@pytest.mark.req("R-EVT-04")
async def test_events_are_stored_with_the_privacy_of_their_type(store, rows):
    builder, use = FactBuilder(), tool_call()
    other = tool_call()
    await store.append(
        builder.session_start(), *builder.turn(), builder.turn_start(), builder.reply(use, other)
    )
    await store.append(
        builder.tool_start(use), builder.tool_failure(use), builder.tool_failure(other)
    )
    recorded = rows("SELECT DISTINCT type, actor, sensitivity FROM events")
    assert len(recorded) > 8
    for name, actor, sensitivity in recorded:
        assert (actor, sensitivity) == (FACT_TYPES[name].actor, FACT_TYPES[name].sensitivity)


@pytest.mark.req("R-EVT-02")
async def test_parent_ids_lead_from_every_event_to_the_start_of_its_turn(store):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn(), *builder.turn())
    facts = {fact.id: fact for fact in await store.read(builder.session_id)}
    turns = [fact for fact in facts.values() if fact.turn_id is not None]
    for fact in turns:
        root = fact
        while root.parent_event_id in facts:
            assert root.parent_event_id < root.id  # parents are earlier, so the walk ends
            root = facts[root.parent_event_id]
        assert isinstance(root, TurnStarted)
        assert root.turn_id == fact.turn_id


@pytest.mark.req("R-CAN-11")
async def test_rows_of_a_later_version_do_not_affect_other_rows(store, rows, caplog):
    builder = FactBuilder()
    await store.append(builder.session_start(), builder.turn_start())
    answered = builder.reply(TextBlock("hello"))
    await store.append(answered, builder.turn_end())
    content = [{"type": "hologram", "data": 1}, {"type": "text", "text": "hello"}]
    rows(
        "UPDATE messages SET content_json = ?, metadata_json = json_set(metadata_json,"
        " '$.mood', 'blue', '$.stop_reason', 'bored') WHERE id = ?",
        json.dumps(content),
        answered.message.id,
    )
    caplog.clear()
    facts = await store.read(builder.session_id)
    assert [type(fact).__name__ for fact in facts] == [
        "SessionCreated",
        "TurnStarted",
        "LlmCallCompleted",
        "TurnCompleted",
    ]
    assert facts[2].message.content == (TextBlock("hello"),)
    assert facts[2].message.metadata == changed(answered.message.metadata, stop_reason=None)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 2, "one for the block, one for the fields"
    assert "hologram" in caplog.text
    assert "['mood', 'stop_reason']" in caplog.text


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET type = 'skill.loaded' WHERE type = 'route.decided'",
        "UPDATE events SET payload_json = '{}' WHERE type = 'route.decided'",
        "UPDATE events SET payload_json = '[' WHERE type = 'route.decided'",
    ],
)
@pytest.mark.req("R-CAN-11")
async def test_unknown_event_is_skipped_with_one_warning(store, rows, caplog, damage):
    builder = FactBuilder()
    facts = (builder.session_start(), *builder.turn())
    await store.append(*facts)
    rows(damage)
    assert await store.read(builder.session_id) == tuple(
        fact for fact in facts if type(fact).__name__ != "RouteDecided"
    )
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "damage", ["role = 'narrator'", 'content_json = \'[{"type": "text"}]\'', "content_json = '{'"]
)
@pytest.mark.req("R-CAN-11")
async def test_only_the_unreadable_message_is_skipped(store, rows, caplog, damage):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    [last] = rows("SELECT max(id) FROM messages")
    rows(f"UPDATE messages SET {damage} WHERE id = ?", *last)
    facts = await store.read(builder.session_id)
    assert len(facts) == 9
    assert sum(isinstance(fact, LlmCallCompleted) for fact in facts) == 1
    assert "skipped message" in caplog.text


@pytest.mark.req("R-CAN-12")
async def test_old_row_is_rewritten_only_by_an_explicit_save(store, rows):
    builder = FactBuilder()
    created, asked = builder.session_start(), builder.turn_start()
    await store.append(created, asked)
    rows("UPDATE messages SET schema_version = 0")
    message = (await store.read(builder.session_id))[-1].message
    assert message == asked.message
    assert message.schema_version == 1
    assert rows("SELECT schema_version FROM messages") == [(0,)]
    await store.update_messages(message)
    assert rows("SELECT schema_version FROM messages") == [(1,)]


async def test_save_validates_like_append(store, rows):
    builder = FactBuilder()
    asked = builder.turn_start()
    await store.append(builder.session_start(), asked)
    before = rows("SELECT * FROM messages")
    with pytest.raises(InvalidMessageError, match="M1"):
        await store.update_messages(changed(asked.message, content=()))
    with pytest.raises(StoreError, match="no message"):
        await store.update_messages(asked.message, builder.message(Role.USER, (TextBlock("new"),)))
    assert rows("SELECT * FROM messages") == before


async def test_characters_that_utf_8_cannot_encode_are_replaced(store):
    builder = FactBuilder()
    use = tool_call("shell", command="ls \udcff", flags={"\ud800": ["a\udfffb", 2**70]})
    await store.append(
        builder.session_start(), builder.turn_start("caf\udce9 \0 \N{SNOWMAN}"), builder.reply(use)
    )
    await store.append(builder.tool_result(use, "out \ud83d put", files_modified=("a\udcffb",)))
    _, asked, answered, done = await store.read(builder.session_id)
    assert asked.message.text == "caf\N{REPLACEMENT CHARACTER}  \N{SNOWMAN}"
    assert answered.message.tool_uses[0].input == {
        "command": "ls \N{REPLACEMENT CHARACTER}",
        "flags": {"\N{REPLACEMENT CHARACTER}": ["a\N{REPLACEMENT CHARACTER}b", 2**70]},
    }
    assert done.files_modified == ("a\N{REPLACEMENT CHARACTER}b",)
    assert done.message.result.content == (TextBlock("out \N{REPLACEMENT CHARACTER} put"),)


@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@given(text=st.text(min_size=1))
async def test_any_text_can_be_stored(store, text):
    builder = FactBuilder()
    await store.append(builder.session_start(), builder.turn_start(text))
    [_, asked] = await store.read(builder.session_id)
    safe = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    assert asked.message.text.replace("\0", "") == safe.replace("\0", "")


async def test_messages_whose_times_are_in_another_order_are_all_replayed(store):
    builder = FactBuilder()
    facts = [builder.session_start()]
    for minutes in (0, 5, 3, 4, 1, 2) * 40:
        prompt = builder.turn_start(f"after {minutes}")
        at = prompt.message.created_at + timedelta(minutes=minutes)
        facts += [
            changed(prompt, message=changed(prompt.message, created_at=at)),
            builder.turn_end(),
        ]
    await store.append(*facts)
    read = []
    assert await store.replay(builder.session_id, read.append) == ()
    assert read == facts


async def test_ids_after_a_resume_are_greater_than_all_stored_ids(store, monkeypatch):
    monkeypatch.setattr(new_id, "_last", new_id._last)  # restored for other tests
    ahead = datetime.now(UTC) + timedelta(minutes=1)
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    clock = int(ahead.timestamp() * 1000)
    future = "".join(alphabet[clock >> shift & 31] for shift in range(45, -1, -5)) + "0" * 16
    assert is_ulid(future)
    builder = FactBuilder()
    await store.append(builder.session_start(), changed(builder.route(), id=future))
    assert new_id() < future
    await store.read(builder.session_id)
    assert new_id() > future


@pytest.mark.req("R-PER-06")
async def test_facts_of_two_sessions_are_separate(store):
    first, second = FactBuilder(), FactBuilder()
    one, two = (first.session_start(), *first.turn()), (second.session_start(), *second.turn())
    for pair in zip(one, two, strict=True):
        await store.append(*pair)
    assert await store.read(first.session_id) == one
    assert await store.read(second.session_id) == two


async def test_call_that_never_ran_has_a_result(store):
    builder, use = FactBuilder(), tool_call()
    await store.append(
        builder.session_start(),
        builder.turn_start(),
        builder.reply(use),
        builder.tool_failure(use, "user_denied"),
    )
    assert isinstance((await store.read(builder.session_id))[-1], ToolFailed)
    assert await store.pending_call_ids(builder.session_id) == ()
