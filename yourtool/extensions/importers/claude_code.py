"""Sessions of Claude Code.

Each line has a `uuid` and the `parentUuid` of the one before. A reply is spread over lines with the
same message id, one for each block. Lines of agents that the session started (`isSidechain`) are
not part of the conversation.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from yourtool.extensions.importers.messages import PRICES
from yourtool.extensions.importers.parts import (
    NO_IMAGE,
    build_call,
    build_image,
    build_parts,
    keep_entry,
    keep_unknown,
)
from yourtool.extensions.importers.source import (
    Object,
    as_count,
    as_list,
    as_object,
    as_text,
    as_time,
)
from yourtool.extensions.importers.transcript import (
    UNKNOWN_MODEL,
    Compaction,
    Entry,
    Note,
    Nothing,
    Part,
    Prompt,
    Reply,
    ReplyPart,
    Result,
    Title,
    Transcript,
    What,
)
from yourtool.messages.blocks import ImageBlock, RedactedThinkingBlock, TextBlock, ThinkingBlock
from yourtool.messages.usage import Usage

SYSTEM = "Claude Code"
_QUIET = ("file-history-snapshot", "queue-operation", "progress", "attachment", "mode")
"""Kinds of lines that only that program needs."""
_NO_MODEL = "<synthetic>"


def is_session(objects: Sequence[Object]) -> bool:
    """Whether the lines of a file are a session of Claude Code."""
    return any("sessionId" in each and "parentUuid" in each for each in objects[:50])


def read_session(objects: Sequence[Object], transcript: Transcript) -> None:
    """Read the lines of a session into a transcript."""
    transcript.system, transcript.format = SYSTEM, "jsonl"
    first = next(each for each in objects if "sessionId" in each)
    transcript.source_id = as_text(first.get("sessionId"))
    transcript.directory = as_text(first.get("cwd"))
    at = transcript.created_at = as_time(first.get("timestamp"), transcript.created_at)
    reader, titles = _Reader(transcript), list[Title]()
    for number, raw in enumerate(objects):
        at = as_time(raw.get("timestamp"), at)
        if raw.get("type") in ("summary", "ai-title", "custom-title"):
            text = raw.get("summary") or raw.get("aiTitle") or raw.get("customTitle")
            titles.append(Title(title=as_text(text)))
            continue
        entry_id = as_text(raw.get("uuid")) or f"line {number}"
        parent = as_text(raw.get("parentUuid")) or as_text(raw.get("logicalParentUuid"))
        reader.read(raw, Entry(id=entry_id, parent=parent, at=at, what=Nothing()))
    reader.end_reply()
    if titles and transcript.entries:
        last, title = transcript.entries[-1], titles[-1]
        named = Entry(id=f"title {title.title}", parent=last.id, at=last.at, what=title)
        transcript.entries.append(named)


class _Reader:
    """Reads line by line, because a reply and its results have several."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._reply = ""  # the message id of the reply whose lines are being read
        self._place = 0  # of its entry
        self._newest = Reply(content=())
        """Its last line."""
        self._blocks: list[ReplyPart] = []
        """The blocks of all its lines."""
        self._step: list[str] = []
        """The lines of the present reply and of its results."""
        self._steps: dict[str, list[str]] = {}
        """The lines of the step of a line; what follows the line follows the last one."""

    def read(self, raw: Object, place: Entry) -> None:
        """Add the entries of a line."""
        kind, message = as_text(raw.get("type")), as_object(raw.get("message"))
        place = replace(place, parent=self._steps.get(place.parent, [place.parent])[-1])
        if raw.get("isSidechain") is True:
            self._transcript.losses["a line of an agent that the session started"] += 1
        elif kind == "assistant":
            self._add_reply(raw, message, place)
        elif kind == "user":
            self._add_user(raw, message, place)
        elif kind == "system":
            text = as_text(raw.get("content"))
            self._add(place, Note(kind="system", text=text) if text else Nothing())
        elif kind not in _QUIET:
            self._add(place, keep_entry(self._transcript, raw, kind, "a line"))
        elif raw.get("uuid"):
            self._add(place, Nothing())

    def _add(self, place: Entry, what: What) -> None:
        self._transcript.entries.append(replace(place, what=what))

    def _extend_step(self, place: Entry) -> None:
        """Let what follows any line of the step follow its last one."""
        self._step.append(place.id)
        self._steps[place.id] = self._step

    def end_reply(self) -> None:
        """Give the reply that was read the blocks of all its lines, and the id of the last."""
        if not self._reply:
            return
        entries, lines, last = self._transcript.entries, set(self._step), self._step[-1]
        whole = replace(self._newest, content=tuple(self._blocks))
        entries[self._place] = replace(entries[self._place], id=last, what=whole)
        for at in range(self._place + 1, len(entries)):
            if entries[at].parent in lines:
                entries[at] = replace(entries[at], parent=last)
        self._reply = ""

    def _add_reply(self, raw: Object, message: Object, place: Entry) -> None:
        message_id = as_text(message.get("id"))
        reply = _read_reply(raw, message, self._transcript)
        if not message_id or message_id != self._reply:
            self.end_reply()
            self._place, self._blocks, self._step = len(self._transcript.entries), [], []
            self._add(place, reply)
        self._reply, self._newest = message_id, reply
        self._blocks += reply.content
        self._extend_step(place)

    def _add_user(self, raw: Object, message: Object, place: Entry) -> None:
        self.end_reply()
        entries, found = self._transcript.entries, self._read_user(raw, message) or [Nothing()]
        if self._step and all(isinstance(what, Result) for what in found):
            place = replace(place, parent=entries[-1].id)
            self._extend_step(place)
        else:
            self._step = []
        parent = place.parent
        for at, what in enumerate(found, 1):
            entry_id = place.id if at == len(found) else f"{place.id} {at}"
            entries.append(replace(place, id=entry_id, parent=parent, what=what))
            parent = entry_id

    def _read_user(self, raw: Object, message: Object) -> list[What]:
        """Return the results in a line, and the prompt."""
        found, content = list[What](), message.get("content")
        rest = list[object]()
        for part in as_list(content):
            fields = as_object(part)
            if fields.get("type") == "tool_result":
                found.append(
                    Result(
                        call=as_text(fields.get("tool_use_id")),
                        content=self._read_parts(fields.get("content")),
                        is_error=fields.get("is_error") is True,
                    )
                )
            else:
                rest.append(part)
        prompt = self._read_parts(content if isinstance(content, str) else rest)
        if not prompt:
            return found
        if raw.get("isCompactSummary") is True:
            text = "".join(each.text for each in prompt if isinstance(each, TextBlock))
            return [*found, Compaction(summary=text)]
        if raw.get("isMeta") is True:
            text = "".join(each.text for each in prompt if isinstance(each, TextBlock))
            return [*found, Note(kind="meta", text=text)]
        return [*found, Prompt(content=prompt)]

    def _read_parts(self, content: object) -> tuple[Part, ...]:
        return build_parts(self._transcript, content, self._read_part)

    def _read_part(self, part: dict[str, Any]) -> TextBlock | ImageBlock | None:
        if part.get("type") == "text":
            return TextBlock(as_text(part.get("text")))
        if part.get("type") == "image":
            source = as_object(part.get("source"))
            data, kind = as_text(source.get("data")), as_text(source.get("media_type"))
            return build_image(self._transcript, data, kind) or TextBlock(NO_IMAGE)
        return None


