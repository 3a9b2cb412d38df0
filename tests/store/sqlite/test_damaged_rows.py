"""Damaged rows are skipped, and all others are read."""

import sqlite3

import pytest

from tests.store.turns import FactBuilder
from yourtool.messages.blocks import TextBlock

DEEP = "[" * 10_000 + "]" * 10_000
DEEP_OBJECT = '{"a":' * 10_000 + "1" + "}" * 10_000
NESTED = '{"a":' * 500 + "1" + "}" * 500
CALL = '[{"type":"tool_use","id":"tu_1","name":"x","input":%s}]'
RESULT = '[{"type":"tool_result","tool_use_id":"tu_1","content":%s}]'
VALUES = {
    "nested arrays": DEEP,
    "nested objects": DEEP_OBJECT,
    "open arrays": "[" * 10_000,
    "nested call": CALL % DEEP_OBJECT,
    "nested call that can be decoded": CALL % NESTED,
    "nested value of a name": '{"provider_raw":' + NESTED + "}",
    "result of a text": RESULT % '"text"',
    "result of numbers": RESULT % "[1, null, [2]]",
    "type of a list": '[{"type": ["text"], "text": "a"}]',
    "text": '"text"',
    "number": "5",
    "nothing": "",
    "null": None,
    "integer": 7,
    "bytes": b"\xff\xfe",
    "huge number": '{"usage": ' + "9" * 5_000 + "}",
}


@pytest.mark.parametrize("column", ["content_json", "metadata_json", "created_at"])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
async def test_only_the_damaged_message_is_skipped(store, rows, column, value):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn(), *builder.turn("second"))
    [first], *_, [last] = rows("SELECT id FROM messages ORDER BY id")
    for message_id in (first, last):
        try:
            rows(f"UPDATE messages SET {column} = ? WHERE id = ?", value, message_id)
        except sqlite3.IntegrityError as error:  # the schema rejects some values
            pytest.skip(str(error))
    facts = await store.read(builder.session_id)
    assert sum(getattr(fact, "message", None) is not None for fact in facts) >= 6
    [listed] = await store.list()
    assert listed.id == builder.session_id
    assert await store.search("secret")


@pytest.mark.parametrize("column", ["workspace_path", "active_model"])
@pytest.mark.parametrize("value", ["X'2F61FF'", "CAST(X'2F61FF' AS TEXT)", "X''", "7"])
async def test_damaged_columns_of_a_session_are_listed_as_text(store, rows, column, value):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    rows(f"UPDATE sessions SET {column} = {value}")
    [listed] = await store.list()
    assert getattr(listed, column) in ("/a\N{REPLACEMENT CHARACTER}", "", "7")
    [hit, *_] = await store.search("secret")
    assert isinstance(hit.workspace_path, str)


@pytest.mark.parametrize("column", ["created_at", "updated_at"])
@pytest.mark.parametrize("value", ["X'2F61FF'", "'late'", "9223372036854775807"])
async def test_session_with_damaged_times_is_skipped_with_a_warning(
    store, rows, column, value, caplog
):
    damaged, intact = FactBuilder(), FactBuilder()
    for builder in (damaged, intact):
        await store.append(builder.session_start(), *builder.turn())
    rows(f"UPDATE sessions SET {column} = {value} WHERE id = ?", damaged.session_id)
    assert [listed.id for listed in await store.list()] == [intact.session_id]
    assert f"skipped session `{damaged.session_id}`" in caplog.text


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
async def test_only_the_damaged_event_is_skipped(store, rows, value):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn(), *builder.turn("second"))
    [last] = rows("SELECT max(id) FROM events WHERE type = 'llm.call_completed'")[0]
    try:
        rows("UPDATE events SET payload_json = ? WHERE id = ?", value, last)
    except sqlite3.IntegrityError as error:
        pytest.skip(str(error))
    facts = await store.read(builder.session_id)
    assert len(facts) == 18
    [listed] = await store.list()
    assert listed.cost_usd > 0
    assert sum(cost.calls for cost in await store.cost_report(builder.session_id)) == 3


async def test_brackets_in_text_do_not_count_as_nesting(store):
    builder = FactBuilder()
    text = '{"[' * 5_000 + "\\" * 3
    await store.append(
        builder.session_start(), builder.turn_start(text), builder.reply(TextBlock(text))
    )
    *_, asked, answered = await store.read(builder.session_id)
    assert asked.message.text == answered.message.text == text
