"""File name globs."""

import re
from collections.abc import Iterable, Iterator

from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.wildcards import Wildcards, parse_wildcard
from yourtool.tools.workspace.directory_walk import Folder, Tree

_MAX_GLOB_LENGTH = 1_000
_MAX_ALTERNATIVES = 100
_LEADING = re.compile(r"^[!#]")
_BRACKETS = re.compile(r"[\[\]]")
_BRACES = re.compile(r"\{([^{}]*)\}")


class NameFilter:
    """A glob with `.gitignore` semantics: without a slash it matches in any directory.

    Raises:
        ToolError: the glob leaves the directory or is invalid.
    """

    def __init__(self, pattern: str) -> None:
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise ToolError(
                f"the pattern `{pattern}` leaves the search directory; pass the directory as"
                " `path`, and a pattern relative to it",
                ToolFailure.PERMISSION_DENIED,
            )
        if len(pattern) > _MAX_GLOB_LENGTH:
            raise ToolError(
                f"the pattern has {len(pattern):,} characters; use at most {_MAX_GLOB_LENGTH:,}"
            )
        lines = list(_expand_braces(pattern.removeprefix("./")))
        wildcards = _parse(lines)
        if wildcards is None:
            raise ToolError(
                f"`{pattern}` is not a valid glob: close every `[`, and do not end with `\\`"
            )
        self._wildcards = wildcards
        escaped = (_BRACKETS.sub(r"\\\g<0>", line) for line in lines)
        self._literal = _parse(escaped) if "[" in pattern else None

    def matches(self, path: str) -> bool:
        """Whether a file matches, or is in a directory that does."""
        above, _, name = path.rpartition("/")
        folder = f"{above}/" if above else ""
        return any(
            bool(each.verdict(path, name, is_directory=False)) or _is_inside(each, folder, {})
            for each in (self._wildcards, self._literal)
            if each is not None
        )

    def filter_tree(self, tree: Tree) -> Iterator[Folder]:
        """Yield folders with only the files that match, or that are in a matching directory.

        A name with brackets, such as `[id].tsx`, means itself if it exists.
        """
        if self._literal is None:
            yield from _filter(tree.folders, tree.base, self._wildcards)
            return
        folders = list(tree.folders)
        found = [each for each in _filter(folders, tree.base, self._literal) if each.names]
        yield from found or _filter(folders, tree.base, self._wildcards)


def _parse(lines: Iterable[str]) -> Wildcards | None:
    """Return the patterns; None if one is invalid."""
    parsed = [parse_wildcard(_LEADING.sub(r"\\\g<0>", line)) for line in lines]
    found = [each for each in parsed if each is not None]
    return Wildcards(found) if len(found) == len(parsed) else None


def _filter(folders: Iterable[Folder], base: str, wildcards: Wildcards) -> Iterator[Folder]:
    inside, verdict = dict[str, bool](), wildcards.verdict
    for folder in folders:
        path = base + folder.path
        if not _is_inside(wildcards, path, inside):
            names = [n for n in folder.names if verdict(path + n, n, is_directory=False)]
            folder = Folder(folder.path, names)
        yield folder


def _is_inside(wildcards: Wildcards, folder: str, known: dict[str, bool]) -> bool:
    if not folder:
        return False
    if folder not in known:
        path = folder.removesuffix("/")
        above, slash, name = path.rpartition("/")
        known[folder] = _is_inside(wildcards, above + slash, known) or bool(
            wildcards.verdict(path, name, is_directory=True)
        )
    return known[folder]


def _expand_braces(pattern: str) -> Iterator[str]:
    """Expand `{a,b}`, which `.gitignore` patterns do not support."""
    pending = [pattern]
    for _ in range(_MAX_ALTERNATIVES):
        if not pending:
            return
        if (braces := _BRACES.search(line := pending.pop())) is None:
            yield line
        else:
            pending += [
                line[: braces.start()] + part + line[braces.end() :]
                for part in braces[1].split(",")
            ]
    raise ToolError(f"`{pattern}` has more than {_MAX_ALTERNATIVES} alternatives; use fewer")
