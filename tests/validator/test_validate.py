import copy
from typing import Any

import pytest

from tests.validator.validate import errors, validate

PNG = "iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
FUNCTION = {"name": "read_file", "description": "Read a file.", "parameters": SCHEMA}
CALL = {"name": "read_file", "arguments": '{"path": "a"}'}
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("anthropic", "messages"): {
        "model": "claude-sonnet-4-5",
        "max_tokens": 4096,
        "stream": True,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "tools": [{"name": "read_file", "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": "read a"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "c2ln"},
                    {"type": "tool_use", "id": "tu_1", "name": "read_file", "input": {}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tu_1"}]},
        ],
    },
    ("openai", "chat"): {
        "model": "gpt-5",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": FUNCTION}],
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "read a"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": CALL}],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "b"},
        ],
    },
    ("openai", "responses"): {
        "model": "gpt-5",
        "store": False,
        "tools": [{"type": "function", "strict": False, **FUNCTION}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "read a"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vh"},
            {"type": "function_call", "call_id": "call_1", **CALL},
            {"type": "function_call_output", "call_id": "call_1", "output": "b"},
        ],
    },
    ("gemini", "generateContent"): {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [{"functionDeclarations": [FUNCTION]}],
        "contents": [
            {"role": "user", "parts": [{"text": "read a"}]},
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "read_file", "args": {"path": "a"}},
                        "thoughtSignature": "c2ln",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "b"}}}],
            },
        ],
    },
    ("ollama", "chat"): {
        "model": "qwen3",
        "options": {"num_ctx": 8192},
        "tools": [{"type": "function", "function": FUNCTION}],
        "messages": [
            {"role": "user", "content": "read a", "images": [PNG]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "a"}}}],
            },
            {"role": "tool", "content": "b", "tool_name": "read_file"},
        ],
    },
}
BODIES["openrouter", "chat"] = BODIES["openai-compat", "chat"] = BODIES["openai", "chat"]
BODIES["openai-compat", "responses"] = BODIES["openai", "responses"]
MISSING = object()
ANTHROPIC, CHAT, RESPONSES, GEMINI, OLLAMA = list(BODIES)[:5]
VIOLATIONS: list[tuple[tuple[str, str], str, Any, str]] = [
    (ANTHROPIC, "max_tokens", MISSING, "schema-missing"),
    (ANTHROPIC, "max_tokens", "many", "schema-type"),
    (ANTHROPIC, "max_tokens", 0, "max-tokens"),
    (ANTHROPIC, "colour", 1, "schema-unknown-key"),
    (ANTHROPIC, "messages", [], "messages-empty"),
    (ANTHROPIC, "thinking budget_tokens", 100, "thinking-budget"),
    (ANTHROPIC, "thinking budget_tokens", 4096, "thinking-budget"),
    (ANTHROPIC, "temperature", 0.5, "thinking-temperature"),
    (ANTHROPIC, "top_k", 5, "thinking-top-k"),
    (ANTHROPIC, "top_p", 0.5, "thinking-top-p"),
    (ANTHROPIC, "tool_choice", {"type": "any"}, "thinking-forced-tool"),
    (ANTHROPIC, "tool_choice", {"type": "tool", "name": "x"}, "tool-choice"),
    (ANTHROPIC, "stop_sequences", [" "], "stop-sequence"),
    (ANTHROPIC, "tools 0 name", "read file", "tool-name"),
    (ANTHROPIC, "tools 0 input_schema type", "string", "tool-schema"),
    (ANTHROPIC, "tools 0 input_schema anyOf", [], "tool-schema"),
    (ANTHROPIC, "system 0 text", "", "empty-text"),
    (ANTHROPIC, "messages 0 content", "", "empty-content"),
    (ANTHROPIC, "messages 0 content", [{"type": "text", "text": ""}], "empty-text"),
    (ANTHROPIC, "messages 1 content 0 signature", "", "thinking-signature"),
    (ANTHROPIC, "messages 1 content 0 cache_control", {"type": "ephemeral"}, "thinking-cache"),
    (ANTHROPIC, "messages 1 content 1 id", "tu:1", "tool-use-id"),
    (ANTHROPIC, "messages 1 content 1 input", "{}", "tool-use-input"),
    (ANTHROPIC, "messages 1 content 1", MISSING, "thinking-last"),
    (ANTHROPIC, "messages 1 content 1", MISSING, "tool-result-orphan"),
    (ANTHROPIC, "messages 2", MISSING, "tool-result-missing"),
    (ANTHROPIC, "messages 2 role", "assistant", "tool-result-role"),
    (CHAT, "messages", MISSING, "schema-missing"),
    (CHAT, "messages", [], "messages-empty"),
    (CHAT, "max_tokens", 5, "reasoner-max-tokens"),
    (CHAT, "temperature", 0.1, "reasoner-temperature"),
    (CHAT, "stop", ["x"], "reasoner-stop"),
    (CHAT, "stream", False, "stream-options"),
    (CHAT, "tools", [], "tools-empty"),
    (CHAT, "tools 0", FUNCTION, "schema-unknown-key"),
    (CHAT, "tools 0 function name", "read.file", "tool-name"),
    (CHAT, "tools 0 function strict", True, "strict-additional-properties"),
    (CHAT, "response_format", {"type": "json_object"}, "json-word"),
    (CHAT, "messages 1 content", [{"type": "image_url", "image_url": {"url": "x"}}], "image-url"),
    (CHAT, "messages 1 content", None, "content-missing"),
    (CHAT, "messages 2 tool_calls", [], "tool-calls-empty"),
    (CHAT, "messages 2 tool_calls", MISSING, "assistant-empty"),
    (CHAT, "messages 2 tool_calls", MISSING, "tool-orphan"),
    (CHAT, "messages 2 tool_calls 0 id", "", "tool-call-id"),
    (CHAT, "messages 2 tool_calls 0 function arguments", {}, "arguments-string"),
    (CHAT, "messages 3", MISSING, "tool-answer-missing"),
    (RESPONSES, "input", MISSING, "schema-missing"),
    (RESPONSES, "max_output_tokens", 5, "max-output-tokens"),
    (RESPONSES, "tools 0 name", "", "tool-name"),
    (RESPONSES, "tools 0 strict", True, "strict-additional-properties"),
    (RESPONSES, "input 0 content 0 type", "output_text", "part-type"),
    (RESPONSES, "input 1 id", "x", "item-id"),
    (RESPONSES, "input 1 encrypted_content", MISSING, "reasoning-encrypted"),
    (RESPONSES, "input 2", MISSING, "reasoning-alone"),
    (RESPONSES, "input 2", MISSING, "output-orphan"),
    (RESPONSES, "input 2 arguments", {}, "arguments-string"),
    (RESPONSES, "input 2 call_id", "c" * 65, "call-id"),
    (RESPONSES, "input 3", MISSING, "output-missing"),
    (RESPONSES, "input 3 output", None, "output-type"),
    (GEMINI, "contents", [], "contents"),
    (GEMINI, "colour", 1, "schema-unknown-key"),
    (GEMINI, "generationConfig", {"temperature": 3}, "temperature"),
    (GEMINI, "generationConfig", {"responseSchema": {}}, "response-schema"),
    (GEMINI, "tools 0 functionDeclarations 0 name", "1", "tool-name"),
    (GEMINI, "tools 0 functionDeclarations 0 parameters const", 1, "tool-schema-key"),
    (GEMINI, "tools 0 functionDeclarations 0 parameters type", ["object"], "tool-schema-type"),
    (GEMINI, "contents 0 parts 0", {"inlineData": {"data": "?"}}, "media-base64"),
    (GEMINI, "contents 0 parts 0 thought", "yes", "schema-type"),
    (GEMINI, "contents 0", MISSING, "function-call-first"),
    (GEMINI, "contents 1", MISSING, "function-response-orphan"),
    (GEMINI, "contents 1 role", "assistant", "role"),
    (GEMINI, "contents 1 parts 0 text", "t", "part-oneof"),
    (GEMINI, "contents 1 parts 0 thoughtSignature", MISSING, "thought-signature"),
    (GEMINI, "contents 2", MISSING, "function-response-missing"),
    (GEMINI, "contents 2 parts 0 functionResponse response", "b", "function-response"),
    (GEMINI, "contents 2 parts", [{"text": "b"}], "function-response-count"),
    (OLLAMA, "model", MISSING, "schema-missing"),
    (OLLAMA, "think", "much", "think"),
    (OLLAMA, "format", 5, "format"),
    (OLLAMA, "tools 0 function name", "", "tool-shape"),
    (OLLAMA, "messages 0 content", None, "content-string"),
    (OLLAMA, "messages 0 images", ["data:image/png;base64,AA=="], "image-base64"),
    (OLLAMA, "messages 1 role", "model", "role"),
    (OLLAMA, "messages 1 tool_calls 0 function arguments", "{}", "arguments-object"),
]


