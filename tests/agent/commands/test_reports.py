"""The reports of `/cost`."""

from decimal import Decimal

import pytest

from tests.tui.fakes import GPT, SONNET, full_reply, turn_start
from yourtool.agent.commands.reports import cost_report
from yourtool.foundation.amounts import Spending
from yourtool.messages.usage import UsageExtra


@pytest.mark.req("R-CST-02")
def test_cost_is_the_sum_of_the_completed_requests():
    facts = [
        turn_start("one"),
        full_reply("a", cost="0.25"),
        turn_start("two"),
        full_reply("b", cost="0.50"),
        full_reply("c", cost="1", model=GPT.id),
    ]
    totals, models, roles = cost_report(facts, Spending(cost_usd=Decimal(3), requests=4))
    assert dict(totals.rows)["session"].startswith("$1.75 for 3 requests")
    assert dict(totals.rows)["last turn"].startswith("$1.50 for 2 requests")
    assert dict(totals.rows)["today, all sessions"] == "$3.00 for 4 requests"
    assert dict(totals.rows)["read from cache"].startswith("75%")
    assert [name for name, _ in models.rows] == [SONNET.id, GPT.id]
    assert [(name, words[:5]) for name, words in roles.rows] == [("agent", "$1.75")]


@pytest.mark.req("R-CST-02")
def test_reported_cost_is_listed_next_to_the_computed_cost():
    facts = [
        turn_start("one"),
        full_reply("a", cost="0.25", extra=UsageExtra(reported_cost_usd=Decimal("0.31"))),
        full_reply("b", cost="0.50"),
    ]
    totals, *_ = cost_report(facts, Spending())
    rows = dict(totals.rows)
    assert rows["session"].startswith("$0.7500 for 2 requests")
    assert rows["reported by providers"] == "$0.3100 for 1 of 2 requests"


@pytest.mark.req("R-CST-01")
def test_session_without_prices_is_unpriced():
    unknown = UsageExtra(unpriced=True, estimated=True)
    facts = [turn_start("one"), full_reply("a", cost="0", extra=unknown)]
    totals, *_ = cost_report(facts, Spending())
    words = dict(totals.rows)["session"]
    assert words.startswith("unpriced for 1 request, 1 with estimated tokens; tokens")
    mixed, *_ = cost_report([*facts, full_reply("b", cost="0.5")], Spending())
    assert dict(mixed.rows)["session"].startswith("$0.5000 for 2 requests, 1 unpriced")


@pytest.mark.parametrize(
    ("requests", "unpriced", "words"),
    [(2, 0, "$0.5000 for 2 requests"), (3, 1, "$0.5000 for 3 requests, 1 unpriced")],
)
@pytest.mark.req("R-CST-01")
def test_day_total_counts_unpriced_requests(requests, unpriced, words):
    today = Spending(cost_usd=Decimal("0.5"), requests=requests, unpriced_requests=unpriced)
    [totals] = cost_report([], today)
    assert dict(totals.rows)["today, all sessions"] == words


@pytest.mark.req("R-CST-01")
def test_day_without_prices_is_unpriced():
    [totals] = cost_report([], Spending(requests=1, unpriced_requests=1))
    assert dict(totals.rows)["today, all sessions"] == "unpriced for 1 request"


def test_session_without_requests_costs_nothing():
    [totals] = cost_report([], Spending())
    assert dict(totals.rows)["session"].startswith("$0.00 for 0 requests")
