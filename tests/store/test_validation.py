"""The store rejects invalid facts and names the field in each error."""

from datetime import datetime
from decimal import Decimal

import pytest
from msgspec.structs import replace

from tests.store.turns import FactBuilder, changed, reply_metadata, tool_call
from yourtool.errors import StoreError
from yourtool.ids import new_id, new_tool_use_id
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock, ToolUseBlock
from yourtool.messages.metadata import (
    ImportSource,
    MessageStatus,
    ReplyMetadata,
    RequestOptions,
)
from yourtool.messages.usage import RateLimits, Receipt, UsageExtra

NAIVE = datetime(2026, 1, 1)
SOURCE = ImportSource(system="x", format="y", imported_at=NAIVE)
PICTURE = ImageBlock(ImageSource("url", "https://example.com/a.png"), "image/png", (0, 5))


def with_message(fact, **fields):
    return changed(fact, message=changed(fact.message, **fields))


def with_metadata(fact, **fields):
    return with_message(fact, metadata=changed(fact.message.metadata, **fields))


def with_routing(fact, **fields):
    return with_metadata(fact, routing=changed(fact.message.metadata.routing, **fields))


def with_usage(fact, **fields):
    return with_metadata(fact, usage=changed(fact.message.metadata.usage, **fields))


def with_receipt(fact, **fields):
    receipt = Receipt(rate_limits=RateLimits(**fields))
    return with_metadata(fact, usage_extra=UsageExtra(receipt=receipt))


def twice():
    use = tool_call()
    return (use, replace(use, name="other"))


REPLIES = {
    "`id`": lambda reply: with_message(reply, id="m1"),
    "`created_at`": lambda reply: with_message(reply, created_at=NAIVE),
    "`metadata.import.imported_at`": lambda reply: with_metadata(reply, import_source=SOURCE),
    "`content[0].id`": lambda reply: with_message(
        reply, content=(ToolUseBlock("toolu_1", "shell", {}),)
    ),
    "`content[1].id`": lambda reply: with_message(reply, content=twice()),
    "`metadata.routing.chosen_model`": lambda reply: with_routing(reply, chosen_model="x:y"),
    "`metadata.routing.confidence`": lambda reply: with_routing(reply, confidence=1.5),
    "`metadata.routing.confidence` is -0.1": lambda reply: with_routing(reply, confidence=-0.1),
    "`metadata.routing.confidence` is nan": lambda reply: with_routing(
        reply, confidence=float("nan")
    ),
    "`metadata.usage.input_tokens`": lambda reply: with_usage(reply, input_tokens=-1),
    "`metadata.usage.output_tokens`": lambda reply: with_usage(reply, output_tokens=-1),
    "`metadata.usage.cost_usd`": lambda reply: with_usage(reply, cost_usd=Decimal("-0.01")),
    "`metadata.usage.latency_ms`": lambda reply: with_usage(reply, latency_ms=-5),
    "`metadata.usage_extra.reasoning_tokens`": lambda reply: with_metadata(
        reply, usage_extra=UsageExtra(reasoning_tokens=-1)
    ),
    "`metadata.usage_extra.receipt.rate_limits.remaining_tokens`": lambda reply: with_receipt(
        reply, remaining_tokens=-1
    ),
    "`metadata.request.max_tokens`": lambda reply: with_metadata(
        reply, request=RequestOptions(max_tokens=-1)
    ),
    "`timestamp`": lambda reply: changed(reply, timestamp=NAIVE),
}


@pytest.fixture
async def builder(store):
    builder = FactBuilder()
    await store.append(builder.session_start(), builder.turn_start())
    return builder


@pytest.mark.parametrize("field", REPLIES)
async def test_rejection_names_the_field_and_stores_nothing(store, rows, builder, field):
    before = rows("SELECT * FROM messages"), rows("SELECT * FROM events")
    with pytest.raises(StoreError) as raised:
        await store.append(REPLIES[field](builder.reply(TextBlock("hi"))))
    assert field in str(raised.value)
    assert (rows("SELECT * FROM messages"), rows("SELECT * FROM events")) == before
    await store.append(builder.reply(TextBlock("hi")))


@pytest.mark.parametrize(("field", "value"), [("input_tokens", -1), ("cost_usd", Decimal("NaN"))])
async def test_invalid_usage_of_a_failed_request_is_rejected(store, builder, field, value):
    usage = changed(reply_metadata().usage, **{field: value})
    with pytest.raises(StoreError, match=f"`usage.{field}`"):
        await store.append(builder.broken(usage))
    await store.append(builder.broken(reply_metadata().usage))


async def test_image_without_dimensions_is_rejected(store, builder):
    asked = builder.turn_start()
    with pytest.raises(StoreError, match=r"`content\[0\].pixels`"):
        await store.append(with_message(asked, content=(PICTURE,)))


async def test_message_id_must_be_greater_than_those_in_its_session(store, builder):
    earlier = builder.turn_start("earlier")
    await store.append(builder.reply(TextBlock("hi")))
    with pytest.raises(StoreError, match=r"`id` is .* before"):
        await store.append(earlier)


async def test_order_is_independent_of_other_sessions(store):
    first, second = FactBuilder(), FactBuilder()
    asked = first.turn_start()
    await store.append(second.session_start(), second.turn_start())
    await store.append(first.session_start(), asked)


async def test_duplicate_message_is_rejected(store, builder):
    asked = builder.turn_start()
    await store.append(asked)
    with pytest.raises(StoreError, match="already used by a stored message"):
        await store.append(changed(asked, id=new_id()))


async def test_call_id_is_unique_in_the_store(store, builder):
    use = tool_call()
    await store.append(builder.reply(use), builder.tool_result(use))
    other = FactBuilder()
    await store.append(other.session_start(), other.turn_start())
    with pytest.raises(StoreError, match=rf"T3.*{use.id}"):
        await store.append(other.reply(use))


async def test_result_before_the_message_of_its_call_is_rejected(store, builder):
    use, early = tool_call(), new_id()
    await store.append(builder.reply(use))
    done = builder.tool_result(use)
    with pytest.raises(StoreError, match="contains the call"):
        await store.append(with_message(done, id=early))
    unknown = builder.tool_result(replace(use, id=new_tool_use_id()))
    with pytest.raises(StoreError, match="does not exist or already has a result"):
        await store.append(unknown)
    await store.append(done)


async def test_results_can_be_stored_in_any_order(store, builder):
    first, second = tool_call(), tool_call()
    await store.append(builder.reply(first, second))
    one, other = builder.tool_result(first), builder.tool_result(second)
    await store.append(other)
    await store.append(one)


async def test_partial_message_needs_only_an_id_and_a_time_zone(store, builder):
    partial = ReplyMetadata(status=MessageStatus.PARTIAL, request=RequestOptions(max_tokens=-1))
    answered = builder.reply(TextBlock("hi"))
    with pytest.raises(StoreError, match="`created_at`"):
        await store.append(with_message(answered, metadata=partial, created_at=NAIVE))
    await store.append(with_message(answered, metadata=partial))
