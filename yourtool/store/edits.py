"""Changes to stored sessions that are not open: a new title, and deletion."""

import asyncio
import shutil

from msgspec.structs import replace

from yourtool.events.sessions import SessionRenamed
from yourtool.ids import new_id
from yourtool.messages.message import now
from yourtool.paths import Paths
from yourtool.store.base import SessionStore
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


async def delete_session(store: SessionStore, session_id: str, paths: Paths) -> None:
    """Delete a session, and the long tool outputs that are stored in files.

    Attachments stay: their files can belong to several sessions.

    Raises:
        SessionBusyError: the session is open.
        SessionNotFoundError: the session does not exist.
    """
    await store.delete(session_id)
    spill = paths.spill_directory(session_id)
    await asyncio.to_thread(shutil.rmtree, spill, ignore_errors=True)
