"""Exports without names or private texts (R-CRD-06; contracts.md 2.11)."""

import json

import msgspec
import pytest
from hypothesis import given
from msgspec import inspect

from tests.store.test_forks import every_string
from tests.store.turns import FactBuilder, tool_call
from tests.strategies import few, histories
from yourtool.events.codec import STORED_FACT, to_stored
from yourtool.messages.blocks import TextBlock, ThinkingBlock
from yourtool.messages.codec import encode_content
from yourtool.store.exports import from_jsonl, to_jsonl
from yourtool.store.forks import import_session
from yourtool.store.redaction import KEPT, NAMES, REDACTED, aggregate, redact

pytestmark = pytest.mark.req("R-CRD-06")
CANARY = "canary-4711"


def session(*messages):
    builder = FactBuilder(workspace=f"/home/{CANARY}")
    use = tool_call("shell", command=f"echo {CANARY}", **{CANARY: {CANARY: [CANARY]}})
    return [
        builder.session_start(),
        builder.turn_start(CANARY),
        builder.reply(ThinkingBlock(CANARY, "c2ln"), TextBlock(CANARY), use),
        builder.tool_result(use, CANARY),
        builder.turn_end(),
        *map(builder.fact_with, messages),
    ]


def lines_of(facts):
    return list(to_jsonl(facts, str, None))


@few
@given(histories())
@pytest.mark.parametrize("mode", ["passthrough", "pseudonymize", "redact_private"])
@pytest.mark.sample(3)
def test_redaction_is_pure_and_a_second_one_changes_nothing(mode, messages):
    facts = session(*messages)
    before = lines_of(facts)
    once = redact(facts, mode, "salt")
    assert redact(facts, mode, "salt") == once
    assert redact(once, mode, "salt") == once
    assert lines_of(facts) == before
    envelope = [(f.id, f.parent_event_id, f.timestamp, type(f)) for f in facts]
    assert [(f.id, f.parent_event_id, f.timestamp, type(f)) for f in once] == envelope
    assert list(from_jsonl(lines_of(once), None)) == list(once)


def test_names_become_the_same_pseudonyms_and_texts_stay():
    facts = session()
    [start, asked, *_] = redacted = redact(facts, "pseudonymize")
    assert {fact.session_id for fact in redacted} == {start.session_id}
    assert asked.message.session_id == start.session_id
    assert start.session_id.startswith("redacted_") and len(start.session_id) == 21
    assert asked.turn_id == redacted[2].turn_id != facts[1].turn_id
    assert start.workspace_path.startswith("redacted_")
    assert asked.message.content == facts[1].message.content
    assert redact(facts, "pseudonymize", "other salt")[0].session_id != start.session_id


@few
@given(histories())
def test_no_private_text_remains(messages):
    facts = session(*messages)
    redacted = redact(facts, "redact_private")
    assert CANARY not in "".join(map(str, map(to_stored, redacted)))
    for fact in redacted:
        if (message := getattr(fact, "message", None)) is not None:
            for block in msgspec.json.decode(encode_content(message.content)):
                assert block.get("text", REDACTED) in (REDACTED, "")
    models = [getattr(fact, "model", None) for fact in facts]
    assert [getattr(fact, "model", None) for fact in redacted] == models


async def test_redacted_session_can_be_imported(store, tmp_path):
    lines = lines_of(redact(session(), "redact_private"))
    session_id = await import_session(store, from_jsonl(lines, None), tmp_path)
    stored = await store.read(session_id)
    assert CANARY not in str([to_stored(fact) for fact in stored])


def test_aggregate_has_numbers_and_no_texts():
    facts = session()
    found = aggregate(facts)
    [(model, counts)] = found["models"].items()
    assert (counts["requests"], counts["cost_usd"]) == (1, "0.01")
    assert found["events"]["tool.completed"] == 1
    names = {model, "yourtool.aggregate", counts["cost_usd"]}
    text = json.loads(json.dumps(found))
    assert CANARY not in str(text)
    assert {each for each in every_string(text) if each not in names} <= {
        *found, *found["events"], *counts, "sum", "min", "max"
    }  # fmt: skip
    assert aggregate([])["events"] == {}


def test_every_kept_field_exists():
    found = set()

    def walk(kind):
        match kind:
            case inspect.StructType(cls=cls, fields=fields):
                if cls not in seen:
                    seen.add(cls)
                    for field in fields:
                        found.add(field.encode_name)
                        walk(field.type)
            case inspect.UnionType(types=types):
                for each in types:
                    walk(each)
            case inspect.VarTupleType(item_type=item):
                walk(item)
            case inspect.DictType(value_type=value):
                walk(value)

    seen = set()
    walk(inspect.type_info(STORED_FACT))
    assert found >= KEPT
    assert NAMES - {"gateway_key_id"} <= found, "contracts.md names `gateway_key_id`"
