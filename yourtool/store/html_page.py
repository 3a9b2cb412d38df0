"""HTML export of a session.

Every text of the session is escaped, and a policy in the page forbids the browser to load anything.
Images are part of the file, in formats that cannot contain scripts.
"""

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TypeAlias

from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.model_calls import is_silent
from yourtool.events.sessions import SessionCreated
from yourtool.events.tree import select_branch
from yourtool.foundation.text import printable
from yourtool.messages.blobs import is_blob
from yourtool.messages.blocks import (
    ContentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.message import Message, ReplyMessage, Role
from yourtool.messages.metadata import Audience, Origin
from yourtool.store.texts import TextTransform, mask_texts, message_title, read_shared

_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_ROLE_NAMES = {Role.USER: "You", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}
_STYLE = """
:root { color-scheme: light dark; --line: #8885; --shade: #8881; --accent: #0969da; --bad: #c62828 }
@media (prefers-color-scheme: dark) { :root { --accent: #79b8ff; --bad: #ff8a80 } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1rem; margin: 0 0 .5rem }
h2 small, dl { font-weight: normal; opacity: .75 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem } dd { margin: 0 }
article { border-top: 1px solid var(--line); padding: 1rem 0 }
article.user { border-left: 3px solid var(--accent); padding-left: 1rem }
article:target { background: var(--shade) }
p, pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0 }
pre, details { background: var(--shade); border-radius: 6px; padding: .5rem .75rem }
pre, code { font: .875em/1.5 ui-monospace, monospace }
details { margin: .5rem 0 } details pre { background: none; padding: 0 }
summary { cursor: pointer } summary.error { color: var(--bad) }
img { max-width: 100% }
"""
_Reader: TypeAlias = Callable[[str], bytes]
"""Returns an attachment, or nothing if it must not be shown."""
_POLICY = "default-src 'none'; img-src data:; style-src 'sha256-{}'; base-uri 'none'"


def to_html(facts: Sequence[AnyFact], mask: TextTransform, blobs: Path) -> Iterator[bytes]:
    """Yield the lines of the page about the present branch; blocks on the file system.

    `mask` removes API keys from a string. An image whose bytes are missing becomes its label.
    """
    shown = [mask_texts(fact, mask) for fact in select_branch(facts)]
    for line in _page(shown, lambda reference: read_shared(blobs, reference, mask)):
        yield f"{line}\n".encode()


def _page(facts: Sequence[AnyFact], read: _Reader) -> Iterator[str]:
    messages = [
        message
        for fact in facts
        if not is_silent(fact) and (message := message_of(fact)) is not None
    ]
    first_prompt = next((each for each in messages if each.role is Role.USER), None)
    title = _text((message_title(first_prompt.content) if first_prompt else "") or "A session")
    style_hash = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    policy = _POLICY.format(style_hash)
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{title}</h1>\n<dl>"
    yield f"<dt>Session</dt><dd>{_text(facts[0].session_id)}</dd>"
    for fact in facts:
        if isinstance(fact, SessionCreated):
            yield f"<dt>Directory</dt><dd>{_text(fact.workspace_path)}</dd>"
            yield f"<dt>Started</dt><dd>{_time(fact.timestamp)}</dd>"
    yield "</dl>"
    for message in messages:
        if message.metadata.audience is not Audience.MODEL:
            yield from _message(message, read)
    yield "</body>\n</html>"


def _message(message: Message, read: _Reader) -> Iterator[str]:
    yield f'<article id="{_text(message.id)}" class="{message.role.value}">'
    if (speaker := _ROLE_NAMES.get(message.role)) is not None:
        name = message.metadata.model if isinstance(message, ReplyMessage) else None
        model = f" · {_text(name)}" if name else ""
        yield f"<h2>{speaker} <small>{model} · {_time(message.created_at)}</small></h2>"
    if message.metadata.origin == Origin.USER_SHELL:
        unseen = message.metadata.audience is Audience.USER
        yield "<p>Command (not sent to the model)</p>" if unseen else "<p>Command</p>"
        texts = (block.text for block in message.content if isinstance(block, TextBlock))
        yield _code("".join(texts))
    else:
        for block in message.content:
            yield from _block(block, read)
    yield "</article>"


def _block(block: ContentBlock, read: _Reader) -> Iterator[str]:
    match block:
        case TextBlock(text=text):
            yield f"<p>{_text(text)}</p>"
        case ThinkingBlock(text=text):
            yield f"<details><summary>Reasoning</summary><p>{_text(text)}</p></details>"
        case RedactedThinkingBlock():
            yield "<p>(reasoning, encrypted by the provider)</p>"
        case ToolUseBlock(name=name, input=arguments):
            yield f"<details open><summary>Call of <code>{_text(name)}</code></summary>"
            yield f"{_code(canonical_json(arguments).decode())}</details>"
        case ToolResultBlock(content=content, is_error=is_error):
            label = '<summary class="error">Error' if is_error else "<summary>Result"
            yield f"<details>{label}</summary>"
            for part in content:
                if isinstance(part, TextBlock):
                    yield _code(part.text)
                else:
                    yield from _block(part, read)
            yield "</details>"
        case ImageBlock():
            yield _image(block, read)
        case _:
            yield f"<p>(attachment, {_text(block.media_type)})</p>"


def _image(block: ImageBlock, read: _Reader) -> str:
    data = block.source.data if block.source.kind == "base64" else ""
    if is_blob(block.source):
        data = base64.b64encode(read(block.source.data)).decode("ascii")
    label = _text(block.label)
    if not data or block.media_type not in _IMAGE_TYPES:
        return f"<p>{label}</p>"
    return f'<img alt="{label}" src="data:{block.media_type};base64,{_text(data)}">'


def _code(text: str) -> str:
    return f"<pre>{_text(text.rstrip())}</pre>"


def _text(text: str) -> str:
    """Return a text as HTML, without control characters and direction marks."""
    return escape(printable(text))


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
