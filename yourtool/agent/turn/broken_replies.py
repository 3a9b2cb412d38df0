"""Replies that break off in the middle.

A request that fails before any content is retried by `providers/retry.py`. After that, what has
arrived is stored and paid, and the same request is sent again as a new call of the model.
"""

import asyncio

from yourtool.agent.turn.turn import Turn
from yourtool.errors import ErrorCode
from yourtool.events.deltas import RetryScheduled
from yourtool.events.model_calls import LlmCallFailed
from yourtool.models import AGENT

MOST_REPEATS = 5
_OVERLOADED_DELAY, _LONGEST_DELAY = 5, 16
"""In seconds."""


async def wait_to_repeat(turn: Turn, failure: LlmCallFailed) -> bool:
    """Wait before a request is sent again whose reply broke off; return False if it is not.

    Another agent would do its work twice.

    Raises:
        Interrupted: the turn was stopped.
    """
    has_begun = failure.message is not None or failure.cut_calls
    if not (has_begun and failure.retryable) or turn.model.provider == AGENT:
        return False
    repeats = MOST_REPEATS if turn.env.spending.limits.max_retries else 0
    if turn.recovery.broken >= repeats:
        return False
    turn.recovery.broken += 1
    first = _OVERLOADED_DELAY if failure.error_code == ErrorCode.OVERLOADED else 1
    delay = min(first * 2 ** (turn.recovery.broken - 1), _LONGEST_DELAY)
    scheduled = RetryScheduled(
        attempt=turn.recovery.broken + 1,
        max_attempts=1 + repeats,
        delay_seconds=delay,
        error_class=failure.error_class,
        message=failure.error_message_redacted,
    )
    await turn.emit(scheduled)
    await turn.interrupt.guard(asyncio.sleep(delay))
    return True
