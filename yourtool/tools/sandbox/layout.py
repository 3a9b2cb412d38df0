"""What a sandboxed command can see and write, independent of how this is enforced.

Everything is readable except credential files, the program's own directories and the sockets of
agents and daemons. Writable are the workspace without its protected places, a temporary directory
and the directories of the settings.
"""

import itertools
import os
import pwd
import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from yourtool.permissions.credential_files import DIRECTORIES, PAIRS, credential_names
from yourtool.permissions.protected_places import is_protected

_HIDDEN_IN_HOME = (
    ".local/share/keyrings", ".local/share/kwalletd", ".pki", ".mozilla", ".thunderbird",
    ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
    ".config/1Password", ".config/Bitwarden", ".config/keybase", ".1password", ".bash_history",
    ".zsh_history", ".python_history", ".local/share/fish/fish_history", ".docker/run",
    ".docker/desktop", ".colima", ".orbstack", ".lima", ".Xauthority", ".ICEauthority",
    "Library/Keychains",
)  # fmt: skip
"""Keyrings, browser profiles, histories and sockets, besides the well-known credential files."""
_HIDDEN = ("/etc/shadow", "/etc/gshadow", "/etc/krb5.keytab", "/etc/ssl/private")
_GIT_PARTS = ("hooks", "config", "config.worktree", "info", "modules", "worktrees", "commondir")
"""Entries of `.git` with which git runs programs or finds its configuration."""
_MASKED_NAMES = (
    ".vscode", ".idea", ".devcontainer", ".husky", ".githooks", ".mcp.json", ".yourtool",
    ".agents", ".claude", ".codex", ".cursor", ".gemini",
)  # fmt: skip
"""Protected names that are masked even if they are missing."""
_MAX_ENTRIES = 20_000
_MAX_REPOSITORIES = 200
_MAX_DIRECTORIES = 500
"""Directories of a workspace that are searched for repositories, which takes milliseconds."""
_MAX_SOCKETS = 256
_SOCKETS = Path("/proc/net/unix")


class MountPoint(Struct, frozen=True):
    """A protected path; if it is missing, it is created for the time of a command."""

    path: Path
    content: bytes | None = None
    """Of a file; None: a directory."""


class Layout(Struct, frozen=True, kw_only=True):
    """The files of one sandboxed command; all paths are real paths."""

    workspace: Path
    temporary: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    """Visible although they are in a hidden or private directory."""
    hidden: tuple[Path, ...] = ()
    """Existing files and directories that no command can read."""
    repositories: tuple[Path, ...] = ()
    """The `.git` directories that git can write, except for their protected parts."""
    protected: tuple[MountPoint, ...] = ()
    """Read-only paths of the workspace."""

    @property
    def pinned(self) -> tuple[Path, ...]:
        """Directories that cannot be renamed, because others could then replace protected paths."""
        inner = [*self.repositories, *(point.path for point in self.protected)]
        above = (each for path in inner for each in path.parents)
        parents = (each for each in above if self.workspace in each.parents)
        return tuple(dict.fromkeys((*self.repositories, *parents)))


class LayoutError(Exception):
    """The workspace cannot be protected."""


def find_protected(workspace: Path) -> tuple[tuple[Path, ...], tuple[MountPoint, ...]]:
    """Return the `.git` directories of a workspace and its protected paths.

    Found in the workspace itself, and for repositories also in the directories below it, of which
    the nearest are searched. A link cannot be protected, because it can be replaced.

    Raises:
        LayoutError: the `.git` of the workspace is a link, so it cannot be protected.
    """
    if (workspace / ".git").is_symlink():
        raise LayoutError("`.git` is a symbolic link, so it cannot be protected")
    repositories = list[Path]()
    points = dict[Path, MountPoint]()
    with os.scandir(workspace) as entries:
        for entry in itertools.islice(entries, _MAX_ENTRIES):
            if entry.is_symlink():
                continue
            path = Path(entry.path)
            is_directory = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" and is_directory:
                repositories.append(path)
            elif is_protected(entry.name):
                points[path] = MountPoint(path)
            elif is_directory:
                points.update({each: MountPoint(each) for each in _find_pairs(path)})
    for entry in _find_inner_repositories(workspace):
        path = Path(entry.path)
        if entry.is_file(follow_symlinks=False):  # of a submodule or a worktree
            points[path] = MountPoint(path)
        elif len(repositories) < _MAX_REPOSITORIES:
            repositories.append(path)
    for repository in repositories:
        if not repository.is_symlink() and (repository / "HEAD").exists():
            points.update(_git_parts(repository))
    missing = _MASKED_NAMES if (workspace / ".git").exists() else (*_MASKED_NAMES, ".git", "HEAD")
    for name in missing:
        points.setdefault(workspace / name, MountPoint(workspace / name))
    links = [path for path in points if path.is_symlink()]
    return (
        tuple(each for each in repositories if not each.is_symlink()),
        tuple(point for path, point in points.items() if path not in links),
    )


