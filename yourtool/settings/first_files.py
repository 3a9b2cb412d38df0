"""Files of the first run."""

import os
from itertools import takewhile
from pathlib import Path

from yourtool.errors import ConfigError
from yourtool.foundation.files import path_exists
from yourtool.paths import Paths, shipped_directory
from yourtool.settings.config import config_file


def install_defaults(paths: Paths) -> None:
    """Create the user's directories and files on the first run; nothing is ever overwritten.

    `paths.require_data_directory` creates the directory of the sessions, with its own error.
    Only the comments at the head of each template are copied, never its values: a copy of
    today's prices would hide tomorrow's.

    Raises:
        ConfigError: the directory cannot be written.
    """
    if path_exists(config_file(paths)):
        return
    try:
        for directory in (paths.home, paths.state, paths.cache):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for template in sorted(shipped_directory("config").glob("*.toml")):
            _create(paths.home / template.name, _comments_of(template))
    except OSError as error:
        raise ConfigError(
            f"{paths.home}: {error.strerror}; set `YOURTOOL_HOME` to a directory you can write"
        ) from error


def _comments_of(template: Path) -> str:
    lines = template.read_text("utf-8").splitlines(keepends=True)
    return "".join(takewhile(lambda line: line.isspace() or line.startswith("#"), lines))


def _create(path: Path, content: str) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
