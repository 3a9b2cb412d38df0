"""Visible and writable files of commands.

Everything is readable except home directories, of which there is a list (`home.py`), the program's
own directories and some files of the system. Writable are the workspace with its repository, the
directories of the settings, and private directories in place of `/tmp` and of the home directory.
"""

import itertools
import os
import pwd
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from yourtool.foundation.files import is_in
from yourtool.permissions.credential_files import DIRECTORIES, PAIRS, credential_names
from yourtool.tools.sandbox import names
from yourtool.tools.sandbox.home import home as homes
from yourtool.tools.sandbox.home.git_files import find_named_by_git
from yourtool.tools.sandbox.home.home_settings import Limits, find_real_place
from yourtool.tools.sandbox.repositories import find_writable_repository, is_directory

TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - replaced, not used
RUN = Path("/run")
"""Where agents, daemons and displays have their sockets."""
_OF_THE_SYSTEM = (*TEMPORARY, RUN)
_HIDDEN_IN_HOME = (
    ".local/share/keyrings", ".local/share/kwalletd", ".pki", ".mozilla", ".thunderbird",
    ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
    ".config/1Password", ".config/Bitwarden", ".config/keybase", ".1password", ".bash_history",
    ".zsh_history", ".python_history", ".local/share/fish/fish_history", ".docker/run",
    ".docker/desktop", ".colima", ".orbstack", ".lima", ".Xauthority", ".ICEauthority",
    "Library/Keychains",
)  # fmt: skip
"""Of a home directory that cannot be hidden, besides the well-known credential files."""
_HIDDEN = ("/etc/shadow", "/etc/gshadow", "/etc/krb5.keytab", "/etc/ssl/private")
_PRIVATE_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_MAX_ENTRIES = 20_000
_MAX_SOCKETS = 256
_SOCKETS = Path("/proc/net/unix")


class Layout(Struct, frozen=True, kw_only=True):
    """The files of the commands of a session; all paths are real paths, except in a home."""

    workspace: Path
    writable: tuple[Path, ...] = ()
    """Besides the workspace: its repository, and the directories of the settings."""
    private: tuple[Path, ...] = ()
    """Replaced by empty directories that can be written and end with the session."""
    closed: tuple[Path, ...] = ()
    """Replaced by empty directories that cannot be written, so that nothing written there is lost.

    They are home directories, and those between a private directory and the workspace.
    """
    readable: tuple[Path, ...] = ()
    """Visible although they are in a private or hidden directory."""
    caches: tuple[Path, ...] = ()
    """Those of `readable` that can be written, without an effect on the original."""
    copies: tuple[tuple[Path, bytes], ...] = ()
    """Files with contents of ours, in a private directory."""
    replaced: tuple[tuple[Path, bytes], ...] = ()
    """Existing files of the system that have, for commands, contents of ours."""
    hidden: tuple[Path, ...] = ()
    """Existing files and directories that no command can read."""
    pinned: tuple[Path, ...] = ()
    """Writable directories that cannot be renamed, because others could then replace `sealed`."""
    sealed: tuple[Path, ...] = ()
    """Read-only places in writable directories: the hooks of git."""
    is_home_open: bool = False
    """Whether the workspace contains a home directory, so that only known secrets are hidden."""

    def hides(self, path: Path) -> bool:
        """Whether commands do not see a path, because its directory is replaced."""
        shown = (self.workspace, *self.writable, *self.readable)
        return is_in(path, (*self.private, *self.closed)) and not is_in(path, shown)

    @property
    def own_temporary(self) -> tuple[str, ...]:
        """The temporary directories in which nothing of the machine is visible."""
        shown = [self.workspace, *self.writable, *self.readable, *self.closed, *self.hidden]
        shown += (path for path, _ in self.copies)
        return tuple(
            str(directory)
            for directory in TEMPORARY
            if directory in self.private
            and not any(each.is_relative_to(directory) for each in shown)
        )


class Surroundings(Struct, frozen=True, kw_only=True):
    """What besides the workspace decides on a layout."""

    own: tuple[Path, ...] = ()
    """The program's directories."""
    readable: tuple[Path, ...] = ()
    """Directories that are visible at any place, also in a hidden directory."""
    writable: tuple[Path, ...] = ()
    seen_in_home: tuple[Path, ...] = ()
    hidden_in_home: tuple[Path, ...] = ()


