"""Git settings and hooks that run programs.

https://git-scm.com/docs/git-config

What the canonical form of a reading command switches off is not searched for in the user's own
files, only in those of the repository, as rules are about other commands of git as well.
"""

import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from yourtool.foundation.files import may_exist, read_small_file, real_path
from yourtool.git.index import MAX_INDEX_BYTES, parse_index
from yourtool.git.repositories import Repository, find_repository, open_repository

_MAX_SIZE = 2**18
_MAX_MODULES = 100
_SUBMODULE = 0o160000
"""The mode of a submodule in the index."""
_MAX_INCLUDES, _MAX_FILES = 20, 50
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
_SETTINGS_OF_FILES = ("core.hookspath", "core.attributesfile")
_UNUSED_BY_READING = re.compile(
    r"core\.(?:askpass|editor|fsmonitor|gitproxy|hookspath|pager|sshcommand)|sequence\.editor"
    r"|(?:alias|browser|credential|difftool|guitool|man|mergetool|pager|sendemail)\..*"
    r"|remote\..*(?:receivepack|uploadpack|vcs)"
)
"""Settings that the canonical form of a reading command switches off, or has no use for."""
_BOOLEANS = ("", "true", "false", "yes", "no", "on", "off", "1", "0")
_FILTERS = ("clean", "smudge", "process", "textconv")
"""Settings that name programs, which no option switches off in every command that reads."""
_SECRET = re.compile(
    r"token|passw|pass$|secret|authorization|_auth|extraheader|api_?key|private|cookie|proxy",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"://[^/\s@]*@")
"""In an address."""
_UNREADABLE = "a line that cannot be read"


class GitHelper(Struct, frozen=True):
    """What lets git run a program."""

    key: str
    """The setting, or the file in the repository."""
    file: str
    """The file that contains the setting; inside the workspace a relative path."""

    def __str__(self) -> str:
        return f"`{self.key}` in `{self.file}`"


class GitSetting(Struct, frozen=True):
    """A line of a configuration."""

    section: str
    name: str
    value: str
    key: str
    """All of it, such as `filter.lfs.clean`."""


def find_git_helper(directory: Path, root: Path, *, only_reads: bool = False) -> GitHelper | None:
    """Find a git setting that runs a program when git works in a directory of a workspace.

    `only_reads`: the command runs in its canonical form, and reads.
    """
    found = _find(directory, root, only_reads=only_reads)
    return None if found is None else GitHelper(found.key, found.file.removeprefix(f"{root}/"))


def find_submodule_helper(directory: Path, root: Path) -> GitHelper | None:
    """Find a setting or a hook that git uses when it works in the submodules of a repository.

    git obeys all of their settings there, also those that it gets on its command line otherwise.
    """
    waiting, count = [find_repository(directory)], 0
    while waiting:
        if (repository := waiting.pop()) is None:
            continue
        try:
            index = parse_index(read_small_file(repository.directory / "index", MAX_INDEX_BYTES))
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return GitHelper(_UNREADABLE, str(repository.directory / "index"))
        modules = [each.name for each in index.entries if each.mode == _SUBMODULE]
        count += len(modules)
        if not index.is_whole or count > _MAX_MODULES:
            return GitHelper("modules", str(repository.directory))
        for git in (repository.top / os.fsdecode(name) / ".git" for name in modules):
            if may_exist(git) and (found := _find_in_repository(git, only_reads=False)) is not None:
                return GitHelper(found.key, found.file.removeprefix(f"{root}/"))
            waiting.append(open_repository(git))
    return None


def iter_named_files(files: Iterable[Path], top: Path) -> Iterator[Path]:
    """Yield each directory of hooks and each file that files of settings name.

    `top`: the work tree, to which the directory of hooks is relative.
    """
    for file in files:
        for setting in read_settings(file):
            if setting.key in _SETTINGS_OF_FILES:
                yield top / expand_user(setting.value)
            elif is_include(setting):
                yield file.parent / expand_user(setting.value)


def read_addresses(file: Path, section: str) -> Iterator[tuple[str, str]]:
    """Yield the names and addresses of the `remote` or `submodule` sections of a file."""
    yield from _iter_addresses(read_settings(file), section)


def parse_addresses(content: str, section: str) -> Iterator[tuple[str, str]]:
    """Yield the same, of the content of a file."""
    yield from _iter_addresses(_parse_settings(content), section)


def _iter_addresses(settings: Iterable[GitSetting], section: str) -> Iterator[tuple[str, str]]:
    for each in settings:
        if each.section == section and each.name in ("url", "pushurl"):
            yield each.key[len(section) + 1 : -len(each.name) - 1], each.value


def own_files() -> tuple[Path, ...]:
    """Return the files with the user's settings and those of the system."""
    home, outer = os.environ.get("HOME", ""), os.environ.get("GIT_CONFIG_GLOBAL", "")
    names = [*_SYSTEM_FILES, f"{os.environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/config"]
    names += [f"{home}/.gitconfig", *([outer] if outer.startswith("/") else ())]
    return tuple(map(Path, names))


def _find(directory: Path, root: Path, *, only_reads: bool) -> GitHelper | None:
    for each in (directory, *directory.parents):
        if may_exist(each / ".git"):
            found = _find_in_repository(each / ".git", only_reads=only_reads)
            return found or _find_in_own_files(root)
        if each.is_relative_to(root) and may_exist(each / "HEAD"):
            return GitHelper("HEAD", str(each))  # perhaps a repository without a directory `.git`
    return None


