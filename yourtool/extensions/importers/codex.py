"""Sessions of Codex.

They are JSON Lines in `~/.codex/sessions/<year>/<month>/<day>/rollout-….jsonl`. Each line has a
time, a type and a payload; the items of the conversation are those of the Responses API. Older
files have the payloads alone. What the program itself added to the conversation (the instructions,
the environment) is shown to the user and not used.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from yourtool.extensions.importers.parts import (
    NO_IMAGE,
    build_call,
    build_image,
    build_model,
    build_parts,
    keep_entry,
    keep_unknown,
)
from yourtool.extensions.importers.source import (
    Object,
    as_list,
    as_object,
    as_text,
    as_time,
)
from yourtool.extensions.importers.transcript import (
    UNKNOWN_MODEL,
    Call,
    Compaction,
    Entry,
    Note,
    Nothing,
    Prompt,
    Reply,
    Result,
    Transcript,
    Unknown,
    What,
)
from yourtool.messages.blocks import ImageBlock, TextBlock, ThinkingBlock

SYSTEM = "Codex"
_OF_PROGRAM = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
)
"""How the messages start that the program wrote in the name of the user."""
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")


def is_session(objects: Sequence[Object]) -> bool:
    """Whether the lines of a file are a session of Codex."""
    first = objects[0]
    return first.get("type") == "session_meta" or (
        "instructions" in first and "id" in first and "timestamp" in first and "type" not in first
    )


def read_session(objects: Sequence[Object], transcript: Transcript) -> None:
    """Read the lines of a session into a transcript."""
    transcript.system, transcript.format = SYSTEM, "rollout"
    header = objects[0]
    meta = as_object(header.get("payload")) or header
    transcript.source_id = as_text(meta.get("id"))
    transcript.directory = as_text(meta.get("cwd"))
    transcript.created_at = as_time(meta.get("timestamp"), transcript.created_at)
    reader = _Reader(transcript, as_text(meta.get("model_provider")) or "openai")
    for number, raw in enumerate(objects[1:], 1):
        reader.read(raw, number)
    reader.end_reply()


class _Reader:
    """Joins the items of each reply."""

    def __init__(self, transcript: Transcript, provider: str) -> None:
        self._transcript = transcript
        self._provider = provider
        self._model = UNKNOWN_MODEL
        self._at = transcript.created_at
        self._last = ""
        self._blocks = list[TextBlock | ThinkingBlock | Call | Unknown]()
        self._reply_at: datetime = transcript.created_at
        self._reply_id = ""

    def read(self, raw: Object, number: int) -> None:
        """Add what a line has."""
        self._at = as_time(raw.get("timestamp"), self._at)
        kind, payload = as_text(raw.get("type")), as_object(raw.get("payload"))
        if kind == "turn_context":
            self._model = build_model(self._provider, as_text(payload.get("model")))
        elif kind == "compacted":
            text = as_text(payload.get("message"))
            self._add(f"line {number}", Compaction(summary=text) if text else Nothing())
        elif kind == "response_item" or (kind and not payload):
            self._read_item(payload or raw, number)
        elif kind not in ("event_msg", "session_meta", "") and "record_type" not in raw:
            unknown = keep_entry(self._transcript, raw, kind, "a line")
            self._append(f"line {number}", self._at, unknown)

    def _read_item(self, item: Object, number: int) -> None:
        kind, item_id = as_text(item.get("type")), f"line {number}"
        if kind == "message" and item.get("role") == "assistant":
            for part in map(as_object, as_list(item.get("content"))):
                self._add_block(item_id, TextBlock(as_text(part.get("text"))))
        elif kind == "message":
            self._add(item_id, self._read_message(item))
        elif kind == "reasoning":
            parts = [*as_list(item.get("summary")), *as_list(item.get("content"))]
            texts = (as_text(as_object(part).get("text")) for part in parts)
            if text := "\n\n".join(filter(None, texts)):
                self._add_block(item_id, ThinkingBlock(text))
            if item.get("encrypted_content"):
                self._transcript.losses["encrypted reasoning that only its provider reads"] += 1
        elif kind in _CALLS:
            self._add_block(item_id, _read_call(item))
        elif kind in _RESULTS:
            self._add(item_id, self._read_result(item))
        elif kind.endswith("_call"):
            self._add_block(item_id, keep_unknown(self._transcript, item))
        else:
            self._append(item_id, self._at, keep_entry(self._transcript, item, kind, "an item"))

    def _add_block(self, item_id: str, block: TextBlock | ThinkingBlock | Call | Unknown) -> None:
        if isinstance(block, Call) or block.text:
            if not self._blocks:
                self._reply_at, self._reply_id = self._at, item_id
            self._blocks.append(block)

    def end_reply(self) -> None:
        """Add the reply whose items were read."""
        if self._blocks:
            reply = Reply(content=tuple(self._blocks), model=self._model)
            self._blocks = []
            self._append(self._reply_id, self._reply_at, reply)

    def _add(self, item_id: str, what: What) -> None:
        self.end_reply()
        self._append(item_id, self._at, what)

    def _append(self, item_id: str, at: datetime, what: What) -> None:
        entry = Entry(id=item_id, parent=self._last, at=at, what=what)
        self._transcript.entries.append(entry)
        self._last = item_id

    def _read_message(self, item: Object) -> What:
        role = as_text(item.get("role"))
        content = build_parts(self._transcript, item.get("content"), self._read_part)
        text = "".join(each.text for each in content if isinstance(each, TextBlock))
        if role != "user" or text.lstrip().startswith(_OF_PROGRAM):
            return Note(kind="system", text=text) if text else Nothing()
        return Prompt(content=content) if content else Nothing()

    def _read_result(self, item: Object) -> Result:
        output = item.get("output")
        fields = as_object(output)
        content = fields.get("content", output)
        if isinstance(content, str) and content.startswith('{"output":'):
            content = as_text(_unpack(content)) or content
        return Result(
            call=as_text(item.get("call_id")),
            content=build_parts(self._transcript, content, self._read_part),
            is_error=fields.get("success") is False,
        )

    def _read_part(self, part: dict[str, Any]) -> TextBlock | ImageBlock | None:
        kind = part.get("type")
        if kind in ("input_text", "output_text", "text"):
            return TextBlock(as_text(part.get("text")))
        if kind == "input_image":
            url = as_text(part.get("image_url"))
            return build_image(self._transcript, url) or TextBlock(NO_IMAGE)
        return None


def _unpack(text: str) -> object:
    """Return the output in the JSON of a result."""
    call = build_call("", "", text)
    return call.input.get("output")


def _read_call(item: Object) -> Call:
    call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
    if item.get("type") == "local_shell_call":
        return build_call(call_id, "local_shell", item.get("action"))
    if item.get("type") == "custom_tool_call":
        arguments = {"input": as_text(item.get("input"))}
        return build_call(call_id, as_text(item.get("name")), arguments)
    return build_call(call_id, as_text(item.get("name")), item.get("arguments"))
