"""Mistakes in settings, and their text."""

import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.settings.tables import parse_toml

_MAX_FILE_BYTES = 256 * 1024  # larger files take too long to parse
_RESTRICTION = re.compile(r"^[^#\n]*\b(?:sandbox|shell|hooks|permissions?|approval)", re.MULTILINE)
"""Words of settings that restrict the model, here or in files of other agents."""


class Problem(Struct, frozen=True, kw_only=True):
    """One mistake in the settings."""

    where: str
    """A file, an option or a variable."""
    line: int | None = None
    key: str = ""
    message: str
    nearest: str | None = None
    """The key or value that was probably meant."""
    outcome: str = ""
    """The value that applies in its place, as a sentence; empty: the message has it."""
    hides_restriction: bool = False
    """True if it may have been meant to restrict the model, so every call needs an approval."""

    @property
    def prevents_start(self) -> bool:
        """True if the program does not start: the mistake is in a variable or an option."""
        return self.where.startswith(("environment ", "option "))

    def __str__(self) -> str:
        place = self.where if self.line is None else f"{self.where}:{self.line}"
        key = f" `{self.key}`:" if self.key else ""
        hint = f"; did you mean `{self.nearest}`?" if self.nearest else ""
        careful = "Until it is corrected, every call needs an approval." * self.hides_restriction
        end = " ".join(filter(None, (self.outcome, careful)))
        dot = "." if end and not hint else ""
        return f"{place}:{key} {self.message}{hint}{dot} {end}".rstrip()


def is_restriction(text: str) -> bool:
    """True if part of a file may restrict the model."""
    return _RESTRICTION.search(text) is not None


def read_settings(file: Path) -> tuple[str, dict[str, Any], list[Problem]]:
    """Return the text of a file, its tables, and why it cannot be read."""
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            problem = f"it is larger than {_MAX_FILE_BYTES // 1024} KiB; move it away"
            return "", {}, [_unreadable(file, problem)]
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        return "", {}, []
    except OSError as error:
        return "", {}, [_unreadable(file, str(error.strerror))]
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8; save the file as UTF-8"
        return "", {}, [_unreadable(file, problem)]
    try:
        return text, parse_toml(text), []
    except ValueError as error:
        message, _, place = str(error).partition(" (at ")
        position = re.match(r"line (\d+)", place)
        last_line = len(text.splitlines()) if place else None
        line = int(position[1]) if position else last_line
        return "", {}, [_unreadable(file, f"not TOML: {message}", line, text)]


def _unreadable(
    file: Path, message: str, line: int | None = None, text: str = "sandbox"
) -> Problem:
    """Return the mistake of a whole file; without `text`, it may have any setting."""
    return Problem(
        where=str(file),
        line=line,
        message=message,
        outcome="The defaults apply.",
        hides_restriction=is_restriction(text),
    )
