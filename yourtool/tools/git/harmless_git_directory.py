"""Temporary git directory with harmless settings.

Processes of a model can change the configuration at any time, also between a look at it and the
start of git. So the program's own git commands get a copy of the settings below, and links to the
rest: https://git-scm.com/docs/git#Documentation/git.txt-GITCOMMONDIR.
"""

import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from yourtool.git.config import read_settings
from yourtool.git.repositories import Repository
from yourtool.process.guardian import build_prefix

_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol"
    r"|excludesfile|sparsecheckout|sparsecheckoutcone|checkstat|trustctime|logallrefupdates)"
    r"|extensions\.(?:objectformat|refstorage|compatobjectformat|noop|preciousobjects)"
    r"|index\.(?:version|sparse)|branch\..*\.(?:remote|merge)|remote\..*\.fetch"
)
_ESCAPED, _COMMENT = re.compile(r"\\(.)"), re.compile(r"[ \t][#;]")
_LINKED = (
    "info", "logs", "modules", "objects", "packed-refs", "refs", "reftable", "shallow", "worktrees",
)  # fmt: skip


@contextmanager
def open_harmless(repository: Repository) -> Generator[Path, None, None]:
    """Make the directory for one command; its path is for the variable `GIT_COMMON_DIR`.

    Raises:
        OSError: it cannot be written.
    """
    with TemporaryDirectory(prefix=build_prefix(os.getpid())) as name:
        directory = Path(name)
        for each in _LINKED:
            (directory / each).symlink_to(repository.common / each)
        content = "".join(_iter_lines(repository))
        (directory / "config").write_bytes(os.fsencode(content))
        yield directory


def _iter_lines(repository: Repository) -> Iterator[str]:
    for file in (repository.common / "config", repository.directory / "config.worktree"):
        for each in read_settings(file):
            if _HARMLESS.fullmatch(each.key) and each.value:
                middle = each.key[len(each.section) + 1 : -len(each.name) - 1]
                middle = _ESCAPED.sub(r"\1", middle)
                part = f" {_quote(middle)}" if middle else ""
                value = _COMMENT.split(each.value)[0]
                yield f"[{each.section}{part}]\n\t{each.name} = {_quote(value)}\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
