"""A session as Markdown, for people to read."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from yourtool.events import AnyFact, SessionCreated, message_of
from yourtool.messages import (
    Audience,
    ContentBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.store.fulltext import title_of
from yourtool.store.row_codec import Rewrite, rewritten
from yourtool.text import printable

_TICKS = re.compile("`+")
_SPEAKERS = {Role.USER: "You", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}


def to_markdown(facts: Sequence[AnyFact], mask: Rewrite) -> Iterator[bytes]:
    """Yield the lines of a document; nothing in it drives a terminal that shows it."""
    for line in _document([rewritten(fact, mask) for fact in facts]):
        yield f"{printable(line)}\n".encode()


def _document(facts: Sequence[AnyFact]) -> Iterator[str]:
    messages = [message for fact in facts if (message := message_of(fact)) is not None]
    asked = next((each for each in messages if each.role is Role.USER), None)
    yield f"# {(title_of(asked.content) if asked else '') or 'A session'}"
    yield ""
    yield f"- Session: {_code(facts[0].session_id)}"
    for fact in facts:
        if isinstance(fact, SessionCreated):
            yield f"- Directory: {_code(fact.workspace_path)}"
            yield f"- Begun: {_time(fact.timestamp)}"
    for message in messages:
        if message.metadata.audience is not Audience.MODEL:
            yield from _message(message)


def _message(message: Message) -> Iterator[str]:
    if (speaker := _SPEAKERS.get(message.role)) is not None:
        model = f" · {_code(message.metadata.model)}" if message.metadata.model else ""
        yield ""
        yield f"## {speaker}{model} · {_time(message.created_at)}"
    if message.metadata.origin == Origin.USER_SHELL:
        unseen = message.metadata.audience is Audience.USER
        yield ""
        yield "**Command**, which the model did not see" if unseen else "**Command**"
        yield ""
        texts = (block.text for block in message.content if isinstance(block, TextBlock))
        yield from _fenced("".join(texts).rstrip("\n"))
        return
    for block in message.content:
        yield ""
        yield from _block(block)


def _block(block: ContentBlock) -> Iterator[str]:
    match block:
        case TextBlock(text=text):
            yield text
        case ThinkingBlock(text=text):
            yield "**Thinking**"
            yield ""
            yield from (f"> {line}".rstrip() for line in text.splitlines())
        case RedactedThinkingBlock():
            yield "**Thinking**, which the provider keeps encrypted"
        case ToolUseBlock(name=name, input=arguments):
            yield f"**Call** of {_code(name)}"
            yield ""
            yield from _fenced(canonical_json(arguments).decode(), "json")
        case ToolResultBlock(content=content, is_error=is_error):
            yield "**Error**" if is_error else "**Result**"
            for part in content:
                yield ""
                if isinstance(part, TextBlock):
                    yield from _fenced(part.text)
                else:
                    yield from _block(part)
        case _:
            yield f"**Attachment**, {_code(block.media_type)}"


def _fenced(text: str, language: str = "") -> Iterator[str]:
    """Put text between fences that are longer than any in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence + language
    yield text
    yield fence


def _code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
