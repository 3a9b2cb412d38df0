"""The stored and printed form of facts: unchanged, read back, and decided by the reply.

`stored_facts.jsonl` has the forms of released types of facts, with all fields and with the required
ones, as versions wrote them that had the usage in the fact and in its reply.
"""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import UNSET
from msgspec.structs import replace

from tests.events.examples import example
from tests.store.turns import FactBuilder, reply_metadata
from tests.strategies import few, names, replies, texts, ulids, usages
from yourtool.events.catalog import FACT_TYPES, message_of
from yourtool.events.codec import STORED_FACT, STORED_TYPES, from_stored, to_stored
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed
from yourtool.headless import Printer
from yourtool.messages.blocks import TextBlock, canonical_json
from yourtool.messages.message import ReplyMessage, Role
from yourtool.messages.metadata import MessageStatus, StopReason
from yourtool.store.exports import from_jsonl, to_jsonl
from yourtool.store.sqlite.row_codec import (
    event_row,
    fact_from_row,
    message_from_row,
    message_row,
)

HERE = Path(__file__).parent
FORMS = [
    msgspec.json.decode(line) for line in (HERE / "stored_facts.jsonl").read_bytes().splitlines()
]
SCHEMA = Draft202012Validator(
    msgspec.json.decode((HERE.parents[1] / "docs/events.schema.json").read_bytes())
)
LATER = datetime(2026, 5, 9, tzinfo=UTC)


def decoded(text):
    return from_stored(msgspec.json.decode(text, type=STORED_FACT))


def encoded(fact):
    return msgspec.json.encode(to_stored(fact))


def from_rows(fact):
    """Return the fact as read from the rows that it is stored in."""
    message = message_of(fact)

    def find(message_id):
        assert message_id == message.id
        return message_from_row(message_row(message))

    return fact_from_row(event_row(fact, message), find)


@pytest.mark.parametrize("kind", FACT_TYPES.values())
def test_every_type_of_fact_is_read_back_as_it_was_stored(kind):
    fact = decoded(encoded(example(kind)))
    assert isinstance(fact, kind)
    assert decoded(encoded(fact)) == fact
    assert STORED_TYPES.keys() == FACT_TYPES.keys()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.req("R-CLI-02", "R-PER-08")
def test_every_form_of_a_fact_is_unchanged(form):
    fact = decoded(form["printed"])
    message = message_of(fact)
    assert encoded(fact).decode() == form["printed"]
    assert canonical_json(to_stored(fact)).decode() == form["exported"]
    assert event_row(fact, message)[-1] == form["payload"]
    assert (message and message_row(message)[4]) == form["metadata"]
    assert decoded(form["exported"]) == fact
    assert from_rows(fact) == fact
    SCHEMA.validate(msgspec.json.decode(form["printed"]))


def test_every_form_passes_through_an_export(tmp_path):
    builder = FactBuilder()
    facts = [builder.session_start(), *(decoded(form["printed"]) for form in FORMS)]
    facts = [fact for fact in facts if not (type(fact) is type(facts[0]) and fact is not facts[0])]
    facts = [replace(fact, id=f"{n:026}") for n, fact in enumerate(facts)]
    lines = list(to_jsonl(facts, str, tmp_path))
    assert list(from_jsonl(lines, tmp_path)) == facts


def test_a_program_reads_the_printed_form(tmp_path):
    fact = decoded(next(f["printed"] for f in FORMS if "call_completed" in f["printed"]))
    with (tmp_path / "out").open("w+") as out:
        Printer("stream-json", out, out).show(fact)
        out.seek(0)
        assert out.read().encode() == encoded(fact) + b"\n"


@st.composite
def calls(draw):
    """A completed call, or a failed one with or without a part of the reply."""
    has_reply, completed = draw(st.booleans()), draw(st.booleans())
    usage, latency = draw(usages), draw(st.integers(0, 10**6))
    metadata = replace(draw(replies(has_calls=False)), usage=usage)
    common = {
        "id": draw(ulids),
        "timestamp": LATER,
        "session_id": "s",
        "purpose": draw(st.just(UNSET) | names),
    }
    message = ReplyMessage(
        id=draw(ulids),
        session_id="s",
        content=(TextBlock(draw(texts)),),
        metadata=metadata,
        created_at=LATER,
    )
    if completed:
        return LlmCallCompleted(message=message, **common)
    partial = replace(message, metadata=replace(metadata, status=MessageStatus.ERROR))
    own = draw(st.none() | st.just(replace(usage, latency_ms=latency)))
    return LlmCallFailed(
        model=draw(names),
        provider=draw(names),
        error_class=draw(names),
        error_message_redacted=draw(texts),
        retry_count=draw(st.integers(0, 9)),
        latency_ms=latency,
        message=partial if has_reply else None,
        usage=usage if has_reply and own is not None else own,
        **common,
    )


@few
@given(calls())
def test_any_call_is_read_back_unchanged(call):
    assert decoded(encoded(call)) == from_rows(call) == call
    assert encoded(decoded(encoded(call))) == encoded(call)
    raw = msgspec.json.decode(encoded(call))
    counted = call.usage if call.usage is not None else None
    assert Decimal(raw["cost_usd"]) == (counted.cost_usd if counted else 0)
    assert raw["pricing_version"] == (counted.pricing_version if counted else None)


def differing(fact, **fields):
    """Return the stored form of a fact whose counters differ from those of its reply."""
    return msgspec.json.encode(msgspec.json.decode(encoded(fact)) | fields)


def test_counters_of_a_reply_replace_those_of_its_fact():
    builder = FactBuilder()
    completed = builder.reply(TextBlock("yes"))
    usage = completed.usage
    broken = builder.broken(
        usage, builder.message(Role.ASSISTANT, [TextBlock("ye")], completed.message.metadata)
    )
    for fact in (completed, broken):
        read = decoded(differing(fact, input_tokens=7, cost_usd="99", pricing_version="old"))
        assert read == fact
        assert read.usage == usage
    read = decoded(differing(completed, model="x:y", stop_reason="refusal", latency_ms=1))
    assert read == completed
    assert (read.model, read.stop_reason) == (completed.model, StopReason.END_TURN)


def test_the_fact_has_what_its_reply_lacks():
    fact = FactBuilder().reply(TextBlock("yes"))
    raw = msgspec.json.decode(encoded(fact))
    for name in ("model", "provider", "usage"):
        del raw["message"]["metadata"][name]
    assert decoded(msgspec.json.encode(raw)) == fact


def test_failed_call_without_usage_is_decoded_without_usage():
    builder = FactBuilder()
    part = builder.message(Role.ASSISTANT, [TextBlock("ye")], reply_metadata())
    fact = builder.broken(None, part)
    assert part.metadata.usage is not None
    assert decoded(encoded(fact)).usage is None


def test_stop_reason_of_a_newer_version_is_other():
    fact = FactBuilder().reply(TextBlock("yes"))
    metadata = replace(fact.message.metadata, stop_reason=None)
    unknown = replace(fact, message=replace(fact.message, metadata=metadata))
    assert unknown.stop_reason is StopReason.OTHER
    assert decoded(encoded(unknown)) == unknown
