"""The files below a directory, without what `.gitignore` files leave out.

The patterns are git's (https://git-scm.com/docs/gitignore), applied here and not by running git,
because a repository's own configuration can make git run programs. Links are not followed, and
repositories' own directories are never entered, nor are those of the program.
"""

import os
import stat
import threading
from collections.abc import Iterator

from pathspec import GitIgnoreSpec

from yourtool.tools.workspace import Workspace

_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})
_BULK = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox"})
_LARGEST_IGNORE_FILE = 2**20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def files(workspace: Workspace, path: str, cancelled: threading.Event) -> Iterator[str]:
    """Yield every regular file below `path`, each relative to the workspace, in order.

    Stops early once `cancelled` is set. A start that is itself ignored is searched all the same.

    Raises:
        ToolError: `path` is no directory that may be read.
    """
    start = workspace.locate(path)
    base = "" if start == "." else f"{start}/"
    own = workspace.own_places()
    with workspace.directory(path) as descriptor:
        ignored = {base: _above(workspace, start)}
        for folder, names, found, here in os.fwalk(".", dir_fd=descriptor):
            if cancelled.is_set():
                return
            if folder != "." and own.holds(os.fstat(here)):
                names.clear()
                continue
            prefix = base + ("" if folder == "." else f"{folder.removeprefix('./')}/")
            rules = ignored.pop(prefix).within(prefix, here)
            names[:] = sorted(name for name in names if not rules.skips(prefix + name + "/", name))
            ignored.update({f"{prefix}{name}/": rules for name in names})
            for name in sorted(found):
                if not rules.skips(prefix + name, name) and _is_file(name, here):
                    yield prefix + name


class _Ignored:
    """The patterns of a directory and of those above it; the nearest that matches decides."""

    def __init__(self, specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()) -> None:
        self._specs = specs

    def within(self, prefix: str, descriptor: int) -> "_Ignored":
        if (spec := _spec(descriptor)) is None:
            return self
        return _Ignored(((prefix, spec), *self._specs))

    def skips(self, path: str, name: str) -> bool:
        """Decide about a path from the workspace; one that ends in a slash is a directory."""
        if path.endswith("/") and name in _NEVER | _BULK:
            return True
        for prefix, spec in self._specs:
            verdict = spec.check_file(path.removeprefix(prefix)).include
            if verdict is not None:
                return verdict
        return False


def _above(workspace: Workspace, start: str) -> _Ignored:
    """Collect the patterns of the directories above `start`, unless they leave it out itself."""
    rules, prefix = _Ignored(), ""
    if start == "." or start.startswith("/"):
        return rules
    for name in start.split("/"):
        with workspace.directory(prefix or ".") as descriptor:
            rules = rules.within(prefix, descriptor)
        prefix += f"{name}/"
        if rules.skips(prefix, name):
            return _Ignored()
    return rules


def _spec(directory: int) -> GitIgnoreSpec | None:
    try:
        descriptor = os.open(".gitignore", _OPEN, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        text = file.read(_LARGEST_IGNORE_FILE).decode("utf-8", "replace")
    try:
        return GitIgnoreSpec.from_lines(text.splitlines())
    except ValueError:
        return None


def _is_file(name: str, directory: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except OSError:
        return False
