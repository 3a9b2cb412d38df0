"""Shipped table of models, `config/catalogue.json`.

`make catalogue` writes it (`docs/catalogue`). It is read when a model is described for the first
time, and each row when it is needed. A row that is damaged or implausible counts as missing.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from yourtool.models import EditTool, Effort, Price, PriceTier, Thinking
from yourtool.providers.catalogue import families
from yourtool.providers.prices import is_plausible_rate

SHIPPED_FILE = "catalogue.json"
VENDORS = (
    "anthropic",
    "openai",
    "google",
    "xai",
    "deepseek",
    "mistral",
    "moonshotai",
    "zai",
    "meta",
)
"""Providers whose rows describe the same models at other providers, too."""
MAX_BYTES = 4 * 2**20
MAX_ROWS = 10_000
_NAME = Annotated[str, Meta(pattern=r"^[!-~]{1,200}$")]
Ability: TypeAlias = Literal["tools", "images", "documents", "audio", "thinking", "schema", "cache"]
_Tokens = Annotated[int, Meta(ge=256, le=100_000_000)]
_Rates = Annotated[tuple[Decimal | None, ...], Meta(min_length=2, max_length=5)]
"""US dollars per million tokens: input, output, cached input, cache writes, those of an hour."""
_FIELDS: Mapping[str, str] = {
    "tools": "supports_tools",
    "images": "supports_images",
    "documents": "supports_documents",
    "audio": "supports_audio",
    "thinking": "supports_thinking",
    "schema": "supports_structured_output",
    "cache": "supports_prompt_caching",
}

_log = logging.getLogger(__name__)


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts about one model."""

    window: _Tokens | None = None
    """The smallest of the sources, as `output`."""
    output: _Tokens | None = None
    can: tuple[Ability, ...] = ()
    levels: tuple[Effort, ...] = ()
    form: Thinking | None = None
    edit: EditTool | None = None
    fixed_temperature: bool = False
    least_cached: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    most_images: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """Of one request."""
    price: _Rates | None = None
    """The highest rates of the sources."""
    tiers: tuple[tuple[Annotated[int, Meta(ge=0, le=100_000_000)], _Rates], ...] = ()
    ends: date | None = None
    """The day from which the provider answers with it no longer."""
    successor: _NAME | None = None
    """The name of the model that replaces it."""
    by: Mapping[str, str] = {}
    """The sources of the window, the output limit and the price, by their short names."""
    said: Mapping[str, Mapping[str, Any]] = {}
    """The figures of other sources that differ from these."""

    def get_price(self) -> Price | None:
        """Return the price; None: it is missing or implausible."""
        rates = (self.price, *(each for _, each in self.tiers))
        if self.price is None or not all(map(_is_plausible, rates)):
            return None
        tiers = (PriceTier(above_prompt_tokens=at, **_name(each)) for at, each in self.tiers)
        return Price(**_name(self.price), tiers=tuple(tiers))

    def get_fields(self, *, is_elsewhere: bool) -> dict[str, Any]:
        """Return the fields of a row of `models.toml`.

        `is_elsewhere`: without those that depend on the API of the provider.
        """
        common = {"tools", "images", "thinking"}
        fields: dict[str, Any] = {
            name: ability in self.can
            for ability, name in _FIELDS.items()
            if not is_elsewhere or ability in common
        }
        told = {
            "max_context_tokens": self.window,
            "max_images": None if is_elsewhere else self.most_images,
            "max_output_tokens": self.output or _guess_output(self.window),
            "thinking_levels": self.levels or None,
            "accepts_temperature": False if self.fixed_temperature else None,
            "edit_tool": self.edit,
            "thinking": None if is_elsewhere else self.form,
            "least_cached_tokens": None if is_elsewhere else self.least_cached,
        }
        return fields | {name: value for name, value in told.items() if value is not None}


class _File(Struct, frozen=True):
    as_of: date
    sources: Mapping[str, str]
    models: Mapping[str, msgspec.Raw]
    missing: tuple[str, ...] = ()


