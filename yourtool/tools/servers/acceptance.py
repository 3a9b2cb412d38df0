"""Accepted definitions of MCP servers.

A server of a project starts only with the definition that the user has seen. The tools of any
server are offered only with the descriptions that it had when they were accepted; those of its
first connection count as accepted. The file has the texts, so that a change is shown as a
difference. An invalid file accepts nothing.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.errors import ConfigError
from yourtool.foundation.files import lock_directory, replace_file
from yourtool.foundation.line_diff import format_unified
from yourtool.tools.servers.settings import ServerSettings

FILE_NAME = "mcp_accepted.json"
SCHEMA_VERSION = 1


class AcceptedServer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was accepted of one server."""

    file: str
    """The file that configures it."""
    name: str
    definition: str = ""
    """Empty: not accepted."""
    tools: Mapping[str, str] | None = None
    """The description of each tool as the server sent it; None: it has not connected yet."""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    schema_version: int = SCHEMA_VERSION
    servers: tuple[AcceptedServer, ...] = ()


class Acceptance:
    """The stored answers; every method blocks on the file system."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, settings: ServerSettings) -> AcceptedServer:
        """Return what was accepted of a server.

        Raises:
            ConfigError: the file is invalid.
        """
        empty = AcceptedServer(file=settings.file, name=settings.name)
        return next((each for each in self._load() if _is_same(each, empty)), empty)

    def may_start(self, settings: ServerSettings) -> bool:
        """Whether a server needs no answer before it starts.

        Raises:
            ConfigError: the file is invalid.
        """
        if settings.source != "project":
            return True
        return self.find(settings).definition == settings.definition

    def accept_definition(self, settings: ServerSettings) -> None:
        """Accept a server as it is configured; its tools are accepted when it connects.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        with self._locked():
            found = self.find(settings)
            tools = found.tools if found.definition == settings.definition else None
            self._store(replace(found, definition=settings.definition, tools=tools))

    def accept_tools(self, settings: ServerSettings, tools: Mapping[str, str]) -> None:
        """Accept the tools of a server.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        with self._locked():
            self._store(replace(self.find(settings), tools=dict(tools)))

    def _load(self) -> tuple[AcceptedServer, ...]:
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=_File)
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.MsgspecError) as error:
            raise ConfigError(
                f"`{self._file}` is not used, so no MCP server of a project starts: {error};"
                " correct it or delete it"
            ) from error
        return found.servers

    def _store(self, changed: AcceptedServer) -> None:
        others = tuple(each for each in self._load() if not _is_same(each, changed))
        content = msgspec.json.format(msgspec.json.encode(_File(servers=(*others, changed))))
        try:
            replace_file(self._file, content + b"\n")
        except OSError as error:
            raise ConfigError(f"`{self._file}` cannot be written: {error.strerror}") from error

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Exclude other processes."""
        try:
            lock = lock_directory(self._file.parent)
        except OSError as error:
            raise ConfigError(f"`{self._file}` cannot be written: {error.strerror}") from error
        try:
            yield
        finally:
            os.close(lock)


def describe_difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return the difference between two sets of tools as a unified diff."""
    lines = list[str]()
    for name in sorted({*before, *now}):
        old, new = before.get(name, ""), now.get(name, "")
        if old != new:
            names = f"{name} (accepted)", f"{name} (now)"
            lines += format_unified(names, old.splitlines(), new.splitlines())
    return "\n".join(lines)


def _is_same(one: AcceptedServer, other: AcceptedServer) -> bool:
    return (one.file, one.name) == (other.file, other.name)
