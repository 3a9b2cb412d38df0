"""Every key that this program can know of, for the places that must never let one through."""

import re
from collections.abc import Mapping

from yourtool.config import examine
from yourtool.credentials import Credentials
from yourtool.paths import Paths

MASK = "***"
_KEY_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_KEY = 8


def known_secrets(paths: Paths, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return keys of the settings, the environment and the file of keys, the longest first.

    They are read anew each time, for one may have been entered just now.
    """
    providers = examine(paths, environ).config.providers
    named = {row.key_env for row in providers.values()}
    keys = {
        value.strip() for name, value in environ.items() if name in named or _KEY_NAME.search(name)
    }
    keys |= {header for row in providers.values() for header in row.headers.values()}
    keys |= Credentials(paths, environ).stored()
    return tuple(sorted((key for key in keys if len(key) >= _SHORTEST_KEY), key=len, reverse=True))


def masked(text: str, secrets: tuple[str, ...]) -> str:
    """Return `text` with every secret in it replaced."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text
