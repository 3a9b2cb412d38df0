"""Catalogue of known models.

It is read from `models.toml` and `prices.toml`, the shipped ones and those in the user's directory.
The user's rows override the shipped ones key by key. Invalid entries raise a `ConfigError`.
"""

import os
import re
from collections.abc import Container, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from yourtool.errors import ConfigError, UnknownModelError
from yourtool.foundation.suggestions import find_closest
from yourtool.models import (
    AGENT,
    AdapterCapabilities,
    Count,
    EditTool,
    Effort,
    Model,
    ModelId,
    Price,
    Thinking,
)
from yourtool.paths import Paths, shipped_directory
from yourtool.providers.catalogue.price_tables import PriceTable, find_price, read_prices
from yourtool.providers.catalogue.table_files import read_tables, table_error
from yourtool.providers.catalogue.trials import ModelTrial, apply_trial
from yourtool.settings.tables import (
    TableKey,
)

_ALIAS = re.compile(r"[A-Za-z0-9][\w.+-]*", re.ASCII)
_CAPABILITIES = frozenset(AdapterCapabilities.__struct_fields__)
_PROVIDER_FIELDS = frozenset(
    {
        "max_image_bytes",
        "max_image_side",
        "max_images",
        "many_images",
        "many_images_side",
        "max_file_bytes",
        "max_request_bytes",
        "uses_max_completion_tokens",
    }
)
"""Fields that apply to all models of a provider."""
_RESERVED = frozenset({"show"})


class _Row(AdapterCapabilities, frozen=True, kw_only=True):
    wire_name: Annotated[str, Meta(min_length=1)] = ""
    aliases: tuple[str, ...] = ()
    uses_max_completion_tokens: bool = False
    accepts_temperature: bool = True
    thinking: Thinking | None = None
    thinking_levels: tuple[Effort, ...] = ()
    least_cached_tokens: Count = 1_024
    caches_for_a_day: bool = False
    edit_tool: EditTool = "edit_file"


class _ModelsFile(Struct, frozen=True):
    models: dict[str, _Row] = {}
    defaults: dict[str, _Row] = {}


