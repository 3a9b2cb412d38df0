"""`yourtool cost`: costs of all stored requests.

It groups them by model, day, session, role or kind of token.
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from yourtool.agent.money.cost_report import CostReport, CostRow, parse_since, read_costs
from yourtool.agent.money.repriced_costs import Drift, RepricedCost
from yourtool.cli.arguments import Arguments
from yourtool.cli.cost_prices import find_pricing
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.foundation.amounts import format_money, format_spending, format_tokens
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore


def run(paths: Paths, arguments: Arguments) -> int:
    """Print a report.

    Raises:
        UsageError: the time of `--since`, or the table or model to compare with, is invalid.
        UnknownModelError: no model has the name of `--as-model`.
        ConfigError: a price table is damaged, invalid or unreadable.
        StoreError: the database cannot be read.
    """
    report = asyncio.run(_read(paths, arguments))
    if arguments.json:
        print_json(report)
    else:
        _print(report)
    return ExitCode.ANSWERED


async def _read(paths: Paths, arguments: Arguments) -> CostReport:
    since = parse_since(arguments.since, datetime.now(UTC)) if arguments.since else None
    pricing = find_pricing(paths, arguments)
    store = SqliteStore(Database(paths.database))
    try:
        return await read_costs(store, arguments.cost_by, since, pricing)
    finally:
        await store.close()


def _print(report: CostReport) -> None:
    total = report.total
    if not total.requests:
        print_lines("No requests are stored.")
        return
    if report.buckets:
        print_table([(each.name, f"{each.tokens:,} tokens") for each in report.buckets])
    else:
        print_table([_describe(row) for row in (*report.rows, total)])
    if total.reported_requests:
        reported = format_money(total.reported_cost_usd)
        print_lines(f"Providers reported {reported} for {total.reported_requests:,} requests.")
    print_lines(*map(_describe_drift, report.drift))
    if total.repriced and report.pricing_version:
        print_lines(*_describe_repricing(report, total.repriced, report.pricing_version))


def _describe(row: CostRow) -> tuple[str, ...]:
    cached = row.cached_input_tokens
    prompt = row.input_tokens + cached + row.cache_creation_input_tokens
    return (
        row.name,
        f"{row.requests:,} {_requests(row.requests)}",
        f"{format_tokens(prompt)} in ({100 * cached // prompt if prompt else 0}% cached)",
        f"{format_tokens(row.output_tokens)} out",
        format_spending(row.cost_usd, unpriced=row.unpriced_requests > 0),
        *([f"→ {_format_repriced(row.repriced)}"] if row.repriced else ()),
    )


def _format_repriced(row: RepricedCost) -> str:
    return format_spending(row.cost_usd, unpriced=row.unpriced_requests > 0)


def _describe_drift(drift: Drift) -> str:
    reported, computed = drift.reported_cost_usd, drift.computed_cost_usd
    return (
        f"`{drift.model}`: its provider reported {format_money(reported)} for {drift.requests:,}"
        f" {_requests(drift.requests)}, the computed cost is {format_money(computed)}"
        f"{_format_change(computed, reported, ': reported is {}')}"
        f" (prices {', '.join(drift.pricing_versions)})."
    )


def _describe_repricing(report: CostReport, row: RepricedCost, table: str) -> Iterator[str]:
    """Yield what the prices are, the comparison, and what it lacks."""
    if report.buckets:
        yield f"All requests: {_format_repriced(row)}."
    model = f", as if every request had gone to `{report.as_model}`" if report.as_model else ""
    yield f"After the arrow: prices `{table}`{model}. The stored costs are unchanged."
    stored, cost = row.compared_stored_usd, row.compared_cost_usd
    if count := row.compared_requests:
        change = _format_change(stored, cost, " ({})")
        yield (
            f"{count:,} {_requests(count)} with both costs:"
            f" {format_money(stored)} → {format_money(cost)}{change}."
        )
    else:
        yield "No request has both a stored cost and a price in this table, so none is compared."
    if count := row.unpriced_requests:
        yield f"{count:,} {_requests(count)} {_have(count)} no price in this table."
    if count := row.too_long_requests:
        yield f"{count:,} {_requests(count)} {_have(count)} a prompt too long for this model."
    if report.as_model:
        yield (
            "The tokens are those that each model counted. This model would count and reply"
            " differently, and its cache could contain less."
        )


def _format_change(old: Decimal, new: Decimal, form: str) -> str:
    """Return the change in percent; empty where there is no old amount."""
    if not old or old == new:
        return ""
    percent = 100 * (new - old) / old
    if abs(percent) >= 1_000:
        return form.format(f"{new / old:,.0f} times as much")
    return form.format(f"{percent:+.1f}%" if abs(percent) < 10 else f"{percent:+.0f}%")


def _requests(count: int) -> str:
    return "request" if count == 1 else "requests"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