def _read_reply(raw: Object, message: Object, transcript: Transcript) -> Reply:
    blocks = list[ReplyPart]()
    for part in map(as_object, as_list(message.get("content"))):
        match as_text(part.get("type")):
            case "text":
                blocks.append(TextBlock(as_text(part.get("text"))))
            case "thinking":
                signature = as_text(part.get("signature"))
                blocks.append(ThinkingBlock(as_text(part.get("thinking")), signature or None))
            case "redacted_thinking":
                blocks.append(RedactedThinkingBlock(as_text(part.get("data"))))
            case "tool_use":
                call_id, name = as_text(part.get("id")), as_text(part.get("name"))
                blocks.append(build_call(call_id, name, part.get("input")))
            case _:
                blocks.append(keep_unknown(transcript, part))
    name = as_text(message.get("model"))
    text = "".join(each.text for each in blocks if isinstance(each, TextBlock))
    return Reply(
        content=tuple(each for each in blocks if not isinstance(each, TextBlock) or each.text),
        model=UNKNOWN_MODEL if name in ("", _NO_MODEL) else f"anthropic:{name}",
        usage=_read_usage(as_object(message.get("usage"))),
        stop=as_text(message.get("stop_reason")),
        failure=text if raw.get("isApiErrorMessage") is True else "",
    )


def _read_usage(raw: Object) -> Usage | None:
    if not raw:
        return None
    return Usage(
        input_tokens=as_count(raw.get("input_tokens")),
        output_tokens=as_count(raw.get("output_tokens")),
        cached_input_tokens=as_count(raw.get("cache_read_input_tokens")),
        cache_creation_input_tokens=as_count(raw.get("cache_creation_input_tokens")),
        cost_usd=Decimal(0),
        pricing_version=PRICES,
        latency_ms=0,
    )
