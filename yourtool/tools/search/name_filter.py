"""File name globs."""

import re
from collections.abc import Iterator

from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.wildcards import Wildcards, parse_wildcard
from yourtool.tools.workspace.directory_walk import Folder, Tree

_MAX_GLOB_LENGTH = 1_000
_MAX_ALTERNATIVES = 100
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
        parsed = [
            parse_wildcard(re.sub(r"^!", r"\!", line))
            for line in _expand_braces(pattern.removeprefix("./"))
        ]
        if None in parsed:
            raise ToolError(
                f"`{pattern}` is not a valid glob: close every `[`, and do not end with `\\`"
            )
        self._wildcards = Wildcards(each for each in parsed if each is not None)

    def matches(self, path: str) -> bool:
        """Whether a file matches, or is in a directory that does."""
        above, _, name = path.rpartition("/")
        verdict = self._wildcards.verdict(path, name, is_directory=False)
        return bool(verdict) or self._is_inside(f"{above}/" if above else "", {})

    def filter_tree(self, tree: Tree) -> Iterator[Folder]:
        """Yield folders with only the files that match, or that are in a matching directory."""
        inside = dict[str, bool]()
        for folder in tree.folders:
            path = tree.base + folder.path
            if not self._is_inside(path, inside):
                verdict = self._wildcards.verdict
                names = [n for n in folder.names if verdict(path + n, n, is_directory=False)]
                folder = Folder(folder.path, names)
            yield folder

    def _is_inside(self, folder: str, known: dict[str, bool]) -> bool:
        if not folder:
            return False
        if folder not in known:
            path = folder.removesuffix("/")
            above, slash, name = path.rpartition("/")
            known[folder] = self._is_inside(above + slash, known) or bool(
                self._wildcards.verdict(path, name, is_directory=True)
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
