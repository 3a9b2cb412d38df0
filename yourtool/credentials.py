"""API keys: finding and storing them without showing them.

The first source with a key wins: the command line, an environment variable, then `credentials.toml`
in the user's directory, which only the user may read. Values leave this module only as a `Secret`.
"""

import os
import stat
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import Struct

from yourtool.errors import ConfigError, UsageError
from yourtool.files import replace_file
from yourtool.paths import Paths
from yourtool.tables import parse_toml

SCHEMA_VERSION = 1
_MIN_SHOWN_LENGTH = 24


class Secret:
    """A key; `str` and `repr` show only its ends."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key itself, for the request header."""
        return self._value

    def __str__(self) -> str:
        if len(self._value) < _MIN_SHOWN_LENGTH:
            return "***"
        return f"{self._value[:8]}…{self._value[-4:]}"

    def __repr__(self) -> str:
        return f"Secret({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)


class FoundKey(NamedTuple):
    """A key and its source."""

    secret: Secret
    source: str
    """`command line`, the name of an environment variable, or the path of the file."""


class _Entry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    api_key: str
    origin: str | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    schema_version: int
    providers: dict[str, _Entry] = {}


class Credentials:
    """Finds and stores keys; lookups never raise."""

    def __init__(
        self,
        paths: Paths,
        environ: Mapping[str, str] = os.environ,
        explicit: Mapping[str, str] | None = None,
    ) -> None:
        """`explicit`: keys for this run only, by provider."""
        self.path = paths.home / "credentials.toml"
        self._environ = environ
        self._explicit = {name: Secret(key) for name, key in (explicit or {}).items()}

    def __repr__(self) -> str:
        return f"Credentials({str(self.path)!r})"

    def get(
        self, provider: str, key_env: tuple[str, ...] = (), *, origin: str | None = None
    ) -> Secret | None:
        """Return the usable key of a provider, if any."""
        found = self.find(provider, key_env, origin=origin)
        return found.secret if found else None

    def source(self, provider: str, key_env: tuple[str, ...] = ()) -> str | None:
        """Return the source of a provider's key, if any."""
        found = self.find(provider, key_env)
        return found.source if found else None

    def find(
        self, provider: str, key_env: tuple[str, ...] = (), *, origin: str | None = None
    ) -> FoundKey | None:
        """Return the first usable key with its source.

        `origin` is the destination of the request. A stored key that was entered for another
        origin is not returned.
        """
        if secret := self._explicit.get(provider):
            return FoundKey(secret, "command line")
        for name in key_env:
            if (value := self._environ.get(name, "").strip()) and _is_valid_key(value):
                return FoundKey(Secret(value), name)
        entry = self._entries().get(provider)
        if entry is None or (origin and entry.origin and entry.origin != origin):
            return None
        return FoundKey(Secret(entry.api_key), str(self.path))

    def problem(
        self, provider: str, key_env: tuple[str, ...] = (), *, origin: str | None = None
    ) -> str | None:
        """Return why an existing key is not used, if it is not."""
        for name in key_env:
            value = self._environ.get(name, "").strip()
            if value and not _is_valid_key(value):
                return f"`{name}` contains spaces or characters that are not valid in a key"
        try:
            entry = self._read().get(provider)
        except ConfigError as error:
            return str(error)
        if entry and origin and entry.origin and entry.origin != origin:
            return f"the key in `{self.path}` was entered for `{entry.origin}`, not `{origin}`"
        return None

    def save(self, provider: str, key: str, *, origin: str | None = None) -> None:
        """Store a key in the file and replace the provider's old one; atomic, mode 0600.

        With `origin`, the key is only sent there.

        Raises:
            UsageError: this is not a valid key.
            ConfigError: the existing file is unusable, or it cannot be written.
        """
        key = key.strip()
        if not key or not _is_valid_key(key):
            raise UsageError("A key has no spaces and only ASCII characters; nothing was saved.")
        entries = {**self._read(), provider: _Entry(key, origin)}
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.path, _encode(entries).encode())
        except OSError as error:
            raise ConfigError(f"`{self.path}` cannot be written: {error.strerror}") from error

    def stored_keys(self) -> set[str]:
        """Return every key in the file, for masking."""
        return {entry.api_key for entry in self._entries().values()}

    def _entries(self) -> dict[str, _Entry]:
        try:
            return self._read()
        except ConfigError:
            return {}

    def _read(self) -> dict[str, _Entry]:
        try:
            with self.path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                if mode & 0o077:
                    raise ConfigError(
                        f"`{self.path}` can be read by others (mode {mode:04o}) and is not used;"
                        f" run `chmod 600 {self.path}`"
                    )
                content = msgspec.convert(parse_toml(file.read().decode("utf-8-sig")), _File)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"`{self.path}` cannot be read: {error.strerror}") from error
        except msgspec.ValidationError as error:
            raise ConfigError(f"`{self.path}` is not used: {error}") from error
        except ValueError:
            # The parser's message quotes the invalid text, which may be a key.
            raise ConfigError(f"`{self.path}` is not TOML and is not used") from None
        if content.schema_version != SCHEMA_VERSION:
            raise ConfigError(
                f"`{self.path}` has `schema_version = {content.schema_version}`; this program"
                f" reads version {SCHEMA_VERSION}"
            )
        return content.providers


def _is_valid_key(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key


def _encode(entries: Mapping[str, _Entry]) -> str:
    lines = ["# Keys; written by `/key`. Keep this file to yourself.", "schema_version = 1"]
    for provider, entry in sorted(entries.items()):
        lines += ["", f"[providers.{_quote(provider)}]", f"api_key = {_quote(entry.api_key)}"]
        if entry.origin is not None:
            lines.append(f"origin = {_quote(entry.origin)}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    # A JSON string is a TOML basic string, except for DEL, which keys and names do not contain.
    return msgspec.json.encode(text).decode()
