"""Command `yourtool route replay`.

It shows the changes to stored turns under other rules, prices or windows.
"""

import asyncio
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from yourtool.agent.money.cost_report import parse_since
from yourtool.agent.runtime import Runtime
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.cli.run_options import complete_path
from yourtool.errors import ConfigError, UnknownModelError, UsageError
from yourtool.extensions.lab import stored_routes
from yourtool.foundation.amounts import format_money
from yourtool.foundation.files import is_file
from yourtool.models import AdapterCapabilities, Model
from yourtool.paths import Paths
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.agents import add_agents
from yourtool.providers.catalogue.models import Catalogue
from yourtool.routing.policy import (
    MAX_BYTES,
    Policy,
    PolicyError,
    PolicyFile,
    build_policy,
    parse_policy,
)
from yourtool.routing.router import Slot
from yourtool.routing.situation import ModelStatus
from yourtool.run_result import ExitCode
from yourtool.settings.config import RunOptions

_SLOTS = {
    Slot.PER_MESSAGE_OVERRIDE: "@model",
    Slot.MANUAL_STICKY: "/model",
    Slot.RULE: "rule",
    Slot.PATTERN: "learned",
    Slot.DELEGATE_REQUEST: "delegated",
    Slot.WORKSPACE_DEFAULT: "default of the directory",
    Slot.GLOBAL_DEFAULT: "default",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of `yourtool route replay`."""
    complete_path(
        parser.add_argument(
            "--with",
            dest="file",
            type=Path,
            metavar="FILE",
            help="with `replay`: rules instead of the stored ones",
        )
    )
    complete_path(
        parser.add_argument(
            "--prices",
            dest="prices_file",
            type=Path,
            metavar="FILE",
            help="with `replay`: a `prices.toml`",
        )
    )
    complete_path(
        parser.add_argument(
            "--models",
            dest="models_file",
            type=Path,
            metavar="FILE",
            help="with `replay`: a `models.toml`, for example with other windows",
        )
    )
    parser.add_argument(
        "--since", default="", metavar="T", help="a date or time, or for example `24h`, `7d`, `2w`"
    )


def run(paths: Paths, arguments: Arguments) -> int:
    """Print what would change.

    Raises:
        UsageError: a file or the time of `--since` is invalid.
        ConfigError: a file of prices or models has a mistake.
        StoreError: the database cannot be read.
    """
    report = asyncio.run(_replay(paths, arguments))
    if arguments.json:
        print_json(report)
    else:
        _print(report)
    return ExitCode.ANSWERED


async def _replay(paths: Paths, arguments: Arguments) -> "stored_routes.RouteReplay":
    since = parse_since(arguments.since, datetime.now(UTC)) if arguments.since else None
    for file in (arguments.file, arguments.prices_file, arguments.models_file):
        if file is not None and not is_file(file):
            raise UsageError(f"`{file}` is not a file")
    options = RunOptions(workspace=arguments.workspace, model=None, mode=None, interactive=False)
    runtime = await Runtime.open(paths, options)
    try:
        return await stored_routes.replay_routes(
            runtime.store, _build_settings(runtime, arguments), since
        )
    finally:
        await runtime.close()


def _build_settings(runtime: Runtime, arguments: Arguments) -> "stored_routes.ReplaySettings":
    catalogue = Catalogue.load(runtime.paths, arguments.models_file, arguments.prices_file)
    found = runtime.paths.cache / discovery_cache.FILE_NAME
    discovery_cache.restore_discoveries(found, runtime.registry, catalogue)
    add_agents(catalogue, runtime.config.agents)

    @cache
    def find_status(model_id: str) -> ModelStatus:
        try:
            model = catalogue.get(model_id)
        except UnknownModelError as error:
            nothing = Model(id=model_id, wire_name="", capabilities=AdapterCapabilities())
            return ModelStatus(nothing, unconfigured=str(error))
        return ModelStatus(model, runtime.registry.find_problem(model))

    return stored_routes.ReplaySettings(
        find_status=find_status,
        find_price=lambda model_id: find_status(model_id).model.price,
        build_policy=_read_rules(arguments.file, catalogue) if arguments.file else None,
        find_model=(lambda model_id: find_status(model_id).model)
        if arguments.models_file
        else None,
        has_other_prices=arguments.prices_file is not None,
    )


def _read_rules(file: Path, catalogue: Catalogue) -> Callable[[str], Policy]:
    """Return the rules of a file, by workspace.

    Raises:
        UsageError: the file has mistakes or cannot be read.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"`{file}` is larger than {MAX_BYTES // 2**20} MiB")
        rules = parse_policy(
            data.decode("utf-8-sig"), str(file), lambda name: catalogue.resolve(name).id
        )
    except PolicyError as error:
        raise ConfigError("\n".join(map(str, error.problems))) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"`{file}` is not UTF-8") from error
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {error.strerror}") from error

    @cache
    def build(workspace: str) -> Policy:
        return build_policy(rules, PolicyFile(), workspace)

    return build


def _print(report: "stored_routes.RouteReplay") -> None:
    count, plural = report.decisions, "s" * (report.decisions != 1)
    print_lines(f"{len(report.changes):,} of {count:,} decision{plural} would change.")
    if report.changes:
        print_table([_describe(each) for each in report.changes])
    if report.changes or report.old_cost_usd != report.new_cost_usd:
        old, new = format_money(report.old_cost_usd), format_money(report.new_cost_usd)
        print_lines(f"These turns cost {old}; the same tokens cost {new} in the replay.")
    if report.unpriced_requests:
        print_lines(f"Without requests whose price is unknown: {report.unpriced_requests:,}.")
    print_lines(*_list_skipped(report))


def _describe(change: "stored_routes.ChangedRoute") -> tuple[str, ...]:
    price = f"{format_money(change.old_cost_usd)} → {format_money(change.new_cost_usd)}"
    if change.unpriced_requests:
        price = "unpriced"
    elif not change.requests:
        price = "nothing was sent"
    return (
        change.session_id,
        f"{change.at.astimezone():%Y-%m-%d %H:%M}",
        f"{change.old.model or 'none'} → {change.new.model or 'none'}",
        f"{_name_step(change.old)} → {_name_step(change.new)}",
        price,
        change.new.reason,
    )


def _name_step(step: "stored_routes.RouteStep") -> str:
    slot = _SLOTS.get(Slot(step.slot), step.slot) if step.slot in set(Slot) else step.slot
    return f"{slot} {step.rule_name}" if step.rule_name else slot


def _list_skipped(report: "stored_routes.RouteReplay") -> Iterator[str]:
    for each in report.skipped:
        decisions = "1 decision" if each.decisions == 1 else f"{each.decisions:,} decisions"
        yield f"{each.session_id}: not made again are {decisions}: {each.reason}"