class Catalogue:
    """All described models, and conservative defaults for any other."""

    def __init__(
        self,
        models: Iterable[Model],
        pricing_version: str,
        prices: Mapping[str, Price] | None = None,
        rows: Mapping[str, Mapping[str, Any]] | None = None,
        defaults: Mapping[str, Mapping[str, Any]] | None = None,
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Index `models` by id and alias.

        `prices` apply to models that are not described, `<provider>:*` to any model of a provider;
        `rows` are the table rows of models, and `defaults` those of providers. `overrides` are the
        rows of both kinds that the user wrote.

        Raises:
            ConfigError: two models have the same alias.
        """
        self.price_table = PriceTable(pricing_version, prices or {})
        self._prices = self.price_table.prices
        self._rows = rows or {}
        self._shared = {
            provider: {key: row[key] for key in row if key in _PROVIDER_FIELDS}
            for provider, row in (defaults or {}).items()
        }
        self._models = {model.id: model for model in models}
        self._overrides = overrides or {}
        self._discovered_at: dict[str, datetime] = {}
        self._trials: dict[str, ModelTrial] = {}
        self._untried: dict[str, Model] = {}
        self._aliases: dict[str, str] = {}
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
        names = [
            shipped_directory("config") / "models.toml",
            models_file or paths.home / "models.toml",
        ]
        rows: dict[str, dict[str, Any]] = {}
        defaults: dict[str, dict[str, Any]] = {}
        overrides: dict[str, dict[str, Any]] = {}
        for file in names:
            tables = read_tables(file, _ModelsFile)
            # The last file is the user's; ids of models have a colon, names of providers do not.
            overrides = {**tables.get("defaults", {}), **tables.get("models", {})}
            for name, row in tables.get("defaults", {}).items():
                whole = defaults.setdefault(name, {})
                whole.update(row)
                _check_sizes(file, ("defaults", name), row, whole)
            for name, row in tables.get("models", {}).items():
                _check_row(file, name, row)
                rows.setdefault(name, {}).update(row)
                whole = {**defaults.get(ModelId.parse(name).provider, {}), **rows[name]}
                _check_sizes(file, ("models", name), row, whole)
        prices, version = read_prices(prices_file or paths.home / "prices.toml")
        rows = {
            name: {**defaults.get(ModelId.parse(name).provider, {}), **row}
            for name, row in rows.items()
        }
        models = (_build_model(name, row, prices) for name, row in rows.items())
        return cls(models, version, prices, rows, defaults, overrides)

    @property
    def pricing_version(self) -> str:
        """The version of the price tables, as their files have it."""
        return self.price_table.version

    def get(self, model_id: str) -> Model:
        """Return a model by its canonical id; `known` is false if it is not described.

        Raises:
            UnknownModelError: the id is malformed.
        """
        if model := self._models.get(model_id):
            return model
        return self._with_trial(
            replace(
                _build_model(model_id, self._declared_fields(model_id), self._prices), known=False
            )
        )

    def add_discovered(
        self, provider: str, models: Iterable[Model], at: datetime | None = None
    ) -> None:
        """Add the models that a provider lists; the tables override them key by key.

        A described model is not replaced by a guess (`known` is false), and models that the
        provider no longer lists are removed. `at` is the time of the list; None: now.
        """
        at, models = at or datetime.now(UTC), tuple(models)
        self._remove_unlisted(provider, {model.id for model in models})
        for model in models:
            earlier = self._models.get(model.id)
            if earlier is not None and earlier.known and not model.known:
                continue
            self._discovered_at[model.id] = at
            row = self._declared_fields(model.id)
            price = find_price(model.id, self._prices)
            told_price = f"{model.provider} {at:%Y-%m-%d}" if model.price and not price else ""
            said = {name: row[name] for name in row if name in _CAPABILITIES}
            described = replace(
                model,
                capabilities=_with_capped_output(replace(model.capabilities, **said)),
                price=price or model.price,
                price_as_of=told_price,
                **{name: row[name] for name in row if name not in _CAPABILITIES},
            )
            self._untried.pop(model.id, None)
            self._models[model.id] = self._with_trial(described)

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
        own = {**self._overrides.get(model.provider, {}), **self._overrides.get(model.id, {})}
        said = {name: own[name] for name in own if name in _CAPABILITIES}
        can = replace(apply_trial(model.capabilities, trial), **said)
        return replace(model, capabilities=_with_capped_output(can), known=True)

    def _declared_fields(self, model_id: str) -> Mapping[str, Any]:
        """Return the fields of a model, or of its provider if the tables have no such model."""
        row = self._rows.get(model_id)
        return self._shared.get(ModelId.parse(model_id).provider, {}) if row is None else row

    def _remove_unlisted(self, provider: str, named: Container[str]) -> None:
        for model_id in tuple(self._discovered_at):
            is_asked = ModelId.parse(model_id).provider == provider
            if is_asked and model_id not in named and model_id not in self._rows:
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
        tails = tuple(known for known in self._models if known.endswith((f":{name}", f"/{name}")))
        if name and len(tails) == 1:
            return self._models[tails[0]]
        if name and tails:
            choices = ", ".join(f"`{known}`" for known in tails)
            raise UnknownModelError(f"`{name}` may mean {choices}; write one of them", tails)
        if ":" in name:
            return self.get(name)
        close = find_closest(name, (*self._aliases, *self._models))
        hint = f"; did you mean `{close}`?" if close else "."
        raise UnknownModelError(
            f"No model is called `{name}`{hint} `yourtool models` lists them; any"
            " other is named `<provider>:<name>`.",
            (close,) if close else (),
        )

    def all(self) -> tuple[Model, ...]:
        """Return every described model, in the order of the files."""
        return tuple(self._models.values())


def _build_model(name: str, row: Mapping[str, Any], prices: Mapping[str, Price]) -> Model:
    merged = _Row(**row)
    fields = asdict(merged)
    return Model(
        id=name,
        wire_name=merged.wire_name or ModelId.parse(name).name,
        capabilities=_with_capped_output(
            AdapterCapabilities(
                **{field: fields[field] for field in AdapterCapabilities.__struct_fields__}
            )
        ),
        aliases=merged.aliases,
        price=find_price(name, prices),
        uses_max_completion_tokens=merged.uses_max_completion_tokens,
        accepts_temperature=merged.accepts_temperature,
        thinking=merged.thinking,
        thinking_levels=merged.thinking_levels,
        least_cached_tokens=merged.least_cached_tokens,
        caches_for_a_day=merged.caches_for_a_day,
        edit_tool=merged.edit_tool,
    )


def _with_capped_output(can: AdapterCapabilities) -> AdapterCapabilities:
    """Limit the output to the context window, which can come from another source."""
    return replace(can, max_output_tokens=min(can.max_output_tokens, can.max_context_tokens))


def _check_row(file: Path, name: str, row: Mapping[str, Any]) -> None:
    key = ("models", name)
    try:
        ModelId.parse(name)
    except UnknownModelError as error:
        raise table_error(file, key, str(error)) from error
    for alias in row.get("aliases", ()):
        if not _ALIAS.fullmatch(alias) or alias in _RESERVED:
            raise table_error(
                file,
                (*key, "aliases"),
                f"`{alias}` cannot be an alias: it starts with a letter or digit, followed by"
                " letters, digits and any of `._+-`, and is not `show`",
            )


def _check_sizes(
    file: Path, key: TableKey, row: Mapping[str, Any], whole: Mapping[str, Any]
) -> None:
    output, window = row.get("max_output_tokens", 0), whole.get("max_context_tokens")
    if window is not None and output > window:
        raise table_error(
            file,
            (*key, "max_output_tokens"),
            f"no reply is longer than the context; `max_context_tokens` is {window}",
        )
