"""Keys in the system's keychain.

This is the only module that imports it (https://github.com/jaraco/keyring), and only when a key is
read or stored. A back end that stores plain text, or that `keyring` itself does not recommend, is
rejected: `credentials.toml` is then safer, and the user can see where the key is.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Protocol, cast

from yourtool.errors import ConfigError
from yourtool.foundation.extras import build_install_command

_SERVICE = "yourtool"
_MIN_PRIORITY = 1
"""`keyring` gives recommended back ends a priority of at least 1."""
_REJECTED = ("keyrings.alt", "keyring.backends.fail", "keyring.backends.null")
"""Packages of back ends that store plain text, or nothing."""


class Backend(Protocol):
    """The part of a back end of `keyring` that is used."""

    priority: float

    def get_password(self, service: str, username: str) -> str | None:
        """Return a stored password, if any."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a password."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Delete a password."""
        ...


class Keychain:
    """The keys in the keychain, read at most once by provider; every method may block."""

    def __init__(self, load: Callable[[str], Any] = import_module) -> None:
        """`load` imports `keyring`."""
        self._load = load
        self._backend: Backend | None = None
        self._known: dict[str, str | ConfigError | None] = {}

    def get(self, provider: str) -> str | None:
        """Return the key of a provider, if it is there.

        Raises:
            ConfigError: there is no usable keychain.
        """
        if provider not in self._known:
            self._known[provider] = self._read(provider)
        if isinstance(found := self._known[provider], ConfigError):
            raise found
        return found

    def set(self, provider: str, key: str) -> None:
        """Store the key of a provider.

        Raises:
            ConfigError: there is no usable keychain, or it refused the key.
        """
        backend = self._open()
        _call(lambda: backend.set_password(_SERVICE, provider, key))
        self._known[provider] = key

    def remove(self, provider: str) -> None:
        """Delete the key of a provider, if it is there.

        Raises:
            ConfigError: there is no usable keychain, or it refused.
        """
        if self.get(provider) is not None:
            backend = self._open()
            _call(lambda: backend.delete_password(_SERVICE, provider))
        self._known[provider] = None

    def _read(self, provider: str) -> str | ConfigError | None:
        """Return a key, or the error, so that a user who refused is not asked again."""
        try:
            backend = self._open()
            return _call(lambda: backend.get_password(_SERVICE, provider))
        except ConfigError as error:
            return error

    def _open(self) -> Backend:
        if self._backend is None:
            self._backend = self._find_backend()
        return self._backend

    def _find_backend(self) -> Backend:
        try:
            found: Any = self._load("keyring").get_keyring()
        except ImportError as error:
            raise ConfigError(
                "the keychain needs the package `keyring`; install it with"
                f" `{build_install_command('keyring')}`"
            ) from error
        except Exception as error:
            raise ConfigError(f"the keychain cannot be opened: {type(error).__name__}") from error
        candidates = cast("Iterable[Backend]", getattr(found, "backends", None) or (found,))
        usable = next(filter(_is_usable, candidates), None)
        if usable is None:
            raise ConfigError(
                "this system has no keychain that encrypts keys; `credentials.toml` stores them in"
                " a file that only you can read"
            )
        return usable


SYSTEM_KEYCHAIN = Keychain()
"""The keychain of this process, which caches what it read."""


def _is_usable(backend: Backend) -> bool:
    name = f"{type(backend).__module__}.{type(backend).__name__}"
    if name.startswith(_REJECTED) or "plaintext" in name.lower():
        return False
    return _call(lambda: float(backend.priority)) >= _MIN_PRIORITY


def _call(action: Callable[[], Any]) -> Any:
    """Run a call of a back end; its errors do not contain the key, but their texts might."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - back ends are foreign code
        raise ConfigError(f"the keychain refused: {type(error).__name__}") from None
