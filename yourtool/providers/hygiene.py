"""The view of a history that a request is made of: valid for every provider, whatever was stored.

Pure and idempotent; the stored history is never touched. Results stand directly after the message
that called, in the order of the calls; a call that nobody answered is answered here, with an error
that says why; results without a call are left out, and so is what no provider takes or what only
another model can read.
"""

from collections.abc import Iterator, Sequence

import msgspec

from yourtool.messages import (
    ContentBlock,
    ImageBlock,
    Message,
    MessageMetadata,
    MessageStatus,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.models import Model
from yourtool.providers.loss import dropped

_WHY = {
    MessageStatus.CANCELLED: "This call was not run: the user stopped the turn.",
    MessageStatus.ERROR: "This call was not run: the reply broke off.",
    MessageStatus.PARTIAL: "This call was not run: the program ended while the reply arrived.",
}
_EMPTY = TextBlock("(an empty message)")
_NO_ANSWER = "This call has no result: it was interrupted before it finished."


def view(messages: Sequence[Message], model: Model) -> tuple[Message, ...]:
    """Return `messages` as `model` may be asked to continue them."""
    results = _results(messages)
    seen: set[str] = set()
    shown: list[Message] = []
    for message in messages:
        if message.role is Role.TOOL:
            continue
        kept = _presentable(message, model, seen)
        if kept is None:
            continue
        shown.append(kept)
        for call in kept.tool_uses:
            answer = results.get(call.id)
            shown.append(_closing(kept, call) if answer is None else answer)
    return tuple(shown)


def _results(messages: Sequence[Message]) -> dict[str, Message]:
    """Return the first result of each call, alone in its message."""
    results: dict[str, Message] = {}
    for message in messages:
        if message.role is not Role.TOOL:
            continue
        for block in message.content:
            if isinstance(block, ToolResultBlock) and block.tool_use_id not in results:
                whole = message.content == (block,)
                results[block.tool_use_id] = (
                    message if whole else msgspec.structs.replace(message, content=(block,))
                )
    return results


def _presentable(message: Message, model: Model, seen: set[str]) -> Message | None:
    """Return the message with what the model can take of it; None if nothing is left."""
    metadata = message.metadata
    raw = metadata.provider_raw
    if raw is not None and (
        metadata.model != model.id or metadata.status is not MessageStatus.COMPLETE
    ):
        metadata, raw = msgspec.structs.replace(metadata, provider_raw=None), None
    if message.role is Role.ASSISTANT:
        # What only the provider can read is placed by position: blank text holds positions too.
        said = _said(message, model, seen)
        content = tuple(said if raw is not None else filter(_is_visible, said))
    else:
        kinds = (TextBlock, ImageBlock) if message.role is Role.USER else (TextBlock,)
        heard = (block for block in message.content if isinstance(block, kinds))
        content = tuple(filter(_is_visible, heard))
        if message.role is Role.USER and not content:
            content = (_EMPTY,)
    if not content and raw is None:
        return None
    if content == message.content and metadata is message.metadata:
        return message
    return msgspec.structs.replace(message, content=content, metadata=metadata)


def _is_visible(block: ContentBlock) -> bool:
    return not isinstance(block, TextBlock) or bool(block.text.strip())


def _said(message: Message, model: Model, seen: set[str]) -> Iterator[ContentBlock]:
    """Yield what the model said, as far as it may be shown to the model that goes on."""
    for block in message.content:
        match block:
            case TextBlock():
                yield block
            case ToolUseBlock(use) if use in seen:
                dropped(block, message, model.provider, "the same call stands earlier already")
            case ToolUseBlock(use):
                seen.add(use)
                yield block
            case ThinkingBlock() | RedactedThinkingBlock():
                if message.metadata.model != model.id:
                    dropped(
                        block, message, model.provider, "only the model that thought can read it"
                    )
                elif message.metadata.status is not MessageStatus.COMPLETE:
                    dropped(block, message, model.provider, "the reply it belongs to is not whole")
                else:
                    yield block
            case _:
                pass


def _closing(message: Message, call: ToolUseBlock) -> Message:
    """Return the answer to a call that has none; a function of the call."""
    why = _WHY.get(message.metadata.status, _NO_ANSWER)
    errors = message.metadata.tool_input_errors or {}
    if (error := errors.get(call.id)) is not None:
        why = f"This call was not run: {error.error}."
    return Message(
        id=call.id.removeprefix("tu_"),
        session_id=message.session_id,
        role=Role.TOOL,
        content=(ToolResultBlock(call.id, (TextBlock(why),), is_error=True),),
        metadata=MessageMetadata(parent_tool_use_id=call.id, origin="hygiene"),
        created_at=message.created_at,
    )
