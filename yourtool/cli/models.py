"""`yourtool models`: models, capabilities, prices, missing keys."""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from yourtool import extensions
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import open_settings, print_json, print_lines, print_table
from yourtool.errors import AdapterError, UsageError
from yourtool.foundation.amounts import format_age
from yourtool.foundation.text import printable
from yourtool.models import AGENT, AdapterCapabilities, Model, ModelId, Price
from yourtool.paths import Paths
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.agents import add_agents
from yourtool.providers.catalogue.discovery import fetch_models
from yourtool.providers.catalogue.local_servers import discover_servers
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry
from yourtool.run_result import ExitCode
from yourtool.settings.config import Config
from yourtool.settings.credentials import Credentials


def run(paths: Paths, arguments: Arguments) -> int:
    """List the models; the table has the usable ones first.

    Raises:
        UsageError: `--ask`, `--yes` or a model without what they belong to, or no consent.
    """
    _check_options(arguments)
    config = open_settings(paths).config
    catalogue = Catalogue.load(paths)
    add_agents(catalogue, config.agents)
    registry = Registry(config, Credentials(paths), interactive=False)
    catalogue.offer(row.name for row in registry.providers())
    file = paths.cache / discovery_cache.FILE_NAME
    notes = discovery_cache.restore_discoveries(file, registry, catalogue)
    code = ExitCode.ANSWERED
    if arguments.probe:
        notes = asyncio.run(_probe(file, registry, catalogue))
    if arguments.ask and (trials := extensions.load_model_trials()) is not None:
        results, have_answered = trials.test_models(file, arguments, registry, catalogue)
        notes += results
        if arguments.json:
            sys.stderr.write("".join(f"{printable(each)}\n" for each in results))
        code = ExitCode.ANSWERED if have_answered else ExitCode.FAILED
    find_problem = cache(registry.configuration_problem)
    why_not = {
        model.id: _find_agent_problem(model, config, arguments.workspace)
        or find_problem(model.provider)
        for model in catalogue.all()
    }
    if arguments.json:
        version = catalogue.pricing_version
        print_json(
            [
                _model_json(model, why_not[model.id], version)
                | {
                    "described_at": catalogue.discovered_at(model.id),
                    "tested": catalogue.find_trial(model.id),
                }
                for model in catalogue.all()
            ]
        )
        return code
    usable = [model for model in catalogue.all() if why_not[model.id] is None]
    others = [model for model in catalogue.all() if why_not[model.id] is not None]
    models = (*usable, *(model for model in others if not catalogue.is_shipped(model.id)))
    more = Counter(model.provider for model in others if catalogue.is_shipped(model.id))
    print_table(
        [("", "MODEL", "ALIASES", "CONTEXT", "$/M IN", "OUT", "CAPABILITIES", "SOURCE")]
        + [
            (
                *_table_row(model, usable=why_not[model.id] is None),
                _format_source(catalogue, model.id, datetime.now(UTC)),
            )
            for model in models
        ]
    )
    missing = dict.fromkeys(why for why in why_not.values() if why is not None)
    prices = f"Prices as of {catalogue.pricing_version}."
    print_lines("", *notes, *missing, *_name_providers(more), prices)
    return code


def _name_providers(models: Counter[str]) -> list[str]:
    named = ", ".join(f"{provider} ({count:,})" for provider, count in models.items())
    return [f"Models of providers that are not set up: {named}."] if named else []


def _find_agent_problem(model: Model, config: Config, workspace: Path) -> str | None:
    """Return why the command of an agent cannot be run; None if it can, or for other models."""
    name = ModelId.parse(model.id).name
    if model.provider == AGENT and (agent := config.agents.get(name)) is not None:
        try:
            extensions.build_agent_command(name, agent, workspace)
        except AdapterError as error:
            return f"{error.message}."
    return None


