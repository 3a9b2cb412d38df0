"""Build the request view of a history: messages that every provider accepts.

Pure and idempotent; the stored history does not change. Tool results directly follow the message
with their calls, in the order of the calls. A call without a result gets one with an error and its
reason. Results without a call are dropped, as are blocks that no provider accepts or that only
another model can read. An interrupted reply at the end is dropped, so the model starts its reply
again.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from yourtool.config import ThinkingOnSwap
from yourtool.messages.blocks import (
    ContentBlock,
    MediaBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import Audience, MessageMetadata, MessageStatus, Origin
from yourtool.models import Model
from yourtool.providers.base import Request
from yourtool.providers.dropped_blocks import DropCallback, DropLog
from yourtool.providers.requests.placeholders import EMPTY_MESSAGE
from yourtool.text import storable

_INTERRUPTIONS = {
    MessageStatus.CANCELLED: "This call was not run: the user stopped the turn.",
    MessageStatus.ERROR: "This call was not run: the reply was interrupted.",
    MessageStatus.PARTIAL: "This call was not run: the program ended while the reply arrived.",
}
_SUMMARIES = (Origin.BRANCH_SUMMARY, Origin.COMPACTION_SUMMARY)
_OPENING = TextBlock("(The conversation begins with your reply.)")
_OPENING_ID = "0" * 26
_SYNTHETIC_ORIGIN = "hygiene"
_MISPLACED = "it does not belong in a message of this role"
_NO_RESULT = "This call has no result: it was interrupted before it finished."


def build_request_view(
    messages: Sequence[Message],
    model: Model,
    thinking_on_swap: ThinkingOnSwap = "drop",
    api: str | None = None,
    omit_opaque_through: str | None = None,
    losses: DropLog | None = None,
) -> tuple[Message, ...]:
    """Return the request view of `messages` for `model`.

    `thinking_on_swap`: whether another model's reasoning is dropped or sent as plain text.
    `api`: the wire format of the request; reasoning from another format is not readable.
    `omit_opaque_through`: opaque blocks are omitted up to this message id.
    `losses`: records the dropped blocks.

    Raises:
        InvalidRequestError: a block that is marked critical would be dropped.
    """
    drop = (losses or DropLog()).for_model(model)
    messages = [_without_provenance(each, model, api, omit_opaque_through) for each in messages]
    results = _first_results(messages, drop)
    seen: set[str] = set()
    turns: list[list[Message]] = []
    for message in messages:
        if message.role is Role.TOOL or message.metadata.audience is Audience.USER:
            continue
        if thinking_on_swap == "text":
            message = _with_reasoning_as_text(message, model)
        if message.role is Role.SYSTEM and _is_injected(message.metadata.origin):
            message = replace(message, role=Role.USER)
        filtered = _filter_message(message, model, seen, drop)
        if filtered is None:
            continue
        answers = (
            results.get(call.id) or _synthetic_result(filtered, call) for call in filtered.tool_uses
        )
        turns.append([filtered, *answers])
    for call_id, answer in results.items():
        if call_id not in seen:
            drop(answer.content[0], answer, "its tool call is missing")
    while turns and _is_abandoned(turns[-1]):
        for block in turns[-1][0].content:
            drop(block, turns[-1][0], "the reply was interrupted; nothing followed it")
        turns.pop()
    if not model.capabilities.supports_parallel_tool_calls:
        turns = [_split_parallel_calls(turn) for turn in turns]
    return _with_opening_prompt(tuple(message for turn in turns for message in turn))


def move_system_to_first_prompt(request: Request) -> Request:
    """Return the request with the system prompt at the start of the first user message.

    Unchanged for a model that supports system messages.
    """
    if request.model.capabilities.supports_system_messages_in_list or not request.system:
        return request
    system = [message for message in request.messages if message.role is Role.SYSTEM]
    others = [message for message in request.messages if message.role is not Role.SYSTEM]
    words = "\n\n".join(request.system)
    at = next((at for at, each in enumerate(others) if each.role is Role.USER), None)
    if at is None:
        first = replace(system[0], role=Role.USER, content=(TextBlock(words),))
        return replace(request, messages=(first, *others))
    others[at] = _prepend_text(words, others[at])
    return replace(request, messages=tuple(others))


def _without_provenance(
    message: Message, model: Model, api: str | None, omit_opaque_through: str | None
) -> Message:
    """Clear the model of a message whose opaque blocks must not be replayed.

    The message was written in another wire format, or the model rejected its blocks before.
    """
    if message.metadata.model != model.id:
        return message
    request = message.metadata.request
    is_foreign = api is not None and request is not None and request.api not in (None, api)
    is_rejected = omit_opaque_through is not None and message.id <= omit_opaque_through
    if not (is_foreign or is_rejected):
        return message
    return replace(message, metadata=replace(message.metadata, model=None))


def find_last_opaque_id(messages: Sequence[Message], model: Model) -> str | None:
    """Return the id of the last message with blocks that only `model` can read, if any."""
    return next((each.id for each in reversed(messages) if _is_opaque(each, model)), None)


def _is_opaque(message: Message, model: Model) -> bool:
    thoughts = ThinkingBlock | RedactedThinkingBlock
    return message.metadata.model == model.id and (
        message.metadata.provider_raw is not None
        or any(isinstance(block, thoughts) for block in message.content)
    )


def _split_parallel_calls(turn: list[Message]) -> list[Message]:
    """Split a message with several calls into one message per call, each with its result.

    Opaque provider data refers to positions in the unsplit message, so it is dropped.
    """
    reply, *answers = turn
    if len(answers) <= 1:
        return turn
    metadata = replace(reply.metadata, provider_raw=None)
    calls = [at for at, block in enumerate(reply.content) if isinstance(block, ToolUseBlock)]
    ends = [*(at + 1 for at in calls[:-1]), len(reply.content)]
    parted: list[Message] = []
    start = 0
    for number, (end, answer) in enumerate(zip(ends, answers, strict=True), start=1):
        name = reply.id if number == 1 else f"{reply.id}-{number}"
        content = reply.content[start:end]
        parted += [replace(reply, id=name, content=content, metadata=metadata), answer]
        start = end
    return parted


def _with_opening_prompt(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Add a user message before a leading reply, because many models require one."""
    for at, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            opening = Message(
                id=_OPENING_ID,
                session_id=message.session_id,
                role=Role.USER,
                content=(_OPENING,),
                metadata=MessageMetadata(origin=_SYNTHETIC_ORIGIN),
                created_at=message.created_at,
            )
            return (*messages[:at], opening, *messages[at:])
        if message.role is not Role.SYSTEM:
            break
    return messages


