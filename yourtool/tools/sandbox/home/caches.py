"""Private caches of programs in the sandbox.

They are in the temporary directory of the session, so nothing outside of the sandbox reads what a
command puts there. The variable `XDG_CACHE_HOME` is left alone: programs find there what they
cannot make again without a network, such as the environments of Poetry and pre-commit, the package
managers of Corepack and the browsers of Playwright.
"""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from yourtool.foundation.files import is_in

_CACHES: Mapping[str, str] = {
    "CCACHE_DIR": ".cache/ccache",
    "GOCACHE": ".cache/go-build",
    "GOLANGCI_LINT_CACHE": ".cache/golangci-lint",
    "PIP_CACHE_DIR": ".cache/pip",
    "PYLINTHOME": ".cache/pylint",
    "STATICCHECK_CACHE": ".cache/staticcheck",
    "UV_CACHE_DIR": ".cache/uv",
    "YARN_CACHE_FOLDER": ".cache/yarn",
    "ZIG_GLOBAL_CACHE_DIR": ".cache/zig",
    "npm_config_cache": ".npm",
}
"""Variables that move a cache, and where it is in the home directory without them."""


def build_cache_variables(
    environment: Mapping[str, str], temporary: str, writable: Collection[Path]
) -> dict[str, str]:
    """Return the variables that a command with an environment needs in addition.

    `temporary`: the path of the temporary directory for the command. A cache that it can write
    stays where it is.
    """
    home = Path(environment.get("HOME", "/"))
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    found = dict[str, str]()
    for variable, usual in _CACHES.items():
        name = usual.removeprefix(".cache/")
        place = home / usual if name == usual else cache / name
        real = Path(os.path.realpath(place))
        is_writable = is_in(real, writable)
        if variable not in environment and not is_writable:
            found[variable] = f"{temporary}/caches/{name.lstrip('.')}"
    return found


def build_variables(caches: Collection[Path], temporary: str) -> dict[str, str]:
    """Return the variables that move caches which an enclosure cannot make writable."""
    return {
        variable: f"{temporary}/caches/{usual.removeprefix('.cache/').lstrip('.')}"
        for variable, usual in _CACHES.items()
        if any(each.as_posix().endswith(f"/{usual}") for each in caches)
    }