def _check_options(arguments: Arguments) -> None:
    if arguments.ask and not arguments.probe:
        raise UsageError("`--ask` belongs to `--probe`: `yourtool models --probe --ask`")
    if not arguments.ask and (arguments.words or arguments.yes):
        word = f"`{arguments.words[0]}`" if arguments.words else "`--yes`"
        raise UsageError(f"{word} belongs to `--ask`: `yourtool models --probe --ask [MODEL]`")


async def _probe(file: Path, registry: Registry, catalogue: Catalogue) -> list[str]:
    """Query servers, update the catalogue and the cache; return messages for the user."""
    rows = {row.name: row for row in registry.providers()}
    found = await discover_servers(rows["ollama"].base_url)
    answered: list[discovery_cache.DiscoveredModels] = []
    for server in found:
        registry.add_provider(server.spec)
        catalogue.add_discovered(server.spec.name, server.models)
        answered.append(discovery_cache.new_discovery(server.spec, server.models))
    names = ", ".join(server.spec.label for server in found) or "no model server"
    notes = [f"Found on the usual local ports: {names}."]
    queried = [
        row.name
        for row in rows.values()
        if registry.configuration_problem(row.name) is None
        and not (row.name == "ollama" and row.is_local)
    ]
    answers = await asyncio.gather(*(_list_models(registry, name) for name in queried))
    for name, answer in zip(queried, answers, strict=True):
        if isinstance(answer, str):
            notes.append(answer)
        else:
            catalogue.add_discovered(name, answer)
            answered.append(discovery_cache.new_discovery(rows[name], answer))
    try:
        discovery_cache.save_discoveries(file, answered)
    except OSError as error:
        reason = error.strerror or "unknown error"
        notes.append(f"The model list was not saved: cannot write `{file}`: {reason}.")
    return notes


def _format_source(catalogue: Catalogue, model_id: str, now: datetime) -> str:
    """Return the age of a server's description and the date of test requests, if there are any."""
    described_at = catalogue.discovered_at(model_id)
    age = "" if described_at is None else f"server, {format_age(now - described_at)}"
    trial = catalogue.find_trial(model_id)
    return ", ".join(filter(None, (age, trial and f"tested {trial.at:%Y-%m-%d}")))


async def _list_models(registry: Registry, provider: str) -> tuple[Model, ...] | str:
    try:
        return await fetch_models(registry, provider)
    except AdapterError as error:
        return f"Cannot list the models of `{provider}`: {error}."


def _table_row(model: Model, *, usable: bool) -> tuple[str, ...]:
    rates = (model.price, *model.price.tiers) if model.price else ()
    return (
        "✓" if usable else "–",
        model.id,
        " ".join(model.aliases),
        "?" if model.window is None else f"{model.window // 1000}k",
        _format_price_range([each.input_per_mtok_usd for each in rates]),
        _format_price_range([each.output_per_mtok_usd for each in rates]),
        " ".join(_capability_names(model.capabilities)),
    )


def _capability_names(capabilities: AdapterCapabilities) -> list[str]:
    supported = {
        "tools": capabilities.supports_tools,
        "images": capabilities.supports_images,
        "audio": capabilities.supports_audio,
        "documents": capabilities.supports_documents,
        "reasoning": capabilities.supports_thinking,
        "caching": capabilities.supports_prompt_caching,
    }
    return [name for name, is_supported in supported.items() if is_supported]


def _format_price_range(amounts: Sequence[Decimal]) -> str:
    """Return a price, or the range of prices if it depends on the length of the prompt."""
    ends = (amounts[0], max(amounts)) if amounts else ()
    return "–".join(dict.fromkeys(f"{amount.normalize():f}" for amount in ends)) or "?"


def _model_json(model: Model, why_not: str | None, pricing_version: str) -> dict[str, Any]:
    return {
        "id": model.id,
        "provider": model.provider,
        "aliases": model.aliases,
        "capabilities": to_builtins(model.capabilities),
        "price": _price_json(model.price),
        "pricing_version": model.price_as_of or pricing_version if model.price else None,
        "known": model.known,
        "configured": why_not is None,
        "why_not": why_not,
    }


def _price_json(price: Price | None) -> dict[str, Any] | None:
    return None if price is None else to_builtins(price)
