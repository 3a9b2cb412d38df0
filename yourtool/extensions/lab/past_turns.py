"""Past turns of a workspace.

Turns of workers, and those that a fork or an import copied, belong to other sessions.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from yourtool.agent.routes.routing_rules import iter_named_files
from yourtool.errors import ToolFailure
from yourtool.events.catalog import AnyFact
from yourtool.events.files import FilesRestoring
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, is_silent
from yourtool.events.sessions import (
    SessionEnded,
    SessionForked,
    SessionImported,
    SessionModelSelected,
)
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.turns import (
    RouteDecided,
    TurnCancelled,
    TurnCompleted,
    TurnEvaluated,
    TurnStarted,
)
from yourtool.extensions.lab.evaluation import PastTurn, Signals, Verdict
from yourtool.extensions.lab.patterns import MAX_OUTCOMES, Fingerprint, build_fingerprint
from yourtool.messages.message import Message
from yourtool.messages.metadata import StopReason
from yourtool.messages.usage import Usage, UsageExtra
from yourtool.store.base import SessionStore

EDIT_TOOLS = frozenset({"write_file", "edit_file", "apply_patch"})
_MAX_SESSIONS = 100
_MAX_FACTS = 5_000
"""Of one session; the last ones."""
_NOT_FAILURES = (ToolFailure.USER_DENIED, ToolFailure.CANCELLED, ToolFailure.CONFIRMATION_TIMEOUT)
"""What the user did to a call, and not the model."""
_REFUSALS = ("i can't", "i cannot", "i'm unable", "i am unable", "i won't", "sorry, but i")
_REFUSAL_SPAN = 160
"""Characters at the start of a reply in which a refusal is found."""


async def read_past_turns(store: SessionStore, workspace: str) -> tuple[PastTurn, ...]:
    """Return the last turns of the sessions of a workspace, newest first.

    Raises:
        StoreError: the store cannot be read.
    """
    turns = list[PastTurn]()
    for summary in await store.list(workspace, limit=_MAX_SESSIONS):
        turns += await read_turns_of(store, summary.id, workspace)
        if len(turns) >= MAX_OUTCOMES:
            break
    return tuple(sorted(turns, key=lambda turn: turn.id, reverse=True)[:MAX_OUTCOMES])


async def read_turns_of(
    store: SessionStore, session_id: str, workspace: str, count: int = _MAX_FACTS
) -> list[PastTurn]:
    """Return the turns in the last `count` facts of a session."""
    facts = await store.read_end(session_id, count)
    return await asyncio.to_thread(fold_turns, facts, workspace)


def fold_turns(facts: Iterable[AnyFact], workspace: str) -> list[PastTurn]:
    """Return the turns that ended in the facts of one session."""
    fold = _Fold(workspace)
    for fact in facts:
        fold.apply(fact)
    return [turn.close() for turn in fold.turns.values() if turn.is_over and turn.model]


class _OpenTurn:
    """A turn, as far as its facts are known."""

    def __init__(self, turn_id: str, session_id: str, at: datetime, about: Fingerprint) -> None:
        self.id, self.session_id, self.at, self.fingerprint = turn_id, session_id, at, about
        self.model = ""
        self.is_over = False
        self.counts = dict.fromkeys(
            ("requests", "failed_requests", "calls", "failed_calls", "edits", "failed_edits"), 0
        )
        self.marks = dict[str, bool]()
        self.reply = ""
        self.paths = list[str]()
        self.seconds = 0.0
        self.cost: Decimal | None = Decimal(0)
        self.judged: Verdict | None = None

    def add_usage(self, usage: Usage | None, extra: UsageExtra | None) -> None:
        if usage is not None and self.cost is not None:
            self.cost = None if extra and extra.unpriced else self.cost + usage.cost_usd

    def add_call(self, tool: str, *, has_failed: bool) -> None:
        is_edit = tool in EDIT_TOOLS
        self.counts["calls"] += 1
        self.counts["failed_calls"] += has_failed
        self.counts["edits"] += is_edit
        self.counts["failed_edits"] += is_edit and has_failed

    def end(self, fact: TurnCompleted | TurnCancelled) -> None:
        self.is_over = True
        if isinstance(fact, TurnCancelled):
            self.marks["is_interrupted"] = True
            self.seconds = max(0.0, (fact.timestamp - self.at).total_seconds())
            return
        self.seconds = fact.wall_time_seconds
        start = self.reply[:_REFUSAL_SPAN].lower().replace("’", "'")
        self.marks |= {
            "has_error": fact.stop_reason is StopReason.ERROR,
            "is_cut_off": fact.stop_reason is StopReason.MAX_TOKENS,
            "is_refusal": fact.stop_reason is StopReason.REFUSAL
            or any(each in start for each in _REFUSALS),
            "is_empty": not self.reply.strip(),
        }

    def close(self) -> PastTurn:
        return PastTurn(
            id=self.id,
            session_id=self.session_id,
            at=self.at,
            model=self.model,
            fingerprint=self.fingerprint,
            signals=Signals(**self.counts, **self.marks),
            seconds=self.seconds,
            cost_usd=self.cost,
            judged=self.judged,
        )


class _Fold:
    """Applies the facts of a session to its turns."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self.turns: dict[str, _OpenTurn] = {}
        self._last: _OpenTurn | None = None
        self._prompt = ""

    def apply(self, fact: AnyFact) -> None:
        match fact:
            case TurnStarted():
                self._start(fact)
            case SessionForked() | SessionImported():
                self.turns.clear()
                self._last = None
            case FilesRestoring(kind=kind, turns=ids):
                for turn_id in ids:
                    if turn_id in self.turns:
                        self.turns[turn_id].marks["is_undone"] = kind != "redo"
            case TurnEvaluated(evaluated_turn=turn_id):
                if turn_id in self.turns:
                    self.turns[turn_id].judged = Verdict(fact.score, fact.confidence)
            case SessionEnded():
                self._mark_last("is_followed")
            case SessionModelSelected(model=str(model)):
                if self._last is not None and self._last.is_over and self._last.model != model:
                    self._mark_last("is_replaced")
            case _:
                if self._last is not None and not self._last.is_over:
                    _apply_to(self._last, fact)

    def _start(self, fact: TurnStarted) -> None:
        if fact.message is not None:
            self._prompt = fact.message.text
        self._mark_last("is_retried" if fact.message is None else "is_followed")
        about = build_fingerprint(
            self._prompt,
            self._last.paths if self._last else (),
            tokens=fact.estimated_input_tokens,
            has_images=fact.has_images,
            workspace=self._workspace,
        )
        turn_id = fact.turn_id or fact.id
        self._last = _OpenTurn(turn_id, fact.session_id, fact.timestamp, about)
        self.turns[turn_id] = self._last

    def _mark_last(self, name: str) -> None:
        if self._last is not None:
            self._last.marks[name] = True


def _apply_to(turn: _OpenTurn, fact: AnyFact) -> None:
    """Apply a fact of a running turn."""
    match fact:
        case RouteDecided(chosen_model=model):
            turn.model = model or ""
        case LlmCallCompleted() if not is_silent(fact):
            turn.counts["requests"] += 1
            turn.add_usage(fact.usage, fact.usage_extra)
            turn.reply = fact.message.text
            turn.paths += named_paths((fact.message,))
        case LlmCallFailed() if not is_silent(fact):
            turn.counts["failed_requests"] += 1
            turn.add_usage(fact.usage, fact.usage_extra)
        case ToolCompleted():
            turn.add_call(fact.tool_name, has_failed=not fact.success)
        case ToolFailed(error_class=error) if error not in _NOT_FAILURES:
            turn.add_call(fact.tool_name, has_failed=True)
        case TurnCompleted() | TurnCancelled():
            turn.end(fact)
        case _:
            pass


def named_paths(messages: Iterable[Message]) -> list[str]:
    """Return the paths that the calls of messages name."""
    inputs: Iterable[Mapping[str, Any]] = (
        call.input for message in messages for call in message.tool_uses
    )
    return [path for arguments in inputs for path in iter_named_files(arguments)]
