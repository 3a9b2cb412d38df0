"""A copy of a project in which the demo may do whatever it likes."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from yourtool.tools.shell import environment

MAX_FILES = 2_000
MAX_BYTES = 50_000_000
KEEP_SECONDS = 7 * 24 * 3600
_GIT_FILES = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files")


def make_scratch_copy(workspace: Path, parent: Path) -> Path:
    """Copy the regular files of `workspace` to a new directory under `parent`; return it.

    Files that git ignores stay behind, links are not followed, and the copy stops at `MAX_FILES`
    files or `MAX_BYTES` bytes, whichever comes first. The copy is a git repository of its own
    where git is installed, so that nothing in it reaches the original. Copies under `parent` that
    are older than `KEEP_SECONDS` are deleted.
    """
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep(parent)
    scratch = Path(tempfile.mkdtemp(prefix=f"{workspace.name}-", dir=parent))
    room = MAX_BYTES
    for name in _project_files(workspace)[:MAX_FILES]:
        source, target = workspace / name, scratch / name
        if source.is_symlink() or not source.is_file():
            continue
        room -= source.stat().st_size
        if room < 0:
            break
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    _run(("git", "init", "--quiet"), scratch)
    return scratch


def _sweep(parent: Path) -> None:
    oldest = time.time() - KEEP_SECONDS
    for copy in parent.iterdir():
        if copy.is_dir() and not copy.is_symlink() and copy.lstat().st_mtime < oldest:
            shutil.rmtree(copy, ignore_errors=True)


def _project_files(workspace: Path) -> list[str]:
    listed = _run((*_GIT_FILES, "-co", "--exclude-standard", "-z"), workspace)
    if listed is not None:
        return sorted(name for name in listed.split("\0") if name)
    return sorted(_walk(workspace))


def _walk(workspace: Path) -> Iterable[str]:
    """Name visible files near the top; a directory that is no repository may be enormous."""
    for depth in ("*", "*/*", "*/*/*"):
        for path in workspace.glob(depth):
            relative = path.relative_to(workspace)
            if path.is_file() and not any(part.startswith(".") for part in relative.parts):
                yield str(relative)


def _run(command: tuple[str, ...], directory: Path) -> str | None:
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=environment(os.environ, directory),
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
