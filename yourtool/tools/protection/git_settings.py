"""Harmless changes of git settings.

Those without a subsection are in a table; whether another one is harmless depends on its value.
"""

import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from yourtool.git.harmless_settings import HARMLESS_SECTIONS, OF_BRANCHES, is_harmless_setting
from yourtool.git.repositories import Repository
from yourtool.process.guardian import build_prefix
from yourtool.tools.git.git_program import GitError, GitRunner

SECONDS = 5.0
_MAX_EDITS = 100
_OF_REMOTES = frozenset({"prune", "prunetags", "skipfetchall", "skipdefaultupdate", "gh-resolved"})
_REFSPEC = re.compile(r"\+?[^:]*(?::refs/(?:remotes|tags|notes|pull)/.*)?")
_UPDATES = frozenset({"checkout", "rebase", "merge", "none"})
_ADDRESS_OF_PROGRAM = re.compile(r"-|ext:|[A-Za-z0-9+.-]*::")

Settings = Mapping[str, tuple[str, ...]]
"""The values of each setting, in the order of the file."""


class SettingsError(Exception):
    """Git cannot read a configuration."""


class Origin(Struct, frozen=True):
    """What a changed configuration belongs to."""

    is_new: bool = False
    """Whether the repository did not exist before the command."""
    module: Path | None = None
    """The directory of git of a submodule, whose configuration names its work tree."""
    top: Path = Path("/")
    """The work tree in which the submodule is."""
    addresses: frozenset[str] = frozenset()
    """Addresses that the user approved."""
    modules: tuple[str, ...] = ()
    """The addresses in `.gitmodules` before the command; they can be relative to the remote."""


class Merged(Struct, frozen=True):
    """A configuration with the harmless changes of a command only."""

    content: bytes | None
    """None: there is no such file."""
    refused: tuple[str, ...]
    """The settings whose change is not harmless."""


def merge_settings(old: bytes | None, new: bytes | None, origin: Origin) -> Merged:
    """Return a configuration with the harmless changes from `old` to `new`."""
    with tempfile.TemporaryDirectory(prefix=build_prefix(os.getpid())) as folder:
        editor = _Editor(Path(folder))
        try:
            before, after = editor.read(old), editor.read(new)
        except SettingsError:
            return Merged(old, ("a line that git cannot read",))
        changed = sorted(
            key for key in {*before, *after} if before.get(key, ()) != after.get(key, ())
        )
        refused = tuple(key for key in changed if not _is_harmless(key, before, after, origin))
        if not refused:
            return Merged(new, ())
        kept = _find_independent(changed, refused, before, after)
        if len(kept) > _MAX_EDITS:
            return Merged(old, refused)
        try:
            content = editor.edit(old, {key: after.get(key, ()) for key in kept})
        except SettingsError:
            content = old
        return Merged(content, refused)


def _find_independent(
    changed: Sequence[str], refused: Sequence[str], before: Settings, after: Settings
) -> Sequence[str]:
    """Return the harmless changes that do not belong to refused ones.

    A remote without its address, or a branch that tracks it, would be half a change.
    """
    groups = {_get_group(key) for key in refused} - {""}
    for key in changed:
        if key.startswith("branch.") and key.endswith(".remote"):
            values = {*before.get(key, ()), *after.get(key, ())}
            if any(f"remote.{value}" in groups for value in values):
                groups.add(_get_group(key))
    return [key for key in changed if key not in refused and _get_group(key) not in groups]


def _get_group(key: str) -> str:
    """Return section and subsection of a setting; empty if it has no subsection."""
    group = key.rpartition(".")[0]
    return group if "." in group else ""