class ShippedCatalogue:
    """The rows of a file, by canonical model id."""

    def __init__(self, file: Path) -> None:
        """Nothing is read yet."""
        self._path = file
        self._rows: dict[str, Row | None] = {}

    @cached_property
    def _file(self) -> _File:
        try:
            with self._path.open("rb") as opened:
                content = opened.read(MAX_BYTES + 1)
            if len(content) > MAX_BYTES:
                raise ValueError("it is too large")
            found = msgspec.json.decode(content, type=_File)
            if len(found.models) > MAX_ROWS:
                raise ValueError("it has too many rows")
        except (OSError, ValueError) as error:
            _log.warning("the catalogue `%s` is not used: %s", self._path, error)
            return _File(date.min, {}, {})
        return found

    @property
    def is_usable(self) -> bool:
        """True if the file could be read."""
        return bool(self._file.models)

    @property
    def as_of(self) -> date:
        """The day on which the sources were read."""
        return self._file.as_of

    def find(self, model_id: str) -> Row | None:
        """Return the row of a model; None if it is missing or damaged."""
        if model_id not in self._rows:
            raw = self._file.models.get(model_id)
            self._rows[model_id] = None if raw is None else _decode(model_id, raw)
        return self._rows[model_id]

    def find_row(self, model_id: str) -> tuple[Row | None, str]:
        """Return the row that describes a model, and whose it is, if it is that of another.

        The row of another one has the same name without its date or gateway, or is the newest of
        the family. For a provider that is not in the file, only names that are their vendor's.
        """
        if (row := self.find(model_id)) is not None:
            return row, ""
        provider, _, name = model_id.partition(":")
        own = self._by_provider.get(provider, ())
        is_closed = families.is_closed(name)
        if not own and not is_closed:
            return None, ""
        vendors = [each for vendor in VENDORS for each in self._by_provider.get(vendor, ())]
        known = [
            {_get_name(each): each for each in ids} for ids in (own, vendors if is_closed else ())
        ]
        for find in (_find_equal, _find_without_date, families.find_newest):
            for names in known:
                if (found := find(name, names)) and (row := self.find(names[found])):
                    return row, names[found]
        return None, ""

    def find_newest_equal(self, example: str, ids: Iterable[str], today: date) -> str | None:
        """Return the newest of the ids with the family of an example that has not ended yet."""
        words = families.parse(families.simplify(_get_name(example))).words
        best: tuple[tuple[float, ...], str] | None = None
        for each in ids:
            parts = families.parse(families.simplify(_get_name(each)))
            row = self.find(each)
            if parts.words != words or (row and row.ends and row.ends < today):
                continue
            if best is None or parts.version > best[0]:
                best = parts.version, each
        return None if best is None else best[1]

    def find_tails(self, name: str) -> tuple[str, ...]:
        """Return the models of vendors whose name ends with one, such as `sonnet-5.5`."""
        if ":" in name or not any(map(str.isdigit, name)):
            return ()
        end = f"-{families.simplify(name)}"
        own = (each for vendor in VENDORS for each in self._by_provider.get(vendor, ()))
        return tuple(each for each in own if families.simplify(_get_name(each)).endswith(end))

    @cached_property
    def _by_provider(self) -> Mapping[str, tuple[str, ...]]:
        found = dict[str, list[str]]()
        for each in self:
            if ":" not in _get_name(each):  # a variant, such as `:batch`, is no example of a family
                found.setdefault(each.partition(":")[0], []).append(each)
        return {provider: tuple(ids) for provider, ids in found.items()}

    def __iter__(self) -> Iterator[str]:
        """Yield the ids of all rows, as the file has them."""
        return iter(self._file.models)

    @cached_property
    def prices(self) -> Mapping[str, Price]:
        """The prices of all models that have one."""
        priced = ((each, row.get_price()) for each in self if (row := self.find(each)))
        return {name: price for name, price in priced if price is not None}

    def describe(self, row: Row) -> Iterator[tuple[str, str]]:
        """Yield what names the sources of each figure of a row: its name, then the sources."""
        for figure, letters in row.by.items():
            names = ", ".join(self._file.sources.get(each, each) for each in letters)
            others = row.said.get(figure, {})
            differing = (
                f"{self._file.sources.get(each, each)} says {others[each]}" for each in others
            )
            yield figure, "; ".join((f"{names}, read {self.as_of}", *differing))


def _get_name(model_id: str) -> str:
    return model_id.partition(":")[2]


def _find_equal(name: str, others: Iterable[str]) -> str | None:
    simple = families.simplify(name)
    return next((each for each in others if families.simplify(each) == simple), None)


def _find_without_date(name: str, others: Iterable[str]) -> str | None:
    simple = families.omit_date(families.simplify(name))
    return next(
        (each for each in others if families.omit_date(families.simplify(each)) == simple), None
    )


def _decode(model_id: str, raw: msgspec.Raw) -> Row | None:
    try:
        return msgspec.json.decode(raw, type=Row)
    except ValueError as error:
        _log.warning("the row of `%r` in the catalogue is not used: %s", model_id, error)
        return None


def _guess_output(window: int | None) -> int | None:
    """Return a careful output limit for a window without one."""
    return None if window is None else max(256, min(window // 4, 32_768))


def _name(rates: tuple[Decimal | None, ...]) -> dict[str, Any]:
    names = ("input", "output", "cached_read", "cache_write", "cache_write_hour")
    return {
        f"{name}_per_mtok_usd": rate
        for name, rate in zip(names, rates, strict=False)
        if rate is not None
    }


def _is_plausible(rates: tuple[Decimal | None, ...] | None) -> bool:
    return (
        rates is not None
        and None not in rates[:2]
        and all(each is None or is_plausible_rate(each) for each in rates)
    )
