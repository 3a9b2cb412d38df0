"""Rules of Anthropic's Messages API."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.validator.media import IMAGE_TYPES, is_base64
from tests.validator.report import Report, array, is_number, mapping, objects
from tests.validator.structure import check_structure

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_CALLED_NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}\Z")
_TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_MAX_CACHE_BREAKPOINTS = 4
_MIN_THINKING_BUDGET = 1024
_THINKING = ("thinking", "redacted_thinking")


class _Turn(NamedTuple):
    """Consecutive messages of one role, which the API joins."""

    role: str
    blocks: list[tuple[str, dict[str, Any]]]
    path: str

    def of_type(self, *types: str) -> list[tuple[str, dict[str, Any]]]:
        return [(path, block) for path, block in self.blocks if block.get("type") in types]

    def ids(self, kind: str, key: str) -> list[Any]:
        return [block.get(key) for _, block in self.of_type(kind)]


def check_messages(report: Report, body: dict[str, Any], beta: str) -> None:
    """Report what the API refuses in `body`, sent with the header `anthropic-beta: beta`."""
    check_structure(report, "anthropic.messages", body)
    if isinstance(body.get("max_tokens"), int) and body["max_tokens"] < 1:
        report.error("max-tokens", "max_tokens", "must be at least 1")
    _check_tools(report, body)
    _check_thinking(report, body, beta)
    for index, block in enumerate(objects(body.get("system"))):
        if block.get("type") == "text" and not block.get("text"):
            report.error("empty-text", f"system[{index}].text", "text blocks must not be empty")
    for index, stop in enumerate(array(body.get("stop_sequences"))):
        if isinstance(stop, str) and not stop.strip():
            report.error("stop-sequence", f"stop_sequences[{index}]", "only whitespace")
    _check_each_message(report, body)
    _check_turns(report, body)
    _check_cache_breakpoints(report, body)


def _check_tools(report: Report, body: dict[str, Any]) -> None:
    names = list[Any]()
    for index, tool in enumerate(objects(body.get("tools"))):
        path, name = f"tools[{index}]", tool.get("name")
        if tool.get("type", "custom") in (None, "custom"):
            if isinstance(name, str) and not _TOOL_NAME.match(name):
                report.error("tool-name", f"{path}.name", f"{name!r}: not [a-zA-Z0-9_-]{{1,128}}")
            schema = tool.get("input_schema")
            if isinstance(schema, dict) and schema.get("type") != "object":
                report.error("tool-schema", f"{path}.input_schema.type", "must be 'object'")
            for key in mapping(schema).keys() & {"oneOf", "anyOf", "allOf"}:
                report.error("tool-schema", f"{path}.input_schema.{key}", "not at the top level")
        if name is not None and name in names:
            report.error("tool-name-twice", f"{path}.name", f"{name!r} is given twice")
        names.append(name)
    choice = mapping(body.get("tool_choice"))
    if choice and choice.get("type") != "none" and not body.get("tools"):
        report.error("tool-choice", "tool_choice", "only allowed when tools are given")
    if choice.get("type") == "tool" and body.get("tools") and choice.get("name") not in names:
        report.error("tool-choice", "tool_choice.name", f"no tool {choice.get('name')!r}")


def _check_thinking(report: Report, body: dict[str, Any], beta: str) -> None:
    thinking = mapping(body.get("thinking"))
    if thinking.get("type") != "enabled":
        return
    if mapping(body.get("tool_choice")).get("type") in ("any", "tool"):
        report.error("thinking-forced-tool", "tool_choice", "no forced tool while thinking is on")
    budget, limit = thinking.get("budget_tokens"), body.get("max_tokens")
    if isinstance(budget, int):
        path = "thinking.budget_tokens"
        if budget < _MIN_THINKING_BUDGET:
            report.error("thinking-budget", path, f"must be at least {_MIN_THINKING_BUDGET}")
        interleaved = "interleaved-thinking" in beta
        if isinstance(limit, int) and budget >= limit and not interleaved:
            report.error("thinking-budget", path, "must be less than max_tokens")
    if body.get("temperature") not in (None, 1):
        report.error("thinking-temperature", "temperature", "may only be 1 while thinking is on")
    if body.get("top_k") is not None:
        report.error("thinking-top-k", "top_k", "must not be set while thinking is on")
    if is_number(body.get("top_p")) and body["top_p"] < 0.95:
        report.error("thinking-top-p", "top_p", "at least 0.95 while thinking is on")


def _check_each_message(report: Report, body: dict[str, Any]) -> None:
    if body.get("messages") == []:
        report.error("messages-empty", "messages", "at least one message is required")
    messages = objects(body.get("messages"))
    if messages and messages[0].get("role") != "user":
        report.warning("first-role", "messages[0].role", "only newer models take any other role")
    for index, message in enumerate(messages):
        path, content = f"messages[{index}].content", message.get("content")
        role = message.get("role", "")
        is_prefill = index == len(messages) - 1 and role == "assistant"
        if content in ("", []) and not is_prefill:
            report.error("empty-content", path, "only a final assistant message may be empty")
        if isinstance(content, str) and content and not content.strip():
            report.warning("blank-text", path, "refused by some models")
        for place, block in enumerate(objects(content)):
            _check_block(report, block, f"{path}[{place}]", role)


def _check_block(report: Report, block: dict[str, Any], path: str, role: str) -> None:
    match block.get("type"):
        case "text":
            text = block.get("text")
            if text == "":
                report.error("empty-text", f"{path}.text", "text blocks must not be empty")
            elif isinstance(text, str) and not text.strip():
                report.warning("blank-text", f"{path}.text", "refused by some models")
        case "thinking" | "redacted_thinking" as kind:
            if role != "assistant":
                report.error("thinking-role", path, "only in assistant messages")
            sealed = "signature" if kind == "thinking" else "data"
            if not block.get(sealed):
                report.error(f"thinking-{sealed}", f"{path}.{sealed}", "must be what was received")
            if block.get("cache_control"):
                report.error("thinking-cache", path, "no cache_control on thinking blocks")
        case "tool_use":
            _check_tool_use(report, block, path, role)
        case "tool_result":
            if role != "user":
                report.error("tool-result-role", path, "only in user messages")
            for index, part in enumerate(objects(block.get("content"))):
                where = f"{path}.content[{index}]"
                _check_block(report, part, where, role)
                if block.get("is_error") and part.get("type") != "text":
                    report.warning("tool-error-content", where, "with is_error only text is safe")
        case "image" | "document" as kind:
            _check_media(report, kind, mapping(block.get("source")), path, role)
        case _:
            pass


def _check_tool_use(report: Report, block: dict[str, Any], path: str, role: str) -> None:
    if role != "assistant":
        report.error("tool-use-role", path, "only in assistant messages")
    if not isinstance(block.get("input"), dict):
        report.error("tool-use-input", f"{path}.input", "must be an object")
    for key, pattern in (("id", _TOOL_USE_ID), ("name", _CALLED_NAME)):
        value = block.get(key)
        if isinstance(value, str) and not pattern.match(value):
            report.error(f"tool-use-{key}", f"{path}.{key}", f"{value!r}: not {pattern.pattern}")


def _check_media(report: Report, kind: str, source: dict[str, Any], path: str, role: str) -> None:
    if role == "assistant":
        report.error("media-role", path, "not in assistant messages")
    if source.get("type") != "base64":
        return
    if not is_base64(source.get("data")):
        report.error("media-base64", f"{path}.source.data", "no data: prefix, no line breaks")
    accepted = IMAGE_TYPES if kind == "image" else {"application/pdf"}
    if source.get("media_type") not in accepted:
        found = source.get("media_type")
        report.error("media-type", f"{path}.source.media_type", f"{found!r}: {sorted(accepted)}")


def _turns(messages: list[dict[str, Any]]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        role, content = message.get("role", ""), message.get("content")
        if role == "system":
            continue  # a note inside the conversation, outside the alternation of roles
        text = {"type": "text", "text": content}
        parts = [text] if isinstance(content, str) else objects(content)
        blocks = [(f"messages[{index}].content[{at}]", part) for at, part in enumerate(parts)]
        if turns and turns[-1].role == role:
            turns[-1].blocks.extend(blocks)
        else:
            turns.append(_Turn(role, blocks, f"messages[{index}]"))
    return turns


def _check_turns(report: Report, body: dict[str, Any]) -> None:
    turns = _turns(objects(body.get("messages")))
    thinks = mapping(body.get("thinking")).get("type") == "enabled"
    for number, turn in enumerate(turns):
        before = turns[number - 1] if number else None
        after = turns[number + 1] if number + 1 < len(turns) else None
        if turn.role == "assistant":
            _check_calls(report, turn, after)
            if after is None:
                _check_prefill(report, turn, thinks=thinks)
        elif turn.role == "user":
            _check_results(report, turn, before)
    if not thinks or len(turns) < 2 or turns[-1].role != "user":
        return
    blocks = turns[-2].blocks
    if turns[-1].of_type("tool_result") and blocks and blocks[0][1].get("type") not in _THINKING:
        said = "older models refuse a turn with calls that does not begin with its thinking"
        report.warning("thinking-first", turns[-2].path, said)


def _check_calls(report: Report, turn: _Turn, after: _Turn | None) -> None:
    ids = turn.ids("tool_use", "id")
    for number, (path, block) in enumerate(turn.of_type("tool_use")):
        if block.get("id") in ids[:number]:
            report.error("tool-use-id-twice", f"{path}.id", "must be unique in a turn")
    on_server = turn.ids("server_tool_use", "id") + turn.ids("mcp_tool_use", "id")
    for path, block in turn.blocks:
        is_result = str(block.get("type")).endswith("_tool_result")
        if is_result and block.get("tool_use_id") not in on_server:
            report.error("server-result-unmatched", path, "no server_tool_use with this id")
    answered = after.ids("tool_result", "tool_use_id") if after else []
    missing = [each for each in ids if each not in answered]
    if missing:
        report.error("tool-result-missing", turn.path, f"no tool_result follows for {missing}")
    if turn.blocks and turn.blocks[-1][1].get("type") in _THINKING:
        path, _ = turn.blocks[-1]
        report.error("thinking-last", path, "the last block of a turn cannot be thinking")


def _check_prefill(report: Report, turn: _Turn, *, thinks: bool) -> None:
    if not turn.blocks:
        return
    if thinks and not turn.of_type("tool_use"):
        report.warning("prefill-thinking", turn.path, "no prefill while thinking is on")
    path, block = turn.blocks[-1]
    text = block.get("text") or ""
    if block.get("type") == "text" and text.rstrip() != text:
        report.error("prefill-whitespace", path, "final text must not end in whitespace")


def _check_results(report: Report, turn: _Turn, before: _Turn | None) -> None:
    called = before.ids("tool_use", "id") if before else []
    answered: list[Any] = []
    has_other = False
    for path, block in turn.blocks:
        if block.get("type") != "tool_result":
            has_other = True
            continue
        identifier = block.get("tool_use_id")
        if identifier not in called:
            report.error("tool-result-orphan", path, "no such tool_use in the turn before")
        if identifier in answered:
            report.error("tool-result-twice", path, "each tool_use takes one tool_result")
        answered.append(identifier)
        if has_other:
            report.warning("tool-result-order", path, "results come before any other block")


def _check_cache_breakpoints(report: Report, body: dict[str, Any]) -> None:
    breakpoints = list(_cache_breakpoints(body))
    if len(breakpoints) > _MAX_CACHE_BREAKPOINTS:
        path, _ = breakpoints[_MAX_CACHE_BREAKPOINTS]
        report.error("cache-control-count", path, f"at most {_MAX_CACHE_BREAKPOINTS} breakpoints")
    has_short = False
    for path, control in breakpoints:
        if control.get("ttl") == "1h" and has_short:
            report.error("cache-control-order", path, "a 1h breakpoint cannot follow a 5m one")
        has_short = has_short or control.get("ttl", "5m") == "5m"


def _cache_breakpoints(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the breakpoints in the order in which the API reads them."""
    yield from _marked(body.get("tools"), "tools")
    yield from _marked(body.get("system"), "system")
    for index, message in enumerate(objects(body.get("messages"))):
        yield from _marked(message.get("content"), f"messages[{index}].content")


def _marked(blocks: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, block in enumerate(objects(blocks)):
        where = f"{path}[{index}]"
        if isinstance(block.get("cache_control"), dict) and block["cache_control"]:
            yield where, block["cache_control"]
        yield from _marked(block.get("content"), f"{where}.content")