def _is_injected(origin: str | None) -> bool:
    """Whether a message is a summary or an extension's entry, and so not an instruction."""
    return origin in _SUMMARIES or (origin or "").startswith("custom:")


def _is_abandoned(turn: Sequence[Message]) -> bool:
    """Whether a message is an interrupted reply of which no call ran."""
    reply, *answers = turn
    return (
        reply.role is Role.ASSISTANT
        and reply.metadata.status is not MessageStatus.COMPLETE
        and all(answer.metadata.origin == _SYNTHETIC_ORIGIN for answer in answers)
    )


def _with_reasoning_as_text(message: Message, model: Model) -> Message:
    """Return the message with another model's reasoning converted to text."""
    if message.role is not Role.ASSISTANT or message.metadata.model == model.id:
        return message
    content = tuple(
        TextBlock(storable(block.text))
        if isinstance(block, ThinkingBlock) and block.text
        else block
        for block in message.content
    )
    return message if content == message.content else replace(message, content=content)


def _first_results(messages: Sequence[Message], drop: DropCallback) -> dict[str, Message]:
    """Return the first result of each call, in a separate message."""
    results: dict[str, Message] = {}
    for message in messages:
        if message.role is not Role.TOOL or message.metadata.audience is Audience.USER:
            continue
        for block in message.content:
            if not isinstance(block, ToolResultBlock):
                drop(block, message, _MISPLACED)
            elif block.tool_use_id in results:
                drop(block, message, "its call already has a result")
            else:
                alone = message.content == (block,)
                answer = message if alone else replace(message, content=(block,))
                results[block.tool_use_id] = answer
    return results


