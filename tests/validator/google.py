"""Rules of Gemini's `generateContent`."""

import re
from typing import Any, NamedTuple

from tests.validator.media import is_base64
from tests.validator.report import Report, is_number, mapping, objects
from tests.validator.structure import check_structure
from tests.validator.tool_schemas import check_gemini_schema

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}\Z")
_KEYS = frozenset(
    {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings",
     "cachedContent", "labels", "model", "serviceTier", "store", "modelArmorConfig"}
)  # fmt: skip
_DATA = frozenset(
    {"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
     "codeExecutionResult", "toolCall", "toolResponse"}
)  # fmt: skip
_OPAQUE = ("args", "response", "parametersJsonSchema", "responseJsonSchema", "labels")
_SIGNS_CALLS = re.compile(r"gemini-[3-9]")
"""Models that refuse a function call of the current turn without its signature."""
_TO_BASE64 = str.maketrans("-_", "+/")


class _Turn(NamedTuple):
    """Consecutive contents of one role, which the API joins."""

    role: str
    parts: list[tuple[str, dict[str, Any]]]
    path: str

    def values(self, key: str) -> list[dict[str, Any]]:
        return [part[key] for _, part in self.parts if isinstance(part.get(key), dict)]


def check_generate_content(report: Report, body: dict[str, Any], model: str) -> None:
    """Report what the API refuses; `model` is in the URL, not in the body."""
    body = _camel(body)
    for key in sorted(body.keys() - _KEYS):
        report.error("schema-unknown-key", key, "the API does not know this key")
    contents = body.get("contents")
    contents = [contents] if isinstance(contents, dict) else contents
    if not isinstance(contents, list) or not contents:
        report.error("contents", "contents", "a non-empty array is required")
        contents = []
    for index, content in enumerate(contents):
        check_structure(report, "gemini.Content", content, f"contents[{index}]")
    _check_system(report, body.get("systemInstruction"))
    _check_tools(report, body)
    _check_options(report, body)
    for index, content in enumerate(objects(contents)):
        _check_content(report, content, f"contents[{index}]", is_alone=len(contents) == 1)
    _check_turns(report, _turns(objects(contents)), model)


