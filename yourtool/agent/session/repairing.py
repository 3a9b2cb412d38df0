"""Repair of a stored session and its workers."""

from collections.abc import Sequence

from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.repair import repair_session
from yourtool.agent.history.state import State
from yourtool.agent.session.stored_facts import load_state
from yourtool.errors import SessionBusyError, SessionNotFoundError
from yourtool.events.catalog import AnyFact
from yourtool.events.sessions import SessionCreated
from yourtool.store.base import SessionStore


async def repair_stored(
    store: SessionStore, session_id: str, state: State, record: Recorder
) -> None:
    """Close what a dead process left open in a session, and first in the sessions of its workers.

    So the part of a reply that a worker had is stored with its cost, like that of any session.

    Raises:
        StoreError: the end of the turn cannot be stored.
    """

    async def repair_worker(worker_id: str) -> Sequence[AnyFact]:
        """Return the facts of a worker after its repair; none if there is no such worker."""
        if not await _has_worker(store, session_id, worker_id):
            return ()
        try:
            lease = store.lease(worker_id)
        except SessionBusyError:  # the process that has it open has repaired it
            return await store.read(worker_id)
        try:
            worker, _ = await load_state(store, worker_id)
            await repair_stored(store, worker_id, worker, Recorder(store, worker_id, worker))
            return await store.read(worker_id)
        finally:
            lease.release()

    partial = await store.read_partial(session_id) if state.open_turn else None
    await repair_session(state, record, session_id, repair_worker, partial)


async def _has_worker(store: SessionStore, session_id: str, worker_id: str) -> bool:
    """Return whether a session was started by this one; an import can name any session."""
    try:
        first = (await store.read(worker_id))[0]
    except SessionNotFoundError:
        return False
    return isinstance(first, SessionCreated) and first.parent_session_id == session_id
