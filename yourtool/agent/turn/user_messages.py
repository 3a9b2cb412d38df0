"""Prompts and messages to the running turn."""

import asyncio

from yourtool.agent.turn.turn import Turn
from yourtool.events.turns import TurnSteered
from yourtool.foundation.text import storable
from yourtool.ids import new_id
from yourtool.messages.blobs import has_bytes, store_media
from yourtool.messages.blocks import ContentBlock, TextBlock
from yourtool.messages.message import PromptMessage, now
from yourtool.messages.metadata import Origin, PromptMetadata


def build_prompt(
    session_id: str, content: tuple[ContentBlock, ...], origin: Origin | None = None
) -> PromptMessage:
    """Return a message of the user; its id is greater than all recorded ones."""
    return PromptMessage(
        id=new_id(),
        session_id=session_id,
        content=tuple(
            TextBlock(storable(block.text)) if isinstance(block, TextBlock) else block
            for block in content
        ),
        metadata=PromptMetadata(origin=origin),
        created_at=now(),
    )


async def record_steering(turn: Turn) -> None:
    """Record the messages to the running turn, for its next request.

    Each is requested after the one before was recorded, so the front end can change the others
    until then.

    Raises:
        BlobError: an attachment cannot be stored.
    """
    while (content := await turn.env.user.steering()) is not None:
        if has_bytes(content):
            content = await asyncio.to_thread(store_media, turn.env.place.blobs, content)
        message = build_prompt(turn.session_id, content, Origin.STEERING)
        fact = await turn.record(TurnSteered(message=message), parent=turn.parent)
        turn.parent = fact.id
