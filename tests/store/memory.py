"""A second implementation of the store port: sessions in memory."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from msgspec import UNSET

from yourtool.errors import (
    SessionBusyError,
    SessionNotFoundError,
    StoreError,
)
from yourtool.events.branches import BranchLabelled
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed, is_silent
from yourtool.events.sessions import (
    SessionCreated,
    SessionForked,
    SessionImported,
    SessionModelSelected,
    SessionRenamed,
)
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.tree import select_branch
from yourtool.events.turns import TurnStarted
from yourtool.foundation.amounts import Spending
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, Role
from yourtool.store.base import (
    EVERYTHING,
    MessageExcerpt,
    Problem,
    RemovalReason,
    SearchFilter,
    SearchHit,
    SessionActivity,
    SessionStore,
    SessionSummary,
)
from yourtool.store.journal import ChangeFilter, StoredChange, find_changes
from yourtool.store.texts import excerpt, message_title, search_terms, snippet, to_storable
from yourtool.store.validation import require_valid_fact, require_valid_message


class MemoryStore(SessionStore):
    """Sessions of one process, which are lost with it."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[AnyFact]] = {}
        self._partial: dict[str, LlmCallFailed] = {}
        self._leases: set[str] = set()

    async def append(self, *facts: AnyFact) -> None:
        before = {session_id: list(stored) for session_id, stored in self._sessions.items()}
        try:
            for fact in map(to_storable, facts):
                self._append(fact)
        except StoreError:
            self._sessions = before
            raise

    async def read(self, session_id: str) -> tuple[AnyFact, ...]:
        if (facts := self._sessions.get(session_id)) is None:
            raise SessionNotFoundError(f"There is no session `{session_id}`.")
        return tuple(sorted(facts, key=lambda fact: fact.id))

    async def replay(
        self, session_id: str, callback: Callable[[AnyFact], object]
    ) -> tuple[str, ...]:
        for fact in await self.read(session_id):
            callback(fact)
        return ()

    async def read_end(self, session_id: str, count: int, before: str = "") -> Sequence[AnyFact]:
        return find_end(await self.read(session_id), count, before)

    async def save_partial(self, end: LlmCallFailed) -> None:
        self._partial[end.session_id] = end

    async def read_partial(self, session_id: str) -> LlmCallFailed | None:
        return self._partial.get(session_id)

    async def read_kinds(
        self, kinds: Iterable[type[AnyFact]], callback: Callable[[AnyFact], object]
    ) -> None:
        wanted = tuple(kinds)
        for session_id in sorted(self._sessions):
            for fact in await self.read(session_id):
                if isinstance(fact, wanted):
                    callback(fact)

    async def provider_call_ids(self, session_id: str) -> tuple[tuple[str, str, str], ...]:
        return tuple(
            (ours, fact.provider, wire)
            for fact in self._sessions[session_id]
            if isinstance(fact, LlmCallCompleted)
            for ours, wire in sorted(fact.provider_tool_ids.items())
        )

    async def find_workspace(self, session_id: str) -> str:
        created, *_ = await self.read(session_id)
        assert isinstance(created, SessionCreated)
        return created.workspace_path

    async def has_any(self, ids: Iterable[str], session_id: str) -> bool:
        stored = {fact.id for facts in self._sessions.values() for fact in facts}
        messages = [message for facts in self._sessions.values() for message in _messages(facts)]
        stored |= {message.id for message in messages}
        stored |= {call.id for message in messages for call in message.tool_uses}
        return session_id in self._sessions or not stored.isdisjoint(ids)

    async def list(
        self,
        *workspaces: str,
        limit: int = 200,
        after: SessionSummary | None = None,
        workers: bool = False,
    ) -> tuple[SessionSummary, ...]:
        spoken = [
            facts
            for facts in self._sessions.values()
            if _messages(facts) and (workers or _parent_of(facts) is None)
        ]
        found = [_summary(facts) for facts in spoken]
        found.sort(key=lambda each: (each.updated_at, each.id), reverse=True)
        return tuple(
            each
            for each in found
            if not workspaces or each.workspace_path in workspaces
            if after is None or (each.updated_at, each.id) < (after.updated_at, after.id)
        )[:limit]

    async def search(
        self,
        text: str,
        *workspaces: str,
        limit: int = 100,
        wanted: SearchFilter = EVERYTHING,
        one_each: bool = False,
    ) -> tuple[SearchHit, ...]:
        assert wanted == EVERYTHING, "filters are those of SQLite"
        terms = search_terms(text)
        hits = [
            SearchHit(
                session_id=message.session_id,
                message_id=message.id,
                role=message.role,
                snippet=snippet(message.content, terms),
                title=summary.title,
                workspace_path=summary.workspace_path,
                created_at=message.created_at,
            )
            for summary in await self.list(*workspaces)
            for fact in _own(self._sessions[summary.id])
            if not is_silent(fact) and (message := message_of(fact)) is not None
            if terms and _contains(message, terms)
        ]
        hits.sort(key=lambda hit: hit.message_id, reverse=True)
        if one_each:
            hits = list({hit.session_id: hit for hit in reversed(hits)}.values())[::-1]
            hits.sort(key=lambda hit: hit.message_id, reverse=True)
        return tuple(hits[:limit])

    async def last_texts(self, session_id: str, limit: int = 6) -> tuple[MessageExcerpt, ...]:
        facts = select_branch(self._sessions.get(session_id, []))
        spoken = [
            message
            for fact in facts
            if isinstance(fact, TurnStarted | LlmCallCompleted) and not is_silent(fact)
            if (message := message_of(fact)) is not None and excerpt(message.content)
        ]
        return tuple(
            MessageExcerpt(role=message.role, text=excerpt(message.content))
            for message in spoken[-limit:]
        )

    async def last_used(self, *workspaces: str) -> str | None:
        found = [each.id for each in await self.list() if each.workspace_path in workspaces]
        return found[0] if found else None

    async def find_ids(self, prefix: str) -> tuple[str, ...]:
        return tuple(sorted((i for i in self._sessions if i.startswith(prefix)), reverse=True))

    async def find_workers(self, session_id: str) -> tuple[str, ...]:
        own = [each for each, facts in self._sessions.items() if _parent_of(facts) == session_id]
        below = [each for worker in own for each in await self.find_workers(worker)]
        return (*own, *below)

    async def spending_since(self, start: datetime) -> Spending:
        facts = [fact for facts in self._sessions.values() for fact in _requests(facts)]
        recent = [fact for fact in facts if fact.timestamp >= start]
        return Spending(
            cost_usd=sum((fact.usage.cost_usd for fact in recent), Decimal(0)),
            requests=len(recent),
            unpriced_requests=sum(fact.usage.pricing_version == "" for fact in recent),
        )

    async def file_changes(self, wanted: ChangeFilter) -> tuple[StoredChange, ...]:
        return tuple(
            change
            for session_id, facts in sorted(self._sessions.items())
            for change in find_changes(facts)
            if wanted.matches(change, self._workspace(session_id))
        )

    async def unused_attachments(self, names: Iterable[str]) -> frozenset[str]:
        stored = "".join(str(fact) for facts in self._sessions.values() for fact in facts)
        return frozenset(name for name in names if f"sha256:{name}" not in stored)

    async def unused_contents(self, digests: Iterable[str]) -> frozenset[str]:
        every = await self.file_changes(ChangeFilter())
        states = [state for each in every for state in (each.change.before, each.change.after)]
        return frozenset(digests) - {state.digest for state in states}

    def _workspace(self, session_id: str) -> str:
        created = next(
            each for each in self._sessions[session_id] if isinstance(each, SessionCreated)
        )
        return created.workspace_path

    async def find_damage(self, session_id: str | None) -> tuple[Problem, ...]:
        del session_id
        return ()

    async def find_unused(self, before: datetime, limit: int = 50) -> tuple[str, ...]:
        chosen = (SessionRenamed, BranchLabelled)
        found = {
            session_id: facts[-1].timestamp
            for session_id, facts in self._sessions.items()
            if not any(isinstance(fact, chosen) for fact in facts) and _parent_of(facts) is None
        }
        old = sorted((used, each) for each, used in found.items() if used < before)
        return tuple(each for _, each in old[:limit])

    async def delete(self, session_id: str, reason: RemovalReason = "deleted") -> None:
        leases = list["MemoryLease"]()
        try:
            leases.append(self.lease(session_id))
            await self.read(session_id)
            workers = await self.find_workers(session_id)
            leases += map(self.lease, workers)
            for each in (session_id, *workers):
                del self._sessions[each]
                self._partial.pop(each, None)
        finally:
            for lease in leases:
                lease.release()

    async def find_activity(self, ids: Iterable[str] = ()) -> tuple[SessionActivity, ...]:
        found = dict.fromkeys((*self._leases, *ids))
        return tuple(
            SessionActivity(id=each, state="open" if each in self._leases else "done")
            for each in found
            if each in self._sessions
        )

    def lease(self, session_id: str) -> "MemoryLease":
        if "/" in session_id:
            raise SessionNotFoundError(f"There is no session `{session_id}`.")
        return MemoryLease(self._leases, session_id)

    def open_early(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def _append(self, fact: AnyFact) -> None:
        require_valid_fact(fact)
        if isinstance(fact, SessionCreated):
            self._sessions[fact.session_id] = []
        if (facts := self._sessions.get(fact.session_id)) is None:
            raise SessionNotFoundError(f"There is no session `{fact.session_id}`.")
        if (message := message_of(fact)) is not None:
            known = _messages(facts)
            taken = [each for each in known if each.id == message.id]
            require_valid_message(fact, message, [f"`id` is `{each.id}`" for each in taken])
            _require_one_result(fact, known)
        if isinstance(fact, LlmCallEnd):
            self._partial.pop(fact.session_id, None)
        facts.append(fact)


class MemoryLease:
    """A lease within one process."""

    def __init__(self, leases: set[str], session_id: str) -> None:
        if session_id in leases:
            raise SessionBusyError(f"Session `{session_id}` is open.")
        self._leases, self._session_id = leases, session_id
        leases.add(session_id)

    def set_waiting(self, is_waiting: bool) -> None:
        pass

    def release(self) -> None:
        self._leases.discard(self._session_id)


def _require_one_result(fact: AnyFact, known: list[Message]) -> None:
    if isinstance(fact, ToolCompleted | ToolFailed):
        calls = {call.id for message in known for call in message.tool_uses}
        results = {message.result.tool_use_id for message in known if message.result}
        if fact.tool_use_id not in calls - results:
            raise StoreError(f"The call `{fact.tool_use_id}` does not exist or has a result.")


def _messages(facts: Iterable[AnyFact]) -> list[Message]:
    return [message for fact in facts if (message := message_of(fact)) is not None]


def _own(facts: list[AnyFact]) -> list[AnyFact]:
    """Return the facts that are not copied from another session."""
    copied = [i for i, fact in enumerate(facts) if isinstance(fact, SessionForked)]
    return facts[copied[-1] :] if copied else facts


def _requests(facts: list[AnyFact]) -> list[LlmCallEnd]:
    """Return the requests that were paid for in this session."""
    copies = [i for i, f in enumerate(facts) if isinstance(f, SessionForked | SessionImported)]
    return [
        fact
        for fact in facts[copies[-1] if copies else 0 :]
        if isinstance(fact, LlmCallEnd) and fact.usage is not None
    ]


def _summary(facts: list[AnyFact]) -> SessionSummary:
    [created] = [fact for fact in facts if isinstance(fact, SessionCreated)]
    prompts = [message for message in _messages(facts) if message.role is Role.USER]
    chosen = [fact.model for fact in facts if isinstance(fact, SessionModelSelected)]
    titles = [fact.title for fact in facts if isinstance(fact, SessionRenamed)]
    first_title = message_title(prompts[0].content) if prompts else ""
    requests = _requests(facts)
    return SessionSummary(
        id=created.session_id,
        title=(titles[-1] if titles else "") or first_title,
        workspace_path=created.workspace_path,
        active_model=chosen[-1] if chosen else created.initial_active_model,
        turn_count=sum(isinstance(fact, TurnStarted) for fact in facts),
        cost_usd=sum((fact.usage.cost_usd for fact in requests), Decimal(0)),
        unpriced=any(fact.usage.pricing_version == "" for fact in requests),
        created_at=created.timestamp.astimezone(UTC),
        updated_at=max(fact.timestamp for fact in facts if not isinstance(fact, SessionRenamed)),
    )


def _contains(message: Message, terms: Iterable[str]) -> bool:
    texts = (block.text for block in message.content if isinstance(block, TextBlock))
    words = [_folded(word) for text in texts for word in text.split()]
    return all(any(word.startswith(_folded(term)) for word in words) for term in terms)


def _folded(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.casefold())
    return "".join(each for each in letters if not unicodedata.combining(each))


def _parent_of(facts: Sequence[AnyFact]) -> str | None:
    """Return the session that delegated the task of a worker; None for other sessions."""
    parent = next(each for each in facts if isinstance(each, SessionCreated)).parent_session_id
    return None if parent is UNSET else parent


def find_end(stored: Sequence[AnyFact], count: int, before: str = "") -> Sequence[AnyFact]:
    """Return the last facts before one, from the start of a turn on."""
    facts = [fact for fact in stored if fact.id < (before or "~")]
    starts = [0, *(at for at, fact in enumerate(facts) if isinstance(fact, TurnStarted))]
    return facts[max(at for at in starts if at <= max(0, len(facts) - count)) :]
