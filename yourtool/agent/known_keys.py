"""Every key that this program can know of, for the places that must never let one through."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from yourtool.config import load_report
from yourtool.credentials import Credentials
from yourtool.environment import is_secret, is_secret_name
from yourtool.masking import Mask
from yourtool.paths import Paths

_SHORTEST_KEY = 8
_SHORTEST_SECRET = 12
"""Shorter values of variables that only look like secrets would be found in ordinary text."""
_PROVIDER_KEY = re.compile(r"(API_KEY|AUTH_TOKEN)$")


def known_secrets(paths: Paths, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return keys of the settings, the environment and the file of keys, the longest first.

    They are read again each time, because one may have been entered just now.
    """
    providers = load_report(paths, environ).config.providers
    named = {row.key_env for row in providers.values()}
    keys = {
        value.strip()
        for name, value in environ.items()
        if name in named or _PROVIDER_KEY.search(name) or _is_unmistakable(name, value)
    }
    for row in providers.values():
        keys.update(_keys_of(row.headers))
    keys |= Credentials(paths, environ).stored_keys()
    return tuple(sorted((key for key in keys if len(key) >= _SHORTEST_KEY), key=len, reverse=True))


def known_mask(paths: Paths, environ: Mapping[str, str]) -> Mask:
    """Return what replaces every key that is known now; blocks on the file system."""
    return _mask_of(known_secrets(paths, environ))


def masked(text: str, secrets: tuple[str, ...]) -> str:
    """Return `text` with every secret in it replaced."""
    return _mask_of(secrets).text(text)


@lru_cache(maxsize=4)
def _mask_of(secrets: tuple[str, ...]) -> Mask:
    return Mask(secrets)


def _is_unmistakable(name: str, value: str) -> bool:
    """Return whether a variable holds a secret that is no word, path or number of every day."""
    value = value.strip()
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    is_path = value.startswith(("/", "~", "."))
    return is_secret(name, value) and len(value) >= _SHORTEST_SECRET and mixed and not is_path


def _keys_of(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield what a header holds as a whole and without a scheme such as `Bearer`."""
    for name, value in headers.items():
        if is_secret_name(name) or is_secret(name, value):
            yield value
            yield from value.split()
