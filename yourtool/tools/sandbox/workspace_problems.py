"""Known problems of a workspace.

The start names everything that cannot work there before a model tries it.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.foundation.files import is_read_only

if TYPE_CHECKING:
    from yourtool.tools.sandbox.sandbox import Sandbox

_NO_SANDBOX = (
    "No sandbox: {}. Every command of the model asks, and in the mode auto and with `-p` it is"
    " refused. `--no-sandbox`, or `[sandbox] enabled = false` in `config.toml`, runs commands"
    " without it."
)
_READ_ONLY = "Nothing can be changed here: `{}` is on a read-only file system."
_NO_RIGHT = "Nothing can be created here: you have no right to write in `{}`."
_ROOT_ENCLOSED = (
    "Commands in the sandbox cannot write here: `{}` belongs to `{}`, and root has no special"
    " rights in the sandbox. Start yourtool as that user, or with `--no-sandbox`."
)


def find_problems(root: Path, sandbox: "Sandbox | None") -> Iterator[str]:
    """Yield a warning for each problem; blocks on the file system."""
    missing = None if sandbox is None else sandbox.unavailable
    if missing is not None:
        yield _NO_SANDBOX.format(missing)
    if is_read_only(root):
        yield _READ_ONLY.format(root)
    elif not os.access(root, os.W_OK | os.X_OK):
        yield _NO_RIGHT.format(root)
    elif sandbox is not None and missing is None and os.geteuid() == 0:
        found = root.stat()
        is_own = found.st_uid == 0 or (found.st_gid == 0 and found.st_mode & stat.S_IWGRP)
        if not is_own and not found.st_mode & stat.S_IWOTH:
            yield _ROOT_ENCLOSED.format(root, _name_user(found.st_uid))


def _name_user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
