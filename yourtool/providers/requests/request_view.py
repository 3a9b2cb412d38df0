"""Request view of a history.

Idempotent; the stored history does not change. Tool results directly follow the message
with their calls, in the order of the calls. A call without a result gets one with an error and its
reason. Results without a call are dropped, as are blocks that no provider accepts or that only
another model can read. An interrupted reply at the end is dropped, so the model starts its reply
again.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import is_

from msgspec import Struct
from msgspec.structs import replace

from yourtool.foundation.text import storable
from yourtool.messages.blocks import (
    ContentBlock,
    MediaBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Message, PromptMessage, ReplyMessage, ResultMessage, Role
from yourtool.messages.metadata import (
    Audience,
    MessageStatus,
    Origin,
    PromptMetadata,
    ResultMetadata,
)
from yourtool.models import Model
from yourtool.providers.base import Request
from yourtool.providers.dropped_blocks import DropCallback, DropLog
from yourtool.providers.requests.placeholders import EMPTY_MESSAGE
from yourtool.settings.config import ThinkingOnSwap

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


class ViewRules(Struct, frozen=True):
    """What the view of a message depends on, in addition to the history."""

    model: Model
    thinking_on_swap: ThinkingOnSwap = "drop"
    """Whether another model's reasoning is dropped or sent as plain text."""
    api: str | None = None
    """The wire format of the request; reasoning from another format is not readable."""
    omit_opaque_through: str | None = None
    """Opaque blocks are omitted up to the message with this id."""


class RequestView:
    """The request view of a growing history: only new messages are processed.

    If the rules are the same and the history starts with the messages of the last build, the view
    starts with the same objects. Otherwise it is built again, as after a failed build and during
    another one in a thread.
    """

    def __init__(self) -> None:
        self._last: _View | None = None

    def build(
        self, messages: Sequence[Message], rules: ViewRules, losses: DropLog | None = None
    ) -> tuple[Message, ...]:
        """Return the request view of `messages`; `losses` records the dropped blocks.

        Raises:
            InvalidRequestError: a block that is marked critical would be dropped.
        """
        last, self._last = self._last, None
        drop = (losses or DropLog()).for_model(rules.model)
        view = last if last is not None and last.is_start_of(messages, rules) else _View(rules)
        new_turns = view.add(messages[len(view.source) :], drop)
        turns = list(new_turns)
        while turns and _is_abandoned(turns[-1]):
            for block in turns[-1][0].content:
                drop(block, turns[-1][0], "the reply was interrupted; nothing followed it")
            turns.pop()
        if not rules.model.capabilities.supports_parallel_tool_calls:
            turns = [_split_parallel_calls(turn) for turn in turns]
        view.messages += [message for turn in turns for message in turn]
        _add_opening_prompt(view.messages)
        if len(turns) == len(new_turns):
            self._last = view
        return tuple(view.messages)


class _View:
    """The view of the messages in `source`."""

    def __init__(self, rules: ViewRules) -> None:
        self._rules = rules
        self.source: list[Message] = []
        self.messages: list[Message] = []
        self._results: dict[str, Message] = {}
        """The first result of each call, by the id of the call."""
        self._calls: set[str] = set()

    def is_start_of(self, messages: Sequence[Message], rules: ViewRules) -> bool:
        """Return whether what follows the source can be added to this view."""
        if self._rules != rules or len(messages) < len(self.source):
            return False
        if not all(map(is_, self.source, messages)):
            return False
        unanswered = self._calls - self._results.keys()
        return not any(
            block.tool_use_id in unanswered
            for message in messages[len(self.source) :]
            for block in message.content
            if isinstance(block, ToolResultBlock)
        )

    def add(self, new_messages: Sequence[Message], drop: DropCallback) -> list[list[Message]]:
        """Return each new message of the user or the model, followed by the results of its calls.

        The caller adds them to `messages`.
        """
        model, turns = self._rules.model, list[list[Message]]()
        self.source += new_messages
        messages = [_without_provenance(each, self._rules) for each in new_messages]
        self._add_results(messages, drop)
        for message in messages:
            if message.role is Role.TOOL or message.metadata.audience is Audience.USER:
                continue
            if self._rules.thinking_on_swap == "text":
                message = _with_reasoning_as_text(message, model)
            if message.role is Role.SYSTEM and _is_injected(message.metadata.origin):
                message = replace(message, role=Role.USER)
            filtered = _filter_message(message, model, self._calls, drop)
            if filtered is None:
                continue
            answers = (
                self._results.get(call.id) or _synthetic_result(filtered, call)
                for call in filtered.tool_uses
            )
            turns.append([filtered, *answers])
        for call_id, answer in self._results.items():
            if call_id not in self._calls:
                drop(answer.content[0], answer, "its tool call is missing")
        return turns

    def _add_results(self, messages: Sequence[Message], drop: DropCallback) -> None:
        """Add the first result of each call, in a separate message."""
        for message in messages:
            if message.role is not Role.TOOL or message.metadata.audience is Audience.USER:
                continue
            for block in message.content:
                if not isinstance(block, ToolResultBlock):
                    drop(block, message, _MISPLACED)
                elif block.tool_use_id in self._results:
                    drop(block, message, "its call already has a result")
                else:
                    alone = message.content == (block,)
                    answer = message if alone else replace(message, content=(block,))
                    self._results[block.tool_use_id] = answer


