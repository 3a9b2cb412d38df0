"""The settings and hooks that let git run programs: https://git-scm.com/docs/git-config.

What the canonical form of a reading command switches off is not searched for in the user's own
files, only in those of the repository, as rules are about other commands of git as well.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

_MAX_SIZE = 2**18
_MAX_MODULES = 100
_MAX_INCLUDES = 20
_SYSTEM_FILES = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
_SECTION = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\][ \t]*')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?")
_SECTIONS_OF_PROGRAMS = frozenset(
    {
        "alias", "browser", "difftool", "filter", "guitool", "hook", "include", "includeif", "man",
        "mergetool", "pager", "protocol",
    }
)  # fmt: skip
_SETTINGS_OF_PROGRAMS = re.compile(
    r"(?:.*(?:command|cmd|helper|hook|program|pager|editor))|external|textconv|driver|hookspath"
    r"|fsmonitor|uploadpack|receivepack|promisor|partialclone|askpass|gitproxy|vcs|difffilter"
)
_BOOLEANS = ("", "true", "false", "yes", "no", "on", "off", "1", "0")
_FILTERS = ("clean", "smudge", "process", "textconv")
"""Settings that name programs, which no option switches off in every command that reads."""
_UNREADABLE = "a line that cannot be read"


class GitHelper(Struct, frozen=True):
    """What lets git run a program."""

    key: str
    """The setting, or the file in the repository."""
    file: str
    """The file that contains the setting; inside the workspace a relative path."""

    def __str__(self) -> str:
        return f"`{self.key}` in `{self.file}`"


class _Setting(Struct, frozen=True):
    section: str
    name: str
    value: str
    key: str


def find_git_helper(directory: Path, root: Path) -> GitHelper | None:
    """Find a git setting that runs a program when git works in a directory of a workspace."""
    found = _find(directory, root)
    return None if found is None else GitHelper(found.key, found.file.removeprefix(f"{root}/"))


def _find(directory: Path, root: Path) -> GitHelper | None:
    for each in (directory, *directory.parents):
        if os.path.lexists(each / ".git"):
            return _find_in_repository(each / ".git") or _find_in_own_files(root)
        if each.is_relative_to(root) and os.path.lexists(each / "HEAD"):
            return GitHelper("HEAD", str(each))  # perhaps a repository without a directory `.git`
    return None


def _find_in_repository(git: Path) -> GitHelper | None:
    directory = common = git
    if not git.is_dir():  # a linked worktree or a submodule
        named = _read(git)
        if named is None or not named.startswith("gitdir:"):
            return GitHelper(_UNREADABLE, str(git))
        directory = git.parent / named.removeprefix("gitdir:").strip()
        other = _read(directory / "commondir")
        common = directory if other is None else directory / other.strip()
    elif os.path.lexists(git / "commondir"):
        return GitHelper("commondir", str(git))
    files = [common / "config"]
    if os.path.lexists(directory / "config.worktree"):
        files.append(directory / "config.worktree")
    if (found := _find_hook(directory) or _find_hook(common)) is not None:
        return found
    for each in files:
        if (found := _find_in_file(each, is_module=git != common)) is not None:
            return found
    return _find_in_modules(common / "modules")


def _find_hook(directory: Path) -> GitHelper | None:
    hook = "hooks/post-index-change"
    return GitHelper(hook, str(directory)) if os.path.lexists(directory / hook) else None


def _find_in_modules(modules: Path) -> GitHelper | None:
    count = 0
    for folder, folders, names in os.walk(modules):
        folders[:] = [each for each in folders if each not in ("objects", "refs", "logs")]
        for name in ("config", "config.worktree"):
            if name in names:
                count += 1
                if (found := _find_in_file(Path(folder, name), is_module=True)) is not None:
                    return found
        if "commondir" in names or count > _MAX_MODULES:
            return GitHelper("commondir" if "commondir" in names else "modules", folder)
    return None


def _find_in_file(file: Path, *, is_module: bool) -> GitHelper | None:
    text = _read(file)
    if text is None or re.search(r"\\\r?$", text, re.MULTILINE):
        return GitHelper(_UNREADABLE, str(file))
    for setting in _iter_settings(text):
        if setting is None:
            return GitHelper(_UNREADABLE, str(file))
        if _names_program(setting) or (setting.key == "core.worktree" and not is_module):
            return GitHelper(setting.key, str(file))
    return None


def _names_program(setting: _Setting) -> bool:
    if setting.name == "fsmonitor" and setting.value.lower() in _BOOLEANS:
        return False
    return (
        setting.section in _SECTIONS_OF_PROGRAMS
        or _SETTINGS_OF_PROGRAMS.fullmatch(setting.name) is not None
        or setting.value.startswith("!")
    )


def _find_in_own_files(root: Path) -> GitHelper | None:
    """Return a setting of the user that names a program or a file of the workspace."""
    waiting = [Path(name) for name in _iter_own_files(os.environ)]
    count = 0
    while waiting:
        file = waiting.pop()
        count += 1
        if count > _MAX_INCLUDES:
            return GitHelper("include.path", str(file))
        if (text := _read(file)) is None:
            continue
        joined = re.sub(r"(?m)^([^#;\n]*?)\\\r?\n", r"\1", text)
        for setting in filter(None, _iter_settings(joined)):
            if setting.section in ("include", "includeif") and setting.name == "path":
                included = file.parent / Path(setting.value).expanduser()
                if Path(os.path.realpath(included)).is_relative_to(root):
                    return GitHelper(setting.key, str(file))
                waiting.append(included)
            elif setting.name in _FILTERS and _is_of_workspace(setting.value, root):
                return GitHelper(setting.key, str(file))
    return None


def _iter_own_files(outer: Mapping[str, str]) -> Iterator[str]:
    yield from _SYSTEM_FILES
    home = outer.get("HOME", "")
    yield f"{outer.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/config"
    yield f"{home}/.gitconfig"


def _is_of_workspace(command: str, root: Path) -> bool:
    """Whether a command line names a program by a path that may be in the workspace."""
    words = command.lstrip("!").split()
    return any(
        word.startswith(("./", "../"))
        or (at == 0 and "/" in word and not word.startswith(("/", "~/")))
        or (word.startswith("/") and Path(os.path.realpath(word)).is_relative_to(root))
        for at, word in enumerate(words)
    )


def _iter_settings(text: str) -> Iterator[_Setting | None]:
    """Yield the settings of a file, and None for a line that cannot be read."""
    section, prefix = "", ""
    for line in text.removeprefix("\ufeff").split("\n"):
        rest = line.strip(" \t\r")
        while (header := _SECTION.match(rest)) is not None:
            section, _, subsection = header[1].lower().partition(".")
            name = subsection if header[2] is None else header[2]
            prefix = f"{section}.{name}." if name else f"{section}."
            rest = rest[header.end() :]
        if not rest or rest[0] in "#;":
            continue
        if (match := _SETTING.fullmatch(rest)) is None or not section:
            yield None
        else:
            name, value = match[1].lower(), (match[2] or "").strip().replace('"', "")
            yield _Setting(section, name, value, prefix + name)


def _read(file: Path) -> str | None:
    """Return the text of a file; None if it is too long or cannot be read."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_MAX_SIZE + 1)
    except OSError:
        return None
    return None if len(text) > _MAX_SIZE else text.decode("utf-8", "replace")
