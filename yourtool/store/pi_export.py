"""Session export in the format of pi.

The format is version 3 of pi, which OpenClaw reads as well. Entries are written in the order of the
facts, each after the one that it follows, so parents come before children. That program continues
after the last line, so the last entry is on the branch that the session is on. What its format has
no place for (routing, merged copies, overrides) is omitted.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from yourtool.events.branches import BranchLabelled, BranchSelected, BranchSummarised, EntryAdded
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.context import ContextCompacted
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, is_silent
from yourtool.events.sessions import (
    EntryImported,
    SessionCreated,
    SessionModelSelected,
    SessionRenamed,
)
from yourtool.events.tools import ShellRan, ToolCompleted, ToolFailed
from yourtool.messages.blobs import is_blob
from yourtool.messages.blocks import (
    ContentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.message import Message, ReplyMessage
from yourtool.messages.metadata import Audience, MessageStatus, StopReason
from yourtool.settings.tables import is_table
from yourtool.store.texts import TextTransform, describe_unknown, mask_texts, read_shared

SYSTEM = "pi"
OWN_ENTRY = "yourtool.entry"
"""The kind of a custom entry that an export of ours wrote: a text that no request has.

With a `system` it is an entry of another program, of a kind that neither we nor pi have.
"""

_APIS = {
    "anthropic": "anthropic-messages",
    "bedrock": "bedrock-converse-stream",
    "openai": "openai-responses",
    "google": "google-generative-ai",
}
_OTHER_API = "openai-completions"
_STOPS = {
    StopReason.TOOL_USE: "toolUse",
    StopReason.MAX_TOKENS: "length",
    StopReason.CANCELLED: "aborted",
    StopReason.ERROR: "error",
}


def to_pi(facts: Sequence[AnyFact], mask: TextTransform, blobs: Path) -> Iterator[bytes]:
    """Yield the lines of an export with their line feeds; blocks on the file system.

    `mask` removes API keys from a string. An image whose bytes are missing becomes a text.
    """
    writer = _Writer(lambda reference: read_shared(blobs, reference, mask))
    for fact in facts:
        for entry in writer.write(mask_texts(fact, mask)):
            yield canonical_json(entry) + b"\n"
    for entry in writer.end():
        yield canonical_json(entry) + b"\n"


class _Writer:
    """The entries so far."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._parent: str | None = None
        """The entry that the next one follows."""
        self._last: str | None = None  # the last line
        self._parents: dict[str, str | None] = {}
        self._entries: dict[str, str] = {}
        """The entry of each message and of each of our entries."""
        self._wire_ids: dict[str, str] = {}
        """The ids of calls in the file."""
        self._names: dict[str, str] = {}
        self._title = self._at = ""

    def write(self, fact: AnyFact) -> Iterator[Mapping[str, Any]]:
        """Yield the lines of a fact."""
        match fact:
            case SessionCreated():
                yield {
                    "type": "session",
                    "version": 3,
                    "id": fact.session_id,
                    "timestamp": _iso(fact),
                    "cwd": fact.workspace_path,
                }
            case BranchSelected(leaf=leaf):
                self._parent = self._entries.get(leaf)
            case BranchSummarised(summary=summary):
                source = self._parent or "root"
                yield self._add(fact, fact.id, "branch_summary", fromId=source, summary=summary)
            case EntryAdded():
                yield self._add_own(fact)
            case EntryImported():
                yield self._add_unknown(fact)
            case BranchLabelled(target=target, label=label) if target in self._entries:
                yield self._add(fact, "", "label", targetId=self._entries[target], label=label)
            case SessionRenamed(title=title):
                self._title = title
                yield self._add(fact, "", "session_info", name=title)
            case SessionModelSelected(model=str(model)):
                provider, _, name = model.partition(":")
                yield self._add(fact, "", "model_change", provider=provider, modelId=name)
            case ContextCompacted():
                yield self._compact(fact)
            case _ if not is_silent(fact) and (message := message_of(fact)) is not None:
                yield self._add(fact, message.id, *self._write_message(fact, message))
            case _:
                pass

    def end(self) -> Iterator[Mapping[str, Any]]:
        """Yield a line at the place where the conversation continues, unless the last one is."""
        if self._last is not None and self._last != self._parent:
            yield self._build("end", "session_info", {"name": self._title, "timestamp": self._at})

    def _add(
        self, fact: AnyFact, our_id: str, kind: str, fields: Mapping[str, Any] = {}, **more: Any
    ) -> Mapping[str, Any]:
        self._at = _iso(fact)
        entry = self._build(our_id or fact.id, kind, {**fields, **more, "timestamp": self._at})
        if our_id:
            self._entries[our_id] = entry["id"]
        return entry

    def _build(self, source: str, kind: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        entry_id, salt = "", 0
        while not entry_id or entry_id in self._parents:
            entry_id = hashlib.sha256(f"{source} {salt}".encode()).hexdigest()[:8]
            salt += 1
        self._parents[entry_id] = self._parent
        entry = {"type": kind, "id": entry_id, "parentId": self._parent, **fields}
        self._parent = self._last = entry_id
        return entry

    def _add_own(self, fact: EntryAdded) -> Mapping[str, Any]:
        if fact.reach == "session":
            data = {"kind": fact.kind, "text": fact.text}
            return self._add(fact, fact.id, "custom", customType=OWN_ENTRY, data=data)
        content = {"customType": fact.kind, "content": fact.text, "display": True}
        return self._add(fact, fact.id, "custom_message", content)

    def _add_unknown(self, fact: EntryImported) -> Mapping[str, Any]:
        """Return an entry of pi as it was, at its present place; those of others are custom ones.

        Fields that name other entries have the ids of the imported file.
        """
        raw = _read_entry(fact)
        if isinstance(kind := raw.get("type"), str) and kind:
            own = ("type", "id", "parentId", "timestamp")
            return self._add(fact, "", kind, {k: v for k, v in raw.items() if k not in own})
        data = {"system": fact.system, "kind": fact.kind, "text": fact.text}
        return self._add(fact, "", "custom", customType=OWN_ENTRY, data=data)

    def _compact(self, fact: ContextCompacted) -> Mapping[str, Any]:
        """Return the entry of a summary, with the first entry that requests still have.

        If they have none before the summary, that is the summary itself.
        """
        through, first, at = self._entries.get(fact.through), "", self._parent
        while at is not None and at != through:
            first, at = at, self._parents[at]
        entry = self._add(
            fact, "", "compaction", summary=fact.summary, tokensBefore=fact.tokens_before
        )
        return {**entry, "firstKeptEntryId": first or entry["id"]}

    # ── messages ────────────────────────────────────────────────────────────────────────────────

    def _write_message(self, fact: AnyFact, message: Message) -> tuple[str, Mapping[str, Any]]:
        """Return the kind of an entry and its fields."""
        content: Mapping[str, Any]
        match fact:
            case LlmCallCompleted() | LlmCallFailed() if isinstance(message, ReplyMessage):
                content = self._write_reply(fact, message)
            case ToolCompleted() | ToolFailed():
                content = self._write_result(fact, message)
            case ShellRan():
                content = {
                    "role": "bashExecution",
                    "command": fact.command,
                    "output": "".join(_texts(message.content[1:-1])),
                    "cancelled": fact.exit_code is None,
                    "truncated": fact.truncated,
                    "excludeFromContext": message.metadata.audience is Audience.USER,
                }
                if fact.exit_code is not None:
                    content |= {"exitCode": fact.exit_code}
            case _ if message.metadata.audience is Audience.MODEL:
                note = {"customType": "yourtool.note", "content": message.text, "display": False}
                return "custom_message", note
            case _:
                content = {"role": "user", "content": list(self._write_blocks(message.content))}
        content = {**content, **_restore_unknown(message, content)}
        return "message", {"message": {**content, "timestamp": _milliseconds(message)}}

    def _write_reply(
        self, fact: LlmCallCompleted | LlmCallFailed, message: ReplyMessage
    ) -> Mapping[str, Any]:
        provider, _, name = (message.metadata.model or fact.model).partition(":")
        api = _APIS.get(provider, _OTHER_API)
        if isinstance(fact, LlmCallCompleted):
            self._wire_ids |= fact.provider_tool_ids
        self._names |= {use.id: use.name for use in message.tool_uses}
        is_signed = api in (_APIS["anthropic"], _APIS["bedrock"])
        stop = _STOPS.get(message.metadata.stop_reason or StopReason.OTHER, "stop")
        if message.metadata.status is not MessageStatus.COMPLETE:
            is_error = message.metadata.status is MessageStatus.ERROR
            stop = "error" if is_error else "aborted"
        content = {
            "role": "assistant",
            "content": list(self._write_blocks(message.content, is_signed=is_signed)),
            "api": api,
            "provider": provider,
            "model": name,
            "usage": _usage(message),
            "stopReason": stop,
        }
        if isinstance(fact, LlmCallFailed):
            content["errorMessage"] = fact.error_message_redacted
        return content

    def _write_result(self, fact: ToolCompleted | ToolFailed, message: Message) -> dict[str, Any]:
        result = message.result
        return {
            "role": "toolResult",
            "toolCallId": self._wire_ids.get(fact.tool_use_id, fact.tool_use_id),
            "toolName": self._names.get(fact.tool_use_id, fact.tool_name),
            "content": list(self._write_blocks(result.content if result else ())),
            "isError": bool(result and result.is_error),
        }

    def _write_blocks(
        self, blocks: Iterable[ContentBlock], *, is_signed: bool = False
    ) -> Iterator[Mapping[str, Any]]:
        for block in blocks:
            match block:
                case TextBlock(text=text):
                    yield {"type": "text", "text": text}
                case ImageBlock():
                    yield self._write_image(block)
                case ThinkingBlock(text=text, signature=signature):
                    signed = {"thinkingSignature": signature} if signature and is_signed else {}
                    yield {"type": "thinking", "thinking": text, **signed}
                case RedactedThinkingBlock(data=data) if is_signed:
                    yield {
                        "type": "thinking",
                        "thinking": "",
                        "redacted": True,
                        "thinkingSignature": data,
                    }
                case ToolUseBlock():
                    yield {
                        "type": "toolCall",
                        "id": self._wire_ids.get(block.id, block.id),
                        "name": block.name,
                        "arguments": block.input,
                    }
                case _:
                    yield {"type": "text", "text": f"[{type(block).__name__}]"}

    def _write_image(self, block: ImageBlock) -> Mapping[str, Any]:
        data = block.source.data if block.source.kind == "base64" else ""
        if is_blob(block.source):
            data = base64.b64encode(self._read(block.source.data)).decode()
        if not data:
            address = f" {block.source.data}" if block.source.kind == "url" else ""
            return {"type": "text", "text": f"{block.label}{address}"}
        return {"type": "image", "data": data, "mimeType": block.media_type}


def _read_entry(fact: EntryImported) -> Mapping[str, Any]:
    """Return an entry of pi; an empty one if it is no JSON, because a secret was replaced."""
    if fact.system != SYSTEM:
        return {}
    try:
        value = msgspec.json.decode(fact.text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return value if is_table(value) else {}


def _restore_unknown(message: Message, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content with the blocks of pi that our format does not have, in their places."""
    source = message.metadata.import_source
    if source is None or source.system != SYSTEM or not source.extra:
        return {}
    unknown = list[Any](source.extra.get("unknown_blocks") or ())
    blocks = list[Any](content.get("content") or ())
    for at, block in enumerate(blocks):
        if unknown and block.get("text") == describe_unknown(unknown[0]):
            blocks[at] = unknown.pop(0)
    return {"content": blocks}


def _texts(blocks: Iterable[ContentBlock]) -> Iterator[str]:
    return (block.text for block in blocks if isinstance(block, TextBlock))


def _usage(message: ReplyMessage) -> Mapping[str, Any]:
    """Return the usage with all five costs, which the readers of the format add."""
    usage, extra = message.metadata.usage, message.metadata.usage_extra
    reported = extra.reported_cost_usd if extra else None
    cost = float(reported or (usage.cost_usd if usage else 0))
    counts = (
        (0, 0, 0, 0)
        if usage is None
        else (
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.cache_creation_input_tokens,
        )
    )
    names = ("input", "output", "cacheRead", "cacheWrite")
    return {
        **dict(zip(names, counts, strict=True)),
        "totalTokens": sum(counts),
        "cost": {**dict.fromkeys(names, 0), "total": cost},
    }


def _iso(fact: AnyFact) -> str:
    return fact.timestamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(message: Message) -> int:
    return int(message.created_at.timestamp() * 1000)
