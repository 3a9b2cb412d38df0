"""`yourtool models`: what there is, what each one can take and costs, and what is missing."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from yourtool.amounts import format_duration
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.config import load_config
from yourtool.credentials import Credentials
from yourtool.errors import AdapterError
from yourtool.models import AdapterCapabilities, Model, Price
from yourtool.paths import Paths
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.local_servers import discover_servers
from yourtool.providers.catalogue.model_listing import fetch_models
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry
from yourtool.run_result import ExitCode


def run(paths: Paths, arguments: Arguments) -> int:
    """List the models; without JSON, those that can be used first."""
    config = load_config(paths)
    catalogue = Catalogue.load(paths)
    registry = Registry(config, Credentials(paths), interactive=False)
    file = paths.cache / discovery_cache.FILE_NAME
    notes = _recall(file, registry, catalogue)
    if arguments.probe:
        notes = asyncio.run(_probe(file, registry, catalogue))
    why_not = {
        model.provider: registry.configuration_problem(model.provider) for model in catalogue.all()
    }
    if arguments.json:
        version = catalogue.pricing_version
        print_json(
            [
                _as_json(model, why_not[model.provider], version)
                | {"described_at": catalogue.discovered_at(model.id)}
                for model in catalogue.all()
            ]
        )
        return ExitCode.ANSWERED
    models = sorted(catalogue.all(), key=lambda model: why_not[model.provider] is not None)
    print_table(
        [("", "MODEL", "ALIASES", "CONTEXT", "$/M IN", "OUT", "ABILITIES", "TOLD")]
        + [
            (
                *_row(model, usable=why_not[model.provider] is None),
                _age(catalogue.discovered_at(model.id), datetime.now(UTC)),
            )
            for model in models
        ]
    )
    missing = dict.fromkeys(why for why in why_not.values() if why is not None)
    print_lines("", *notes, *missing, f"Prices as of {catalogue.pricing_version}.")
    return ExitCode.ANSWERED


def _recall(file: Path, registry: Registry, catalogue: Catalogue) -> list[str]:
    """Let the catalogue know what servers said earlier; return what to tell about it."""
    try:
        discovery_cache.apply_discoveries(
            discovery_cache.load_discoveries(file), registry, catalogue
        )
    except ValueError as error:
        return [str(error)]
    return []


async def _probe(file: Path, registry: Registry, catalogue: Catalogue) -> list[str]:
    """Let the catalogue learn what servers say now, and keep it; return what to tell about it."""
    rows = {row.name: row for row in registry.providers()}
    found = await discover_servers(rows["ollama"].base_url)
    heard: list[discovery_cache.DiscoveredModels] = []
    for server in found:
        registry.add_provider(server.spec)
        catalogue.add_discovered(server.spec.name, server.models)
        heard.append(discovery_cache.new_discovery(server.spec, server.models))
    names = ", ".join(server.spec.label for server in found) or "no model server"
    notes = [f"Found on the usual ports of this machine: {names}."]
    asked = [
        row.name
        for row in rows.values()
        if registry.configuration_problem(row.name) is None
        and not (row.name == "ollama" and row.is_local)
    ]
    answers = await asyncio.gather(*(_own_models(registry, name) for name in asked))
    for name, answer in zip(asked, answers, strict=True):
        if isinstance(answer, str):
            notes.append(answer)
        else:
            catalogue.add_discovered(name, answer)
            heard.append(discovery_cache.new_discovery(rows[name], answer))
    try:
        discovery_cache.save_discoveries(file, heard)
    except OSError as error:
        why = error.strerror or "it is not known why"
        notes.append(f"This is not kept for the next time: `{file}` cannot be written: {why}.")
    return notes


def _age(told: datetime | None, now: datetime) -> str:
    """Write how long ago a server described its model."""
    if told is None:
        return ""
    return f"{format_duration(int((now - told).total_seconds()))} ago"


async def _own_models(registry: Registry, provider: str) -> tuple[Model, ...] | str:
    try:
        return await fetch_models(registry, provider)
    except AdapterError as error:
        return f"The models of `{provider}` are not known: {error}."


def _row(model: Model, *, usable: bool) -> tuple[str, ...]:
    rates = (model.price, *model.price.tiers) if model.price else ()
    return (
        "✓" if usable else "–",
        model.id,
        " ".join(model.aliases),
        f"{model.capabilities.max_context_tokens // 1000}k",
        _range([each.input_per_mtok_usd for each in rates]),
        _range([each.output_per_mtok_usd for each in rates]),
        " ".join(_abilities(model.capabilities)),
    )


def _abilities(capabilities: AdapterCapabilities) -> list[str]:
    named = {
        "tools": capabilities.supports_tools,
        "images": capabilities.supports_images,
        "recordings": capabilities.supports_audio,
        "documents": capabilities.supports_documents,
        "thinking": capabilities.supports_thinking,
        "caching": capabilities.supports_prompt_caching,
    }
    return [name for name, able in named.items() if able]


def _range(amounts: Sequence[Decimal]) -> str:
    """Write a price, or from which to which it goes with the length of the prompt."""
    ends = (amounts[0], max(amounts)) if amounts else ()
    return "–".join(dict.fromkeys(f"{amount.normalize():f}" for amount in ends)) or "?"


def _as_json(model: Model, why_not: str | None, pricing_version: str) -> dict[str, Any]:
    return {
        "id": model.id,
        "provider": model.provider,
        "aliases": model.aliases,
        "capabilities": to_builtins(model.capabilities),
        "price": _price(model.price),
        "pricing_version": model.price_as_of or pricing_version if model.price else None,
        "known": model.known,
        "configured": why_not is None,
        "why_not": why_not,
    }


def _price(price: Price | None) -> dict[str, Any] | None:
    return None if price is None else to_builtins(price)
