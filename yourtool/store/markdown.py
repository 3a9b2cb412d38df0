"""Markdown export of a session."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.model_calls import is_silent
from yourtool.events.sessions import SessionCreated
from yourtool.events.tree import select_branch
from yourtool.foundation.text import printable
from yourtool.messages.blocks import (
    ContentBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.message import Message, ReplyMessage, Role
from yourtool.messages.metadata import Audience, Origin
from yourtool.store.markdown_texts import contain, fence, make_inert
from yourtool.store.texts import TextTransform, mask_texts, message_title

_ROLE_NAMES = {Role.USER: "You", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}


def to_markdown(facts: Sequence[AnyFact], mask: TextTransform) -> Iterator[bytes]:
    """Yield the lines of the document about the present branch, without control characters."""
    for line in _document([mask_texts(fact, mask) for fact in select_branch(facts)]):
        yield f"{printable(line)}\n".encode()


def _document(facts: Sequence[AnyFact]) -> Iterator[str]:
    messages = [
        message
        for fact in facts
        if not is_silent(fact) and (message := message_of(fact)) is not None
    ]
    first_prompt = next((each for each in messages if each.role is Role.USER), None)
    title = message_title(first_prompt.content) if first_prompt else ""
    yield make_inert(f"# {title or 'A session'}")
    yield ""
    yield f"- Session: {_inline_code(facts[0].session_id)}"
    for fact in facts:
        if isinstance(fact, SessionCreated):
            yield f"- Directory: {_inline_code(fact.workspace_path)}"
            yield f"- Started: {_format_time(fact.timestamp)}"
    for message in messages:
        if message.metadata.audience is not Audience.MODEL:
            yield from _message(message)


def _message(message: Message) -> Iterator[str]:
    if (speaker := _ROLE_NAMES.get(message.role)) is not None:
        name = message.metadata.model if isinstance(message, ReplyMessage) else None
        model = f" · {_inline_code(name)}" if name else ""
        yield ""
        yield f"## {speaker}{model} · {_format_time(message.created_at)}"
    if message.metadata.origin == Origin.USER_SHELL:
        unseen = message.metadata.audience is Audience.USER
        yield ""
        yield "**Command** (not sent to the model)" if unseen else "**Command**"
        yield ""
        texts = (block.text for block in message.content if isinstance(block, TextBlock))
        yield from fence("".join(texts).rstrip("\n"))
        return
    for block in message.content:
        yield ""
        yield from _block(block)


def _block(block: ContentBlock) -> Iterator[str]:
    match block:
        case TextBlock(text=text):
            yield from contain(text)
        case ThinkingBlock(text=text):
            yield "**Reasoning**"
            yield ""
            untabbed = text.expandtabs(4)  # in a quote, a tab is less wide than it is alone
            yield from (f"> {line}".rstrip() for line in make_inert(untabbed).split("\n"))
        case RedactedThinkingBlock():
            yield "**Reasoning** (encrypted by the provider)"
        case ToolUseBlock(name=name, input=arguments):
            yield f"**Tool call** {_inline_code(name)}"
            yield ""
            yield from fence(canonical_json(arguments).decode(), "json")
        case ToolResultBlock(content=content, is_error=is_error):
            yield "**Error**" if is_error else "**Result**"
            for part in content:
                yield ""
                if isinstance(part, TextBlock):
                    yield from fence(part.text)
                else:
                    yield from _block(part)
        case _:
            yield f"**Attachment** {_inline_code(block.media_type)}"


def _inline_code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _format_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
