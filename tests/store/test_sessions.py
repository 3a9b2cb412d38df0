import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import add

import pytest

from tests.store.turns import MODEL, Story, changed, reply_metadata
from yourtool.amounts import Spending
from yourtool.errors import SessionBusyError, SessionNotFoundError, StoreError
from yourtool.events import LlmCallFailed, SessionModelSelected
from yourtool.messages import ImageBlock, ImageSource, MessageStatus, Role, TextBlock
from yourtool.store.sessions import ModelCost

IMAGE = ImageBlock(ImageSource("base64", "aGk="), "image/png")


async def test_summary_describes_a_session(log, sessions):
    story = Story(workspace="/work/here")
    facts = (story.created(), *story.turn(), *story.turn())
    chosen = story._fact(SessionModelSelected, model="openai:gpt-5")
    await log.append(*facts, chosen)
    [summary] = await sessions.list()
    assert summary.id == story.session_id
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
async def test_title_is_one_line_of_the_first_message(log, sessions, content, title):
    story = Story()
    await log.append(story.created())
    asked = story.asked()
    await log.append(changed(asked, message=changed(asked.message, content=content)))
    await log.append(story.asked("something else"))
    [summary] = await sessions.list()
    assert summary.title == title


async def test_sessions_are_listed_by_last_use_and_filtered_by_workspace_and_limit(log, sessions):
    stories = [Story(workspace=place) for place in ("/a", "/b", "/a")]
    for story in stories:
        await log.append(story.created(), story.asked())
    await log.append(stories[0].asked("again"))
    first, second, third = (story.session_id for story in stories)
    assert [each.id for each in await sessions.list()] == [first, third, second]
    assert [each.id for each in await sessions.list("/a")] == [first, third]
    assert [each.id for each in await sessions.list(limit=2)] == [first, third]
    assert await sessions.list("/nowhere") == ()


async def test_session_without_messages_is_not_listed(log, sessions):
    spoken, silent = Story(), Story()
    await log.append(spoken.created(), spoken.asked())
    await log.append(silent.created())
    assert await sessions.last_used("/work") == spoken.session_id
    assert [each.id for each in await sessions.list()] == [spoken.session_id]
    assert await sessions.resolve_id(silent.session_id) == silent.session_id
    assert await sessions.last_used("/elsewhere") is None


async def test_session_is_found_by_a_prefix_of_its_id(log, sessions):
    ids = [
        "sess_01AAAAAAAAAAAAAAAAAAAAAAAA",
        "sess_01AAAAAAAAAAAAAAAAAAAAAAAB",
        "sess_01BAAAAAAAAAAAAAAAAAAAAAAA",
    ]
    for session_id in ids:
        await log.append(Story(session_id).created())
    assert await sessions.resolve_id("sess_01B") == ids[2]
    assert await sessions.resolve_id("01b") == ids[2]
    assert await sessions.resolve_id(ids[0]) == ids[0]
    with pytest.raises(StoreError, match="matches 2 sessions") as caught:
        await sessions.resolve_id("01a")
    assert ids[0] in str(caught.value)
    assert ids[1] in str(caught.value)
    for nothing in ("", "sess_", "zzz", "%", "_", "' OR 1=1 --"):
        with pytest.raises(SessionNotFoundError, match="sessions list"):
            await sessions.resolve_id(nothing)


@pytest.mark.blocks_loop("ten thousand facts are made in one go")
@pytest.mark.req("R-PER-05")
async def test_ten_thousand_random_costs_are_summed_exactly(log, sessions):
    story, chance = Story(), random.Random(7)
    costs = [Decimal(chance.randrange(10**12)).scaleb(-12) for _ in range(10_000)]
    assert reduce(add, map(float, costs)) != float(sum(costs)), "floats would not do"
    await log.append(story.created(), story.asked())
    await log.append(*(story.answered(TextBlock("a"), cost=str(cost)) for cost in costs))
    assert (await sessions.list())[0].cost_usd == sum(costs)
    assert await sessions.spending_since(datetime(2000, 1, 1, tzinfo=UTC)) == Spending(
        cost_usd=sum(costs), requests=len(costs)
    )


async def test_costs_since_a_time_include_every_session(log, sessions):
    first, second = Story(), Story()
    old = first.answered(TextBlock("a"), cost="5")
    await log.append(first.created(), changed(old, timestamp=datetime.now(UTC) - timedelta(days=2)))
    await log.append(first.answered(TextBlock("b"), cost="0.1"))
    await log.append(second.created(), second.answered(TextBlock("c"), cost="0.2"))
    assert await sessions.spending_since(datetime.now(UTC) - timedelta(days=1)) == Spending(
        cost_usd=Decimal("0.3"), requests=2
    )
    assert await sessions.spending_since(datetime.now(UTC) + timedelta(days=1)) == Spending()


@pytest.mark.req("R-CST-02")
async def test_report_counts_the_answered_requests_of_each_model(log, sessions):
    story = Story()
    await log.append(story.created(), *story.turn())
    dear = changed(story.answered(TextBlock("a"), cost="2.5"), model="openai:gpt-5")
    free = changed(
        story.answered(TextBlock("b"), cost="0"), model="ollama:qwen3:8b", pricing_version=""
    )
    await log.append(dear, free)
    stopped = changed(reply_metadata(MODEL, "0.005"), status=MessageStatus.CANCELLED)
    for message in (story.message(Role.ASSISTANT, (TextBlock("half"),), stopped), None):
        await log.append(
            story._fact(
                LlmCallFailed,
                model=MODEL,
                provider="anthropic",
                error_class="cancelled",
                error_message_redacted="",
                retry_count=0,
                latency_ms=1,
                message=message,
            )
        )
    assert await sessions.cost_report(story.session_id) == (
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
    assert await sessions.spending_since(datetime(2000, 1, 1, tzinfo=UTC)) == Spending(
        cost_usd=Decimal("2.52"), requests=4, unpriced_requests=1
    )
    [listed] = await sessions.list()
    assert (listed.cost_usd, listed.unpriced) == (Decimal("2.52"), True)
    assert await sessions.cost_report("sess_other") == ()


@pytest.mark.req("R-PER-06")
async def test_session_has_at_most_one_writer(sessions, tmp_path):
    lease = sessions.lease("sess_1")
    with pytest.raises(SessionBusyError, match="`sess_1` is open"):
        sessions.lease("sess_1")
    with sessions.lease("sess_2"):
        pass
    lease.release()
    lease.release()
    with sessions.lease("sess_1"):
        assert [file.name for file in (tmp_path / "locks").iterdir()] == ["sess_1.lock"]
    assert not list((tmp_path / "locks").iterdir())


@pytest.mark.parametrize("name", ["../sess_1", "/etc/passwd", "a/b"])
async def test_lease_is_never_taken_outside_its_directory(sessions, tmp_path, name):
    with pytest.raises(SessionNotFoundError):
        sessions.lease(name)
    assert not (tmp_path / "locks").exists()
