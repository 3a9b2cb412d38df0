"""Usage and changes of workers."""

from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict

from yourtool.agent.history.recorder import Recorder
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.delegation import DelegateCompleted, DelegateFailed, DelegateStarted
from yourtool.events.files import FileChangeFailed, FilesChanged
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed, LlmCallStarted
from yourtool.events.tools import ToolCalled
from yourtool.events.turns import RouteDecided

ReadFacts: TypeAlias = Callable[[str], Awaitable[Sequence[AnyFact]]]
"""Returns the facts of the stored session of a worker, in which no turn is open."""


class WorkTotals(Struct):
    """What a worker has used, as the last fact about it states it."""

    model: str = ""
    llm_call_count: int = 0
    tool_call_count: int = 0
    total_tokens: int = 0
    total_cost_usd: Decimal = Decimal(0)
    unpriced: bool = False

    def apply(self, event: Event) -> None:
        """Add what an event of the worker has used."""
        match event:
            case RouteDecided(chosen_model=str(model)):
                self.model = model
            case LlmCallStarted():
                self.llm_call_count += 1
            case LlmCallCompleted() | LlmCallFailed():
                self._add_call(event)
            case ToolCalled():
                self.tool_call_count += 1
            case DelegateCompleted() | DelegateFailed():
                self.add(event)
            case _:
                pass

    def _add_call(self, call: LlmCallEnd) -> None:
        if call.usage is not None:
            self.total_tokens += call.usage.prompt_tokens + call.usage.output_tokens
            self.total_cost_usd += call.usage.cost_usd
        self.unpriced = self.unpriced or bool(call.usage_extra and call.usage_extra.unpriced)

    def add(self, end: "WorkTotals | DelegateCompleted | DelegateFailed") -> None:
        """Add what a worker of the worker has used."""
        self.llm_call_count += end.llm_call_count
        self.tool_call_count += end.tool_call_count
        self.total_tokens += end.total_tokens
        self.total_cost_usd += end.total_cost_usd
        self.unpriced = self.unpriced or end.unpriced


class _Work(Struct):
    """What a worker had done when the program died."""

    totals: WorkTotals = field(default_factory=WorkTotals)
    changes: list[FilesChanged] = field(default_factory=list[FilesChanged])
    failed: set[str] = field(default_factory=set[str])
    """Ids of those `changes` that were not made."""


async def close_delegations(facts: Sequence[AnyFact], record: Recorder, read: ReadFacts) -> None:
    """Record the end of workers that a dead program left, with what they used and changed.

    `facts`: those of the turn that delegated. A change of files is recorded for the call that
    delegated as well, so that it can be undone there. `read` closes the session of a worker first.
    """
    for started in _find_open(facts):
        work = await _find_work(started.worker_session_id, read)
        await _copy_changes(facts, started.tool_use_id, work, record)
        await record(
            DelegateFailed(
                tool_use_id=started.tool_use_id,
                worker_session_id=started.worker_session_id,
                wall_time_seconds=0,
                failure_mode="worker_error",
                error_message="the program ended while it worked",
                **asdict(work.totals),
            ),
            parent=started.id,
        )


def _find_open(facts: Sequence[AnyFact]) -> list[DelegateStarted]:
    ended = {
        each.worker_session_id
        for each in facts
        if isinstance(each, DelegateCompleted | DelegateFailed)
    }
    started = [each for each in facts if isinstance(each, DelegateStarted)]
    return [each for each in started if each.worker_session_id not in ended]


async def _find_work(session_id: str, read: ReadFacts) -> _Work:
    """Return the work of a worker, with that of its workers, which its last facts count."""
    work, facts = _Work(), await read(session_id)
    for fact in facts:
        work.totals.apply(fact)
        match fact:
            case FilesChanged():
                work.changes.append(fact)
            case FileChangeFailed(changed_event_id=changed):
                work.failed.add(changed)
            case _:
                pass
    return work


async def _copy_changes(
    facts: Sequence[AnyFact], tool_use_id: str, work: _Work, record: Recorder
) -> None:
    """Record the changes that the delegating session has not recorded."""
    ours = [
        each for each in facts if isinstance(each, FilesChanged) and each.tool_use_id == tool_use_id
    ]
    for change in work.changes[len(ours) :]:
        copy = FilesChanged(tool_use_id=tool_use_id, changes=change.changes, omitted=change.omitted)
        ours.append(await record(copy))
    noted = {each.changed_event_id for each in facts if isinstance(each, FileChangeFailed)}
    for change, copy in zip(work.changes, ours, strict=False):
        if change.id in work.failed and copy.id not in noted:
            await record(FileChangeFailed(tool_use_id=tool_use_id, changed_event_id=copy.id))
