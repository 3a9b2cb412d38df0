"""Catalogue of known models.

A model is described in layers, the last one first: the results of test requests, the user's rows in
`models.toml` and `prices.toml`, the provider's list, the shipped `models.toml`, the row of the
model in the shipped catalogue or else that of the newest of its family. Invalid entries of the user
raise a `ConfigError`.
"""

import os
from collections.abc import Container, Iterable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from yourtool.errors import ConfigError, UnknownModelError
from yourtool.foundation.suggestions import find_closest
from yourtool.models import AGENT, AdapterCapabilities, Model, ModelId, Price
from yourtool.paths import Paths, shipped_directory
from yourtool.providers.catalogue.model_tables import (
    CAPABILITIES,
    MODEL_FIELDS,
    SIZES,
    ModelRow,
    Tables,
    merge_tables,
)
from yourtool.providers.catalogue.price_tables import PriceTable, find_price, read_prices
from yourtool.providers.catalogue.shipped import SHIPPED_FILE, VENDORS, ShippedCatalogue
from yourtool.providers.catalogue.trials import ModelTrial, apply_trial
from yourtool.providers.media_types import IMAGE_TYPES


class Catalogue:
    """All described models, and conservative defaults for any other."""

    def __init__(
        self,
        models: Iterable[Model],
        pricing_version: str,
        tables: Tables | None = None,
        shipped: ShippedCatalogue | None = None,
    ) -> None:
        """Index `models` by id and alias; `tables` and `shipped` describe further ones.

        Raises:
            ConfigError: two models have the same alias.
        """
        self._tables = tables or Tables()
        self._shipped = shipped
        self._own_version = pricing_version
        self._models = {model.id: model for model in models}
        self._models |= {name: self._build(name) for name in self._tables.rows}
        self._built: dict[str, Model] = {}
        self._discovered_at: dict[str, datetime] = {}
        self._described: set[str] = set()
        """Models that a list describes; other lists only have their names."""
        self._trials: dict[str, ModelTrial] = {}
        self._untried: dict[str, Model] = {}
        self._aliases: dict[str, str] = {}
        self._all: tuple[str, ...] | None = None
        self._offered: frozenset[str] | None = None
        for model in self._models.values():
            for alias in model.aliases:
                if (owner := self._aliases.setdefault(alias, model.id)) != model.id:
                    raise ConfigError(
                        f"models.toml: `{model.id}` and `{owner}` are both called `{alias}`; take"
                        " the alias from one of them"
                    )

    @classmethod
    def load_valid(cls, paths: Paths) -> "tuple[Catalogue, list[str]]":
        """Return the catalogue without the user's tables that have mistakes, and why."""
        problem, none = "", Path(os.devnull)
        for models, prices in ((None, None), (none, None), (None, none), (none, none)):
            try:
                found = cls.load(paths, models, prices)
            except ConfigError as error:
                problem = problem or f"{error}. No row of this file is used."
            else:
                return found, [problem] if problem else []
        raise ConfigError(problem)

    @classmethod
    def load(
        cls, paths: Paths, models_file: Path | None = None, prices_file: Path | None = None
    ) -> "Catalogue":
        """Read the shipped tables and merge the user's tables, or those of other files.

        Raises:
            ConfigError: naming file, line, key and the nearest key, or the two models that
                share an alias.
        """
        shipped = ShippedCatalogue(shipped_directory("config") / SHIPPED_FILE)
        tables = Tables()
        files = (shipped_directory("config"), "models.toml"), (paths.home, "models.toml")
        for folder, name in files:
            file = models_file if folder == paths.home and models_file else folder / name
            merge_tables(tables, file, shipped)
        tables.prices, version = read_prices(prices_file or paths.home / "prices.toml")
        return cls((), version, tables, shipped)

    @cached_property
    def price_table(self) -> PriceTable:
        """The prices of the shipped catalogue, overridden by those of the files."""
        shipped = self._shipped.prices if self._shipped else dict[str, Price]()
        return PriceTable(self.pricing_version, {**shipped, **self._tables.prices})

    @property
    def pricing_version(self) -> str:
        """The date of the shipped catalogue, and the version of the user's prices."""
        dated = self._shipped.as_of.isoformat() if self._shipped else ""
        return "+".join(filter(None, (dated, self._own_version)))

    def get(self, model_id: str) -> Model:
        """Return a model by its canonical id; `known` is false if it is not described.

        Raises:
            UnknownModelError: the id is malformed.
        """
        if model := self._models.get(model_id) or self._built.get(model_id):
            return model
        model = self._built[model_id] = self._with_trial(self._build(model_id))
        return model

    def add_discovered(
        self, provider: str, models: Iterable[Model], at: datetime | None = None
    ) -> None:
        """Add the models that a provider lists; the tables override them key by key.

        Facts that a list lacks come from the catalogue. A described model is not replaced by a
        guess (`known` is false), and models that the provider no longer lists are removed. `at` is
        the time of the list; None: now.
        """
        at, models = at or datetime.now(UTC), tuple(models)
        self._remove_unlisted(provider, {model.id for model in models})
        self._all = None
        for model in models:
            if model.id in self._described and not model.known:
                continue
            self._described |= {model.id} if model.known else set[str]()
            self._discovered_at[model.id] = at
            self._untried.pop(model.id, None)
            self._models[model.id] = self._with_trial(self._combine(model, at))

    def _combine(self, listed: Model, at: datetime) -> Model:
        """Return a model as its provider lists it, with what the catalogue adds."""
        base, row = self._build(listed.id), self._tables.rows.get(listed.id, {})
        can = listed.capabilities if listed.known else base.capabilities
        if listed.has_size and not listed.known:
            can = replace(can, **{each: getattr(listed.capabilities, each) for each in SIZES})
        shared = self._tables.get_shared(listed.provider)
        own = {**{name: shared[name] for name in shared if name not in SIZES}, **row}
        said = {name: value for name, value in own.items() if name in CAPABILITIES}
        own_price = find_price(listed.id, self._tables.prices)
        price = own_price or listed.price or base.price
        if listed.price and base.price and _has_equal_rates(listed.price, base.price):
            price = own_price or base.price  # the list has no tiers
        described = replace(
            base,
            wire_name=listed.wire_name if "wire_name" not in row else base.wire_name,
            capabilities=_with_capped_output(replace(can, **said)),
            price=price,
            price_as_of=""
            if price in (own_price, base.price)
            else f"{listed.provider} {at:%Y-%m-%d}",
            known=listed.known or base.known,
            has_size=listed.has_size or base.has_size,
            taken_from="" if listed.known else base.taken_from,
        )
        told = {
            "thinking": listed.thinking,
            "thinking_levels": listed.thinking_levels,
            "accepts_temperature": base.accepts_temperature and listed.accepts_temperature,
        }
        usable = {name: value for name, value in told.items() if name not in row}
        return replace(described, **usable) if listed.known else described

    def add_trials(self, trials: Iterable[ModelTrial]) -> None:
        """Apply the results of test requests; they override everything but the user's rows."""
        for trial in trials:
            self._trials[trial.model] = trial
            if trial.model in self._models:
                self._models[trial.model] = self._with_trial(self.get_untried(trial.model))

    def find_trial(self, model_id: str) -> ModelTrial | None:
        """Return the result of the last test requests to a model; None: there were no such."""
        return self._trials.get(model_id)

    def get_untried(self, model_id: str) -> Model:
        """Return a model as it is described, without the results of test requests."""
        return self._untried.get(model_id) or self.get(model_id)

    def _with_trial(self, model: Model) -> Model:
        if (trial := self._trials.get(model.id)) is None:
            return model
        self._untried[model.id] = model
        own = self._tables.overrides
        own = {**own.get(model.provider, {}), **own.get(model.id, {})}
        said = {name: own[name] for name in own if name in CAPABILITIES}
        can = replace(apply_trial(model.capabilities, trial), **said)
        has_size = model.has_size or bool(trial.window)
        return replace(model, capabilities=_with_capped_output(can), known=True, has_size=has_size)

    def _build(self, model_id: str) -> Model:
        """Return a model from the tables and the shipped catalogue.

        Raises:
            UnknownModelError: the id is malformed.
        """
        provider = ModelId.parse(model_id).provider
        declared, tables = self._tables.rows.get(model_id), self._tables
        row, taken_from = self._shipped.find_row(model_id) if self._shipped else (None, "")
        is_elsewhere = bool(taken_from) and ModelId.parse(taken_from).provider != provider
        told = {} if row is None else row.get_fields(is_elsewhere=is_elsewhere)
        is_described = declared is not None or (row is not None and not is_elsewhere)
        shared: dict[str, Any] = (
            tables.defaults.get(provider, {}) if is_described else tables.get_shared(provider)
        )
        if told.get("supports_images"):
            shared = {"accepted_image_media_types": IMAGE_TYPES, **shared}
        fields: dict[str, Any] = {**told, **shared, **(declared or {})}
        merged = ModelRow(**fields)
        price = find_price(model_id, tables.prices) or (row and row.get_price())
        return Model(
            id=model_id,
            wire_name=merged.wire_name or ModelId.parse(model_id).name,
            capabilities=_with_capped_output(
                AdapterCapabilities(**{name: getattr(merged, name) for name in CAPABILITIES})
            ),
            **{name: getattr(merged, name) for name in MODEL_FIELDS},
            price=price,
            known=declared is not None or row is not None,
            has_size="max_context_tokens" in fields,
            taken_from=ModelId.parse(taken_from).name if taken_from else "",
            ends=row.ends if row and not taken_from else None,
            successor=(row and row.successor) or "",
        )

    def _remove_unlisted(self, provider: str, named: Container[str]) -> None:
        for model_id in tuple(self._discovered_at):
            is_asked = ModelId.parse(model_id).provider == provider
            if is_asked and model_id not in named and model_id not in self._tables.rows:
                del self._discovered_at[model_id], self._models[model_id]

    def discovered_at(self, model_id: str) -> datetime | None:
        """Return when a server described the model; None: it did not."""
        return None if model_id.startswith(f"{AGENT}:") else self._discovered_at.get(model_id)

    def resolve(self, name: str) -> Model:
        """Return the model for an id, an alias or a unique suffix of an id.

        Raises:
            UnknownModelError: there is no match, or several.
        """
        name = name.strip()
        if model := self._models.get(self._aliases.get(name, name)):
            return model
        if newest := self._find_newest(name):
            return self.get(newest)
        if self._shipped and self._shipped.find(name):
            return self.get(name)
        tails = self._find_tails(name)
        if len(tails) == 1:
            return self.get(tails[0])
        if tails:
            choices = ", ".join(f"`{known}`" for known in tails)
            raise UnknownModelError(f"`{name}` may mean {choices}; write one of them", tails)
        if ":" in name:
            return self.get(name)
        close = find_closest(name, (*self._aliases, *self._tables.aliases, *self._models))
        hint = f"; did you mean `{close}`?" if close else "."
        raise UnknownModelError(
            f"No model is called `{name}`{hint} `yourtool models` lists them; any"
            " other is named `<provider>:<name>`.",
            (close,) if close else (),
        )

    def _find_newest(self, alias: str) -> str | None:
        """Return the newest model of the family that a word names; those of a list come first."""
        if (example := self._tables.aliases.get(alias)) is None or self._shipped is None:
            return None
        provider = ModelId.parse(example).provider
        listed = [each for each in self._discovered_at if each.startswith(f"{provider}:")]
        known = (each for each in self._shipped if each.startswith(f"{provider}:"))
        today = datetime.now(UTC).date()
        found = self._shipped.find_newest_equal(example, listed or known, today)
        return found or self._shipped.find_newest_equal(example, known, today)

    def _find_tails(self, name: str) -> tuple[str, ...]:
        """Return the ids that end with a name: described ones, else those of vendors, else all."""
        ends = (f":{name}", f"/{name}")
        if not name:
            return ()
        if tails := tuple(known for known in self._models if known.endswith(ends)):
            return tails
        shipped = tuple(known for known in self._shipped or () if known.endswith(ends))
        own = tuple(known for known in shipped if ModelId.parse(known).provider in VENDORS)
        return own or shipped or (self._shipped.find_tails(name) if self._shipped else ())

    def offer(self, providers: Iterable[str]) -> None:
        """Leave models of other providers out of `all`, unless a file or a list has them."""
        self._offered, self._all = frozenset(providers), None

    def all(self) -> tuple[Model, ...]:
        """Return every described model, those of the files and of lists first."""
        if self._all is None:
            listed = {ModelId.parse(each).provider for each in self._discovered_at}
            shipped = (
                each
                for each in self._shipped or ()
                if each not in self._models
                and (provider := ModelId.parse(each).provider) not in listed
                and (self._offered is None or provider in self._offered)
            )
            self._all = tuple(shipped)
        return (*self._models.values(), *map(self.get, self._all))

    def is_shipped(self, model_id: str) -> bool:
        """Return whether only the shipped catalogue has a model, and no file and no list."""
        return model_id not in self._models

    def describe_sources(self, model_id: str) -> tuple[tuple[str, str], ...]:
        """Return the figures of a model with their sources and the date of these."""
        if self._shipped is None:
            return ()
        row, _ = self._shipped.find_row(model_id)
        return tuple(self._shipped.describe(row)) if row else ()


def _has_equal_rates(price: Price, other: Price) -> bool:
    return replace(price, tiers=()) == replace(
        other, tiers=(), cache_write_hour_per_mtok_usd=price.cache_write_hour_per_mtok_usd
    )


def _with_capped_output(can: AdapterCapabilities) -> AdapterCapabilities:
    """Limit the output to the context window, which can come from another source."""
    return replace(can, max_output_tokens=min(can.max_output_tokens, can.max_context_tokens))
