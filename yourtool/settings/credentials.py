"""Search and storage of API keys.

The first source with a key wins: the command line, an environment variable, `credentials.toml` in
the user's directory, which only the user may read, then the system's keychain, which that file can
prefer. The file also lists the providers with a key in the keychain, so that it is opened only
then. Values leave this module only as a `Secret`.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.errors import ConfigError, UsageError
from yourtool.foundation.files import replace_file
from yourtool.paths import Paths
from yourtool.settings.keychain import SYSTEM_KEYCHAIN, Keychain
from yourtool.settings.tables import parse_toml

SCHEMA_VERSION = 1
KEYCHAIN = "keychain"
"""The source of a key in the system's keychain."""
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
    """`command line`, the name of an environment variable, the path of the file or `keychain`."""


class _Entry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    api_key: str | None = None
    origin: str | None = None
    keychain: bool = False
    """Whether there is a key in the keychain."""

    def __post_init__(self) -> None:
        if self.api_key is None and not self.keychain:
            raise ValueError("a provider needs `api_key` or `keychain = true`")


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    schema_version: int
    prefer_keychain: bool = False
    """Whether new keys are stored in the keychain, and looked for there first."""
    providers: dict[str, _Entry] = {}


_EMPTY = _File(SCHEMA_VERSION)


class Credentials:
    """Finds and stores keys; lookups never raise."""

    def __init__(
        self,
        paths: Paths,
        environ: Mapping[str, str] = os.environ,
        explicit: Mapping[str, str] | None = None,
        keychain: Keychain = SYSTEM_KEYCHAIN,
    ) -> None:
        """`explicit`: keys for this run only, by provider."""
        self._keychain = keychain
        self.path = paths.home / "credentials.toml"
        self._environ = environ
        self._explicit = {name: Secret(key) for name, key in (explicit or {}).items()}

    def __repr__(self) -> str:
        return f"Credentials({str(self.path)!r})"

    def read_keychain(self) -> "Credentials":
        """Read the keys in the keychain, which can block, so that lookups do not."""
        self.stored_keys()
        return self

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
        content = self._content()
        entry = content.providers.get(provider)
        if entry is None or (origin and entry.origin and entry.origin != origin):
            return None
        found = list(self._stored(provider, entry))
        return next(iter(found[::-1] if content.prefer_keychain else found), None)

    def problem(
        self, provider: str, key_env: tuple[str, ...] = (), *, origin: str | None = None
    ) -> str | None:
        """Return why an existing key is not used, if it is not."""
        for name in key_env:
            value = self._environ.get(name, "").strip()
            if value and not _is_valid_key(value):
                return f"`{name}` contains spaces or characters that are not valid in a key"
        try:
            entry = self._read().providers.get(provider)
            if entry is not None and entry.api_key is None:
                self._keychain.get(provider)
        except ConfigError as error:
            return str(error)
        if entry and origin and entry.origin and entry.origin != origin:
            place = "the keychain" if entry.api_key is None else f"`{self.path}`"
            return f"the key in {place} was entered for `{entry.origin}`, not `{origin}`"
        return None

    def save(
        self,
        provider: str,
        key: str,
        *,
        origin: str | None = None,
        in_keychain: bool | None = None,
    ) -> str:
        """Store a key, replace the provider's old one, and return the place; atomic, mode 0600.

        With `origin`, the key is only sent there. `in_keychain` None: as the file prefers.

        Raises:
            UsageError: this is not a valid key.
            ConfigError: the existing file or the keychain is unusable, or it cannot be written.
        """
        key = key.strip()
        if not key or not _is_valid_key(key):
            raise UsageError("A key has no spaces and only ASCII characters; nothing was saved.")
        content = self._read()
        if content.prefer_keychain if in_keychain is None else in_keychain:
            self._keychain.set(provider, key)
            entry = _Entry(origin=origin, keychain=True)
        else:
            self._forget_in_keychain(provider, content)
            entry = _Entry(key, origin)
        self._write(replace(content, providers={**content.providers, provider: entry}))
        return KEYCHAIN if entry.keychain else str(self.path)

    def remove(self, provider: str) -> bool:
        """Remove the stored key of a provider; return whether there was one.

        Raises:
            ConfigError: the existing file or the keychain is unusable, or it cannot be written.
        """
        content = self._read()
        if provider not in content.providers:
            return False
        self._forget_in_keychain(provider, content)
        rest = {name: entry for name, entry in content.providers.items() if name != provider}
        self._write(replace(content, providers=rest))
        return True

    def stored_keys(self) -> set[str]:
        """Return every stored key, for masking."""
        entries = self._content().providers.items()
        return {
            found.secret.reveal() for name, entry in entries for found in self._stored(name, entry)
        }

    def origin(self, provider: str) -> str | None:
        """Return the only destination of the stored key of a provider, if it has one."""
        entry = self._content().providers.get(provider)
        return None if entry is None else entry.origin

    def _stored(self, provider: str, entry: _Entry) -> Iterator[FoundKey]:
        """Yield the stored keys of a provider; a keychain that cannot be opened has none."""
        if entry.api_key is not None:
            yield FoundKey(Secret(entry.api_key), str(self.path))
        if entry.keychain:
            with suppress(ConfigError):
                if (key := self._keychain.get(provider)) is not None:
                    yield FoundKey(Secret(key), KEYCHAIN)

    def _forget_in_keychain(self, provider: str, content: _File) -> None:
        entry = content.providers.get(provider)
        if entry is not None and entry.keychain:
            self._keychain.remove(provider)

    def _write(self, content: _File) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.path, _encode(content).encode())
        except OSError as error:
            raise ConfigError(f"`{self.path}` cannot be written: {error.strerror}") from error

    def _content(self) -> _File:
        try:
            return self._read()
        except ConfigError:
            return _EMPTY

    def _read(self) -> _File:
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
            return _EMPTY
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
        return content


def _is_valid_key(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key


def _encode(content: _File) -> str:
    lines = ["# Keys; written by `yourtool auth` and `/key`. Keep this file to yourself."]
    lines.append(f"schema_version = {SCHEMA_VERSION}")
    if content.prefer_keychain:
        lines.append("prefer_keychain = true")
    for provider, entry in sorted(content.providers.items()):
        lines += ["", f"[providers.{_quote(provider)}]"]
        if entry.api_key is not None:
            lines.append(f"api_key = {_quote(entry.api_key)}")
        if entry.keychain:
            lines.append("keychain = true")
        if entry.origin is not None:
            lines.append(f"origin = {_quote(entry.origin)}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    # A JSON string is a TOML basic string, except for DEL, which keys and names do not contain.
    return msgspec.json.encode(text).decode()