def build_request_view(
    messages: Sequence[Message],
    model: Model,
    thinking_on_swap: ThinkingOnSwap = "drop",
    api: str | None = None,
    omit_opaque_through: str | None = None,
    losses: DropLog | None = None,
) -> tuple[Message, ...]:
    """Return the request view of `messages` for `model`; see `RequestView` and `ViewRules`.

    Raises:
        InvalidRequestError: a block that is marked critical would be dropped.
    """
    rules = ViewRules(model, thinking_on_swap, api, omit_opaque_through)
    return RequestView().build(messages, rules, losses)


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


def _without_provenance(message: Message, rules: ViewRules) -> Message:
    """Clear the model of a message whose opaque blocks must not be replayed.

    The message was written in another wire format, or the model rejected its blocks before.
    """
    api, omit_opaque_through = rules.api, rules.omit_opaque_through
    if not isinstance(message, ReplyMessage) or message.metadata.model != rules.model.id:
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
    if not isinstance(message, ReplyMessage) or message.metadata.model != model.id:
        return False
    return message.metadata.provider_raw is not None or any(
        isinstance(block, thoughts) for block in message.content
    )


def _split_parallel_calls(turn: list[Message]) -> list[Message]:
    """Split a message with several calls into one message per call, each with its result.

    Opaque provider data refers to positions in the unsplit message, so it is dropped.
    """
    reply, *answers = turn
    if len(answers) <= 1 or not isinstance(reply, ReplyMessage):
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


def _add_opening_prompt(messages: list[Message]) -> None:
    """Insert a user message before a leading reply, because many models require one."""
    for at, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            opening = PromptMessage(
                id=_OPENING_ID,
                session_id=message.session_id,
                content=(_OPENING,),
                metadata=PromptMetadata(origin=_SYNTHETIC_ORIGIN),
                created_at=message.created_at,
            )
            messages.insert(at, opening)
            break
        if message.role is not Role.SYSTEM:
            break


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
    if not isinstance(message, ReplyMessage) or message.metadata.model == model.id:
        return message
    content = tuple(
        TextBlock(storable(block.text))
        if isinstance(block, ThinkingBlock) and block.text
        else block
        for block in message.content
    )
    return message if content == message.content else replace(message, content=content)


def _filter_message(
    message: Message, model: Model, seen: set[str], drop: DropCallback
) -> Message | None:
    """Return the message with the blocks that the model accepts, or None without any."""
    if isinstance(message, ReplyMessage):
        return _filter_reply(message, model, seen, drop)
    content = tuple(filter(_is_visible, _user_blocks(message, drop)))
    if message.role is Role.USER and not content:
        content = (TextBlock(EMPTY_MESSAGE),)
    if not content:
        return None
    return message if content == message.content else replace(message, content=content)


def _filter_reply(
    message: ReplyMessage, model: Model, seen: set[str], drop: DropCallback
) -> ReplyMessage | None:
    metadata = message.metadata
    is_own = metadata.model == model.id and metadata.status is MessageStatus.COMPLETE
    # Opaque provider data refers to block positions, so blank text must stay with it.
    content = tuple(_reply_blocks(message, model, seen, drop))
    if metadata.provider_raw is not None and not (is_own and len(content) == len(message.content)):
        metadata = replace(metadata, provider_raw=None)
    if metadata.provider_raw is None:
        content = tuple(filter(_is_visible, content))
        if not content:
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


def _reply_blocks(
    message: ReplyMessage, model: Model, seen: set[str], drop: DropCallback
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


def _synthetic_result(message: Message, call: ToolUseBlock) -> ResultMessage:
    """Return an error result for a call without a result; it depends on the call only."""
    why = _INTERRUPTIONS.get(message.metadata.status, _NO_RESULT)
    errors = message.metadata.tool_input_errors if isinstance(message, ReplyMessage) else None
    if (error := (errors or {}).get(call.id)) is not None:
        why = f"This call was not run: {error.error}."
    return ResultMessage(
        id=call.id.removeprefix("tu_"),
        session_id=message.session_id,
        content=(ToolResultBlock(call.id, (TextBlock(why),), is_error=True),),
        metadata=ResultMetadata(parent_tool_use_id=call.id, origin=_SYNTHETIC_ORIGIN),
        created_at=message.created_at,
    )


@lru_cache(maxsize=16)
def _prepend_text(words: str, message: Message) -> Message:
    """Put `words` first; blocks keep their positions if possible, as cache breakpoints use them.

    Cached, so that every request starts with the same object.
    """
    first = message.content[0]
    if isinstance(first, TextBlock) and first.text.strip():
        content = (TextBlock(f"{words}\n\n{first.text}"), *message.content[1:])
    else:
        content = (TextBlock(words), *message.content)
    return replace(message, content=content)
