"""Settings files in a home directory.

Files of patterns are copied whole: a line in them that looks like a secret is a name of a file.
"""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from yourtool.foundation.files import expand_home, is_in, is_link, read_small_file, real_path
from yourtool.permissions.credential_files import is_credential_file
from yourtool.tools.sandbox.home import secret_values, yaml_secrets

Cleaner: TypeAlias = Callable[[str], str]
"""Returns the content of a file in some format without its secrets."""

_PATTERNS = (
    ".config/fd/ignore", ".config/git/attributes", ".config/git/ignore", ".config/ripgrep/config",
    ".editorconfig", ".gitattributes", ".gitignore", ".gitignore_global", ".ripgreprc",
)  # fmt: skip
_GIT = (".config/git/config", ".gitconfig")
_INI = (
    ".config/flake8", ".config/mypy/config", ".config/pep8", ".config/pip/pip.conf",
    ".config/pycodestyle", ".config/pylintrc", ".pip/pip.conf", ".pylintrc",
)  # fmt: skip
_TOML = (
    ".bunfig.toml", ".cargo/config", ".cargo/config.toml", ".config/black",
    ".config/mise/config.toml", ".config/ruff/ruff.toml", ".config/uv/uv.toml", ".mise.toml",
    ".rustfmt.toml",
)  # fmt: skip
_YAML = (
    ".clang-format", ".clang-tidy", ".condarc", ".config/yamllint/config", ".gemrc", ".prettierrc",
    ".yarnrc.yml",
)  # fmt: skip
_LINES = (
    ".bazelrc", ".config/bat/config", ".config/go/env", ".config/pnpm/rc", ".go-version",
    ".java-version", ".node-version", ".npmrc", ".nvmrc", ".python-version", ".ruby-version",
    ".terraform-version", ".tool-versions", ".yarnrc",
)  # fmt: skip
_CONFIGURATION = ".config/"
_MAX_BYTES = 2**18
_MAX_STEPS = 200


class Limits(Struct, frozen=True):
    """Places from which no file of settings comes."""

    removed: tuple[Path, ...] = ()
    """Those that the user hides, and the program's own directories."""
    written: tuple[Path, ...] = ()
    """Those that commands can write: a link there could lead to any file."""

    def allow(self, path: Path) -> bool:
        """Whether a file or directory may be shown, considering all links on the way to it."""
        steps = list(itertools.islice(_iter_steps(path), _MAX_STEPS))
        if len(steps) == _MAX_STEPS or any(is_in(each, self.removed) for each in (path, *steps)):
            return False
        is_steered = any(is_in(each, self.written) for each in steps)
        return not is_steered or self.can_be_written(path)

    def can_be_written(self, path: Path) -> bool:
        """Whether commands can change a file."""
        return is_in(real_path(path), self.written)

    def allow_named(self, path: Path) -> bool:
        """Whether a path that settings name may be shown: `allow`, and no credential file."""
        places = (str(path), str(real_path(path)))
        return self.allow(path) and not any(map(is_credential_file, places))


def _iter_steps(path: Path) -> Iterator[Path]:
    """Yield each path that the kernel looks up on the way to a file."""
    at, waiting = Path("/"), list(path.parts[:0:-1])
    while waiting:
        name = waiting.pop()
        at = at.parent if name == ".." else at / name
        yield at
        if is_link(at):
            target = at.readlink()
            at = Path("/") if target.is_absolute() else at.parent
            waiting += [each for each in reversed(target.parts) if each != "/"]


def find_real_place(path: Path) -> Path:
    """Return a path below the real path of the home directory, if it is below its name.

    The last parts of the path are not followed.
    """
    home, plain = expand_home(Path("~")), Path(os.path.normpath(path))
    return real_path(home) / plain.relative_to(home) if plain.is_relative_to(home) else plain


def list_settings(home: Path, configuration: Path | None) -> Iterator[tuple[Path, Cleaner]]:
    """Yield the places of settings in a home directory, and in what replaces its `.config`."""
    for clean, names in _NAMES.items():
        for name in names:
            yield home / name, clean
            if configuration is not None and name.startswith(_CONFIGURATION):
                yield configuration / name.removeprefix(_CONFIGURATION), clean


def copy_file(path: Path, clean: Cleaner) -> bytes | None:
    """Return the content of a file of settings without secrets, or None if it cannot be read."""
    try:
        content = read_small_file(path, _MAX_BYTES)
    except (OSError, ValueError):  # the name has a NUL
        return None
    text = content.decode("utf-8", "surrogateescape")
    if not secret_values.mentions_secret(text):
        return content
    return clean(text).encode("utf-8", "surrogateescape")


def copy_whole(text: str) -> str:
    """Return a text that contains no secrets, only words for them."""
    return text


def _clean_yaml(text: str) -> str:
    return yaml_secrets.clean_yaml(text)  # imported now


_NAMES: Mapping[Cleaner, tuple[str, ...]] = {
    copy_whole: _PATTERNS,
    secret_values.clean_git: _GIT,
    secret_values.clean_ini: _INI,
    secret_values.clean_toml: _TOML,
    _clean_yaml: _YAML,
    secret_values.clean_lines: _LINES,
}
