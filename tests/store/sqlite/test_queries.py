import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import add

import pytest

from tests.store.turns import MODEL, FactBuilder, changed, reply_metadata
from yourtool.errors import SessionBusyError, SessionNotFoundError, StoreError
from yourtool.events.sessions import SessionModelSelected
from yourtool.foundation.amounts import Spending
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import MessageStatus
from yourtool.store.base import resolve_id
from yourtool.store.sqlite.queries import ModelCost

IMAGE = ImageBlock(ImageSource("base64", "aGk="), "image/png")


async def test_summary_describes_a_session(store):
    builder = FactBuilder(workspace="/work/here")
    facts = (builder.session_start(), *builder.turn(), *builder.turn())
    chosen = builder._fact(SessionModelSelected, model="openai:gpt-5")
    await store.append(*facts, chosen)
    [summary] = await store.list()
    assert summary.id == builder.session_id
    assert summary.title == "please read the secret plan"
    assert summary.workspace_path == "/work/here"
    assert summary.active_model == "openai:gpt-5"
    assert summary.turn_count == 2
    assert summary.cost_usd == Decimal("0.04")
    assert summary.created_at == facts[0].timestamp
    assert summary.updated_at == chosen.timestamp


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ((TextBlock("  fix\tthe \x1b[1m bug\nand the other"),), "fix the \x1b[1m bug"),
        ((TextBlock("\n\n  \nlate"),), "late"),
        ((IMAGE, TextBlock("what is this?")), "what is this?"),
        ((IMAGE,), ""),
        ((TextBlock("x" * 500),), "x" * 119 + "…"),
        ((TextBlock("one\u2028two"),), "one"),
    ],
)
async def test_title_is_one_line_of_the_first_message(store, content, title):
    builder = FactBuilder()
    await store.append(builder.session_start())
    asked = builder.turn_start()
    await store.append(changed(asked, message=changed(asked.message, content=content)))
    await store.append(builder.turn_start("something else"))
    [summary] = await store.list()
    assert summary.title == title


async def test_sessions_are_listed_by_last_use_and_filtered_by_workspace_and_limit(store):
    stories = [FactBuilder(workspace=place) for place in ("/a", "/b", "/a")]
    for builder in stories:
        await store.append(builder.session_start(), builder.turn_start())
    await store.append(stories[0].turn_start("again"))
    first, second, third = (builder.session_id for builder in stories)
    assert [each.id for each in await store.list()] == [first, third, second]
    assert [each.id for each in await store.list("/a")] == [first, third]
    assert [each.id for each in await store.list(limit=2)] == [first, third]
    assert await store.list("/nowhere") == ()


async def test_session_without_messages_is_not_listed(store):
    spoken, silent = FactBuilder(), FactBuilder()
    await store.append(spoken.session_start(), spoken.turn_start())
    await store.append(silent.session_start())
    assert await store.last_used("/work") == spoken.session_id
    assert [each.id for each in await store.list()] == [spoken.session_id]
    assert await resolve_id(store, silent.session_id) == silent.session_id
    assert await store.last_used("/elsewhere") is None


async def test_session_is_found_by_a_prefix_of_its_id(store):
    ids = [
        "sess_01AAAAAAAAAAAAAAAAAAAAAAAA",
        "sess_01AAAAAAAAAAAAAAAAAAAAAAAB",
        "sess_01BAAAAAAAAAAAAAAAAAAAAAAA",
    ]
    for session_id in ids:
        await store.append(FactBuilder(session_id).session_start())
    assert await resolve_id(store, "sess_01B") == ids[2]
    assert await resolve_id(store, "01b") == ids[2]
    assert await resolve_id(store, ids[0]) == ids[0]
    with pytest.raises(StoreError, match="matches 2 sessions") as caught:
        await resolve_id(store, "01a")
    assert ids[0] in str(caught.value)
    assert ids[1] in str(caught.value)
    for nothing in ("", "sess_", "zzz", "%", "_", "' OR 1=1 --"):
        with pytest.raises(SessionNotFoundError, match="sessions list"):
            await resolve_id(store, nothing)


