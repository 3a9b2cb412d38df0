"""What is wrong with rows: damage that reading skips or cannot see."""

import pytest

from tests.store.turns import FactBuilder
from yourtool.store.sqlite.store import SqliteStore

UNREADABLE = {
    "the event of a reply": (
        "UPDATE events SET payload_json = '{' WHERE type = 'llm.call_completed'",
        "cannot be read",
    ),
    "an unknown event": (
        "UPDATE events SET type = 'hologram.seen' WHERE type = 'tool.called'",
        "unknown type",
    ),
    "the content of messages": (
        "UPDATE messages SET content_json = '[' WHERE role = 'user'",
        "cannot be read",
    ),
    "an unknown block": (
        """UPDATE messages SET content_json = '[{"type":"hologram"}]' WHERE role = 'user'""",
        "of unknown kinds",
    ),
    "the message of a prompt": ("DELETE FROM messages WHERE role = 'user'", "is missing"),
    "an event": ("DELETE FROM events WHERE type = 'turn.started'", "no event refers to"),
    "the message of a call": ("DELETE FROM messages WHERE role = 'assistant'", "refers to"),
}


@pytest.mark.parametrize("statement, text", UNREADABLE.values(), ids=UNREADABLE)
async def test_unreadable_and_lost_rows_are_reported_with_their_ids(store, rows, statement, text):
    builder, other = FactBuilder(), FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    assert await store.find_damage(builder.session_id) == ()
    rows(statement)
    await store.append(other.session_start(), *other.turn())
    problems = await store.find_damage(builder.session_id)
    assert any(text in each.text for each in problems)
    ids = {each[0] for table in ("events", "messages", "tool_calls")
           for each in rows(f"SELECT id FROM {table}")}  # fmt: skip
    assert {each.id for each in problems} <= ids
    assert await store.find_damage(other.session_id) == ()


async def test_rows_without_a_session_belong_to_the_store(store: SqliteStore, rows):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    assert await store.find_damage(None) == ()
    rows("DELETE FROM sessions")
    problems = await store.find_damage(None)
    assert {each.id for each in problems} == {builder.session_id}
    assert len(problems) == 3
