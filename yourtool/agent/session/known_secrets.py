"""All keys that this program can find, for the places that must never reveal one."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from yourtool.config import config_file, load_report
from yourtool.credentials import Credentials
from yourtool.environment import is_secret, is_secret_name
from yourtool.masking import Mask
from yourtool.paths import Paths
from yourtool.tools.servers.logins import FILE_NAME, Logins

_MIN_KEY_LENGTH = 8
_MIN_SECRET_LENGTH = 12
"""Minimum for variables that only look like secrets: shorter values occur in ordinary text."""
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
    environ = dict(variables)
    providers = load_report(paths, environ).config.providers
    named = {row.key_env for row in providers.values()}
    keys = {
        value.strip()
        for name, value in environ.items()
        if name in named or _PROVIDER_KEY.search(name) or _is_certain_secret(name, value)
    }
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


def _is_certain_secret(name: str, value: str) -> bool:
    """Return whether a variable is a secret and no ordinary word, path or number."""
    value = value.strip()
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    is_path = value.startswith(("/", "~", "."))
    return is_secret(name, value) and len(value) >= _MIN_SECRET_LENGTH and mixed and not is_path


def _find_header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the secret values of headers, with and without a scheme such as `Bearer`."""
    for name, value in headers.items():
        if is_secret_name(name) or is_secret(name, value):
            yield value
            yield from value.split()
