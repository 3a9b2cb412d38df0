"""Lease and facts of a stored session."""

import asyncio
import threading

from yourtool.agent.history.conversation import OF_CONVERSATION
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.errors import SessionNotFoundError
from yourtool.events.catalog import AnyFact
from yourtool.events.sessions import SessionForked, SessionImported
from yourtool.events.tree import FactTree
from yourtool.store.base import Lease, SessionStore


async def acquire_lease(store: SessionStore, session_id: str) -> Lease:
    """Acquire the right to write to a session in a thread, because a disk can stall.

    If the task is cancelled meanwhile, the lease is released again.

    Raises:
        SessionBusyError: another process has the lease.
    """
    lock, is_wanted = threading.Lock(), True
    acquired: list[Lease] = []

    def acquire() -> Lease:
        lease = store.lease(session_id)
        with lock:
            acquired.append(lease)
            if not is_wanted:
                lease.release()
        return lease

    try:
        return await asyncio.to_thread(acquire)
    except asyncio.CancelledError:
        with lock:
            is_wanted = False
            for lease in acquired:
                lease.release()
        raise


async def load_state(store: SessionStore, session_id: str) -> tuple[State, tuple[str, ...]]:
    """Return the state of a session, and the ids of the rows that cannot be read.

    Raises:
        SessionNotFoundError: no session has this id.
    """
    state = State(keep_facts=False, keep_tree=False)
    unread = await store.replay(session_id, state.apply)
    if state.has_branches:  # its conversation needs the tree
        state = State(keep_facts=False)
        await store.replay(session_id, state.apply)
    if not state.facts:
        raise SessionNotFoundError(
            f"There is no session `{session_id}`; `yourtool sessions list` shows all sessions."
        )
    return state, unread


class StoredFacts:
    """Reads the facts of one session from the store; a long session does not fit into memory."""

    def __init__(self, state: State, record: Recorder) -> None:
        self._state = state
        self._record = record

    async def read_all(self) -> list[AnyFact]:
        """Return all facts, on every branch."""
        facts = list[AnyFact]()
        await self._record.replay(facts.append)
        return facts

    async def read_own(self) -> list[AnyFact]:
        """Return the facts that are not copies of those of another session."""
        facts = list[AnyFact]()

        def collect(fact: AnyFact) -> None:
            if isinstance(fact, SessionForked | SessionImported):
                facts.clear()
            else:
                facts.append(fact)

        await self._record.replay(collect)
        return facts

    async def load_tree(self) -> FactTree:
        """Return the tree of the session, and keep it in memory from now on."""
        if self._state.has_tree:
            return self._state.tree
        tree = FactTree()

        def add(fact: AnyFact) -> None:
            if isinstance(fact, OF_CONVERSATION):
                tree.add(fact)

        await self._record.replay(add)
        self._state.tree = tree
        return tree
