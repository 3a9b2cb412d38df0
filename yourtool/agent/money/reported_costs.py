"""Questions to providers about missing costs.

They run in the background for replies that arrived without a cost. A reply that was stopped or
broke off has no usage at its end, which is where OpenRouter reports the cost. The question never
delays a turn, and nothing but the log shows when it fails. It ends with the session.
"""

import asyncio
import logging
from collections.abc import Sequence

from yourtool.agent.history.recorder import Recorder
from yourtool.errors import AuthError, StoreError
from yourtool.events.model_calls import LlmCallCostReported, LlmCallEnd
from yourtool.providers.generation_costs import DELAYS, reports_costs, wait_for_cost
from yourtool.providers.registry import Registry

_MAX_FAILURES = 3
"""Replies without an answer after which a session asks no more."""

_log = logging.getLogger(__name__)


class ReportedCosts:
    """The questions of one session."""

    def __init__(self, delays: Sequence[float] = DELAYS) -> None:
        self._delays = delays
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures = 0

    def ask(self, registry: Registry, end: LlmCallEnd, record: Recorder) -> None:
        """Start to ask for the cost of a reply, if it has none and its provider reports costs."""
        extra = end.usage_extra
        if extra is None or extra.reported_cost_usd is not None or extra.receipt is None:
            return
        response_id = extra.receipt.response_id
        if response_id is None or self._failures >= _MAX_FAILURES:
            return
        if not reports_costs(registry, end.provider):
            return
        task = asyncio.create_task(self._ask(registry, end, response_id, record))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop asking; idempotent. A fact that is being stored is stored."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(
        self, registry: Registry, end: LlmCallEnd, response_id: str, record: Recorder
    ) -> None:
        try:
            cost = await wait_for_cost(registry, end.provider, response_id, self._delays)
        except AuthError as error:
            self._failures = _MAX_FAILURES
            _log.info("`%s` does not report costs to this key: %s", end.provider, error)
            return
        if cost is None:
            self._failures += 1
            return
        self._failures = 0
        fact = LlmCallCostReported(
            model=end.model,
            provider=end.provider,
            response_id=response_id,
            reported_cost_usd=cost,
        )
        try:
            await record(fact, parent=end.id)
        except StoreError:
            _log.warning("the reported cost of `%s` is not stored", response_id, exc_info=True)
