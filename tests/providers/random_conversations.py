"""Conversations drawn by a seed: much faster than by strategies, and as odd."""

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from tests.providers.histories import image, reply_metadata
from tests.providers.random_extras import leftovers
from tests.strategies import Writer
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageSource,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Message, ReplyMessage, Role
from yourtool.messages.metadata import (
    MessageStatus,
    ReplyMetadata,
    ResultMetadata,
    ToolInputError,
)

SEALED = ("c2ln", "b3Bh", "c2VhbGVk", "bGFzdA==", "srvtoolu_1", "lsh_1", "ws_1")
"""The parts that only the model of the reply can read."""

_WORDS = ("", " ", "\n", "hello", "日本語", "\u2028", "x" * 70, "a\x00b", "{}", '"', "🙂", "٣")
_NAMES = ("read_file", "f", "9lives", "über", "a.b:c", "x" * 80)
_IMAGES = (
    image(),
    image("no base64"),
    image("https://example.org/a.png", "url"),
    image("missing.png", "file_ref"),
    image("ftp://example.org/a.png", "url"),
)
_FILES = (
    DocumentBlock(ImageSource("base64", "JVBERi0xLjcK"), "application/pdf", 'a "b".pdf'),
    DocumentBlock(ImageSource("base64", "aGk="), "text/plain"),
    DocumentBlock(ImageSource("url", "https://example.org/a.pdf"), "application/pdf"),
    DocumentBlock(ImageSource("file_ref", f"sha256:{'0' * 64}"), "application/pdf"),
    AudioBlock(ImageSource("base64", "UklGRgAAAABXQVZFZm10IA=="), "audio/wav"),
    AudioBlock(ImageSource("base64", "ZkxhQwAAACI="), "audio/flac"),
    AudioBlock(ImageSource("url", "https://example.org/a.wav"), "audio/wav"),
)
_MARK = re.compile(r"#[0-9a-f]{10}")
_STATUSES = (MessageStatus.COMPLETE,) * 4 + tuple(MessageStatus)


def build_legal_history(
    seed: int, models: Sequence[str], writer: Writer | None = None
) -> tuple[Message, ...]:
    """Return a conversation in which every call is answered once, directly after its message."""
    draw, writer = random.Random(seed), writer or Writer()
    messages: list[Message] = []
    for _ in range(draw.randint(1, 4)):
        messages.append(writer.message(Role.USER, _prompt_content(draw)))
        for _ in range(draw.randint(0, 3)):
            reply_content = _reply_content(draw, writer)
            messages.append(
                writer.message(
                    Role.ASSISTANT, reply_content, _metadata(draw, models, reply_content)
                )
            )
            for block in reply_content:
                if isinstance(block, ToolUseBlock):
                    metadata = ResultMetadata(parent_tool_use_id=block.id)
                    messages.append(writer.message(Role.TOOL, [_result(draw, block)], metadata))
    return tuple(messages)


def damage_history(seed: int, history: Sequence[Message]) -> list[Message]:
    """Return what is left of the conversation after at most two accidents, such as a crash."""
    draw, left = random.Random(f"accidents of {seed}"), list(history)
    for accident in draw.choices(ACCIDENTS, k=draw.randint(0, 2)):
        left = accident(draw, left)
    return left


def _cut(draw: random.Random, messages: list[Message]) -> list[Message]:
    return messages[: draw.randint(1, len(messages))]


def _shuffled(draw: random.Random, messages: list[Message]) -> list[Message]:
    return draw.sample(messages, len(messages))


def _exchanged(draw: random.Random, messages: list[Message]) -> list[Message]:
    """Two neighbours have changed places."""
    at = draw.randrange(len(messages))
    return [*messages[:at], *reversed(messages[at : at + 2]), *messages[at + 2 :]]


def _repeated(draw: random.Random, messages: list[Message]) -> list[Message]:
    """Some stand there twice, at the end or where they were."""
    again = draw.choices(messages, k=draw.randint(1, 4))
    if draw.random() < 0.5:
        return messages + again
    return [copy for message in messages for copy in [message] * (1 + again.count(message))]


def _without_some(draw: random.Random, messages: list[Message]) -> list[Message]:
    at = draw.randrange(len(messages))
    return messages[:at] + messages[at + 1 :] or messages


def _unanswered(draw: random.Random, messages: list[Message]) -> list[Message]:
    return [message for message in messages if message.role is not Role.TOOL]


def _answered_again(draw: random.Random, messages: list[Message]) -> list[Message]:
    """A call has a second, different result."""
    answers = [message for message in messages if message.role is Role.TOOL]
    if not answers:
        return messages
    first = draw.choice(answers)
    result = ToolResultBlock(first.metadata.parent_tool_use_id or "", (_text(draw),))
    again = replace(first, id=f"{draw.getrandbits(80):026d}", content=(result,))
    return [*messages, again]


