"""Questions about the limits of a turn, before a request that would exceed one."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from yourtool.agent.turn.limits import (
    ReachedLimit,
    find_limit,
    find_limit_after_calls,
    find_warnings,
    resolve_limit,
)
from yourtool.agent.turn.turn import Turn
from yourtool.events.budgets import BudgetWarned
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice

_Find: TypeAlias = Callable[[], Awaitable[ReachedLimit | None]]


class LimitQuestions:
    """Asks about each limit that the next request of a turn would exceed."""

    def __init__(self, turn: Turn) -> None:
        self.stop: str | None = None
        """Why the turn must not continue; None: it may."""
        self._turn = turn

    async def ask(self) -> AsyncGenerator[Event, None]:
        """Ask before the calls of a reply run.

        Raises:
            Interrupted: the turn was stopped before the user answered.
        """
        async with aclosing(self._ask(lambda: find_limit(self._turn))) as events:
            async for event in events:
                yield event

    async def ask_after_calls(self, *, delegated: bool) -> AsyncGenerator[Event, None]:
        """Ask again when the results of the calls are known; raises as `ask`."""
        find = find_limit_after_calls
        async with aclosing(self._ask(lambda: find(self._turn, delegated=delegated))) as events:
            async for event in events:
                yield event

    async def _ask(self, find: _Find) -> AsyncGenerator[Event, None]:
        turn = self._turn
        while self.stop is None and (reached := await find()) is not None:
            await turn.record.flush()  # before the user is asked
            self.stop = await resolve_limit(turn, reached)
            for fact in reached.build_facts(allowed=self.stop is None):
                yield await turn.record(fact, parent=turn.parent)
            if self.stop is not None and not reached.budgets:
                yield Notice(level="warning", text=self.stop)


async def record_budget_warnings(turn: Turn) -> AsyncGenerator[BudgetWarned, None]:
    """Record and yield the warnings about budgets that are due."""
    for warning in await find_warnings(turn):
        yield await turn.record(warning, parent=turn.parent)
