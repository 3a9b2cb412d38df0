"""Elision of old tool outputs.

It happens when the context window of a model is full. The stored history is unchanged; requests
contain a placeholder for each elided output. There is no prediction: outputs are elided after a
provider rejected a request for its length, first those before the last prompt, then those before
the last reply, then all. Each rejection shortens the request, so the number of rejections is
bounded.
"""

from collections.abc import Collection, Sequence
from typing import Literal

from msgspec.structs import replace

from yourtool.messages.blocks import TextBlock, ToolResultBlock
from yourtool.messages.memo import MessageMemo
from yourtool.messages.message import Message, Role

MAX_INTACT_CHARACTERS = 400
"""Outputs up to this number of characters are never elided."""
OUTPUT_PLACEHOLDER = (
    "(The output of this call was removed to free context. If you need it, call the tool again and"
    " request less at a time.)"
)


def elide_tool_outputs(
    messages: Sequence[Message], through: str | None, pinned: Collection[str] = ()
) -> list[Message]:
    """Return the messages with tool outputs elided up to the message with the id `through`.

    `pinned`: ids of messages whose outputs stay. Every call still has a result; only its content is
    replaced. A message is always replaced by the same object, so that requests can be built
    incrementally.
    """
    if through is None:
        return list(messages)
    placeholders = _placeholders.values(messages)
    return [
        placeholder if placeholder and each.id <= through and each.id not in pinned else each
        for each, placeholder in zip(messages, placeholders, strict=True)
    ]


def next_elision(
    messages: Sequence[Message], through: str | None, pinned: Collection[str] = ()
) -> str | None:
    """Return the id of the message to elide through next, or None if nothing more can be elided.

    `through`: the current boundary, which left the request too long. `pinned`: as above.
    """
    elidable = [
        each.id
        for each in messages
        if _is_elidable(each) and (through is None or each.id > through) and each.id not in pinned
    ]
    prompts = [each.id for each in messages if each.is_prompt]
    replies = [each.id for each in messages if each.role is Role.ASSISTANT]
    for end in (prompts[-1:], replies[-1:]):
        if end and any(each < end[0] for each in elidable):
            return max(each for each in elidable if each < end[0])
    return elidable[-1] if elidable else None


def elision_notice(model_id: str) -> str:
    """Return the notice that requests to a model omit old tool outputs from now on."""
    return (
        f"The conversation is too long for `{model_id}`: requests to it omit old tool outputs from"
        " now on. The session still stores them for models with a larger context window."
    )


def _is_elidable(message: Message) -> bool:
    result = message.result
    return result is not None and _size(result) > MAX_INTACT_CHARACTERS


def _build_placeholder(message: Message) -> Message | Literal[False]:
    """Return the message with a placeholder for its output; False if it is not elided."""
    result = message.result
    if result is None or not _is_elidable(message):
        return False
    return replace(message, content=(replace(result, content=(TextBlock(OUTPUT_PLACEHOLDER),)),))


def _size(result: ToolResultBlock) -> int:
    """Return the number of characters of a result; any block that is not text makes it elidable."""
    return sum(
        len(block.text) if isinstance(block, TextBlock) else MAX_INTACT_CHARACTERS + 1
        for block in result.content
    )


_placeholders = MessageMemo(_build_placeholder)