def _find_in_repository(git: Path, *, only_reads: bool) -> GitHelper | None:
    if (repository := open_repository(git)) is None:
        return GitHelper(_UNREADABLE, str(git))
    directory, common = repository.directory, repository.common
    if git == directory and may_exist(git / "commondir"):
        return GitHelper("commondir", str(git))
    files = [common / "config"]
    if may_exist(directory / "config.worktree"):
        files.append(directory / "config.worktree")
    if (found := _find_hook(directory) or _find_hook(common)) is not None:
        return found
    for each in files:
        found = _find_in_file(each, is_module=git != common, only_reads=only_reads)
        if found is not None:
            return found
    return _find_in_modules(common / "modules", only_reads=only_reads)


def _find_hook(directory: Path) -> GitHelper | None:
    hook = "hooks/post-index-change"
    return GitHelper(hook, str(directory)) if may_exist(directory / hook) else None


def _find_in_modules(modules: Path, *, only_reads: bool) -> GitHelper | None:
    count = 0
    for folder, folders, names in os.walk(modules):
        folders[:] = [each for each in folders if each not in ("objects", "refs", "logs")]
        for name in ("config", "config.worktree"):
            if name in names:
                count += 1
                file = Path(folder, name)
                found = _find_in_file(file, is_module=True, only_reads=only_reads)
                if found is not None:
                    return found
        if "commondir" in names or count > _MAX_MODULES:
            return GitHelper("commondir" if "commondir" in names else "modules", folder)
    return None


def _find_in_file(file: Path, *, is_module: bool, only_reads: bool) -> GitHelper | None:
    text = _read(file)
    if text is None or re.search(r"\\\r?$", text, re.MULTILINE):
        return GitHelper(_UNREADABLE, str(file))
    for setting in _iter_settings(text):
        if setting is None:
            return GitHelper(_UNREADABLE, str(file))
        if only_reads and _UNUSED_BY_READING.fullmatch(setting.key):
            continue
        if names_program(setting) or (setting.key == "core.worktree" and not is_module):
            return GitHelper(setting.key, str(file))
    return None


def names_program(setting: GitSetting) -> bool:
    """Whether git runs what a setting names."""
    if setting.name == "fsmonitor" and setting.value.lower() in _BOOLEANS:
        return False
    return (
        setting.section in _SECTIONS_OF_PROGRAMS
        or _SETTINGS_OF_PROGRAMS.fullmatch(setting.name) is not None
        or setting.value.startswith("!")
    )


def iter_all_settings(repository: Repository) -> Iterator[tuple[Path, GitSetting]]:
    """Yield the settings of a repository with their files, also those of the user.

    Included files are read with every condition, up to a limit.
    """
    waiting = [*own_files(), repository.common / "config", repository.directory / "config.worktree"]
    for _ in range(_MAX_FILES):
        if not waiting:
            return
        file = waiting.pop()
        for setting in read_settings(file):
            yield file, setting
            if is_include(setting):
                waiting.append(file.parent / expand_user(setting.value))


def has_secret(directory: Path) -> bool:
    """Whether a setting in effect in a directory may be a secret, or an address with a password."""
    real = Path(os.path.realpath(directory))
    repository = find_repository(real) or Repository.of_parts(real / ".git", real)
    return any(
        may_be_secret(text) or _LOGIN.search(text)
        for _, setting in iter_all_settings(repository)
        for text in (setting.key, setting.value)
    )


def may_be_secret(text: str) -> bool:
    """Whether the name of a setting, or its value, may be about a secret."""
    return _SECRET.search(text) is not None


def is_include(setting: GitSetting) -> bool:
    """Whether a setting names a further file."""
    return setting.section in ("include", "includeif") and setting.name == "path"


def expand_user(path: str) -> Path:
    """Return a path with the home directory in place of `~`."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - `Path.expanduser` can raise


def read_settings(file: Path) -> Sequence[GitSetting]:
    """Return the readable lines of a file, with their continuations."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return ()
    version = status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
    return _read_settings_of(file, *version)


@functools.lru_cache(maxsize=200)
def _read_settings_of(file: Path, *_version: int) -> Sequence[GitSetting]:
    return _parse_settings(_read(file) or "")


def _parse_settings(text: str) -> Sequence[GitSetting]:
    return tuple(filter(None, _iter_settings(_join_lines(text))))


def _join_lines(text: str) -> str:
    return re.sub(r"(?m)^([^#;\n]*?)\\\r?\n", r"\1", text)


def _find_in_own_files(root: Path) -> GitHelper | None:
    """Return a setting of the user that names a program or a file of the workspace."""
    waiting = list(own_files())
    count = 0
    while waiting:
        file = waiting.pop()
        count += 1
        if count > _MAX_INCLUDES:
            return GitHelper("include.path", str(file))
        if (text := _read(file)) is None:
            continue
        for setting in filter(None, _iter_settings(_join_lines(text))):
            if is_include(setting):
                included = file.parent / expand_user(setting.value)
                if real_path(included).is_relative_to(root):
                    return GitHelper(setting.key, str(file))
                waiting.append(included)
            elif setting.name in _FILTERS and _is_of_workspace(setting.value, root):
                return GitHelper(setting.key, str(file))
    return None


def _is_of_workspace(command: str, root: Path) -> bool:
    """Whether a command line names a program by a path that may be in the workspace."""
    words = command.lstrip("!").split()
    return any(
        word.startswith(("./", "../"))
        or (at == 0 and "/" in word and not word.startswith(("/", "~/")))
        or (word.startswith("/") and real_path(Path(word)).is_relative_to(root))
        for at, word in enumerate(words)
    )


def _iter_settings(text: str) -> Iterator[GitSetting | None]:
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
            yield GitSetting(section, name, value, prefix + name)


def _read(file: Path) -> str | None:
    """Return the text of a file; None if it is too long or cannot be read."""
    try:
        return read_small_file(file, _MAX_SIZE).decode("utf-8", "replace")
    except (OSError, ValueError):  # the name has a NUL
        return None
