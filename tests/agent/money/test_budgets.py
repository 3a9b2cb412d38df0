"""Budgets of sessions, days and requests: warnings, questions and stops over a real store."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.harness import ALLOW, DENY, User, play
from tests.agent.workers.test_delegation import Script, delegates
from yourtool.agent.money.budgets import Budgets, describe_reached, describe_warning
from yourtool.agent.runtime import Runtime
from yourtool.events.budgets import BudgetReached, BudgetWarned
from yourtool.events.deltas import Notice, TokenUsage
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.tools import ToolFailed
from yourtool.foundation.amounts import Spending
from yourtool.paths import resolve_paths
from yourtool.providers.registry import Registry
from yourtool.providers.scripted import Scripted, calls, counts, says
from yourtool.settings.agent_config import BudgetConfig
from yourtool.settings.config import RunOptions, config_file

CENT = counts(TokenUsage(input_tokens=1_000, output_tokens=466))
"""A request that costs 0.00999 US dollars."""
ONE = Decimal("0.00999")
DIME = counts(TokenUsage(input_tokens=1_000, output_tokens=6_466))
"""A request that costs 0.09999 US dollars."""
READ = calls("read_file", path="a.txt")


@pytest.fixture
async def start(tmp_path, monkeypatch):
    """Return a function that opens a session with budgets over a script."""
    work, opened = tmp_path / "work", list[Runtime]()
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    monkeypatch.setattr(Registry, "configuration_problem", lambda *_: None)
    monkeypatch.setattr(Registry, "prepare", lambda *_: None)

    async def build(script, budget, *, confirm=None, resume=None, more="", interactive=True):
        adapter = Scripted(script)
        monkeypatch.setattr(Registry, "adapter", lambda *_: adapter)
        paths = resolve_paths()
        config_file(paths).parent.mkdir(parents=True, exist_ok=True)
        text = f'model = "anthropic:claude-sonnet-4-6"\n[budget]\n{budget}\n{more}'
        config_file(paths).write_text(text)
        options = RunOptions(workspace=work, interactive=interactive)
        runtime = await Runtime.open(paths, options)
        opened.append(runtime)
        user = confirm or User(ALLOW)
        if resume is not None:
            return adapter, await runtime.resume(resume, user)
        return adapter, await runtime.new_session(user)

    yield build
    for runtime in opened:
        await runtime.close()


def of_kind(facts, kind):
    return [each for each in facts if isinstance(each, kind)]


@pytest.mark.req("R-CST-04")
async def test_a_session_warns_once_at_80_and_once_at_95_percent(start):
    _, session = await start([says(str(n)) + DIME for n in range(21)], "session = 2")
    shown = list[list[int]]()
    for number in range(20):
        events = await play(session.send(f"question {number}"))
        shown.append([each.percent for each in of_kind(events, BudgetWarned)])
        if session.limit_reached:
            break
    assert [each for turn in shown for each in turn] == [80, 95]
    warned = of_kind(await session.stored.read_own(), BudgetWarned)
    assert [each.percent for each in warned] == [80, 95]
    assert all(100 * each.spent_usd >= each.percent * each.limit_usd for each in warned)
    assert "of `budget.session`, $2.00" in describe_warning(warned[0])
    await session.close()


@pytest.mark.req("R-CST-04")
async def test_a_session_stops_before_the_request_that_would_exceed_its_budget(start):
    user = User(DENY)
    adapter, session = await start(lambda _: READ + CENT, "session = 0.05", confirm=user)
    events = await play(session.send("go"))
    assert session.state.cost_usd <= Decimal("0.05")
    assert len(adapter.requests) == 5
    [reached] = of_kind(events, BudgetReached)
    assert not reached.allowed
    assert reached.spent_usd + reached.estimate_usd > reached.limit_usd
    [question] = user.asked
    assert "`budget.session`" in question.title
    assert session.limit_reached is not None
    assert "`[budget]` in `config.toml`" in session.limit_reached
    assert {each.error_class for each in of_kind(events, ToolFailed)} <= {"permission_denied"}
    await session.close()


@pytest.mark.req("R-CST-04")
async def test_an_override_holds_for_one_turn(start):
    user = User(ALLOW)
    script = [READ + CENT, calls("list_dir") + CENT, says("one") + CENT, says("two") + CENT]
    adapter, session = await start(script, "session = 0.015", confirm=user)
    events = await play(session.send("go"))
    assert len(adapter.requests) == 3
    assert len(user.asked) == 1
    assert [each.allowed for each in of_kind(events, BudgetReached)] == [True]
    await play(session.send("again"))
    assert len(user.asked) == 2
    await session.close()


async def test_a_turn_that_the_user_stops_at_a_budget_sends_nothing_and_is_complete(start):
    user = User(DENY)
    adapter, session = await start(
        [says("one") + CENT, says("two")], "session = 0.012", confirm=user
    )
    await play(session.send("one"))
    events = await play(session.send("two"))
    assert len(adapter.requests) == 1
    assert [each.allowed for each in of_kind(events, BudgetReached)] == [False]
    await session.close()


@pytest.mark.req("R-CST-04")
async def test_what_a_session_spent_before_it_was_resumed_counts(start):
    script = [says("one") + CENT, says("two") + CENT]
    _, session = await start(script, "session = 0.012")
    first = await play(session.send("one"))
    assert [each.percent for each in of_kind(first, BudgetWarned)] == [80]
    await session.close()
    user = User(DENY)
    adapter, again = await start(script, "session = 0.012", confirm=user, resume=session.id)
    events = await play(again.send("two"))
    assert not adapter.requests
    assert len(user.asked) == 1
    assert of_kind(events, BudgetWarned) == []
    await again.close()


@pytest.mark.req("R-CST-04")
async def test_a_day_counts_every_session(start):
    script = [says("one") + CENT, says("two") + CENT]
    _, first = await start(list(script), "day = 0.015")
    await play(first.send("one"))
    await first.close()
    user = User(DENY)
    adapter, second = await start(list(script), "day = 0.015", confirm=user)
    await play(second.send("two"))
    assert not adapter.requests
    assert "`budget.day`" in user.asked[0].title
    await second.close()


@pytest.mark.req("R-CST-04", "R-DLG-01")
async def test_workers_count_and_their_questions_go_to_the_user(start):
    user = User(DENY)
    script = Script(delegates("a"), says("Ok."), a=[READ, READ, READ, says("A.")])
    _, session = await start(script, "session = 0.01", confirm=user)
    await play(session.send("go"))
    assert session.state.cost_usd <= Decimal("0.01")
    assert user.asked[0].asked_by == "worker 1"
    assert "`budget.session`" in user.asked[0].title
    await session.close()


async def test_summaries_count_and_are_not_written_by_a_model_beyond_the_budget(start):
    script = [says("one") + CENT, says("two") + CENT, says("never")]
    adapter, session = await start(script, "session = 0.021")
    for text in ("one", "two"):
        await play(session.send(text))
    await play(session.compact())
    assert len(adapter.requests) == 2
    assert session.state.cost_usd == 2 * ONE
    await session.close()


async def test_the_user_is_asked_before_a_request_that_costs_more_than_a_limit(start):
    user = User(DENY)
    adapter, session = await start([says("one") + CENT], "ask_above = 0.001", confirm=user)
    events = await play(session.send("one"))
    assert not adapter.requests
    [question] = user.asked
    assert "would cost about $0.0" in question.reason
    assert "`budget.ask_above`, $0.0010" in question.reason
    assert [each.budget for each in of_kind(events, BudgetReached)] == ["request"]
    await session.close()


async def test_a_long_result_is_asked_about_before_it_is_sent(start, tmp_path):
    (tmp_path / "work" / "a.txt").write_text("some words of a line\n" * 1_500)
    user = User(DENY)
    script = [READ + CENT, says("never")]
    adapter, session = await start(script, "ask_above = 0.025", confirm=user)
    await play(session.send("one"))
    assert len(adapter.requests) == 1
    assert len(user.asked) == 1
    await session.close()


async def test_an_answer_about_a_price_holds_for_the_turn(start):
    user = User(ALLOW)
    script = [READ + CENT, says("one") + CENT, says("two") + CENT]
    _, session = await start(script, "ask_above = 0.001", confirm=user)
    await play(session.send("one"))
    assert len(user.asked) == 1
    await play(session.send("two"))
    assert len(user.asked) == 2
    await session.close()


async def test_a_model_without_a_price_is_not_limited_and_the_user_is_told(start):
    adapter, session = await start([says("one") + CENT], "session = 0.000001")
    await play(session.select_model("openai:nobody-knows"))
    events = await play(session.send("one"))
    [call] = of_kind(events, LlmCallCompleted)
    assert call.usage_extra.unpriced
    texts = [each.text for each in of_kind(events, Notice)]
    assert any("`[budget]` does not limit" in text for text in texts)
    assert len(adapter.requests) == 1
    await session.close()


async def test_a_request_that_costs_nothing_exceeds_no_budget():
    budgets = Budgets(config=BudgetConfig(session=Decimal(1)), session_cost=Decimal(2))
    assert budgets.find_exceeded(Decimal(0), Decimal(0)) == []
    assert budgets.find_exceeded(Decimal(0), Decimal("0.01"))


async def test_the_cost_of_a_day_starts_again_at_midnight():
    days = iter([date(2026, 5, 8), date(2026, 5, 8), date(2026, 5, 9)])
    stored = iter([Decimal(9), Decimal(8), Decimal(1)])

    async def read_today():
        return Spending(cost_usd=next(stored))

    budgets = Budgets(
        config=BudgetConfig(day=Decimal(10)), read_today=read_today, get_date=lambda: next(days)
    )
    await budgets.refresh()
    budgets.add(Decimal("0.5"))
    assert budgets.day_cost == Decimal("9.5")
    await budgets.refresh()  # the store lacks the last request
    assert budgets.day_cost == Decimal("9.5")
    await budgets.refresh()
    assert budgets.day_cost == Decimal(1)


def test_a_day_is_warned_about_again_on_the_next_day():
    budgets = Budgets(
        config=BudgetConfig(day=Decimal(10)),
        get_date=lambda: date(2026, 5, 9),
        day_cost=Decimal(9),
    )
    yesterday = BudgetWarned(
        id="1", timestamp=datetime(2026, 5, 8, 23, 59, tzinfo=UTC), session_id="s",
        budget="day", percent=95, limit_usd=Decimal(10), spent_usd=Decimal("9.6"),
    )  # fmt: skip
    assert [each.percent for each in budgets.find_warnings([yesterday])] == [80]


@given(
    st.lists(st.decimals(0, 5, places=4), max_size=30),
    st.decimals("0.0001", 50, places=4),
)
def test_every_percentage_is_warned_about_once_and_never_too_early(costs, limit):
    budgets = Budgets(config=BudgetConfig(session=limit))
    given = list[BudgetWarned]()
    for cost in costs:
        budgets.add(cost)
        given += budgets.find_warnings(given)
    percents = [each.percent for each in given]
    assert percents == sorted(set(percents))
    assert all(100 * each.spent_usd >= each.percent * limit for each in given)
    spent = 100 * sum(costs) / limit
    assert (max(percents, default=0)) == (95 if spent >= 95 else 80 if spent >= 80 else 0)


@pytest.mark.parametrize(
    ("allowed", "words"), [(True, "may exceed `budget.day`"), (False, "stopped before a request")]
)
def test_the_answer_about_a_budget_is_one_line(allowed, words):
    fact = BudgetReached(
        id="1", timestamp=datetime(2026, 5, 8, tzinfo=UTC), session_id="s", budget="day",
        limit_usd=Decimal(10), spent_usd=Decimal(9), estimate_usd=Decimal(2), allowed=allowed,
    )  # fmt: skip
    assert words in describe_reached(fact)