@pytest.mark.remaining
@pytest.mark.blocks_loop("ten thousand facts are made in one go")
@pytest.mark.req("R-PER-05")
async def test_ten_thousand_random_costs_are_summed_exactly(store):
    builder, chance = FactBuilder(), random.Random(7)
    costs = [Decimal(chance.randrange(10**12)).scaleb(-12) for _ in range(10_000)]
    assert reduce(add, map(float, costs)) != float(sum(costs)), "floats would not do"
    await store.append(builder.session_start(), builder.turn_start())
    await store.append(*(builder.reply(TextBlock("a"), cost=str(cost)) for cost in costs))
    assert (await store.list())[0].cost_usd == sum(costs)
    assert await store.spending_since(datetime(2000, 1, 1, tzinfo=UTC)) == Spending(
        cost_usd=sum(costs), requests=len(costs)
    )


async def test_costs_since_a_time_include_every_session(store):
    first, second = FactBuilder(), FactBuilder()
    old = first.reply(TextBlock("a"), cost="5")
    await store.append(
        first.session_start(), changed(old, timestamp=datetime.now(UTC) - timedelta(days=2))
    )
    await store.append(first.reply(TextBlock("b"), cost="0.1"))
    await store.append(second.session_start(), second.reply(TextBlock("c"), cost="0.2"))
    assert await store.spending_since(datetime.now(UTC) - timedelta(days=1)) == Spending(
        cost_usd=Decimal("0.3"), requests=2
    )
    assert await store.spending_since(datetime.now(UTC) + timedelta(days=1)) == Spending()


@pytest.mark.req("R-CST-02")
async def test_report_counts_the_answered_requests_of_each_model(store):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    dear = builder.reply(TextBlock("a"), cost="2.5", model="openai:gpt-5")
    free = builder.reply(TextBlock("b"), cost="0", model="ollama:qwen3:8b", pricing_version="")
    await store.append(dear, free)
    stopped = changed(reply_metadata(MODEL, "0.005"), status=MessageStatus.CANCELLED)
    for message in (builder.message(Role.ASSISTANT, (TextBlock("half"),), stopped), None):
        await store.append(builder.broken(message=message))
    assert await store.cost_report(builder.session_id) == (
        ModelCost(
            model="openai:gpt-5",
            calls=1,
            input_tokens=100,
            output_tokens=10,
            cost_usd=Decimal("2.5"),
        ),
        ModelCost(
            model=MODEL, calls=2, input_tokens=200, output_tokens=20, cost_usd=Decimal("0.02")
        ),
        ModelCost(
            model="ollama:qwen3:8b",
            calls=1,
            input_tokens=100,
            output_tokens=10,
            unpriced_calls=1,
        ),
    )
    assert await store.spending_since(datetime(2000, 1, 1, tzinfo=UTC)) == Spending(
        cost_usd=Decimal("2.52"), requests=4, unpriced_requests=1
    )
    [listed] = await store.list()
    assert (listed.cost_usd, listed.unpriced) == (Decimal("2.52"), True)
    assert await store.cost_report("sess_other") == ()


@pytest.mark.req("R-PER-06")
async def test_session_has_at_most_one_writer(store, tmp_path):
    lease = store.lease("sess_1")
    with pytest.raises(SessionBusyError, match="`sess_1` is open"):
        store.lease("sess_1")
    with store.lease("sess_2"):
        pass
    lease.release()
    lease.release()
    with store.lease("sess_1"):
        assert [file.name for file in (tmp_path / "data" / "locks").iterdir()] == ["sess_1.lock"]
    assert not list((tmp_path / "data" / "locks").iterdir())


@pytest.mark.parametrize("name", ["../sess_1", "/etc/passwd", "a/b"])
async def test_lease_is_never_taken_outside_its_directory(store, tmp_path, name):
    with pytest.raises(SessionNotFoundError):
        store.lease(name)
    assert not (tmp_path / "data" / "locks").exists()
