"""Private diagnostic log of limited size."""

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from yourtool.agent.session.known_secrets import find_known_secrets, mask_secrets
from yourtool.foundation.text import printable
from yourtool.paths import Paths

MAX_LOG_BYTES = 1_000_000
"""Size at which the log is renamed to `yourtool.log.1` and a new file is started."""


def log_to_file(paths: Paths, environ: Mapping[str, str] = os.environ) -> None:
    """Log to the file only, never to the terminal."""
    handler = PrivateLogHandler(paths.log_file)
    handler.setFormatter(RedactingFormatter(paths, environ))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("yourtool").setLevel(logging.INFO)
    logging.raiseExceptions = False  # a full disk must not print tracebacks over the screen
    logging.captureWarnings(True)


class PrivateLogHandler(logging.FileHandler):
    """A file with mode 0600, opened by its first record; one older file remains."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record and rotate the file if it is full; without a file, discard the record."""
        with suppress(OSError):  # it cannot be opened, or closing cannot flush on a full disk
            super().emit(record)
            if self.stream is not None and self.stream.tell() > MAX_LOG_BYTES:  # pyright: ignore[reportUnnecessaryComparison] - None until opened
                self.close()
                self._path.replace(self._path.with_suffix(".log.1"))

    def _open(self) -> TextIOWrapper:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        return os.fdopen(os.open(self._path, flags, 0o600), "a", encoding="utf-8")


class RedactingFormatter(logging.Formatter):
    """Replace every key that the program has access to, anywhere in the text."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._paths = paths
        self._environ = environ

    def format(self, record: logging.LogRecord) -> str:
        """Return the record and its traceback with keys masked, harmless for a terminal."""
        known = find_known_secrets(self._paths, self._environ)
        return printable(mask_secrets(super().format(record), known))
