"""Provider extras of replies as the adapters store them (D4), drawn by a seed."""

import random
from collections.abc import Sequence
from typing import Any

from yourtool.messages.blocks import ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock

_APIS = {
    "anthropic": "messages",
    "google": "generateContent",
    "ollama": "ollama",
    "openai:gpt-4o": "chat",
    "openai": "responses",
    "openrouter": "chat",
}
_CITED = {
    "type": "web_search_result_location",
    "cited_text": "x",
    "encrypted_index": "eA==",
    "title": "x",
    "url": "https://example.org",
}
_ANTHROPIC_SEARCH = (
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
)
_OPENAI_SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
_SHELL = {
    "type": "local_shell_call",
    "id": "lsh_1",
    "call_id": "call_1",
    "status": "completed",
    "action": {"type": "exec", "command": ["true"], "env": {}},
}
_GOOGLE_CODE = (
    {"executableCode": {"language": "PYTHON", "code": "1"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
)
_BLOCKS: dict[str, tuple[tuple[dict[str, Any], ...], ...]] = {
    "messages": (_ANTHROPIC_SEARCH,),
    "responses": ((_OPENAI_SEARCH,), (_SHELL,)),
    "generateContent": (
        _GOOGLE_CODE,
        ({"text": "", "thoughtSignature": "bGFzdA=="},),
        ({"thought": True},),
    ),
}
"""Blocks of the provider's own that come one after the other, by wire format."""


def leftovers(draw: random.Random, model: str, content: Sequence[ContentBlock]) -> dict[str, Any]:
    """Return possible provider extras of the reply `said` by `model`."""
    provider = model.partition(":")[0]
    api = _APIS.get(model) or _APIS[provider]
    notes = {str(place): _notes(draw, api, block) for place, block in enumerate(content)}
    blocks: list[dict[str, Any]] = []
    for place in range(len(content) + 1):
        if api in _BLOCKS and draw.random() < 0.2:
            blocks += [{"at": place, "block": block} for block in draw.choice(_BLOCKS[api])]
    scope = {"provider": provider, "api": api, "model": model}
    if draw.random() < 0.2:
        del scope["api"]
    return {"scope": scope, "blocks": blocks, "notes": {k: v for k, v in notes.items() if v}}


def _notes(draw: random.Random, api: str, block: ContentBlock) -> list[dict[str, Any]]:
    if draw.random() < 0.3:
        return []
    match api, block:
        case "messages", TextBlock():
            return [_CITED]
        case "responses", TextBlock():
            return [{"from": 0, "to": 1, "phase": "commentary"}, {"annotations": [_CITED]}]
        case "responses", ThinkingBlock(words):
            summary = [{"type": "summary_text", "text": words}] if words else []
            sealed = {"encrypted_content": draw.choice(("c2VhbGVk", None))}
            return [{"item": {"type": "reasoning", "summary": summary, **sealed}}]
        case "generateContent", TextBlock(words):
            end = draw.randint(0, len(words) + 1)
            return [{"from": end // 2, "to": end, "thoughtSignature": "c2ln"}]
        case "generateContent", ToolUseBlock():
            return [{"from": 0, "to": 0, "thoughtSignature": "c2ln"}]
        case "chat", ThinkingBlock():
            kind = draw.choice(("reasoning.text", "reasoning.summary"))
            return [{"entry": {"type": kind, "index": 0, "format": "anthropic-claude-v1"}}]
        case _:
            return []
