"""Deletion of stored contents that nothing refers to.

Contents are on the disk before what refers to them is stored, so only those that were not written
for some days are deleted; `store_blob` counts as writing.
"""

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from yourtool.foundation.files import is_file, is_link
from yourtool.paths import Paths
from yourtool.store.base import SessionStore

MIN_AGE = timedelta(days=7)
"""How long ago contents were written that are deleted."""
_NAME = re.compile("[0-9a-f]{64}")


async def delete_unused_contents(
    store: SessionStore, paths: Paths, at: datetime, *, is_trial: bool
) -> list[tuple[Path, int]]:
    """Delete the contents that nothing refers to; return their files and sizes."""
    oldest = (at - MIN_AGE).timestamp()
    unused = list[tuple[Path, int]]()
    attachments = await asyncio.to_thread(_find_files, paths.blobs, oldest)
    for name in await store.unused_attachments(attachments):
        unused.append((paths.blobs / name, attachments[name]))
    contents = await asyncio.to_thread(_find_files, paths.blobs / "files", oldest)
    for name in await store.unused_contents(contents):
        unused.append((paths.blobs / "files" / name, contents[name]))
    if not is_trial:
        await asyncio.to_thread(_delete, [path for path, _ in unused], oldest)
    return unused


def _find_files(directory: Path, oldest: float) -> dict[str, int]:
    """Return the names and sizes of contents that were written before a time."""
    found = dict[str, int]()
    try:
        for path in directory.iterdir():
            if _NAME.fullmatch(path.name) and is_file(path) and not is_link(path):
                status = path.stat()
                if status.st_mtime < oldest:
                    found[path.name] = status.st_size
    except FileNotFoundError:
        pass  # no content was stored yet, or another process deletes
    return found


def _delete(files: Sequence[Path], oldest: float) -> None:
    for path in files:
        try:
            if path.stat().st_mtime < oldest:  # it may have been stored again
                path.unlink()
        except FileNotFoundError:
            pass  # another process deleted it