def _find_inner_repositories(workspace: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the `.git` of each directory below the workspace, the nearest first, up to a limit."""
    waiting = deque([str(workspace)])
    for _ in range(_MAX_DIRECTORIES):
        if not waiting:
            return
        directory = waiting.popleft()
        with suppress(OSError), os.scandir(directory) as entries:
            for entry in itertools.islice(entries, _MAX_ENTRIES):
                if entry.is_symlink():
                    continue
                if entry.name == ".git":
                    if directory != str(workspace):
                        yield entry
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _find_pairs(directory: Path) -> Iterator[Path]:
    """Yield the protected entries of a directory, such as `.github/workflows`."""
    if directory.name.startswith("."):
        for path in itertools.islice(directory.iterdir(), _MAX_ENTRIES):
            if is_protected(f"{directory.name}/{path.name}"):
                yield path


def _git_parts(repository: Path) -> dict[Path, MountPoint]:
    parts = {repository / name: MountPoint(repository / name) for name in _GIT_PARTS}
    # Git finds its configuration through `commondir`; this content means the directory itself.
    parts[repository / "commondir"] = MountPoint(repository / "commondir", b".\n")
    return parts


def find_hidden(own: Iterable[Path]) -> tuple[Path, ...]:
    """Return the existing places that commands cannot read; `own`: the program's directories."""
    places = [*map(str, own), *_HIDDEN]
    for home in _find_homes():
        places += _find_secrets(home)
    # Most are missing, and following the links of a path takes many calls.
    found = {os.path.realpath(path) for path in places if os.path.lexists(path)}
    return tuple(Path(path) for path in sorted(found - {"/"}) if os.path.lexists(path))


def _find_homes() -> set[str]:
    """Return the home directories whose files this user could read."""
    homes = {os.path.expanduser("~")}  # noqa: PTH111 - `Path.home` raises without a home
    with suppress(KeyError):
        homes.add(pwd.getpwuid(os.getuid()).pw_dir)
    if os.getuid() == 0:
        with suppress(OSError), os.scandir("/home") as entries:
            homes.update(entry.path for entry in entries)
    return {home for home in homes if home.strip("/") and Path(home).is_dir()}


def _find_secrets(home: str) -> Iterator[str]:
    names = (*_HIDDEN_IN_HOME, *DIRECTORIES, *(f"{outer}/{inner}" for outer, inner in PAIRS))
    yield from (f"{home}/{name}" for name in names)
    with suppress(OSError), os.scandir(home) as entries:
        listed = [entry.name for entry in itertools.islice(entries, _MAX_ENTRIES)]
        yield from (f"{home}/{name}" for name in credential_names(home, listed))


def find_sockets(ignored: Iterable[Path]) -> tuple[Path, ...]:
    """Return the sockets of other programs on this machine; `ignored` directories are skipped."""
    skipped, found = tuple(ignored), list[Path]()
    if sys.platform != "linux":
        return ()
    with suppress(OSError):
        for line in _SOCKETS.read_text("utf-8", "surrogateescape").splitlines()[1:]:
            _, _, name = line.partition(" /")
            path = Path(f"/{name}")
            if name and len(found) < _MAX_SOCKETS and not any(map(path.is_relative_to, skipped)):
                found.append(path)
    return tuple(dict.fromkeys(path for path in found if _is_socket(path)))


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return False
