"""Saving a setting in `config.toml` without changing the rest of the file."""

import json
import re
from pathlib import Path

from yourtool.config import config_file
from yourtool.errors import ConfigError
from yourtool.files import replace_file
from yourtool.paths import Paths
from yourtool.tables import line_of, parse_toml

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
    file = config_file(paths).resolve()
    try:
        text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
        edited = _with_value(text, key, value)
        if parse_toml(edited) != {**parse_toml(text), key: value}:
            raise ConfigError(f"{file}: cannot change `{key}`; edit the file by hand.")
        replace_file(file, edited.encode())
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{file}: not TOML: {error}; correct it first.") from error
    return file


def _with_value(text: str, key: str, value: str) -> str:
    lines = text.splitlines(keepends=True)
    statement = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    if (number := line_of(text, (key,))) is not None:
        line = re.match(
            r"""\s*[\w"'-]+\s*=\s*("[^"]*"|'[^']*')(.*)""", lines[number - 1], re.DOTALL
        )
        lines[number - 1] = statement + (line[2] if line else "\n")
    else:
        template = re.compile(rf"#\s*{re.escape(key)}\s*=")
        places = (at + 1 for at, line in enumerate(lines) if template.match(line))
        at = next(places, 0)
        if at and not lines[at - 1].endswith("\n"):
            lines[at - 1] += "\n"
        lines.insert(at, f"{statement}\n")
    return "".join(lines)