def changed(body: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """Return a copy of `body` with another value at `place`: keys and indices between spaces."""
    whole: Any = copy.deepcopy(body)
    *way, last = [int(step) if step.isdigit() else step for step in place.split()]
    inside = whole
    for step in way:
        inside = inside[step]
    if value is MISSING:
        del inside[last]
    else:
        inside[last] = value
    return whole


@pytest.mark.parametrize("api", BODIES, ids="/".join)
def test_a_correct_body_has_no_problem(api):
    assert validate(*api, BODIES[api], model="gemini-3-pro") == []


@pytest.mark.parametrize(("api", "place", "value", "rule"), VIOLATIONS)
def test_each_violation_is_reported_by_its_rule(api, place, value, rule):
    body = changed(BODIES[api], place, value)
    assert rule in [problem.rule for problem in errors(validate(*api, body, model="gemini-3-pro"))]


def test_five_cache_breakpoints_are_too_many():
    blocks = [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}] * 5
    body = {**BODIES[ANTHROPIC], "system": blocks}
    assert [each.path for each in errors(validate(*ANTHROPIC, body))] == ["system[4]"]


def test_interleaved_thinking_may_use_more_than_one_reply():
    body = changed(BODIES[ANTHROPIC], "thinking budget_tokens", 9000)
    assert errors(validate(*ANTHROPIC, body, beta="interleaved-thinking-2025-05-14")) == []


def test_rules_of_openai_only_are_warnings_for_compatible_servers():
    body = changed(BODIES[CHAT], "tools", [])
    [problem] = validate("openai-compat", "chat", body)
    assert (problem.rule, problem.severity) == ("tools-empty", "warning")


def test_encrypted_details_of_openrouter_belong_to_the_assistant():
    details = [{"type": "reasoning.text", "text": "t"}]
    body = changed(BODIES[CHAT], "messages 1 reasoning_details", details)
    [problem] = errors(validate("openrouter", "chat", body))
    assert problem.path == "messages[1].reasoning_details[0]"


@pytest.mark.parametrize("api", BODIES, ids="/".join)
@pytest.mark.parametrize("junk", [None, True, -1, [], {}, "", [["x"]], {"a": {"b": []}}], ids=str)
def test_an_invalid_value_anywhere_is_a_report_and_never_an_exception(api, junk):
    def places(value: Any, prefix: str = "") -> Any:
        steps = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in steps:
            yield f"{prefix} {key}"
            if isinstance(part, dict | list):
                yield from places(part, f"{prefix} {key}")

    for place in places(BODIES[api]):
        validate(*api, changed(BODIES[api], place, junk), model="gemini-3-pro")
    validate(*api, junk)
