"""Globs of a model for the names of files, such as `*.py` or `src/**/*.{ts,tsx}`."""

import re
from collections.abc import Iterator

from yourtool.errors import ToolError, ToolFailure
from yourtool.tools.tree import Folder, Tree
from yourtool.tools.wildcards import Wildcards, parse_wildcard

_LONGEST_GLOB = 1_000
_MOST_ALTERNATIVES = 100
_BRACES = re.compile(r"\{([^{}]*)\}")


class NameFilter:
    """A glob for files, read as `.gitignore` would: without a slash it fits in any directory.

    Raises:
        ToolError: it leaves the directory, or is no pattern.
    """

    def __init__(self, pattern: str) -> None:
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise ToolError(
                f"the pattern `{pattern}` leads out of the directory that is searched; give the"
                " directory as `path`, and a pattern relative to it",
                ToolFailure.PERMISSION_DENIED,
            )
        if len(pattern) > _LONGEST_GLOB:
            raise ToolError(
                f"the pattern has {len(pattern):,} characters; {_LONGEST_GLOB:,} is the most"
            )
        parsed = [
            parse_wildcard(re.sub(r"^!", r"\!", line))
            for line in _alternatives(pattern.removeprefix("./"))
        ]
        if None in parsed:
            raise ToolError(f"`{pattern}` is not a glob: a `[` is not closed, or it ends with `\\`")
        self._wildcards = Wildcards(each for each in parsed if each is not None)

    def applied(self, tree: Tree) -> Iterator[Folder]:
        """Yield folders with only the files that fit, or are in a directory that does."""
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


def _alternatives(pattern: str) -> Iterator[str]:
    """Write out `{a,b}`, which git does not know."""
    pending = [pattern]
    for _ in range(_MOST_ALTERNATIVES):
        if not pending:
            return
        if (braces := _BRACES.search(line := pending.pop())) is None:
            yield line
        else:
            pending += [
                line[: braces.start()] + part + line[braces.end() :]
                for part in braces[1].split(",")
            ]
    raise ToolError(f"`{pattern}` has more than {_MOST_ALTERNATIVES} alternatives; use fewer")
