"""Recorded requests as canonical messages, with the provider's own count of their tokens.

Some counts include tokens that the estimate cannot see, and are omitted: a server's own prompt,
input and output of a vendor's own tools, the output schema, the text that enables reasoning (about
30 tokens in one count), and media that the recorded requests no longer contain.
"""

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from tests.providers.recorded_exchanges import COMPATIBLE, RECORDED, exchange, expected
from tests.strategies import Writer
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.messages.blocks import (
    ContentBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Message, Role

_REASONS = (
    (
        "a picture or a file was replaced by a stub",
        r"base64|image_url|inlineData|fileData|file_id|file_data",
    ),
    (
        "the answer of the maker's own tool is in it",
        r"server_tool|web_|file_search|tool_search|mcp_|container",
    ),
    ("the maker's own tool brings words", r"oogleSearch|ode_?[eE]xecution|advisor_|computer_"),
    (
        "a grammar or a form of answer brings words",
        r"grammar|response_?[fF]ormat|esponseJsonSchema|json_schema",
    ),
    (
        "reasoning is in it, of which Google shows only a signature",
        r"thoughtSignature",
    ),
    ("a summary is made of it", r"context_management|compaction"),
    ("thinking that is switched on brings words", r"\"thinking\": {\"budget|adaptive"),
)
_KINDS = {
    "reasoning": "call",
    "function_call": "call",
    "function_call_output": "result",
    "tool": "result",
}
_HIDDEN = r"grok|minimax|deepseek-v4-flash"
"""Servers that add their own prompt before ours: up to 29,000 tokens of it were counted."""


class Prompt(NamedTuple):
    """What was asked, and how many tokens the provider made of it."""

    name: str
    model: str
    """Canonical id."""
    messages: list[Message]
    tools: list[ToolDefinition]
    tokens: int
    left_out: str
    """Why its count is not only about the prompt; empty if it is."""


def steps() -> Iterator[tuple[Prompt, Prompt]]:
    """Yield consecutive prompts of one conversation."""
    known: dict[tuple[str, int], Prompt] = {}
    for prompt in prompts():
        if chain := exchange(prompt.name).get("chain"):
            known[chain["id"], chain["step"]] = prompt
    for (chain_id, step), prompt in known.items():
        if (before := known.get((chain_id, step - 1))) is not None:
            yield before, prompt


def prompts() -> Iterator[Prompt]:
    """Yield every prompt that was recorded with its count."""
    for name in RECORDED:
        recorded, usage = exchange(name), expected(name)["usage"]["total"]
        body = (recorded["request"] or {}).get("body")
        if not body or not usage or not usage["input_tokens"]:
            continue
        if recorded["origin"] in ("recorded", "recorded-response"):
            tokens = usage["input_tokens"]
            tools = list(_tools(body))
            yield Prompt(
                name, _model(recorded), list(_messages(body)), tools, tokens, _left_out(recorded)
            )


def replies() -> Iterator[tuple[str, str, int]]:
    """Yield model, text and count of every recorded reply that is nothing but whole text."""
    for name in RECORDED:
        recorded, known = exchange(name), expected(name)
        usage = known["usage"]["total"]
        raw = json.dumps(known["usage"]["raw"])
        hidden = re.search(r"(?:reasoning_tokens|thoughtsTokenCount|thinking_tokens)\": [1-9]", raw)
        other = ("thinking", "redacted_thinking", "server_blocks", "tool_calls", "refusal", "error")
        if not known["complete"] or any(known[part] for part in other) or hidden:
            continue
        if recorded["origin"] == "recorded" and usage and usage["output_tokens"] and known["text"]:
            yield f"{recorded['provider']}:{known['model']}", known["text"], usage["output_tokens"]


def _model(recorded: dict[str, Any]) -> str:
    provider = {"gemini": "google"}.get(recorded["provider"], recorded["provider"])
    path = re.search(r"models/([^:]+)", recorded["request"]["path"])
    return f"{provider}:{recorded['request']['body'].get('model') or (path and path[1])}"


def _left_out(recorded: dict[str, Any]) -> str:
    body, model = recorded["request"]["body"], _model(recorded)
    raw = json.dumps(body)
    if recorded["id"] in COMPATIBLE:
        return "the host's own template and tokens, which nobody published"
    if re.search(_HIDDEN, model):
        return "the server puts a prompt of its own before it"
    if model == "ollama:llama3.1":
        return "Ollama leaves out the beginning of this model's published template"
    if recorded["api"] == "chat" and model.startswith("openai:gpt-5") and body.get("tools"):
        return "Chat Completions, where nothing of ours asks these models, adds words for tools"
    return next((reason for reason, found in _REASONS if re.search(found, raw)), "")


def _messages(body: dict[str, Any]) -> Iterator[Message]:
    """Yield what was asked, calls that were made together and their results as one message each."""
    writer = Writer()
    system = body.get("system") or body.get("systemInstruction") or body.get("instructions")
    if system:
        yield writer.message(Role.SYSTEM, [TextBlock(_text(system))])
    turns = body.get("messages") or body.get("contents") or body.get("input") or ()
    turns = [{"content": turns}] if isinstance(turns, str) else turns
    for kind, together in groupby(turns, _kind):
        blocks = [tuple(_blocks(turn)) for turn in together]
        if kind in ("call", "result"):
            blocks = [sum(blocks, ())]
        for each in blocks:
            yield writer.message(Role.USER, each)


def _kind(turn: dict[str, Any]) -> str:
    kind = turn.get("type") or turn.get("role") or ""
    return _KINDS.get(kind, kind)


def _blocks(turn: dict[str, Any]) -> Iterator[ContentBlock]:
    if sealed := re.search(r'"(?:encrypted_content|data)": "(gAAAA[^"]*)"', json.dumps(turn)):
        yield ThinkingBlock("", sealed[1])
    if _kind(turn) == "result":
        said = turn.get("content") or turn.get("output")
        yield ToolResultBlock("tu_1", (TextBlock(_text(said)),))
        return
    parts = turn.get("content") or turn.get("parts") or ()
    for part in [{"text": parts}] if isinstance(parts, str) else parts:
        yield _block(part)
    calls = [each["function"] for each in turn.get("tool_calls") or ()]
    for function in calls + ([turn] if turn.get("type") == "function_call" else []):
        said = function["arguments"] or "{}"
        arguments = json.loads(said) if isinstance(said, str) else said
        yield ToolUseBlock("tu_1", function["name"], arguments)


def _block(part: dict[str, Any]) -> ContentBlock:
    call = part.get("functionCall")
    answer = part.get("functionResponse")
    if call or part.get("type") == "tool_use":
        arguments = (call or {}).get("args") or part.get("input") or {}
        return ToolUseBlock("tu_1", (call or part)["name"], arguments)
    if answer or part.get("type") == "tool_result":
        said = answer["response"] if answer else part.get("content")
        return ToolResultBlock("tu_1", (TextBlock(_text(said)),))
    if part.get("type") == "thinking":
        return ThinkingBlock(part["thinking"])
    if part.get("type") == "redacted_thinking":
        return RedactedThinkingBlock(part["data"])
    return TextBlock(_text(part))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part) for part in value)
    inner = value.get("text") or value.get("parts") if isinstance(value, dict) else None
    return _text(inner) if inner else "" if value is None else json.dumps(value)


def _tools(body: dict[str, Any]) -> Iterator[ToolDefinition]:
    schemas = ("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema")
    for tool in body.get("tools") or ():
        for one in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            schema = next((one[name] for name in schemas if one.get(name)), {})
            if "name" in one:
                yield ToolDefinition(
                    name=one["name"],
                    description=one.get("description") or "",
                    input_schema=_with_lower_case_types(schema),
                    side_effects=SideEffects.NONE,
                )


def _with_lower_case_types(schema: Any) -> Any:
    """Return the JSON Schema of a schema that has Google's own names of types."""
    if isinstance(schema, list):
        return [_with_lower_case_types(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: part.lower()
        if key == "type" and isinstance(part, str)
        else _with_lower_case_types(part)
        for key, part in schema.items()
    }