def _filter_message(
    message: Message, model: Model, seen: set[str], drop: DropCallback
) -> Message | None:
    """Return the message with the blocks that the model accepts, or None without any."""
    metadata = message.metadata
    raw = metadata.provider_raw
    if raw is not None and (
        metadata.model != model.id or metadata.status is not MessageStatus.COMPLETE
    ):
        metadata, raw = replace(metadata, provider_raw=None), None
    if message.role is Role.ASSISTANT:
        # Opaque provider data refers to block positions, so blank text must stay with it.
        blocks = tuple(_assistant_blocks(message, model, seen, drop))
        if len(blocks) != len(message.content):
            metadata, raw = replace(metadata, provider_raw=None), None
        content = blocks if raw is not None else tuple(filter(_is_visible, blocks))
    else:
        content = tuple(filter(_is_visible, _user_blocks(message, drop)))
        if message.role is Role.USER and not content:
            content = (TextBlock(EMPTY_MESSAGE),)
    if not content and raw is None:
        return None
    if content == message.content and metadata is message.metadata:
        return message
    return replace(message, content=content, metadata=metadata)


def _user_blocks(message: Message, drop: DropCallback) -> Iterator[ContentBlock]:
    """Yield the blocks that a user or system message can contain."""
    kinds = TextBlock | MediaBlock if message.role is Role.USER else TextBlock
    for block in message.content:
        if isinstance(block, kinds):
            yield block
        else:
            drop(block, message, _MISPLACED)


def _is_visible(block: ContentBlock) -> bool:
    return not isinstance(block, TextBlock) or bool(block.text.strip())


def _assistant_blocks(
    message: Message, model: Model, seen: set[str], drop: DropCallback
) -> Iterator[ContentBlock]:
    """Yield the blocks of a reply that `model` can receive."""
    for block in message.content:
        match block:
            case TextBlock():
                yield block
            case ToolUseBlock(use) if use in seen:
                drop(block, message, "duplicate tool call")
            case ToolUseBlock(use):
                seen.add(use)
                yield block
            case ThinkingBlock() | RedactedThinkingBlock():
                if message.metadata.model != model.id:
                    drop(block, message, "only the model that produced the reasoning can read it")
                elif message.metadata.status is not MessageStatus.COMPLETE:
                    drop(block, message, "its reply is incomplete")
                else:
                    yield block
            case _:
                drop(block, message, _MISPLACED)


def _synthetic_result(message: Message, call: ToolUseBlock) -> Message:
    """Return an error result for a call without a result; it depends on the call only."""
    why = _INTERRUPTIONS.get(message.metadata.status, _NO_RESULT)
    errors = message.metadata.tool_input_errors or {}
    if (error := errors.get(call.id)) is not None:
        why = f"This call was not run: {error.error}."
    return Message(
        id=call.id.removeprefix("tu_"),
        session_id=message.session_id,
        role=Role.TOOL,
        content=(ToolResultBlock(call.id, (TextBlock(why),), is_error=True),),
        metadata=MessageMetadata(parent_tool_use_id=call.id, origin=_SYNTHETIC_ORIGIN),
        created_at=message.created_at,
    )


def _prepend_text(words: str, message: Message) -> Message:
    """Put `words` first; blocks keep their positions if possible, as cache breakpoints use them."""
    first = message.content[0]
    if isinstance(first, TextBlock) and first.text.strip():
        content = (TextBlock(f"{words}\n\n{first.text}"), *message.content[1:])
    else:
        content = (TextBlock(words), *message.content)
    return replace(message, content=content)
