"""The implementation of the store port with SQLite."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime
from sqlite3 import Connection

from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallFailed
from yourtool.foundation.amounts import Spending
from yourtool.messages.message import Message
from yourtool.store.base import (
    EVERYTHING,
    MessageExcerpt,
    Problem,
    Removal,
    RemovalReason,
    SearchFilter,
    SearchHit,
    SessionActivity,
    SessionStore,
    SessionSummary,
)
from yourtool.store.journal import ChangeFilter, StoredChange
from yourtool.store.sqlite import activity, log, partial_replies, queries, removals, row_checks
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.file_changes import select_changes, unused_contents
from yourtool.store.sqlite.leases import FileLease, find_held
from yourtool.store.sqlite.search import search_messages, unused_attachments


class SqliteStore(SessionStore):
    """Sessions in one database file; the lock files are in `locks` next to it.

    Facts are stored together with the tables derived from them, in one transaction.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._locks_dir = database.path.parent / "locks"

    async def append(self, *facts: AnyFact) -> None:
        await self.database.write(lambda connection: log.append(connection, facts))

    async def read(self, session_id: str) -> tuple[AnyFact, ...]:
        facts: list[AnyFact] = []
        await self.replay(session_id, facts.append)
        return tuple(facts)

    async def replay(
        self, session_id: str, callback: Callable[[AnyFact], object]
    ) -> tuple[str, ...]:
        return await self.database.read(
            lambda connection: log.replay(connection, session_id, callback)
        )

    async def read_end(self, session_id: str, count: int, before: str = "") -> Sequence[AnyFact]:
        return await self.database.read(
            lambda connection: log.read_end(connection, session_id, count, before)
        )

    async def read_kinds(
        self, kinds: Iterable[type[AnyFact]], callback: Callable[[AnyFact], object]
    ) -> None:
        await self.database.read(lambda connection: log.read_kinds(connection, kinds, callback))

    async def save_partial(self, end: LlmCallFailed) -> None:
        await self.database.write(lambda connection: partial_replies.save_partial(connection, end))

    async def read_partial(self, session_id: str) -> LlmCallFailed | None:
        return await self.database.read(
            lambda connection: partial_replies.read_partial(connection, session_id)
        )

    async def provider_call_ids(self, session_id: str) -> tuple[tuple[str, str, str], ...]:
        return tuple(
            await self.database.read(
                lambda connection: log.provider_call_ids(connection, session_id)
            )
        )

    async def pending_call_ids(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of the calls that have no result yet."""
        return tuple(
            await self.database.read(
                lambda connection: log.pending_call_ids(connection, session_id)
            )
        )

    async def find_workspace(self, session_id: str) -> str:
        return await self.database.read(
            lambda connection: log.find_workspace(connection, session_id)
        )

    async def has_any(self, ids: Iterable[str], session_id: str) -> bool:
        return await self.database.read(lambda connection: log.has_any(connection, ids, session_id))

    async def update_messages(self, *messages: Message) -> None:
        """Overwrite the rows of stored messages, in the current schema version.

        Reading upgrades older rows in memory only; this stores the upgrade. When it raises,
        nothing was written.

        Raises:
            InvalidMessageError: a message breaks an invariant.
            StoreError: a message is not stored yet.
        """
        await self.database.write(lambda connection: log.update_messages(connection, messages))

    async def list(
        self,
        *workspaces: str,
        limit: int = 200,
        after: SessionSummary | None = None,
        workers: bool = False,
    ) -> tuple[SessionSummary, ...]:
        return await self.database.read(
            lambda connection: queries.list_sessions(
                connection, workspaces, limit, after, workers=workers
            )
        )

    async def search(
        self,
        text: str,
        *workspaces: str,
        limit: int = 100,
        wanted: SearchFilter = EVERYTHING,
        one_each: bool = False,
    ) -> tuple[SearchHit, ...]:
        return await self.database.read(
            lambda connection: search_messages(
                connection, text, workspaces, limit, wanted, one_each=one_each
            )
        )

    async def find_title(self, session_id: str) -> str:
        """Return the title of a session; empty if it has no text."""
        return await self.database.read(
            lambda connection: queries.find_title(connection, session_id)
        )

    async def last_texts(self, session_id: str, limit: int = 6) -> tuple[MessageExcerpt, ...]:
        return await self.database.read(
            lambda connection: queries.last_texts(connection, session_id, limit)
        )

    async def last_used(self, *workspaces: str) -> str | None:
        return await self.database.read(
            lambda connection: queries.last_used(connection, workspaces)
        )

    async def find_ids(self, prefix: str) -> tuple[str, ...]:
        return tuple(
            await self.database.read(lambda connection: queries.find_ids(connection, prefix))
        )

    async def find_workers(self, session_id: str) -> tuple[str, ...]:
        family = await self.database.read(
            lambda connection: queries.find_family(connection, session_id)
        )
        return tuple(family[1:])

    async def spending_since(self, start: datetime) -> Spending:
        return await self.database.read(
            lambda connection: queries.spending_since(connection, start)
        )

    async def cost_report(self, session_id: str) -> tuple[queries.ModelCost, ...]:
        """Return usage and cost of each model, workers included, most expensive first."""
        return await self.database.read(
            lambda connection: queries.session_costs(connection, session_id)
        )

    async def file_changes(self, wanted: ChangeFilter) -> tuple[StoredChange, ...]:
        return tuple(
            await self.database.read(lambda connection: select_changes(connection, wanted))
        )

    async def unused_contents(self, digests: Iterable[str]) -> frozenset[str]:
        return frozenset(
            await self.database.read(lambda connection: unused_contents(connection, digests))
        )

    async def unused_attachments(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(
            await self.database.read(lambda connection: unused_attachments(connection, names))
        )

    async def find_damage(self, session_id: str | None) -> tuple[Problem, ...]:
        return tuple(
            await self.database.read(
                lambda connection: row_checks.find_damage(connection, session_id)
            )
        )

    async def find_unused(self, before: datetime, limit: int = 50) -> tuple[str, ...]:
        return tuple(
            await self.database.read(
                lambda connection: removals.find_unused(connection, before, limit)
            )
        )

    async def removals(self) -> tuple[Removal, ...]:
        """Return the records of what was deleted, the latest first."""
        return await self.database.read(removals.read_removals)

    async def count_user(self, user_id: str) -> int:
        """Return the number of messages that have the id of a user."""
        return await self.database.read(lambda connection: removals.count_user(connection, user_id))

    async def forget_user(self, user_id: str) -> int:
        """Remove the id of a user from all messages, permanently; return their number."""
        return await self.database.write(
            lambda connection: removals.forget_user(connection, user_id)
        )

    async def delete(self, session_id: str, reason: RemovalReason = "deleted") -> None:
        with ExitStack() as leases:
            leases.enter_context(self.lease(session_id))
            for worker in await self.find_workers(session_id):
                leases.enter_context(self.lease(worker))
            await self.database.write(lambda connection: log.delete(connection, session_id, reason))

    async def find_activity(self, ids: Iterable[str] = ()) -> tuple[SessionActivity, ...]:
        wanted = tuple(ids)

        def read(connection: Connection) -> tuple[SessionActivity, ...]:
            return activity.find_activity(connection, find_held(self._locks_dir), wanted)

        return await self.database.read(read)

    def lease(self, session_id: str) -> FileLease:
        return FileLease(self._locks_dir, session_id)

    def open_early(self) -> None:
        self.database.open_early()

    async def close(self) -> None:
        await self.database.close()
