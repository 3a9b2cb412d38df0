"""`yourtool cost`: what all stored requests cost, by model, day, session, role or kind of token."""

import asyncio
from datetime import UTC, datetime

from yourtool.agent.cost_report import CostReport, CostRow, parse_since, read_costs
from yourtool.amounts import format_money, format_spending, format_tokens
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore


def run(paths: Paths, arguments: Arguments) -> int:
    """Print a report.

    Raises:
        UsageError: the time of `--since` is invalid.
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
    store = SqliteStore(Database(paths.database))
    try:
        return await read_costs(store, arguments.cost_by, since)
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


def _describe(row: CostRow) -> tuple[str, ...]:
    cached = row.cached_input_tokens
    prompt = row.input_tokens + cached + row.cache_creation_input_tokens
    return (
        row.name,
        f"{row.requests:,} {'request' if row.requests == 1 else 'requests'}",
        f"{format_tokens(prompt)} in ({100 * cached // prompt if prompt else 0}% cached)",
        f"{format_tokens(row.output_tokens)} out",
        format_spending(row.cost_usd, unpriced=row.unpriced_requests > 0),
    )
