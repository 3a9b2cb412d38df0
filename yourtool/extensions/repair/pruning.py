"""Deletion of old sessions."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from yourtool.errors import SessionBusyError, SessionNotFoundError
from yourtool.paths import Paths
from yourtool.store.base import SessionStore, SessionSummary
from yourtool.store.edits import delete_session
from yourtool.store.unused_contents import delete_unused_contents

_PAGE = 200


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
