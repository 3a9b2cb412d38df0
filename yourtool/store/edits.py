"""Changes to closed stored sessions."""

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from yourtool.events.sessions import SessionRenamed
from yourtool.foundation.file_images import is_digest
from yourtool.ids import new_id
from yourtool.messages.message import now
from yourtool.paths import Paths
from yourtool.store.base import RemovalReason, SessionStore
from yourtool.store.journal import ChangeFilter
from yourtool.store.texts import one_line_title


async def rename(store: SessionStore, session_id: str, title: str) -> None:
    """Set the title of a stored session; an empty one restores the first line of the session.

    Raises:
        SessionBusyError: the session is open.
        SessionNotFoundError: the session does not exist.
    """
    lease = store.lease(session_id)
    try:
        renamed = SessionRenamed(title=one_line_title(title))
        await store.append(replace(renamed, id=new_id(), timestamp=now(), session_id=session_id))
    finally:
        lease.release()


async def delete_session(
    store: SessionStore, session_id: str, paths: Paths, reason: RemovalReason = "deleted"
) -> None:
    """Delete a session with its workers, and the long tool outputs that are stored in files.

    File contents for undo are deleted if no other session refers to them. Attachments stay: their
    files can belong to several sessions.

    Raises:
        SessionBusyError: the session or a worker of it is open.
        SessionNotFoundError: the session does not exist.
    """
    family = (session_id, *await store.find_workers(session_id))
    changes = [
        stored.change
        for each in family
        for stored in await store.file_changes(ChangeFilter(session_id=each))
    ]
    states = [state for change in changes for state in (change.before, change.after)]
    await store.delete(session_id, reason)
    unused = await store.unused_contents(state.digest for state in states if state.stored)
    await asyncio.to_thread(_delete_contents, paths.blobs / "files", unused)
    for each in family:
        spill = paths.spill_directory(each)
        await asyncio.to_thread(shutil.rmtree, spill, ignore_errors=True)


def _delete_contents(directory: Path, digests: Iterable[str]) -> None:
    for digest in filter(is_digest, digests):
        (directory / digest).unlink(missing_ok=True)
