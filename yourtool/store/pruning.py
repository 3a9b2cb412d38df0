"""Deletion of old sessions, and of stored contents that nothing refers to.

Contents are on the disk before what refers to them is stored, so only those that were not written
for some days are deleted; `store_blob` counts as writing.
"""

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from yourtool.errors import SessionBusyError, SessionNotFoundError
from yourtool.files import is_file, is_link
from yourtool.paths import Paths
from yourtool.store.base import SessionStore, SessionSummary
from yourtool.store.edits import delete_session

MIN_AGE = timedelta(days=7)
"""How long ago contents were written that are deleted."""
_PAGE = 200
_NAME = re.compile("[0-9a-f]{64}")


class Pruned(Struct, frozen=True, kw_only=True):
    """What was deleted, or what would be."""

    sessions: tuple[SessionSummary, ...] = ()
    busy: tuple[str, ...] = ()
    """Ids of sessions that stay because they are open."""
    contents: int = 0
    """Attachments and file contents that nothing refers to."""
    content_bytes: int = 0


async def find_old_sessions(
    store: SessionStore, before: datetime | None, keep: int | None
) -> tuple[SessionSummary, ...]:
    """Return the sessions last used before a time, but for the `keep` last used of all.

    None: no limit of this kind; if both are None, there are no such sessions.
    """
    if before is None and keep is None:
        return ()
    found = list[SessionSummary]()
    while page := await store.list(limit=_PAGE, after=found[-1] if found else None):
        found += page
    rest = found[keep or 0 :]
    return tuple(each for each in rest if before is None or each.updated_at < before)


async def prune(
    store: SessionStore,
    paths: Paths,
    sessions: Sequence[SessionSummary],
    at: datetime,
    *,
    is_trial: bool,
) -> Pruned:
    """Delete sessions, and the contents that nothing refers to then; a trial deletes nothing.

    A trial does not count contents that only the sessions refer to.

    Raises:
        StoreError: the database cannot be read or written.
    """
    deleted, busy = list[SessionSummary](), list[str]()
    for session in sessions:
        try:
            if not is_trial:
                await delete_session(store, session.id, paths, "pruned")
        except SessionBusyError:
            busy.append(session.id)
            continue
        except SessionNotFoundError:
            continue  # another process deleted it
        deleted.append(session)
    unused = await delete_unused_contents(store, paths, at, is_trial=is_trial)
    return Pruned(
        sessions=tuple(deleted),
        busy=tuple(busy),
        contents=len(unused),
        content_bytes=sum(size for _, size in unused),
    )


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
