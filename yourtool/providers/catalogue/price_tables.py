"""Tables of prices.

The user's changes are merged into the shipped table; a table can be written as a file. A table has
a name: its version and a digest of its content, such as `2026-11-21@0123456789abcdef`. Two tables
with the same version and other prices have different names.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from yourtool.models import Price, Rates
from yourtool.paths import shipped_directory
from yourtool.providers.catalogue.table_files import read_tables, table_error
from yourtool.providers.prices import MAX_RATE, MIN_RATE, is_plausible_rate

_RATES = tuple(sorted(Rates.__struct_fields__))
_DIGEST_LENGTH = 16
"""Hexadecimal digits of a SHA-256, in names of tables and of their files."""


class _PricesFile(Struct, frozen=True):
    pricing_version: str = ""
    models: dict[str, Price] = {}


class PriceTable(Struct, frozen=True, dict=True):
    """The prices of models, and of all models of a provider (`<provider>:*`)."""

    version: str
    """As the files have it, such as a date."""
    prices: Mapping[str, Price]

    @property
    def name(self) -> str:
        """The version and the digest."""
        return f"{self.version}@{self.digest}"

    @cached_property
    def digest(self) -> str:
        """The start of the SHA-256 of the table's file."""
        return get_digest(self.content)

    @cached_property
    def content(self) -> bytes:
        """The table as a `prices.toml`; equal for equal prices."""
        lines = [f"pricing_version = {_quote(self.version)}"]
        for model, price in sorted(self.prices.items()):
            lines += ["", f"[models.{_quote(model)}]", *_render_rates(price)]
            for tier in price.tiers:
                lines += [f"[[models.{_quote(model)}.tiers]]"]
                lines += [f"above_prompt_tokens = {tier.above_prompt_tokens}"]
                lines += _render_rates(tier)
        return "".join(f"{line}\n" for line in lines).encode()

    def find(self, model_id: str) -> Price | None:
        """Return the price of a model; None: it is unpriced."""
        return find_price(model_id, self.prices)


def get_digest(content: bytes) -> str:
    """Return the digest in the name of the table with this file."""
    return hashlib.sha256(content).hexdigest()[:_DIGEST_LENGTH]


def find_price(model_id: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model, or that of all models of its provider."""
    provider = model_id.partition(":")[0]
    return prices.get(model_id) or prices.get(f"{provider}:*")


def read_prices(users_file: Path) -> tuple[dict[str, Price], str]:
    """Return the shipped prices with those of a file of the user, and their version.

    Raises:
        ConfigError: naming file, line and key.
    """
    shipped, _ = read_price_file(shipped_directory("config") / "prices.toml")
    own, version = read_price_file(users_file)
    return {**shipped, **own}, version if own else ""


def read_price_file(file: Path) -> tuple[dict[str, Price], str]:
    """Return the prices of one file, and its version; empty if there is no such file.

    Raises:
        ConfigError: naming file, line and key.
    """
    tables = read_tables(file, _PricesFile)
    prices: dict[str, Price] = {}
    for name, row in tables.get("models", {}).items():
        missing = {"input_per_mtok_usd", "output_per_mtok_usd"} - row.keys()
        if missing:
            raise table_error(file, ("models", name), f"`{min(missing)}` is missing")
        for key, value in _amounts(row):
            if not is_plausible_rate(value):
                demand = f"a price is zero, or from {MIN_RATE:f} to {MAX_RATE:,}"
                raise table_error(file, ("models", name, key), demand)
        reached = [tier.above_prompt_tokens for tier in row.get("tiers", ())]
        if len(set(reached)) < len(reached):
            raise table_error(
                file, ("models", name, "tiers"), "two of them have one `above_prompt_tokens`"
            )
        prices[name] = Price(**row)
    version = tables.get("pricing_version", "")
    if prices and not version:
        raise table_error(file, ("pricing_version",), "a date such as `2026-11-21` is missing")
    return prices, version


def _amounts(row: Mapping[str, Any]) -> Iterator[tuple[str, Decimal]]:
    """Yield the rates of a price with their keys, including those of its tiers."""
    for key, value in row.items():
        if isinstance(value, Decimal):
            yield key, value
    for tier in row.get("tiers", ()):
        yield from (("tiers", each) for each in astuple(tier) if isinstance(each, Decimal))


def _render_rates(rates: Rates) -> Iterator[str]:
    for key in _RATES:
        if (value := getattr(rates, key)) is not None:
            whole, _, fraction = f"{value:f}".partition(".")
            yield f"{key} = {whole}.{fraction.rstrip('0') or '0'}"


def _quote(text: str) -> str:
    """Return a basic string of TOML (https://toml.io/en/v1.0.0#string)."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
