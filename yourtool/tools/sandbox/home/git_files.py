"""Files that the user's settings of git name.

Only files that no command can write are read for names, so neither a repository nor a command can
show a file of the home directory by naming it.
"""

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

from yourtool.foundation.files import is_directory, is_file, is_in, is_link, real_path
from yourtool.git.config import (
    GitSetting,
    expand_user,
    is_include,
    own_files,
    read_settings,
)
from yourtool.permissions.credential_files import credential_names
from yourtool.tools.sandbox.home.home import VisibleHome
from yourtool.tools.sandbox.home.home_settings import (
    Limits,
    copy_file,
    copy_whole,
    find_real_place,
)
from yourtool.tools.sandbox.home.secret_values import clean_git

_TEXTS = frozenset(
    {
        "blame.ignorerevsfile", "commit.template", "core.attributesfile", "core.excludesfile",
        "gpg.ssh.allowedsignersfile", "mailmap.file",
    }
)  # fmt: skip
_DIRECTORIES = frozenset({"core.hookspath", "init.templatedir"})
_COMMENT = re.compile(r"[ \t][#;].*")
_MAX_FILES, _MAX_NAMED = 50, 100
_MAX_ENTRIES = 500
"""Of a directory with all below it; what contains more is not only for git."""


def find_named_by_git(limits: Limits) -> VisibleHome:
    """Return what settings of git name, with the included files; blocks."""
    copies, directories = dict[Path, bytes | None](), dict[Path, None]()
    waiting, read = list(own_files()), set[Path]()
    while waiting and len(read) < _MAX_FILES:
        file = waiting.pop()
        if file in read or not limits.allow_named(file) or limits.can_be_written(file):
            continue
        read.add(file)
        copies[find_real_place(file)] = copy_file(file, clean_git)
        for setting in read_settings(file):
            named = _get_place(file, setting)
            if is_include(setting):
                waiting.append(named)
            elif setting.key in _TEXTS and len(copies) < _MAX_NAMED and limits.allow_named(named):
                copies.setdefault(find_real_place(named), copy_file(named, copy_whole))
            elif setting.key in _DIRECTORIES and limits.allow_named(named):
                directories[find_real_place(named)] = None
    return VisibleHome(
        readable=tuple(path for each in directories for path in _list_shown(each, limits)),
        copies=tuple((path, each) for path, each in copies.items() if each is not None),
    )


def _get_place(file: Path, setting: GitSetting) -> Path:
    return file.parent / expand_user(_COMMENT.sub("", setting.value).replace("\0", ""))


def _list_shown(directory: Path, limits: Limits) -> Iterator[Path]:
    """Yield a directory, and the files to which links in it lead.

    Nothing, if it has many entries, a file with credentials, or a home directory.
    """
    if not is_directory(directory):
        return
    entries = list(itertools.islice(_iter_entries(directory), _MAX_ENTRIES + 1))
    is_around_home = is_in(real_path(expand_user("~")), (directory, real_path(directory)))
    if is_around_home or len(entries) > _MAX_ENTRIES or any(is_hidden for _, is_hidden in entries):
        return
    yield directory
    for path, _ in entries:
        if is_link(path) and limits.allow_named(path) and is_file(real_path(path)):
            yield real_path(path)


def _iter_entries(directory: Path) -> Iterator[tuple[Path, bool]]:
    """Yield each entry below a directory, and whether it is a credential file."""
    for folder, folders, names in os.walk(directory):
        found = credential_names(folder, (*folders, *names))
        yield from ((Path(folder, name), name in found) for name in (*folders, *names))
