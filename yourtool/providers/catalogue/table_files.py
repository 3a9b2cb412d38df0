"""Reader for tables of models and prices."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.errors import ConfigError
from yourtool.settings.tables import (
    Fault,
    TableKey,
    build_tables,
    format_key,
    iter_leaves,
    parse_toml,
)
from yourtool.settings.toml_places import line_of


def read_tables(file: Path, kind: type[Struct]) -> dict[str, Any]:
    """Return the tables of a TOML file; empty if there is no such file.

    Raises:
        ConfigError: it cannot be read, or has another form than `kind`.
    """
    try:
        text = file.read_text("utf-8-sig")
        content = parse_toml(text, Decimal)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{file}: not TOML: {error}") from error
    values: dict[TableKey, Any] = {}
    for key, value in iter_leaves(content, kind):
        if isinstance(value, Fault):
            hint = f"; did you mean `{value.nearest}`?" if value.nearest else ""
            raise table_error(file, key, f"{value.message}{hint}", text)
        values[key] = value
    tables = build_tables(values)
    for group in ("models", "defaults"):
        # Tables without a single key count as well, and the order is the file's.
        rows = tables.get(group, {})
        tables[group] = {name: rows.get(name, {}) for name in content.get(group, {})}
    return tables


def table_error(file: Path, key: TableKey, message: str, text: str | None = None) -> ConfigError:
    """Return the error about a key; `text` is the content of the file, if it is known."""
    line = line_of(file.read_text("utf-8-sig") if text is None else text, key)
    return ConfigError(f"{file}{f':{line}' if line else ''}: `{format_key(key)}`: {message}")
