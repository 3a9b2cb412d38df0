"""Deletion of old sessions."""

import asyncio
from datetime import timedelta

from yourtool.errors import SessionBusyError, SessionNotFoundError, StoreError
from yourtool.events.deltas import Notice
from yourtool.messages.message import now
from yourtool.paths import Paths
from yourtool.store import unused_contents
from yourtool.store.base import SessionStore
from yourtool.store.edits import delete_session

_DELAY_SECONDS = 0.02
"""Time between two deletions, in which the store can do something else."""


async def delete_unused_sessions(store: SessionStore, paths: Paths, days: int) -> Notice | None:
    """Delete sessions that were not used for some days, with what only they refer to.

    Open sessions stay, and those with a title or a label of the user. Few are deleted at a time;
    the next start deletes others. None: `days` is 0, or there is no such session.
    """
    if days == 0:
        return None
    try:
        count = await _delete(store, paths, days)
    except StoreError as error:
        return Notice(level="warning", text=f"Old sessions were not deleted: {error}")
    if not count:
        return None
    sessions = "1 session was" if count == 1 else f"{count} sessions were"
    text = f"{sessions} deleted: not used for {days} days (`[sessions] keep_days`)."
    return Notice(level="info", text=text)


async def _delete(store: SessionStore, paths: Paths, days: int) -> int:
    at, deleted = now(), 0
    for session_id in await store.find_unused(at - timedelta(days=days)):
        try:
            await delete_session(store, session_id, paths, "retention")
        except (SessionBusyError, SessionNotFoundError):
            continue  # it is open, or another process deleted it
        deleted += 1
        await asyncio.sleep(_DELAY_SECONDS)
    if deleted:
        await unused_contents.delete_unused_contents(store, paths, at, is_trial=False)
    return deleted