def build_layout(workspace: Path, around: Surroundings) -> Layout:
    """Return the layout of a session; blocks."""
    found = tuple(sorted(find_homes()))
    repository = find_writable_repository(workspace, found)
    is_home_open = any(home.is_relative_to(workspace) for home in found)
    directories = (repository.directory,) if repository else ()
    roots = (repository.root, *directories) if repository else ()
    writable = tuple(dict.fromkeys(each for each in (*roots, *around.writable)))
    elsewhere = tuple(_find_elsewhere(found))
    removed = map(find_real_place, around.hidden_in_home)
    limits = Limits((*removed, *around.own), (workspace, *writable))
    visible = (
        []
        if is_home_open
        else [
            homes.find_visible(home, os.environ, limits, added=around.seen_in_home)
            for home in found
        ]
    )
    named = homes.VisibleHome() if is_home_open else find_named_by_git(limits)
    closed = (*_find_between(workspace, found), *(() if is_home_open else found))
    private = (*TEMPORARY, RUN, *(() if is_home_open else _find_places_of_programs(found)))
    hidden = [*around.own, *map(Path, _HIDDEN), *(path for each in visible for path in each.hidden)]
    hidden += elsewhere
    if is_home_open:
        hidden += [Path(path) for home in found for path in find_secrets(str(home))]
    shown = (
        workspace,
        *writable,
        *around.readable,
        *(p for each in visible for p in each.readable),
    )
    gone = (*private, *closed, *elsewhere)
    opened = tuple(each for each in named.readable if is_in(each, gone) and not is_in(each, shown))
    copies = dict(each for home in (named, *visible) for each in home.copies)
    copies |= repository.read_worktrees() if repository else {}
    resolver, is_gone = _find_resolver(private, shown)
    return Layout(
        workspace=workspace,
        writable=tuple(each for each in writable if each != workspace),
        private=tuple(each for each in private if each not in _OF_THE_SYSTEM or is_directory(each)),
        readable=(*around.readable, *(p for each in visible for p in each.readable), *opened),
        caches=tuple(path for each in visible for path in each.caches),
        copies=(
            *(resolver if is_gone else ()),
            *_find_missing(copies, gone, (*shown, *opened)),
        ),
        replaced=() if is_gone else resolver,
        closed=tuple(dict.fromkeys(each for each in closed if is_directory(each))),
        hidden=tuple(_existing(hidden, (*private, *closed), shown)),
        pinned=tuple(each for each in directories if is_directory(each)),
        sealed=repository.hooks if repository else (),
        is_home_open=is_home_open,
    )


def _find_between(workspace: Path, found: Iterable[Path]) -> Iterator[Path]:
    """Yield the directory in `/tmp` or the like that contains the workspace."""
    for place in _OF_THE_SYSTEM:
        if workspace.is_relative_to(place):
            inner = place / workspace.relative_to(place).parts[0]
            if inner != workspace and not any(inner.is_relative_to(home) for home in found):
                yield inner


def _find_places_of_programs(found: Iterable[Path]) -> Iterator[Path]:
    """Yield where programs keep caches, settings and data in home directories."""
    for home in found:
        for name in homes.WRITTEN:
            if name in homes.ALWAYS_WRITTEN or is_directory(home / name):
                yield home / name


def _find_missing(
    copies: Mapping[Path, bytes], gone: tuple[Path, ...], shown: tuple[Path, ...]
) -> Iterator[tuple[Path, bytes]]:
    """Yield the files that commands would not see without a copy."""
    for path, content in copies.items():
        if is_in(path, gone) and not is_in(path, shown):
            yield path, content


def _find_elsewhere(found: Iterable[Path]) -> Iterator[Path]:
    """Yield the directories of settings and data that are not in a home directory."""
    for name in _PRIVATE_VARIABLES:
        path = Path(os.path.realpath(os.environ.get(name) or "/"))
        if path != Path("/") and not is_in(path, found):
            yield path


def _find_resolver(
    private: tuple[Path, ...], shown: tuple[Path, ...]
) -> tuple[tuple[tuple[Path, bytes], ...], bool]:
    """Return the file that names the name server, and whether it is in a private directory."""
    path = Path(os.path.realpath(names.RESOLVER_FILE))
    is_gone = is_in(path, private) and not is_in(path, shown)
    return ((path, names.RESOLVER),) if is_gone or path.is_file() else (), is_gone


def _existing(
    places: Iterable[Path], private: tuple[Path, ...], shown: tuple[Path, ...]
) -> Iterator[Path]:
    """Yield the real paths of existing places that a command would see."""
    # Most are missing, and following the links of a path takes many calls.
    real = {os.path.realpath(path) for path in places if os.path.lexists(path)}
    for path in map(Path, sorted(real - {"/"})):
        if os.path.lexists(path) and (not is_in(path, private) or is_in(path, shown)):
            yield path


def find_hidden(own: Iterable[Path]) -> tuple[Path, ...]:
    """Return what commands cannot read where home directories cannot be replaced; blocks.

    `own`: the program's directories.
    """
    places = [*own, *map(Path, _HIDDEN)]
    for home in find_homes():
        places += map(Path, find_secrets(str(home)))
    return tuple(_existing(places, (), ()))


def find_homes() -> set[Path]:
    """Return the real paths of the home directories whose files this user could read."""
    found = {os.path.expanduser("~")}  # noqa: PTH111 - `Path.home` raises without a home
    with suppress(KeyError):
        found.add(pwd.getpwuid(os.getuid()).pw_dir)
    if os.getuid() == 0:
        with suppress(OSError), os.scandir("/home") as entries:
            found.update(entry.path for entry in entries)
    real = {Path(os.path.realpath(home)) for home in found if home.strip("/")}
    return {home for home in real if home != Path("/") and is_directory(home)}


def find_secrets(home: str) -> Iterator[str]:
    """Yield the well-known places of secrets in a home directory, whether they exist or not."""
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


__all__ = ["Layout", "Surroundings", "build_layout", "find_hidden", "find_sockets"]
