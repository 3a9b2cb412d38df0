"""A copy of a project in which the demo may do whatever it likes."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path

from yourtool.errors import UsageError
from yourtool.tools import tree
from yourtool.tools.shell import command_environment
from yourtool.tools.workspace import Workspace

MAX_FILES = 2_000
MAX_BYTES = 50_000_000
KEEP_SECONDS = 7 * 24 * 3600
_LONGEST_NAME = 50
"""Characters; a file name has 255 bytes at most."""


def make_scratch_copy(workspace: Path, parent: Path, own: tuple[Path, ...] = ()) -> Path:
    """Copy the regular files of `workspace` to a new directory under `parent`; return it.

    The program's `own` directories stay behind, wherever they are.

    Files that git ignores stay behind, links are not followed, and the copy holds the first
    `MAX_FILES` files at most, as far as they fit into `MAX_BYTES` bytes. The copy is a git
    repository of its own where git is installed, so that nothing in it reaches the original.
    Copies under `parent` that are older than `KEEP_SECONDS` are deleted. What cannot be read is
    left out.

    Raises:
        UsageError: there is no room for the copy, or no right to make it.
    """
    try:
        return _copied(workspace, parent, own)
    except OSError as error:
        raise UsageError(
            f"the demo cannot copy this directory to `{parent}`: {error.strerror or error};"
            " make room there, or set `YOURTOOL_HOME` to another directory"
        ) from error


def scratch_copies(workspace: Path, parent: Path) -> list[Path]:
    """Return the copies of a workspace that there are under `parent`; blocks."""
    try:
        return [each for each in parent.iterdir() if each.name.startswith(_prefix(workspace))]
    except OSError:
        return []


def _prefix(workspace: Path) -> str:
    digest = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:12]
    return f"{workspace.name[:_LONGEST_NAME]}-{digest}-"


def _copied(workspace: Path, parent: Path, own: tuple[Path, ...]) -> Path:
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep(parent)
    scratch = Path(tempfile.mkdtemp(prefix=_prefix(workspace), dir=parent))
    room = MAX_BYTES
    visible = tree.iter_files(Workspace(workspace, own_directories=own), ".", threading.Event())
    for name in islice(visible, MAX_FILES):
        source, target = workspace / name, scratch / name
        if not os.access(source, os.R_OK) or (size := source.stat().st_size) > room:
            continue
        room -= size
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    _make_repository(scratch)
    return scratch


def _sweep(parent: Path) -> None:
    oldest = time.time() - KEEP_SECONDS
    for copy in parent.iterdir():
        if copy.is_dir() and not copy.is_symlink() and copy.lstat().st_mtime < oldest:
            shutil.rmtree(copy, ignore_errors=True)


def _make_repository(directory: Path) -> None:
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            ("git", "init", "--quiet"),
            cwd=directory,
            env=command_environment(os.environ, directory),
            capture_output=True,
            timeout=10,
            check=False,
        )
