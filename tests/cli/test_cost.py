"""`yourtool cost`: what requests cost (R-CST-02; cli.md)."""

import json
from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest

from tests.store.turns import FactBuilder, changed
from yourtool.agent.money.cost_report import parse_since
from yourtool.errors import UsageError
from yourtool.paths import resolve_paths
from yourtool.store.forks import fork
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

pytestmark = [pytest.mark.usefixtures("own_logging"), pytest.mark.req("R-CST-02")]
NOW = datetime(2026, 11, 10, 12, tzinfo=UTC)


@pytest.fixture
async def sessions(line):
    """A session of two days, its fork, and a session of a worker."""
    store = SqliteStore(Database(resolve_paths().database))
    own, worker = FactBuilder(), FactBuilder()
    facts = [own.session_start(), *chain(*(own.turn() for _ in range(3)))]
    early = [changed(fact, timestamp=NOW - timedelta(days=3)) for fact in facts[:10]]
    await store.append(*early, *facts[10:])
    await store.append(worker.session_start(worker_of=own.session_id), *worker.turn())
    await fork(store, own.session_id)
    await store.close()
    return own.session_id, worker.session_id


def read(line, *options):
    code, out, _ = line("cost", "--json", *options)
    assert code == 0
    return json.loads(out)


def test_each_group_has_the_same_sum_without_copies(line, sessions):
    own, worker = sessions
    reports = {by: read(line, "--by", by) for by in ("model", "day", "session", "role")}
    for by, report in reports.items():
        assert report["by"] == by and report["total"]["requests"] == 8
        assert sum(row["requests"] for row in report["rows"]) == 8
        assert sum(float(row["cost_usd"]) for row in report["rows"]) == pytest.approx(0.08)
    names = {by: [row["name"] for row in report["rows"]] for by, report in reports.items()}
    assert names["session"] == [own, worker]
    assert names["role"] == ["agent", "worker"]
    assert names["day"] == sorted(names["day"]) and len(names["day"]) == 2


def test_kinds_of_tokens_add_up_to_those_of_all_requests(line, sessions):
    report = read(line, "--by", "bucket")
    tokens = {row["name"]: row["tokens"] for row in report["buckets"]}
    assert tokens == {"input": 800, "output": 80, "cache read": 0, "cache write": 0}


def test_report_starts_at_the_time_that_is_given(line, sessions):
    since = (NOW - timedelta(days=2)).isoformat()
    assert read(line, "--since", since)["total"]["requests"] == 6
    code, out, err = line("cost", "--since", "yesterday")
    assert (code, out) == (2, "") and "`--since yesterday` is no time" in err


def test_table_has_a_row_for_each_model_and_their_sum(line, sessions):
    code, out, _ = line("cost")
    assert code == 0
    model, total = out.splitlines()
    assert model.startswith("anthropic:claude-sonnet-4-6") and total.startswith("total")
    assert model.split()[1:] == total.split()[1:] and "8 requests" in total


def test_store_without_requests_says_so(line):
    assert line("cost")[1] == "No requests are stored.\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24h", NOW - timedelta(hours=24)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(days=14)),
        ("2026-11-01T00:00:00Z", datetime(2026, 11, 1, tzinfo=UTC)),
    ],
)
def test_time_is_a_date_or_a_span_before_now(text, expected):
    assert parse_since(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "d", "0d", "-1d", "99999999999999d", "7x", "soon", "٣d"])
def test_other_words_are_no_time(text):
    with pytest.raises(UsageError, match="is no time"):
        parse_since(text, NOW)
