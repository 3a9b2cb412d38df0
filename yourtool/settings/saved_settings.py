"""Storage of a setting in `config.toml`."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from yourtool.errors import ConfigError
from yourtool.foundation.files import may_exist, real_path, replace_file
from yourtool.paths import Paths
from yourtool.settings.config import config_file
from yourtool.settings.tables import TableKey, parse_toml
from yourtool.settings.toml_places import line_of

SAVE_OPTION = "--save"


def split_save_option(argument: str) -> tuple[str, bool]:
    """Return the argument of a command without `--save`, and whether it had one."""
    words = argument.split()
    return " ".join(each for each in words if each != SAVE_OPTION), SAVE_OPTION in words


def save_setting(paths: Paths, key: str, value: str) -> Path:
    """Set a key outside of any table, such as `model`; comments and layout do not change.

    A new key is inserted below the comment that names it, else at the start of the file. Blocks on
    the file system.

    Raises:
        ConfigError: the file is not valid, cannot be written, or has the key in a form that must
            be edited by hand.
    """
    return _edit(paths, (key,), value, _with_value)


def save_workspace_setting(paths: Paths, workspace: Path, key: str, value: str) -> Path:
    """Set a key of `[workspaces."DIR"]`, which is added at the end if it is missing.

    Otherwise as `save_setting`.
    """
    return _edit(paths, ("workspaces", str(workspace), key), value, _with_table_value)


def _edit(
    paths: Paths, key: TableKey, value: str, edit: Callable[[str, TableKey, str], str]
) -> Path:
    file = real_path(config_file(paths))
    try:
        text = file.read_bytes().decode("utf-8-sig") if may_exist(file) else ""
        edited = edit(text, key, value)
        if parse_toml(edited) != _build_expected(parse_toml(text), key, value):
            raise ConfigError(f"{file}: cannot change `{key[-1]}`; edit the file by hand.")
        replace_file(file, edited.encode())
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{file}: not TOML: {error}; correct it first.") from error
    return file


def _build_expected(tables: Mapping[str, Any], key: TableKey, value: str) -> dict[str, Any]:
    first, *rest = key
    changed = _build_expected(tables.get(first, {}), tuple(rest), value) if rest else value
    return {**tables, first: changed}


def _with_value(text: str, key: TableKey, value: str) -> str:
    lines = text.splitlines(keepends=True)
    statement = f"{key[0]} = {json.dumps(value, ensure_ascii=False)}"
    if (number := line_of(text, key)) is not None:
        lines[number - 1] = _replace_value(lines[number - 1], statement)
    else:
        template = re.compile(rf"#\s*{re.escape(key[0])}\s*=")
        places = (at + 1 for at, line in enumerate(lines) if template.match(line))
        at = next(places, 0)
        if at and not lines[at - 1].endswith("\n"):
            lines[at - 1] += "\n"
        lines.insert(at, f"{statement}\n")
    return "".join(lines)


def _with_table_value(text: str, key: TableKey, value: str) -> str:
    *table, name = key
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    statement = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    present = parse_toml(text)
    for part in table:
        present = present.get(part, {})
    if name in present:
        number = line_of(text, key) or 1
        lines[number - 1] = _replace_value(lines[number - 1], statement)
    elif present and (number := line_of(text, tuple(table))):
        lines.insert(number, f"{statement}\n")
    else:
        lines += ["\n"] if lines else []
        lines += [f"[{table[0]}.{json.dumps(table[1], ensure_ascii=False)}]\n", f"{statement}\n"]
    return "".join(lines)


def _replace_value(line: str, statement: str) -> str:
    """Return a line with another statement and what followed its value, such as a comment."""
    found = re.match(r"""\s*[\w"'-]+\s*=\s*("[^"]*"|'[^']*')(.*)""", line, re.DOTALL)
    return statement + (found[2] if found else "\n")
