"""Scratch copy of a project for the demo."""

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
from yourtool.foundation.files import is_directory, is_link
from yourtool.tools.processes.environments import build_for_reading
from yourtool.tools.workspace import directory_walk
from yourtool.tools.workspace.workspace import Workspace

MAX_FILES = 2_000
MAX_BYTES = 50_000_000
MAX_AGE_SECONDS = 7 * 24 * 3600
_MAX_NAME_LENGTH = 50
"""Characters; a file name has 255 bytes at most."""


def make_scratch_copy(workspace: Path, parent: Path, own: tuple[Path, ...] = ()) -> Path:
    """Copy the regular files of `workspace` to a new directory under `parent`; return it.

    The copy has the first `MAX_FILES` files that fit into `MAX_BYTES` bytes. It omits links,
    unreadable files, files that git ignores, and the program's `own` directories. If git is
    installed, the copy is a separate repository, so that no command in it affects the original.
    Copies under `parent` that are older than `MAX_AGE_SECONDS` are deleted.

    Raises:
        UsageError: the copy cannot be written.
    """
    try:
        return _copy_files(workspace, parent, own)
    except OSError as error:
        raise UsageError(
            f"the demo cannot copy this directory to `{parent}`: {error.strerror or error};"
            " free some space there, or set `YOURTOOL_HOME` to another directory"
        ) from error


def find_scratch_copies(workspace: Path, parent: Path) -> list[Path]:
    """Return the copies of a workspace under `parent`; blocks on the file system."""
    try:
        return [each for each in parent.iterdir() if each.name.startswith(_build_prefix(workspace))]
    except OSError:
        return []


def _build_prefix(workspace: Path) -> str:
    digest = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:12]
    return f"{workspace.name[:_MAX_NAME_LENGTH]}-{digest}-"


def _copy_files(workspace: Path, parent: Path, own: tuple[Path, ...]) -> Path:
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _delete_old_copies(parent)
    scratch = Path(tempfile.mkdtemp(prefix=_build_prefix(workspace), dir=parent))
    remaining_bytes = MAX_BYTES
    visible = directory_walk.iter_files(
        Workspace(workspace, own_directories=own), ".", threading.Event()
    )
    for name in islice(visible, MAX_FILES):
        source, target = workspace / name, scratch / name
        if not os.access(source, os.R_OK) or (size := source.stat().st_size) > remaining_bytes:
            continue
        remaining_bytes -= size
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    _make_repository(scratch)
    return scratch


def _delete_old_copies(parent: Path) -> None:
    oldest = time.time() - MAX_AGE_SECONDS
    for copy in parent.iterdir():
        if is_directory(copy) and not is_link(copy) and copy.lstat().st_mtime < oldest:
            shutil.rmtree(copy, ignore_errors=True)


def _make_repository(directory: Path) -> None:
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            ("git", "init", "--quiet"),
            cwd=directory,
            env=build_for_reading(os.environ, directory),
            capture_output=True,
            timeout=10,
            check=False,
        )
