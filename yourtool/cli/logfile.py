"""The diagnostic log: a private file, kept small, in which no key ever stands."""

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from yourtool.agent.known_keys import known_secrets, masked
from yourtool.paths import Paths

LARGEST = 1_000_000
"""Bytes after which the log becomes `yourtool.log.1` and a new one begins."""


def log_to_file(paths: Paths, environ: Mapping[str, str] = os.environ) -> None:
    """Send everything that is logged to the file, and nothing to the terminal."""
    handler = LogFile(paths.log_file)
    handler.setFormatter(Redacting(paths, environ))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("yourtool").setLevel(logging.INFO)
    logging.raiseExceptions = False  # a full disk is no reason to write over the screen
    logging.captureWarnings(True)


class LogFile(logging.FileHandler):
    """Opened by its first record, mode 0600; one older file is kept."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, in a new file if the present one is full."""
        super().emit(record)
        with suppress(OSError):  # a full disk has no room for what could not be written
            if self.stream is not None and self.stream.tell() > LARGEST:  # pyright: ignore[reportUnnecessaryComparison] - None until opened
                self.close()
                self._path.replace(self._path.with_suffix(".log.1"))

    def _open(self) -> TextIOWrapper:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        return os.fdopen(os.open(self._path, flags, 0o600), "a", encoding="utf-8")


class Redacting(logging.Formatter):
    """Replaces every key that this program can know of, wherever it stands in the text."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._paths = paths
        self._environ = environ

    def format(self, record: logging.LogRecord) -> str:
        """Return the record with its traceback, one line per line of text, without keys."""
        return masked(super().format(record), known_secrets(self._paths, self._environ))
