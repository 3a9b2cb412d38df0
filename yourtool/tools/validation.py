"""Validation of JSON values with the library `jsonschema`.

Schemas are those of our tools, or resolved ones (`json_schema.resolve_schema`), and the work is
linear in the value: there are no regular expressions, references and checks for unique items.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError, validators

from yourtool.tools.schema import (
    describe_items,
    format_input,
    format_value,
    json_type,
    suggest_field,
)

_KEYWORDS = (
    "type", "enum", "const", "properties", "additionalProperties", "items", "prefixItems",
    "allOf", "anyOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
_MAX_ALTERNATIVES = 5
"""Problems in the description of alternatives that do not match."""


def _find_missing(
    validator: Any, names: list[str], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    """Yield an error with the name of each missing property as its message."""
    del schema
    if validator.is_type(instance, "object"):
        yield from (ValidationError(name) for name in names if name not in instance)


_Validator: Any = validators.create(
    meta_schema={},
    validators={
        **{keyword: Draft202012Validator.VALIDATORS[keyword] for keyword in _KEYWORDS},
        "required": _find_missing,
    },
    type_checker=Draft202012Validator.TYPE_CHECKER,
)


def iter_problems(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    """Yield the problems of a value, each as `path: problem`; the root's path is `$`."""
    errors: Iterator[ValidationError] = _Validator(schema).iter_errors(value)
    return (line for error in errors for line in _describe(error))


def _describe(error: ValidationError) -> Iterator[str]:
    value: Any = error.instance
    expected: Any = error.validator_value
    path = error.json_path
    known = cast("dict[str, Any]", error.schema).get("properties", {})
    match error.validator:
        case "type":
            names = expected if isinstance(expected, str) else " or ".join(expected)
            yield f"{path}: expected {names}, got {json_type(value)}"
        case "required":
            items = describe_items(known.get(error.message, {}))
            yield f"{path}.{error.message}: is required{items}"
        case "additionalProperties":
            unknown = (name for name in value if name not in known)
            yield from (
                f"{path}.{each}: unknown field; {suggest_field(each, known)}" for each in unknown
            )
        case "enum" | "const":
            allowed = format_value([expected] if error.validator == "const" else expected)
            yield f"{path}: must be one of {allowed}, not {format_input(value)}"
        case "anyOf":
            parts = (line for each in error.context or () for line in _describe(each))
            listed = "; ".join(islice(parts, _MAX_ALTERNATIVES))
            yield f"{path}: matches no alternative ({listed})"
        case "minLength" | "minItems" as keyword:
            yield f"{path}: needs at least {expected} {_unit(keyword)}, has {len(value)}"
        case "maxLength" | "maxItems" as keyword:
            yield f"{path}: may have at most {expected} {_unit(keyword)}, has {len(value)}"
        case "minimum" | "maximum" as keyword:
            bound = "least" if keyword == "minimum" else "most"
            yield f"{path}: must be at {bound} {expected}, not {format_input(value)}"
        case keyword:
            yield f"{path}: does not match `{keyword}` {format_value(expected)}"


def _unit(keyword: str) -> str:
    return "characters" if keyword.endswith("Length") else "items"
