"""Paths in the arguments of any program.

They are found in values, behind `@` and behind letters of options.
"""

import re
from collections.abc import Iterator, Sequence

from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.protected_places import is_protected
from yourtool.permissions.shell.place import GLOB_CHARACTERS, Place

_ADDRESS = re.compile(
    r"(?<![a-z0-9+.-])[a-z0-9+.-]+:(?:/|:)|git\+|(?<![\w.-])[\w.-]+@[\w.-]+:", re.IGNORECASE
)
_WEB_ADDRESS = re.compile(r"https?://[^\s,;]*", re.IGNORECASE)
_FILE_ADDRESS = re.compile(r"(?<![a-z0-9])file:[/.~\\]", re.IGNORECASE)
_SEPARATOR = re.compile(r"[=:,;|\s]+")
_BUNDLED_VALUE = re.compile(r"-[A-Za-z0-9]+((?:@|~|\.\./).*)", re.DOTALL)
"""Letters of options, and a value that can be no further letter."""
_BUNDLED_ROOT = re.compile(r"-[A-Za-z0-9]([A-Za-z0-9]*)/")
_MAX_BUNDLE = 100
_OMITTING = frozenset(
    {
        "--exclude", "--exclude-dir", "--extend-exclude", "--force-exclude", "--ignore",
        "--ignore-glob", "--ignore-pattern", "--ignore-patterns",
    }
)  # fmt: skip
"""Options whose values are files that a program does not use."""
_COPYING = re.compile(
    r"-[abdfHiLnPpRrTuvx]+|--(?:archive|force|no-clobber|parents|recursive|verbose)"
)
"""Options that have no value and make no links."""
_ONE_WORD = re.compile(r"[\w./+@:,=-]+")
"""Written as it is when the command runs."""


def find_strange_path(
    words: Sequence[str], place: Place, *, takes_addresses: bool, has_at_signs: bool
) -> str | None:
    """Return the first argument that leads out of the workspace or to a protected place, or None.

    takes_addresses: an address in an argument may be one of code, and counts. has_at_signs: a
    leading `@` belongs to a name, and does not mark a file with further arguments.
    """
    written: list[str] = []
    omits = False
    for word in words:
        omitted, omits = omits or word.partition("=")[0] in _OMITTING, word in _OMITTING
        if _FILE_ADDRESS.search(word) or (takes_addresses and _is_address(word)):
            return word
        has_at_signs = has_at_signs and word != "--"  # what follows is for another program
        parts = list(dict.fromkeys(_iter_parts(word)))
        if not has_at_signs and any(part.startswith("@") for part in parts):
            return word
        paths = [part.lstrip("@<+") for part in parts]
        if any(_leads_elsewhere(path, place) for path in paths) or _has_bundled_root(word, place):
            return word
        if not omitted:
            written += (path for path in paths if not place.is_private(path))
            if any(map(is_protected, _iter_bundled(word))):
                return word
    return place.find_protected(written)


def _is_address(word: str) -> bool:
    value = word.partition("=")[2]
    parts = (word, value, word[2:] if word.startswith("-") else "")
    return any(_ADDRESS.match(part) is not None for part in parts)


def _iter_parts(word: str) -> Iterator[str]:
    """Yield what may be a path in an argument, which may be one as a whole."""
    rest = _WEB_ADDRESS.sub("", word)
    if not rest.startswith("-"):
        yield rest
    elif (found := _BUNDLED_VALUE.fullmatch(rest)) is not None:
        yield found[1]
    elif not rest.startswith("--"):
        yield rest[2:]
    if "=" in rest:
        yield rest.partition("=")[2]
    yield from _SEPARATOR.split(rest)


def _leads_elsewhere(path: str, place: Place) -> bool:
    if not path or path.startswith("-") or ("/" not in path and GLOB_CHARACTERS.search(path)):
        return False
    if path.startswith("~"):
        return True
    if "." not in path and "/" not in path and is_credential_file(path):
        return False  # more often a word than a file, such as `credentials`
    return not place.is_readable(path)


def _has_bundled_root(word: str, place: Place) -> bool:
    """Whether letters of options precede an absolute path, as in `-xo/etc/passwd`.

    `-Ibuild/lib` looks the same, so the names that exist decide.
    """
    found = _BUNDLED_ROOT.match(word)
    if found is None or (found[1] and place.is_present(found[1])):
        return False
    path = word[found.end() - 1 :]
    top = path.lstrip("/").partition("/")[0]
    return place.is_present(f"/{top}") and not place.is_readable(path)


def _iter_bundled(word: str) -> Iterator[str]:
    """Yield what may be the value of one of several options in a word, as in `-sSoAGENTS.md`."""
    if word.startswith("-") and not word.startswith("--") and len(word) <= _MAX_BUNDLE:
        yield from (word[at:] for at in range(2, len(word)))


def skip_sources(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments of a program that copies files without its sources, as far as known."""
    operands = [word for word in arguments if not word.startswith("-")]
    if not operands or _ONE_WORD.fullmatch(operands[-1]) is None:
        return arguments
    options = [word for word in arguments if word.startswith("-")]
    return operands[-1:] if all(map(_COPYING.fullmatch, options)) else arguments
