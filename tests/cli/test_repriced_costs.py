"""`yourtool cost --reprice` and `--as-model`: other prices for stored requests (R-CST-03)."""

import asyncio
import json
import re
from decimal import Decimal

import pytest
from msgspec.structs import replace

from tests.store.turns import FactBuilder, reply_metadata
from yourtool.messages.blocks import TextBlock
from yourtool.messages.usage import UsageExtra
from yourtool.paths import resolve_paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.stored_prices import StoredPrices
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

pytestmark = [pytest.mark.usefixtures("own_logging"), pytest.mark.req("R-CST-03")]

SONNET, LOCAL, ROUTED = "anthropic:claude-sonnet-4-6", "local:nothing", "openrouter:a/b"
TIERED = """pricing_version = "mine"
[models."anthropic:claude-sonnet-4-6"]
input_per_mtok_usd = 1.0
output_per_mtok_usd = 10.0
cached_read_per_mtok_usd = 0.5
cache_write_per_mtok_usd = 2.0
[[models."anthropic:claude-sonnet-4-6".tiers]]
above_prompt_tokens = 1000
input_per_mtok_usd = 100.0
output_per_mtok_usd = 1000.0
"""


def reply(model=SONNET, cost="0.01", extra=None, **tokens):
    metadata = reply_metadata(model, cost, "" if extra and extra.unpriced else "2026-05-08")
    usage = replace(metadata.usage, **tokens)
    return replace(metadata, usage=usage, usage_extra=extra)


@pytest.fixture
def stored(line):
    """Return a function that stores a session with these replies."""

    async def append(replies):
        store, session = SqliteStore(Database(resolve_paths().database)), FactBuilder()
        facts = [session.session_start(), session.turn_start()]
        for metadata in replies:
            message = session.reply(TextBlock("x"))
            facts.append(replace(message, message=replace(message.message, metadata=metadata)))
        await store.append(*facts)
        await store.close()

    return lambda *replies: asyncio.run(append(replies))


def read(line, *options):
    code, out, err = line("cost", "--json", *options)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_each_request_has_its_own_tier_and_each_kind_of_token_its_rate(line, stored, tmp_path):
    (tmp_path / "mine.toml").write_text(TIERED)
    short = reply(input_tokens=100, output_tokens=10, cached_input_tokens=800)
    written = reply(input_tokens=0, output_tokens=0, cache_creation_input_tokens=1000)
    long = reply(input_tokens=1, output_tokens=1, cached_input_tokens=1000)
    stored(short, written, long)
    report = read(line, "--reprice", str(tmp_path / "mine.toml"))
    expected = 100 * 1 + 10 * 10 + 800 * Decimal("0.5") + 1000 * 2 + 100 + 1000 + 1000 * 100
    total = report["total"]
    assert Decimal(total["repriced"]["cost_usd"]) == expected / 1_000_000
    assert Decimal(total["cost_usd"]) == Decimal("0.03")
    assert total["repriced"]["compared_requests"] == 3
    assert "+mine@" in report["pricing_version"]


def test_stored_table_is_used_alone_and_nothing_stored_changes(line, stored):
    catalogue = Catalogue.load(resolve_paths())
    prices, model = (
        StoredPrices(resolve_paths().price_tables, catalogue),
        catalogue.get(SONNET),
    )
    prices.store(model)
    stored(reply(), reply(LOCAL, "0", UsageExtra(unpriced=True)))
    plain = read(line)
    report = read(line, "--reprice", prices.find_name(model))
    repriced = report["total"].pop("repriced")
    assert Decimal(repriced["cost_usd"]) == Decimal("0.00045")
    assert repriced["unpriced_requests"] == 1 and repriced["compared_requests"] == 1
    assert report["total"] == plain["total"] and read(line) == plain


def test_request_without_a_price_is_not_compared_and_not_free(line, stored, tmp_path):
    (tmp_path / "mine.toml").write_text(TIERED.replace(SONNET, LOCAL))
    stored(reply(LOCAL, "0", UsageExtra(unpriced=True)), reply("nobody:else", "0.5"))
    _, out, _ = line("cost", "--reprice", str(tmp_path / "mine.toml"))
    rows = {each.split()[0]: " ".join(each.split()) for each in out.splitlines()}
    assert "unpriced → $0.0002" in rows[LOCAL] and "$0.5000 → unpriced" in rows["nobody:else"]
    assert "No request has both a stored cost and a price in this table" in out
    assert "1 request has no price in this table." in out