def _camel(value: Any) -> Any:
    """Return `value` with camelCase keys; the API takes snake_case as well."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, item in value.items():
        name = re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), key)
        if name in _OPAQUE:
            result[name] = item
        elif name == "properties" and isinstance(item, dict):
            result[name] = {each: _camel(schema) for each, schema in item.items()}
        else:
            result[name] = _camel(item)
    return result


def _check_system(report: Report, system: Any) -> None:
    if isinstance(system, dict):
        if isinstance(system.get("parts"), dict):
            system = {**system, "parts": [system["parts"]]}  # the API accepts a single part
        check_structure(report, "gemini.Content", system, "systemInstruction")
        for index, part in enumerate(objects(system.get("parts"))):
            if "text" not in part:
                report.error("system-part", f"systemInstruction.parts[{index}]", "only text")
    elif system is not None and not isinstance(system, str):
        report.error("schema-type", "systemInstruction", "expected a content object")


def _check_tools(report: Report, body: dict[str, Any]) -> None:
    for index, tool in enumerate(objects(body.get("tools"))):
        check_structure(report, "gemini.Tool", tool, f"tools[{index}]")
        names = list[Any]()
        for place, function in enumerate(objects(tool.get("functionDeclarations"))):
            path = f"tools[{index}].functionDeclarations[{place}]"
            name, parameters = function.get("name"), function.get("parameters")
            if isinstance(name, str) and not _NAME.match(name):
                report.error("tool-name", f"{path}.name", f"{name!r}: not {_NAME.pattern}")
            if name in names:
                report.error("tool-name-twice", f"{path}.name", "declared twice")
            names.append(name)
            if parameters is not None and function.get("parametersJsonSchema") is not None:
                report.error("tool-schema", path, "parameters and parametersJsonSchema")
            check_gemini_schema(report, parameters, f"{path}.parameters")


def _check_options(report: Report, body: dict[str, Any]) -> None:
    for key, root in (("toolConfig", "ToolConfig"), ("generationConfig", "GenerationConfig")):
        if isinstance(body.get(key), dict):
            check_structure(report, f"gemini.{root}", body[key], key)
    for index, setting in enumerate(objects(body.get("safetySettings"))):
        check_structure(report, "gemini.SafetySetting", setting, f"safetySettings[{index}]")
    config = mapping(body.get("generationConfig"))
    temperature, kind = config.get("temperature"), config.get("responseMimeType")
    if temperature is not None and is_number(temperature) and not 0 <= temperature <= 2:
        report.error("temperature", "generationConfig.temperature", "from 0 to 2")
    if config.get("responseSchema") is not None and kind in (None, "text/plain"):
        path = "generationConfig.responseMimeType"
        report.error("response-schema", path, "a response schema needs application/json")


def _check_content(report: Report, content: dict[str, Any], path: str, *, is_alone: bool) -> None:
    role, parts = content.get("role"), objects(content.get("parts"))
    if role not in ("user", "model", "function", None):
        report.error("role", f"{path}.role", f"{role!r}: a valid role is user or model")
    if role is None and not is_alone:
        report.warning("role", f"{path}.role", "left out: taken as user")
    if not parts:
        report.error("parts-empty", f"{path}.parts", "at least one part is required")
    for index, part in enumerate(parts):
        _check_part(report, part, f"{path}.parts[{index}]", role)


def _check_part(report: Report, part: dict[str, Any], path: str, role: str | None) -> None:
    data = sorted(part.keys() & _DATA)
    if len(data) > 1:
        report.error("part-oneof", path, f"one kind of data a part, not {data}")
    if not data and not part.get("thoughtSignature") and not part.get("videoMetadata"):
        report.error("part-empty", path, "no data set")
    call, response = part.get("functionCall"), part.get("functionResponse")
    if call is not None and role == "user":
        report.error("function-call-role", path, "function calls belong to the model")
    if response is not None and role == "model":
        report.error("function-response-role", path, "function responses belong to the user")
    arguments = mapping(call).get("args")
    if arguments is not None and not isinstance(arguments, dict):
        report.error("function-args", f"{path}.functionCall.args", "must be an object, not text")
    if isinstance(response, dict):
        where = f"{path}.functionResponse"
        if not isinstance(response.get("response"), dict):
            report.error("function-response", f"{where}.response", "must be an object")
        if not response.get("name"):
            report.error("function-response", f"{where}.name", "required")
    blob = part.get("inlineData")
    if isinstance(blob, dict) and not is_base64(str(blob.get("data") or "").translate(_TO_BASE64)):
        report.error("media-base64", f"{path}.inlineData.data", "not base64 (no data: prefix)")


def _turns(contents: list[dict[str, Any]]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, content in enumerate(contents):
        role = "model" if content.get("role") == "model" else "user"
        path = f"contents[{index}]"
        parts = objects(content.get("parts"))
        placed = [(f"{path}.parts[{place}]", part) for place, part in enumerate(parts)]
        if turns and turns[-1].role == role:
            turns[-1].parts.extend(placed)
        else:
            turns.append(_Turn(role, placed, path))
    return turns


def _check_turns(report: Report, turns: list[_Turn], model: str) -> None:
    for number, turn in enumerate(turns):
        before = turns[number - 1] if number else None
        calls, responses = turn.values("functionCall"), turn.values("functionResponse")
        if turn.role == "user":
            if responses and not (before and before.values("functionCall")):
                report.error("function-response-orphan", turn.path, "no function call turn before")
            continue
        if calls and before is None:
            report.error("function-call-first", turn.path, "a function call follows a user turn")
        if calls and number + 1 < len(turns):
            _check_responses(report, calls, turns[number + 1])
        if calls and _SIGNS_CALLS.search(model) and _is_running(turns[number + 1 :]):
            _check_signatures(report, turn)
    if turns and turns[-1].role == "model" and turns[-1].values("functionCall"):
        said = "the conversation ends in a function call without its response"
        report.error("function-response-missing", turns[-1].path, said)


def _check_responses(report: Report, calls: list[dict[str, Any]], after: _Turn) -> None:
    responses = after.values("functionResponse")
    if len(responses) != len(calls):
        counts = f"{len(calls)} function calls, {len(responses)} function responses"
        report.error("function-response-count", after.path, counts)
        return
    called, answered = (
        sorted(str(each.get("name")) for each in some) for some in (calls, responses)
    )
    if called != answered:
        report.warning("function-response-name", after.path, "names of calls and responses differ")


def _is_running(later: list[_Turn]) -> bool:
    """Return whether only function responses follow, so that the turn continues."""
    for turn in later:
        is_answer = turn.role == "model" or turn.values("functionResponse")
        if not is_answer and any("text" in part or "inlineData" in part for _, part in turn.parts):
            return False
    return True


def _check_signatures(report: Report, turn: _Turn) -> None:
    """Check that the first function call of each step of the current turn has a signature."""
    steps = set[str]()
    for path, part in turn.parts:
        step = path.split(".")[0]
        if "functionCall" not in part or step in steps:
            continue
        steps.add(step)
        if not part.get("thoughtSignature"):
            report.error("thought-signature", path, "the first call of a step needs its signature")
