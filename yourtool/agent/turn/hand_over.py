"""Hand-over report.

It lists the parts of a conversation with another model that a model does not get.
"""

import asyncio

from yourtool.agent.turn.request import compose_messages
from yourtool.agent.turn.turn import Turn
from yourtool.events.context import ContextHandedOver
from yourtool.messages.message import ReplyMessage
from yourtool.providers.dropped_blocks import DropList
from yourtool.providers.requests.placeholders import find_unsupported_media

_MOST = 100
"""Blocks that a report names."""


async def report_hand_over(turn: Turn) -> ContextHandedOver | None:
    """Return the report if another model gave the last reply of the conversation, else None."""
    source = _find_last_model(turn)
    if source is None or source == turn.model.id:
        return None
    return await asyncio.to_thread(_build_report, turn, source)


def _build_report(turn: Turn, source: str) -> ContextHandedOver:
    drops = DropList()
    messages = compose_messages(turn, drops)
    left_out = (*find_unsupported_media(messages, turn.model), *drops.found)
    return ContextHandedOver(
        source=source,
        model=turn.model.id,
        left_out=left_out[:_MOST],
        left_out_count=len(left_out),
    )


def _find_last_model(turn: Turn) -> str | None:
    """Return the id of the model of the last reply; None without one."""
    for message in reversed(turn.state.conversation):
        if isinstance(message, ReplyMessage) and message.metadata.model is not None:
            return message.metadata.model
    return None
