"""Safe reader for files of other agents.

It reads only regular files of limited size, and for a project only files inside it.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from yourtool.extensions.settings_import.findings import Findings, Kind, TextFile
from yourtool.foundation.files import is_directory, is_file, is_link, read_small_file, real_path
from yourtool.settings.tables import is_table, parse_toml

MAX_BYTES = 2**20
MAX_TEXT_BYTES = 32_768
"""Of instructions and commands; more is not read from our own files either."""
_MAX_ENTRIES = 200
_MAX_DEPTH = 4
_COMMENT_OR_TEXT = re.compile(
    r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?', re.DOTALL
)
"""Also those without an end, so that no part of a text is read twice."""
_LAST_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"?|,(?=\s*[}\]])')


class ForeignFiles:
    """The files of one agent in one scope; everything that cannot be read is an omission."""

    def __init__(self, findings: Findings, root: Path, home: Path) -> None:
        """`root`: the project, or the home directory. `home`: for how places are shown."""
        self.findings = findings
        self.root = root
        self._home = home

    def show(self, path: Path) -> str:
        """Return the name of a file for the report."""
        if self.findings.is_project and path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        if path.is_relative_to(self._home):
            return f"~/{path.relative_to(self._home).as_posix()}"
        return str(path)

    def read_json(self, path: Path) -> dict[str, Any]:
        """Return an object of JSON, with comments and last commas; empty if there is no file."""
        return self._read_object(path, "JSON", _parse_json)

    def read_toml(self, path: Path) -> dict[str, Any]:
        """Return the tables of a TOML file; empty if there is no file."""
        return self._read_object(path, "TOML", parse_toml)

    def read_text(self, path: Path, kind: Kind = "file", limit: int = MAX_BYTES) -> str | None:
        """Return the text of a file; None if it is missing or cannot be used."""
        data = self.read_bytes(path, kind, limit)
        if data is None:
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.findings.omit(kind, path.name, self.show(path), "it is not UTF-8")
            return None

    def read_bytes(self, path: Path, kind: Kind = "file", limit: int = MAX_BYTES) -> bytes | None:
        """Return the content of a file; None if it is missing or cannot be used."""
        try:
            if self.findings.is_project and not real_path(path).is_relative_to(self.root):
                raise OSError(0, "it leads out of the project")
            return read_small_file(path, limit)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            reason = error.strerror or str(error)
            self.findings.omit(kind, path.name, self.show(path), reason)
            return None

    def iter_files(self, folder: Path, suffix: str = "") -> Iterator[tuple[str, Path]]:
        """Yield the files below a folder with their relative names, sorted, without links."""
        found = sorted(self._walk(folder, "", _MAX_DEPTH))
        named = [each for each in found if each[0].endswith(suffix)]
        if len(named) > _MAX_ENTRIES:
            reason = f"only the first {_MAX_ENTRIES} files are taken over"
            self.findings.omit("file", folder.name, self.show(folder), reason)
        yield from islice(named, _MAX_ENTRIES)

    def take_text(self, kind: Kind, path: Path, target: str, name: str = "") -> None:
        """Add the text of a file as one to write."""
        text = self.read_text(path, kind, MAX_TEXT_BYTES)
        if text is not None and text.strip():
            place = self.show(path)
            self.findings.texts.append(TextFile(kind, name or target, target, text.encode(), place))

    def take_skills(self, folder: Path, target: str) -> None:
        """Add the directories with a `SKILL.md` in a folder, with all their files."""
        for name in self._list(folder):
            directory = folder / name
            if not is_file(directory / "SKILL.md"):
                continue
            for inner, path in self.iter_files(directory):
                data = self.read_bytes(path, "skill")
                if data is not None:
                    file = TextFile(
                        "skill", name, f"{target}/{name}/{inner}", data, self.show(path)
                    )
                    self.findings.texts.append(file)

    def _walk(self, folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Path]]:
        for name in self._list(folder):
            path = folder / name
            leads_on = is_link(path)
            if leads_on and not _is_within(path, folder):
                self.findings.omit("file", name, self.show(path), "it is a link to elsewhere")
            elif not leads_on and depth and is_directory(path):
                yield from self._walk(path, f"{prefix}{name}/", depth - 1)
            elif is_file(path):
                yield prefix + name, path

    def _list(self, folder: Path) -> list[str]:
        """Return the names in a folder; a project's folder must be inside it."""
        try:
            if self.findings.is_project and not real_path(folder).is_relative_to(self.root):
                self.findings.omit(
                    "file", folder.name, self.show(folder), "it leads out of the project"
                )
                return []
            with os.scandir(folder) as entries:
                return sorted(each.name for each in islice(entries, 10 * _MAX_ENTRIES))
        except OSError:
            return []

    def _read_object(self, path: Path, form: str, parse: Callable[[str], Any]) -> dict[str, Any]:
        text = self.read_text(path)
        if text is None or not text.strip():
            return {}
        try:
            found: Any = parse(text)
        except (ValueError, RecursionError) as error:
            detail = str(error).partition("\n")[0] or "it is nested too deeply"
            self.findings.omit("file", path.name, self.show(path), f"it is not {form}: {detail}")
            return {}
        if not is_table(found):
            self.findings.omit("file", path.name, self.show(path), f"it is no object of {form}")
            return {}
        return found


def _is_within(path: Path, folder: Path) -> bool:
    real = real_path(path)  # a link if links are in a circle
    return not is_link(real) and real.is_relative_to(real_path(folder))


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as first:
        without = _COMMENT_OR_TEXT.sub(lambda match: _keep_text(match[0]), text)
        try:
            return json.loads(_LAST_COMMA.sub(lambda match: _keep_text(match[0]), without))
        except json.JSONDecodeError:
            raise first from None


def _keep_text(piece: str) -> str:
    return piece if piece.startswith('"') else ""
