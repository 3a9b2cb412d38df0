"""`yourtool models`: what there is, what each one can take and costs, and what is missing."""

from decimal import Decimal
from typing import Any

from msgspec import to_builtins

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.config import load_config
from yourtool.credentials import Credentials
from yourtool.models import AdapterCapabilities, Model, Price
from yourtool.outcome import Exit
from yourtool.paths import Paths
from yourtool.providers.catalogue import Catalogue
from yourtool.providers.registry import Registry


def run(paths: Paths, arguments: Arguments) -> int:
    """List the models; without JSON, those that can be used first."""
    config = load_config(paths)
    catalogue = Catalogue.load(paths, config)
    registry = Registry(config, Credentials(paths))
    why_not = {model.provider: registry.why_not(model.provider) for model in catalogue.all()}
    if arguments.json:
        version = catalogue.pricing_version
        print_json([_as_json(model, why_not[model.provider], version) for model in catalogue.all()])
        return Exit.ANSWERED
    models = sorted(catalogue.all(), key=lambda model: why_not[model.provider] is not None)
    print_table(
        [("", "MODEL", "ALIASES", "CONTEXT", "$/M IN", "OUT", "ABILITIES")]
        + [_row(model, usable=why_not[model.provider] is None) for model in models]
    )
    missing = dict.fromkeys(why for why in why_not.values() if why is not None)
    print_lines("", *(why for why in missing), f"Prices as of {catalogue.pricing_version}.")
    return Exit.ANSWERED


def _row(model: Model, *, usable: bool) -> tuple[str, ...]:
    price = model.price
    return (
        "✓" if usable else "–",
        model.id,
        " ".join(model.aliases),
        f"{model.capabilities.max_context_tokens // 1000}k",
        _dollars(price.input_per_mtok_usd) if price else "?",
        _dollars(price.output_per_mtok_usd) if price else "?",
        " ".join(_abilities(model.capabilities)),
    )


def _abilities(capabilities: AdapterCapabilities) -> list[str]:
    named = {
        "tools": capabilities.supports_tools,
        "images": capabilities.supports_images,
        "thinking": capabilities.supports_thinking,
        "caching": capabilities.supports_prompt_caching,
    }
    return [name for name, able in named.items() if able]


def _dollars(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _as_json(model: Model, why_not: str | None, pricing_version: str) -> dict[str, Any]:
    return {
        "id": model.id,
        "provider": model.provider,
        "aliases": model.aliases,
        "capabilities": to_builtins(model.capabilities),
        "price": _price(model.price),
        "pricing_version": pricing_version if model.price else None,
        "configured": why_not is None,
        "why_not": why_not,
    }


def _price(price: Price | None) -> dict[str, Any] | None:
    return None if price is None else to_builtins(price)
