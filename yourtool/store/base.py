"""Port to the session store.

A store contains the facts of sessions and answers questions about them. What needs only these
methods, such as forks and exports, works with every store. A store validates facts with
`validation.py`, so that all stores reject the same ones.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from yourtool.errors import SessionNotFoundError, StoreError
from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallFailed
from yourtool.foundation.amounts import Spending
from yourtool.messages.message import Role
from yourtool.store.journal import ChangeFilter, StoredChange

_MAX_CANDIDATES = 5


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session in a list of sessions."""

    id: str
    title: str
    """The user's title, else the first line of the first message, which can be empty."""
    workspace_path: str
    active_model: str | None
    """The model chosen for the session, if any."""
    turn_count: int
    cost_usd: Decimal
    unpriced: bool = False
    """The price of some requests is unknown, so `cost_usd` is too low."""
    created_at: datetime
    updated_at: datetime


SessionState: TypeAlias = Literal["running", "waiting", "open", "done", "stopped"]
"""Open sessions run a turn, wait for an answer of the user, or do neither. The others are done, or
their process ended during a turn."""


class SessionActivity(Struct, frozen=True, kw_only=True):
    """The state of a session."""

    id: str
    state: SessionState
    process: str = ""
    """The id of the process that has it open; empty: none."""
    last_event: str = ""


class SearchHit(Struct, frozen=True, kw_only=True):
    """A message that matches a search."""

    session_id: str
    message_id: str
    role: Role
    snippet: str
    """One line of the message, starting shortly before the first match."""
    title: str
    """The title of the session."""
    workspace_path: str
    created_at: datetime


class SearchFilter(Struct, frozen=True, kw_only=True):
    """Which messages are searched; the defaults select all."""

    model: str = ""
    """Part of the name of a model that replied in the session."""
    file: str = ""
    """A file that the session changed: its path or the end of it, from a `/` on."""
    tool_failed: bool = False
    """Whether a tool call of the session failed."""
    since: datetime | None = None
    """The earliest time of the message."""
    until: datetime | None = None
    """The time before which the message is."""
    min_cost: Decimal | None = None
    """The least cost of the session in US dollars, workers included."""


EVERYTHING = SearchFilter()


class MessageExcerpt(Struct, frozen=True, kw_only=True):
    """The start of a message, as one line."""

    role: Role
    text: str


ProblemKind: TypeAlias = Literal[
    "file", "row", "message", "pairing", "parent", "hash", "attachment", "file content"
]


class Problem(Struct, frozen=True, kw_only=True):
    """Something that is wrong with what is stored."""

    kind: ProblemKind
    id: str
    """Of the event, the message or the call; empty: of none of them."""
    text: str


RemovalReason: TypeAlias = Literal["deleted", "pruned", "retention", "forgotten"]
"""A person deleted a session, pruned old ones, or set `keep_days`; or a user was forgotten."""


class Removal(Struct, frozen=True, kw_only=True):
    """The record of a removal; it has nothing of the content."""

    removed_at: datetime
    subject: str
    """The id of the session, or a pseudonym of the user."""
    reason: RemovalReason
    messages: int
    """How many were deleted, or had the id of the user."""


class Lease(Protocol):
    """The right to write to a session."""

    def set_waiting(self, is_waiting: bool) -> None:
        """Record for other processes whether the session waits for an answer of the user."""
        ...

    def release(self) -> None:
        """Release the lease; idempotent."""
        ...


