"""Logins at MCP servers.

A login belongs to the address at which it was made and is sent nowhere else. Its tokens are masked
like keys.
"""

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from yourtool.errors import ConfigError
from yourtool.foundation.files import lock_directory, replace_file

FILE_NAME = "mcp_logins.json"
SCHEMA_VERSION = 1
_SECRET_NAMES = ("access_token", "refresh_token", "client_secret")


class Login(Struct, frozen=True, omit_defaults=True):
    """What a server and its login page gave, as JSON objects of OAuth 2.1."""

    url: str
    tokens: dict[str, Any] | None = None
    expires_at: float | None = None
    """Seconds since the epoch; None: unknown."""
    client: dict[str, Any] | None = None
    """How this program is registered."""
    page: dict[str, Any] | None = None
    """The addresses of the login page."""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    schema_version: int = SCHEMA_VERSION
    logins: tuple[Login, ...] = ()


class Logins:
    """The stored logins; every method blocks on the file system."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, url: str) -> Login | None:
        """Return the login at an address; None without one, and if the file is invalid."""
        return next((each for each in self._read() if each.url == url), None)

    def save(self, login: Login) -> None:
        """Store a login in place of the one at the same address; mode 0600.

        Raises:
            ConfigError: the file cannot be written.
        """
        with self._locked():
            others = (each for each in self._read() if each.url != login.url)
            self._write((*others, login))

    def forget(self, url: str) -> bool:
        """Delete the login at an address, and return whether there was one.

        Raises:
            ConfigError: the file cannot be written.
        """
        if self.find(url) is None:
            return False
        with self._locked():
            self._write(tuple(each for each in self._read() if each.url != url))
        return True

    def iter_secrets(self) -> Iterator[str]:
        """Yield every token, for masking."""
        for login in self._read():
            for table in (login.tokens, login.client):
                values = (table[name] for name in _SECRET_NAMES if name in table) if table else ()
                yield from (value for value in values if isinstance(value, str))

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Exclude other connections and processes, whose logins would be lost."""
        try:
            lock = lock_directory(self._file.parent)
        except OSError as error:
            raise ConfigError(f"`{self._file}` cannot be written: {error.strerror}") from error
        try:
            yield
        finally:
            os.close(lock)

    def _write(self, logins: tuple[Login, ...]) -> None:
        content = msgspec.json.format(msgspec.json.encode(_File(logins=logins)))
        try:
            replace_file(self._file, content + b"\n")
        except OSError as error:
            raise ConfigError(f"`{self._file}` cannot be written: {error.strerror}") from error

    def _read(self) -> tuple[Login, ...]:
        try:
            with self._file.open("rb") as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                    return ()  # others can read it, so somebody else may have written it
                return msgspec.json.decode(file.read(), type=_File).logins
        except (OSError, msgspec.MsgspecError):
            return ()
