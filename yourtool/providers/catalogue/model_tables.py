"""Tables of models in `models.toml`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from yourtool.errors import UnknownModelError
from yourtool.models import (
    AdapterCapabilities,
    Count,
    EditTool,
    Effort,
    ModelId,
    Price,
    Thinking,
)
from yourtool.providers.catalogue.shipped import ShippedCatalogue
from yourtool.providers.catalogue.table_files import read_tables, table_error
from yourtool.settings.tables import TableKey

_ALIAS = re.compile(r"[A-Za-z0-9][\w.+-]*", re.ASCII)
CAPABILITIES = frozenset(AdapterCapabilities.__struct_fields__)
SIZES = ("max_context_tokens", "max_output_tokens")
_PROVIDER_FIELDS = frozenset(
    {
        *SIZES,
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
MODEL_FIELDS = (
    "aliases",
    "uses_max_completion_tokens",
    "accepts_temperature",
    "thinking",
    "thinking_levels",
    "least_cached_tokens",
    "caches_for_a_day",
    "edit_tool",
)
"""Fields of a row that a `Model` has besides its capabilities."""
_RESERVED = frozenset({"show"})


class ModelRow(AdapterCapabilities, frozen=True, kw_only=True):
    """The fields of one model, each of which can be missing."""

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
    models: dict[str, ModelRow] = {}
    defaults: dict[str, ModelRow] = {}
    aliases: dict[str, str] = {}


class Tables(Struct):
    """The content of the files of the program and of the user."""

    rows: dict[str, dict[str, Any]] = {}
    """By model id, without the defaults of its provider."""
    defaults: dict[str, dict[str, Any]] = {}
    """By provider."""
    overrides: Mapping[str, Mapping[str, Any]] = {}
    """The rows of both kinds that the user wrote."""
    aliases: dict[str, str] = {}
    """An example of the family that each word names."""
    prices: Mapping[str, Price] = {}
    """`<provider>:*` applies to any model of a provider."""

    def get_shared(self, provider: str) -> dict[str, Any]:
        """Return the fields that apply to all models of a provider, also to unknown ones."""
        row = self.defaults.get(provider, {})
        return {key: row[key] for key in row if key in _PROVIDER_FIELDS}


def merge_tables(tables: Tables, file: Path, shipped: ShippedCatalogue) -> None:
    """Add the tables of one file.

    Raises:
        ConfigError: naming file, line and key.
    """
    found = read_tables(file, _ModelsFile)
    defaults, rows = found.get("defaults", {}), found.get("models", {})
    # The last file is the user's; ids of models have a colon, names of providers do not.
    tables.overrides = {**defaults, **rows}
    tables.aliases |= found.get("aliases", {})
    for name, row in defaults.items():
        whole = tables.defaults.setdefault(name, {})
        whole.update(row)
        _check_sizes(file, ("defaults", name), row, whole)
    for name, row in rows.items():
        _check_row(file, name, row)
        tables.rows.setdefault(name, {}).update(row)
        if "max_output_tokens" in row:
            known = shipped.find(name)
            fields = known.get_fields(is_elsewhere=False) if known else {}
            whole = {**fields, **tables.defaults.get(ModelId.parse(name).provider, {})}
            _check_sizes(file, ("models", name), row, {**whole, **tables.rows[name]})


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
