"""The structure of a request body, as the request types of the providers' Python SDKs define it.

`schemas.json` has the types, flattened; `made_from` in it names the SDK versions. A type is a name
(`string`, `integer`, `number`, `boolean`, `null`, `any`, `never`) or an object with one key:
`enum`, `list`, `map`, `any_of` or `object`, the name of an entry of `objects`.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.validator.report import Report, is_number

_SCHEMAS = json.loads(Path(__file__).with_name("schemas.json").read_text("utf-8"))
_OBJECTS: dict[str, dict[str, Any]] = _SCHEMAS["objects"]
ROOTS: dict[str, dict[str, Any]] = _SCHEMAS["roots"]

_ALSO_ACCEPTED = {
    "anthropic.MessageCreateParamsBase": {
        "stream", "temperature", "top_p", "top_k", "context_management", "output_format", "metadata"
    },
    "openai.CompletionCreateParamsBase": {"stream"},
    "openai.ResponseCreateParamsBase": {"stream"},
    "openai.ChatCompletionAssistantMessageParam": {"annotations"},
    "openai.ChatCompletionToolMessageParam": {"name"},
}  # fmt: skip
"""Keys that the APIs accept although the SDK types lack them."""
_OPTIONAL = {
    "openai.FunctionToolParam": {"strict", "parameters"},
    "openai.ResponseReasoningItemParam": {"id"},
    "openai.ResponseOutputMessageParam": {"id", "status", "type"},
    "openai.ResponseOutputTextParam": {"annotations"},
    "openai.ResponseInputImageParam": {"detail"},
    "openai.ImageGenerationCall": {"result", "status"},
}
"""Keys that the SDK types require and the APIs do not."""
_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


class _Mismatch(NamedTuple):
    depth: int
    """The depth in the value; of several types the deepest match is chosen."""
    rule: str
    path: str
    message: str


def check_structure(report: Report, root: str, value: Any, path: str = "") -> None:
    """Report where `value` departs from the type `root` of `schemas.json`."""
    for _, rule, where, message in _mismatches(ROOTS[root], value, path):
        report.error(f"schema-{rule}", where, message)


def properties_of(root: str) -> frozenset[str]:
    """Return the keys of the object type `root`."""
    return frozenset(_OBJECTS[ROOTS[root]["object"]]["properties"])


def _mismatches(schema: Any, value: Any, path: str) -> list[_Mismatch]:
    if isinstance(schema, str):
        return [] if _is_scalar(schema, value) else [_wrong_type(path, schema, value)]
    [(kind, argument)] = schema.items()
    match kind:
        case "enum":
            if value in argument:
                return []
            return [_Mismatch(0, "value", path, f"{value!r} is not one of {argument[:12]}")]
        case "list":
            return _list_mismatches(argument, value, path)
        case "map":
            return _map_mismatches(argument, value, path)
        case "any_of":
            return _best_mismatches(argument, value, path)
        case _:
            return _object_mismatches(argument, value, path)


def _is_scalar(kind: str, value: Any) -> bool:
    match kind:
        case "any":
            return True
        case "null":
            return value is None
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return is_number(value) and float(value).is_integer()
        case "number":
            return is_number(value)
        case _:
            return False


def _wrong_type(path: str, expected: str, value: Any) -> _Mismatch:
    actual = _KINDS.get(type(value), type(value).__name__)
    return _Mismatch(0, "type", path, f"expected {expected}, got {actual}")


def _list_mismatches(schema: Any, value: Any, path: str) -> list[_Mismatch]:
    if not isinstance(value, list):
        return [_wrong_type(path, "an array", value)]
    found: list[_Mismatch] = []
    for index, item in enumerate(value):
        found += _deeper(_mismatches(schema, item, f"{path}[{index}]"))
    return found


def _map_mismatches(schema: Any, value: Any, path: str) -> list[_Mismatch]:
    if not isinstance(value, dict):
        return [_wrong_type(path, "an object", value)]
    found: list[_Mismatch] = []
    for key, item in value.items():
        found += _deeper(_mismatches(schema, item, f"{path}.{key}"))
    return found


def _best_mismatches(options: list[Any], value: Any, path: str) -> list[_Mismatch]:
    """Return the mismatches with the most probable type."""
    scored = sorted(((_tag_score(option, value), option) for option in options), key=_by_score)
    best: tuple[tuple[int, int, int], list[_Mismatch]] | None = None
    for score, option in scored:
        if best is not None and score < 0:
            break  # another `type` or `role`: it cannot fit
        found = _mismatches(option, value, path)
        if not found:
            return []
        mark = (score, min(each.depth for each in found), -len(found))
        if best is None or mark > best[0]:
            best = mark, found
    return best[1] if best else []


def _by_score(scored: tuple[int, Any]) -> int:
    return -scored[0]


def _tag_score(schema: Any, value: Any) -> int:
    """Return how well the literal `type` and `role` of an object type fit the value."""
    if isinstance(schema, dict) and "list" in schema:
        return int(isinstance(value, list))
    if not isinstance(schema, dict) or "object" not in schema or not isinstance(value, dict):
        return 0
    score = 0
    properties = _OBJECTS[schema["object"]]["properties"]
    for key in ("type", "role"):
        tag = properties.get(key)
        if key in value and isinstance(tag, dict) and "enum" in tag:
            score += 2 if value[key] in tag["enum"] else -5
    return score


def _object_mismatches(name: str, value: Any, path: str) -> list[_Mismatch]:
    if not isinstance(value, dict):
        return [_wrong_type(path, "an object", value)]
    schema, found = _OBJECTS[name], list[_Mismatch]()
    required = set(schema.get("required", ()))
    properties = schema["properties"]
    known = properties.keys() | _ALSO_ACCEPTED.get(name, set())
    for key, part in value.items():
        where = f"{path}.{key}" if path else key
        if key not in known:
            found.append(_Mismatch(1, "unknown-key", where, "the API does not know this key"))
        elif key in properties and (part is not None or key in required):
            found += _deeper(_mismatches(properties[key], part, where))
    for key in sorted(required - _OPTIONAL.get(name, set()) - value.keys()):
        found.append(_Mismatch(1, "missing", f"{path}.{key}" if path else key, "required"))
    return found


def _deeper(found: list[_Mismatch]) -> list[_Mismatch]:
    return [each._replace(depth=each.depth + 1) for each in found]