class _Editor:
    """Reads and edits copies of configurations with git."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "config"
        self._git = GitRunner(Repository.of_parts(folder / "none", folder), SECONDS)

    def read(self, content: bytes | None) -> Settings:
        self._file.write_bytes(content or b"")
        found = dict[str, list[str]]()
        for item in self._run("--null", "--list").split(b"\0"):
            key, newline, value = item.partition(b"\n")
            if key and b"." not in key:
                raise SettingsError("a setting has no section")
            if key:
                text = value.decode("utf-8", "surrogateescape") if newline else "true"
                found.setdefault(key.decode("utf-8", "surrogateescape"), []).append(text)
        return {key: tuple(values) for key, values in found.items()}

    def edit(self, content: bytes | None, values: Settings) -> bytes | None:
        """Return a configuration in which these settings have these values."""
        if content is None and not values:
            return None
        self._file.write_bytes(content or b"")
        known = self.read(content)
        for key, wanted in values.items():
            if key in known:
                self._run("--unset-all", key)
            for value in wanted:
                self._run("--add", key, value)
        return self._file.read_bytes()

    def _run(self, *arguments: str) -> bytes:
        try:
            return self._git.run("config", "--file", str(self._file), *arguments)
        except GitError as error:
            raise SettingsError(str(error)) from error


def _is_harmless(key: str, before: Settings, after: Settings, origin: Origin) -> bool:
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    values = after.get(key, ())
    if not subsection:
        if is_harmless_setting(f"{section}.{name}"):
            return True
        if key == "core.worktree":
            return all(_is_in_work_tree(each, origin) for each in values)
        return key == "core.fsmonitor" and values == ("false",)
    match section:
        case "branch":
            return name in OF_BRANCHES or (
                name == "remote" and all(_is_remote(each, before, after) for each in values)
            )
        case "remote":
            return _is_harmless_remote(name, key, before, after, origin)
        case "submodule":
            if name == "update":
                return all(each in _UPDATES for each in values)
            if name == "url":
                return not values or all(_is_known(each, before, origin) for each in values)
            return name in ("active", "branch", "fetchrecursesubmodules", "ignore", "shallow")
        case "lfs":
            return name == "access"
        case "maintenance":
            return name in ("enabled", "schedule")
        case "extensions":
            return False
        case _:
            return section in HARMLESS_SECTIONS


def _is_harmless_remote(
    name: str, key: str, before: Settings, after: Settings, origin: Origin
) -> bool:
    values = after.get(key, ())
    match name:
        case "url" | "pushurl":
            if key in before:
                # Renamed: another remote has the same addresses now.
                moved = {each for other in _iter_addresses(after) for each in other}
                return not values and all(each in moved for each in before[key])
            return all(_is_known(each, before, origin) for each in values)
        case "fetch":
            return all(_REFSPEC.fullmatch(each) for each in values)
        case "tagopt":
            return all(each in ("--tags", "--no-tags") for each in values)
        case "promisor" | "partialclonefilter":
            return origin.is_new
        case _:
            return name in _OF_REMOTES


def _is_known(address: str, before: Settings, origin: Origin) -> bool:
    """Whether the user has approved an address, or it cannot redirect anything."""
    if _ADDRESS_OF_PROGRAM.match(address):
        return False
    known = {each for values in _iter_addresses(before) for each in values}
    if origin.is_new or address in origin.addresses or address in known:
        return True
    bases = before.get("remote.origin.url") or (str(origin.top),)
    return any(
        address in (each, *(resolve_address(base, each) for base in bases))
        for each in origin.modules
    )


def resolve_address(base: str, relative: str) -> str:
    """Return the address that git makes of a relative one of a submodule.

    https://git-scm.com/docs/git-submodule#Documentation/git-submodule.txt-add
    """
    base, separator = base.rstrip("/"), "/"
    while relative.startswith(("./", "../")):
        if relative.startswith("../"):
            separator = "/" if "/" in base else ":"
            base = base.rpartition(separator)[0]
        relative = relative.partition("/")[2]
    return f"{base}{separator}{relative.rstrip('/')}"


def _iter_addresses(settings: Settings) -> Iterator[Collection[str]]:
    for key, values in settings.items():
        if key.startswith("remote.") and key.endswith((".url", ".pushurl")):
            yield values


def _is_in_work_tree(path: str, origin: Origin) -> bool:
    """Whether a path is that of a submodule in its work tree."""
    if origin.module is None:
        return False
    return origin.top in Path(os.path.normpath(origin.module / path)).parents


def _is_remote(name: str, before: Settings, after: Settings) -> bool:
    """Whether a branch names a remote, and not an address."""
    return name == "." or f"remote.{name}.url" in before or f"remote.{name}.url" in after
