"""Recorded requests of three APIs as canonical messages, with the provider's own count."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.providers.exchanges import NAMES, exchange, expected
from tests.strategies import Writer
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.messages import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock

_MEDIA = ("base64", "image_url", "inlineData", "inline_data", "fileData", "file_data", "_search")
_SIGNED = ("signature", "Signature", "reasoning", "cache_control", "response_format", "redacted")


class Prompt(NamedTuple):
    """What was asked, and how many tokens the provider made of it."""

    name: str
    provider: str
    messages: list[Message]
    tools: list[ToolDefinition]
    tokens: int


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
    """Yield every recorded prompt that holds nothing but words, tools, calls and results."""
    for name in NAMES:
        recorded, usage = exchange(name), expected(name)["usage"]["total"]
        body = (recorded["request"] or {}).get("body")
        if not body or not usage or not usage["input_tokens"] or recorded["api"] == "responses":
            continue
        raw = json.dumps(body)
        if any(word in raw for word in (*_MEDIA, *_SIGNED)) or recorded["provider"] == "ollama":
            continue
        messages = list(_messages(body))
        provider = {"gemini": "google"}.get(recorded["provider"], recorded["provider"])
        yield Prompt(name, provider, messages, list(_tools(body)), usage["input_tokens"])


def _messages(body: dict[str, Any]) -> Iterator[Message]:
    writer = Writer()
    system = body.get("system") or body.get("systemInstruction")
    if system:
        yield writer.message(Role.SYSTEM, [TextBlock(_text(system))])
    for turn in body.get("messages") or body.get("contents") or ():
        blocks: list[Any] = []
        parts = turn.get("content") or turn.get("parts") or ()
        for part in [{"text": parts}] if isinstance(parts, str) else parts:
            call = part.get("functionCall")
            answer = part.get("functionResponse")
            if call or part.get("type") == "tool_use":
                arguments = (call or {}).get("args") or part.get("input") or {}
                blocks.append(ToolUseBlock("tu_1", (call or part)["name"], arguments))
            elif answer or part.get("type") == "tool_result":
                said = answer["response"] if answer else part.get("content")
                blocks.append(ToolResultBlock("tu_1", (TextBlock(_text(said)),)))
            else:
                blocks.append(TextBlock(_text(part)))
        for call in turn.get("tool_calls") or ():
            function = call["function"]
            arguments = json.loads(function["arguments"] or "{}")
            blocks.append(ToolUseBlock("tu_1", function["name"], arguments))
        yield writer.message(Role.USER, blocks)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part) for part in value)
    inner = value.get("text") or value.get("parts") if isinstance(value, dict) else None
    return _text(inner) if inner else "" if value is None else json.dumps(value)


def _tools(body: dict[str, Any]) -> Iterator[ToolDefinition]:
    for tool in body.get("tools") or ():
        for one in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            schema = one.get("input_schema") or one.get("parameters") or {}
            if "name" in one:
                yield ToolDefinition(
                    name=one["name"],
                    description=one.get("description") or "",
                    input_schema=schema,
                    side_effects=SideEffects.NONE,
                )