class SessionStore(Protocol):
    """Stores the facts of sessions, and finds sessions and messages.

    Every method raises `StoreError` if the store cannot be used.
    """

    async def append(self, *facts: AnyFact) -> None:
        """Store facts durably, all or none.

        Characters that UTF-8 cannot encode are replaced with U+FFFD. When it raises, none of
        `facts` was stored.

        Raises:
            InvalidMessageError: a message breaks an invariant.
            SessionNotFoundError: the first fact of a session is not `session.created`.
            StoreError: a fact is invalid, or a call has two results.
        """
        ...

    async def read(self, session_id: str) -> tuple[AnyFact, ...]:
        """Return the facts of a session in the order of their ids, with their messages.

        Facts that this version cannot read are skipped with a warning in the log file. Ids
        generated afterwards are greater than every id in the session.

        Raises:
            SessionNotFoundError: the session does not exist.
        """
        ...

    async def replay(
        self, session_id: str, callback: Callable[[AnyFact], object]
    ) -> tuple[str, ...]:
        """Call `callback` with each fact that `read` would return, possibly in another thread.

        Returns the ids of the events and messages that cannot be read.

        Only one fact is in memory at a time, unless `callback` stores it.

        Raises:
            SessionNotFoundError: the session does not exist.
        """
        ...

    async def read_end(self, session_id: str, count: int, before: str = "") -> Sequence[AnyFact]:
        """Return at least the last `count` facts of a session, or of those before a fact's id.

        The first one starts a turn, or it is the first of the session. The cost does not depend on
        the length of the session.
        """
        ...

    async def save_partial(self, end: LlmCallFailed) -> None:
        """Store the part of a reply that has arrived, as the fact that would end its call now.

        It replaces the part that the session had before, and the end of the call removes it. It is
        not part of the session: only `read_partial` returns it.
        """
        ...

    async def read_partial(self, session_id: str) -> LlmCallFailed | None:
        """Return the part of a reply whose call has no end, because its process died."""
        ...

    async def read_kinds(
        self, kinds: Iterable[type[AnyFact]], callback: Callable[[AnyFact], object]
    ) -> None:
        """Call `callback` with each fact of these kinds in all sessions, perhaps in a thread.

        The facts of a session follow each other, in the order of their ids.
        """
        ...

    async def provider_call_ids(self, session_id: str) -> tuple[tuple[str, str, str], ...]:
        """Return (our id, provider, the provider's id) of the calls that have a provider id."""
        ...

    async def find_workspace(self, session_id: str) -> str:
        """Return the path of the directory of a session.

        Raises:
            SessionNotFoundError: no session has this id.
        """
        ...

    async def has_any(self, ids: Iterable[str], session_id: str) -> bool:
        """Whether the session, or an event, message or call with one of the ids, is stored."""
        ...

    async def list(
        self,
        *workspaces: str,
        limit: int = 200,
        after: SessionSummary | None = None,
        workers: bool = False,
    ) -> tuple[SessionSummary, ...]:
        """Return the sessions of these workspaces, or of all without one, last used first.

        Sessions without messages are omitted, and those of workers unless `workers` is true; the
        cost of a session includes its workers. `after`: the last session of the previous page. The
        cost of a page does not depend on the number of sessions.
        """
        ...

    async def search(
        self,
        text: str,
        *workspaces: str,
        limit: int = 100,
        wanted: SearchFilter = EVERYTHING,
        one_each: bool = False,
    ) -> tuple[SearchHit, ...]:
        """Return the messages that contain every word of `text`, newest first.

        `one_each`: only the newest one of each session.

        Words match as prefixes, ignoring case and accents. A text without words matches nothing,
        or the prompts of the sessions that `wanted` selects, if it is not `EVERYTHING`. Replies to
        silent calls and sessions of workers are not searched.
        """
        ...

    async def last_texts(self, session_id: str, limit: int = 6) -> tuple[MessageExcerpt, ...]:
        """Return the last prompts and replies of a session that have text, oldest first.

        Replies to silent calls and very large messages are omitted. An unknown session has none.
        """
        ...

    async def last_used(self, *workspaces: str) -> str | None:
        """Return the id of the last used session of these workspaces that has messages."""
        ...

    async def find_ids(self, prefix: str) -> tuple[str, ...]:
        """Return the ids of the sessions that start with `prefix`, newest first."""
        ...

    async def find_workers(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of the workers of a session, and of the workers of these."""
        ...

    async def spending_since(self, start: datetime) -> Spending:
        """Return the exact cost of all requests since `start`, without those in copies.

        Silent calls are included, here and in summaries.
        """
        ...

    async def file_changes(self, wanted: ChangeFilter) -> tuple[StoredChange, ...]:
        """Return the changes of files by calls that match, in order.

        Changes that failed, and those of deleted sessions, are omitted.
        """
        ...

    async def unused_contents(self, digests: Iterable[str]) -> frozenset[str]:
        """Return the digests, out of `digests`, that no change of a file refers to."""
        ...

    async def unused_attachments(self, names: Iterable[str]) -> frozenset[str]:
        """Return the SHA-256 digests, out of `names`, that no stored message refers to."""
        ...

    async def find_damage(self, session_id: str | None) -> tuple[Problem, ...]:
        """Return what is wrong with the stored form of a session, such as unreadable rows.

        None: with what belongs to no session. `checks.py` finds what is wrong with readable facts.
        """
        ...

    async def find_unused(self, before: datetime, limit: int = 50) -> tuple[str, ...]:
        """Return the ids of sessions that were last used before a time, the oldest first.

        Sessions with a title or a label of the user are omitted, and those of workers.
        """
        ...

    async def delete(self, session_id: str, reason: RemovalReason = "deleted") -> None:
        """Delete a session with its messages and workers; forks of it keep their copies.

        A record stays: the time, the id, the reason and the number of messages.

        Raises:
            SessionBusyError: the session or a worker of it is open.
            SessionNotFoundError: the session does not exist.
        """
        ...

    async def find_activity(self, ids: Iterable[str] = ()) -> tuple[SessionActivity, ...]:
        """Return the state of each session that a process has open, and of `ids`.

        Sessions of workers are omitted. The cost does not depend on the number of sessions.
        """
        ...

    def lease(self, session_id: str) -> Lease:
        """Acquire the right to write to a session until it is released or the process dies.

        Raises:
            SessionBusyError: another process has the lease.
            SessionNotFoundError: the id is not a valid session id.
        """
        ...

    def open_early(self) -> None:
        """Start to open the store, so that the first use waits less; what fails, fails then."""
        ...

    async def close(self) -> None:
        """Release all resources permanently; idempotent."""
        ...


def describe_unread(session_id: str, ids: Sequence[str]) -> str:
    """Return a warning about rows of a session that cannot be read."""
    some = ", ".join(f"`{each}`" for each in ids[:_MAX_CANDIDATES])
    more = f" and {len(ids) - _MAX_CANDIDATES:,} more" if len(ids) > _MAX_CANDIDATES else ""
    return (
        f"{len(ids):,} stored row{'s' * (len(ids) != 1)} of this session cannot be read: {some}"
        f"{more}. `yourtool sessions check {session_id}` shows why, and with `--fix` it stores what"
        " is sound as a new session."
    )


async def resolve_id(store: SessionStore, prefix: str) -> str:
    """Return the only session id that starts with `prefix`; `sess_` and upper case are optional.

    Raises:
        SessionNotFoundError: no session matches.
        StoreError: several sessions match; the message names some of them.
    """
    wanted = prefix.strip().removeprefix("sess_").upper()
    ids = [*await store.find_ids(f"sess_{wanted}")] if wanted else []
    if not ids:
        raise SessionNotFoundError(
            f"There is no session `{prefix}`; list the sessions with `yourtool sessions list`."
        )
    if len(ids) > 1:
        some = ", ".join(f"`{session_id}`" for session_id in ids[:_MAX_CANDIDATES])
        raise StoreError(
            f"`{prefix}` matches {len(ids)} sessions, such as {some}; use a longer prefix."
        )
    return ids[0]