ACCIDENTS = (_cut, _shuffled, _exchanged, _repeated, _without_some, _unanswered, _answered_again)


KINDS_OF_DAMAGE = ("prefix", "duplicates", "reordered", "lost", "whole")


def find_damage_kinds(history: Sequence[Message], left: Sequence[Message]) -> set[str]:
    """Print how the rest differs from the conversation."""
    before, after = ([message.id for message in each] for each in (history, left))
    remaining = dict.fromkeys(after)
    found = (
        after == before[: len(after)] and len(after) < len(before),
        len(remaining) < len(after),
        list(remaining) != [one for one in before if one in remaining],
        len(remaining) < len(before),
        after == before,
    )
    return {kind for kind, is_found in zip(KINDS_OF_DAMAGE, found, strict=True) if is_found}


def wire_ids(messages: Sequence[Message]) -> Iterator[tuple[str, str, str]]:
    """Yield names that providers gave the calls, for a `ToolIdMap`: some twice, and some none."""
    for message in messages:
        if not isinstance(message, ReplyMessage):
            continue
        for call in message.tool_uses:
            draw = random.Random(call.id)
            wire = draw.choice(("", "call_0", f"call_{call.id[-5:]}", "functions.read_file:0"))
            if wire and message.metadata.provider:
                yield call.id, message.metadata.provider, wire


def marks(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the marks of all texts that the next model has to get."""
    open_calls = {call.id for message in messages for call in message.tool_uses}
    for message in messages:
        if message.metadata.status is not MessageStatus.COMPLETE:
            continue
        for block in message.content:
            parts = (block,)
            if isinstance(block, ToolResultBlock):
                parts = block.content if block.tool_use_id in open_calls else ()
                open_calls.discard(block.tool_use_id)
            for part in parts:
                if isinstance(part, TextBlock):
                    yield from _MARK.findall(part.text)


def _text(draw: random.Random) -> TextBlock:
    """A unique text, unless it is blank."""
    words = draw.choice(_WORDS)
    return TextBlock(f"{words}#{draw.getrandbits(40):010x}" if words.strip() else words)


def _prompt_content(draw: random.Random) -> list[ContentBlock]:
    return [
        draw.choice(_IMAGES + _FILES) if draw.random() < 0.3 else _text(draw)
        for _ in range(draw.randint(1, 3))
    ]


def _reply_content(draw: random.Random, writer: Writer) -> list[ContentBlock]:
    kinds = draw.choices(("text", "thought", "sealed", "call"), (4, 2, 1, 3), k=draw.randint(1, 5))
    blocks: list[ContentBlock] = []
    for kind in kinds:
        match kind:
            case "text":
                blocks.append(_text(draw))
            case "thought":
                signature = draw.choice((None, "", SEALED[0]))
                blocks.append(ThinkingBlock(draw.choice(_WORDS), signature))
            case "sealed":
                blocks.append(RedactedThinkingBlock(draw.choice(("", SEALED[1]))))
            case _:
                call = ToolUseBlock(writer.tool_use_id(), draw.choice(_NAMES), _arguments(draw))
                blocks.append(call)
    return blocks


def _arguments(draw: random.Random) -> dict[str, Any]:
    values = (None, True, 0, -1.5, 2**80, "x", [], {}, [1, {"a": None}], {"b": [""]})
    return {draw.choice(_WORDS): draw.choice(values) for _ in range(draw.randint(0, 3))}


def _result(draw: random.Random, call: ToolUseBlock) -> ToolResultBlock:
    parts = tuple(
        draw.choice(_IMAGES) if draw.random() < 0.3 else _text(draw)
        for _ in range(draw.randint(0, 3))
    )
    return ToolResultBlock(call.id, parts, is_error=draw.random() < 0.3)


def _metadata(
    draw: random.Random, models: Sequence[str], reply_content: Sequence[ContentBlock]
) -> ReplyMetadata:
    own = reply_metadata(draw.choice(models))
    calls = [block.id for block in reply_content if isinstance(block, ToolUseBlock)]
    errors = {use: ToolInputError(raw="{", error="no JSON") for use in calls[:1]}
    return ReplyMetadata(
        model=own.model,
        provider=own.provider,
        routing=own.routing,
        usage=own.usage,
        status=draw.choice(_STATUSES),
        stop_reason=own.stop_reason,
        provider_raw=_raw(draw, own.model or "", reply_content),
        tool_input_errors=errors if errors and draw.random() < 0.1 else None,
    )


def _raw(
    draw: random.Random, model: str, reply_content: Sequence[ContentBlock]
) -> dict[str, Any] | None:
    odd = {"scope": {"provider": "x", "model": "y"}, "blocks": 3}
    return draw.choice(
        (None, odd, leftovers(draw, model, reply_content), leftovers(draw, model, reply_content))
    )
