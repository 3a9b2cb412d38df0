"""All keys that this program can find."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import unquote

from yourtool.foundation.masking import Mask
from yourtool.paths import Paths
from yourtool.process.environment import find_logins, is_secret, is_secret_name
from yourtool.settings.config import config_file, load_report
from yourtool.settings.credentials import Credentials
from yourtool.tools.servers.logins import FILE_NAME, Logins

_MIN_KEY_LENGTH = 8
_MIN_SECRET_LENGTH = 12
"""Minimum for variables that only look like secrets: shorter values occur in ordinary text."""
_PATHS = ("/", "~", ".")
"""Beginnings of paths."""
_PROVIDER_KEY = re.compile(r"(API_KEY|AUTH_TOKEN)$")


def find_known_secrets(paths: Paths, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys in the settings, the environment and the credential file, longest first.

    The files are read on every call, because the user can enter a key at any time.
    """
    try:
        settings = config_file(paths).read_bytes()
    except OSError:
        settings = b""
    keys = _find_configured_secrets(paths, settings, tuple(environ.items()))
    keys |= Credentials(paths, environ).stored_keys()
    keys = keys.union(Logins(paths.home / FILE_NAME).iter_secrets())
    return tuple(
        sorted((key for key in keys if len(key) >= _MIN_KEY_LENGTH), key=len, reverse=True)
    )


@lru_cache(maxsize=2)
def _find_configured_secrets(
    paths: Paths, settings: bytes, variables: tuple[tuple[str, str], ...]
) -> frozenset[str]:
    """Return the keys in the settings and the environment.

    `settings`: the content of their file, which is parsed again when it differs.
    """
    del settings
    config = load_report(paths, dict(variables)).config
    environ = {**dict(variables), **config.shell.environment.set}
    providers = config.providers
    named = {row.key_env for row in providers.values()}
    keys = set[str]()
    for name, value in environ.items():
        if name in named or _PROVIDER_KEY.search(name) or _is_certain_secret(name, value):
            keys.add(value.strip())
        keys.update(_iter_login_secrets(value))
    for row in providers.values():
        keys.update(_find_header_secrets(row.headers))
    return frozenset(keys)


def build_mask(paths: Paths, environ: Mapping[str, str]) -> Mask:
    """Return a mask that replaces every known key; blocks on the file system."""
    return _build_cached_mask(find_known_secrets(paths, environ))


def mask_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """Return `text` with every secret in it replaced."""
    return _build_cached_mask(secrets).text(text)


@lru_cache(maxsize=4)
def _build_cached_mask(secrets: tuple[str, ...]) -> Mask:
    return Mask(secrets)


def _iter_login_secrets(value: str) -> Iterator[str]:
    """Yield what masks a URL with a password: itself, its login, and a password that is no word."""
    for user, password in find_logins(value):
        yield value.strip()
        yield f"{user}:{password}@"
        for each in (password, unquote(password)):
            if _is_mixed(each) and not each.startswith(_PATHS):
                yield each


def _is_certain_secret(name: str, value: str) -> bool:
    """Return whether a variable is a secret and no ordinary word, path or number."""
    value = value.strip()
    is_long = len(value) >= _MIN_SECRET_LENGTH
    is_ordinary = value.startswith(_PATHS) or not _is_mixed(value)
    return is_secret(name, value) and is_long and not is_ordinary


def _is_mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _find_header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the secret values of headers, with and without a scheme such as `Bearer`."""
    for name, value in headers.items():
        if is_secret_name(name) or is_secret(name, value):
            yield value
            yield from value.split()