def test_other_model_prices_all_requests_and_counts_prompts_that_do_not_fit(line, stored):
    stored(
        reply(input_tokens=1_000_000, output_tokens=0),
        reply(LOCAL, "0", UsageExtra(unpriced=True), input_tokens=1_000, output_tokens=0),
    )
    report = read(line, "--as-model", "claude-haiku-4-5", "--by", "session")
    assert report["as_model"] == "anthropic:claude-haiku-4-5"
    repriced = report["total"]["repriced"]
    assert Decimal(repriced["cost_usd"]) == Decimal("1.001")
    assert (repriced["unpriced_requests"], repriced["too_long_requests"]) == (0, 1)
    _, out, _ = line("cost", "--as-model", "claude-haiku-4-5")
    assert "as if every request had gone to `anthropic:claude-haiku-4-5`" in out
    assert "1 request has a prompt too long for this model." in out
    assert "1 request with both costs: $0.0100 → $1.00 (100 times as much)." in out


def test_kinds_of_tokens_have_the_sum_at_other_prices(line, stored):
    stored(reply())
    assert "All requests: $0.0004." in line("cost", "--by", "bucket", "--reprice")[1]


def test_drift_names_the_model_with_both_costs(line, stored):
    def reported(cost):
        return UsageExtra(reported_cost_usd=Decimal(cost))

    stored(
        reply(ROUTED, "1.00", reported("1.10")),
        reply(ROUTED, "1.00", reported("1.10")),
        reply("openrouter:same", "1.00", reported("1.01")),
        reply("openrouter:free", "0", UsageExtra(unpriced=True, reported_cost_usd=Decimal(2))),
    )
    (drift,) = read(line)["drift"]
    assert drift == {
        "model": ROUTED,
        "requests": 2,
        "reported_cost_usd": "2.20",
        "computed_cost_usd": "2.00",
        "pricing_versions": ["2026-05-08"],
    }
    _, out, _ = line("cost")
    assert (
        f"`{ROUTED}`: its provider reported $2.20 for 2 requests, the computed cost is $2.00:"
        " reported is +10% (prices 2026-05-08)." in out
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--as-model", "sonet"), "No model is called `sonet`; did you mean `sonnet`?"),
        (("--as-model", ""), "No model is called ``"),
        (
            ("--as-model", "mistral:mistrl-large-4"),
            "has no price in .*; did you mean `mistral:mistral-large-4`",
        ),
        (("--as-model", "nobody:nothing"), "`nobody:nothing` has no price in .*; add its price"),
        (("--reprice", "2020-01-01"), "is neither a stored price table nor a file.*No price table"),
        (("--reprice", "~nobody-has-this-name/x"), "is neither a stored price table nor a file"),
        (("--reprice", "x" * 5_000), "is neither a stored price table nor a file"),
        (("--reprice", "/"), "is neither a stored price table nor a file"),
    ],
)
def test_bad_names_are_errors_with_the_way_out(line, options, message):
    code, out, err = line("cost", *options)
    assert (code, out) == (2, "") and re.search(message, err)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "not TOML"),
        (TIERED.replace("10.0", '"much"'), ":4: .*output_per_mtok_usd"),
        (TIERED.replace("1.0", "-1", 1), ":3: .*a price is zero, or from"),
        (TIERED.replace("output_per", "outptu_per", 1), "did you mean `output_per_mtok_usd`"),
        (TIERED.replace('"mine"', '""'), "`pricing_version`: a date such as"),
        ("[[models]]\n", "`models`: must be a table"),
    ],
)
def test_mistake_in_a_file_of_prices_has_its_place(line, tmp_path, text, message):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    code, out, err = line("cost", "--reprice", str(file))
    assert (code, out) == (2, "") and str(file) in err and re.search(message, err)


def test_damaged_stored_table_is_an_error_and_other_reports_work(line, stored):
    catalogue, directory = Catalogue.load(resolve_paths()), resolve_paths().price_tables
    StoredPrices(directory, catalogue).store(catalogue.get(SONNET))
    stored(reply())
    (file,) = directory.iterdir()
    file.write_bytes(b"\xff\xfe")
    for name in (file.stem, catalogue.price_table.name, catalogue.pricing_version):
        code, out, err = line("cost", "--reprice", name)
        assert (code, out) == (2, "") and f"`{file}` is damaged" in err
    assert line("cost", "--reprice")[0] == line("cost")[0] == 0
