"""Rules for the JSON schemas of tools and structured output."""

from typing import Any

from tests.validator.report import Report, array, mapping


def check_tool_schema(report: Report, schema: Any, path: str) -> None:
    if not isinstance(schema, dict):
        report.error("tool-schema", path, "not an object")
    elif schema.get("type") not in ("object", None):
        found = schema.get("type")
        report.error("tool-schema", path, f"top level must be an object schema, not {found!r}")


def check_strict_schema(report: Report, schema: Any, path: str) -> None:
    """OpenAI's strict mode: closed objects, every property required."""
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if isinstance(properties, dict) and schema.get("type") in ("object", ["object", "null"]):
        if schema.get("additionalProperties") is not False:
            report.error("strict-additional-properties", path, "must be false in strict mode")
        required = array(schema.get("required"))
        missing = sorted(name for name in properties if name not in required)
        if missing:
            report.error("strict-required", path, f"every property must be required: {missing}")
    for key in ("properties", "$defs", "definitions"):
        for name, part in mapping(schema.get(key)).items():
            check_strict_schema(report, part, f"{path}.{key}.{name}")
    check_strict_schema(report, schema.get("items"), f"{path}.items")
    for index, part in enumerate(array(schema.get("anyOf"))):
        check_strict_schema(report, part, f"{path}.anyOf[{index}]")


_NOT_IN_PARAMETERS = frozenset(
    {"$schema", "$id", "const", "patternProperties", "oneOf", "allOf", "not", "if", "then", "else",
     "exclusiveMinimum", "exclusiveMaximum", "unevaluatedProperties"}
)  # fmt: skip


def check_gemini_schema(report: Report, schema: Any, path: str) -> None:
    """Gemini's `parameters`, a subset of OpenAPI's schema object."""
    if not isinstance(schema, dict):
        return
    for key in schema.keys() & _NOT_IN_PARAMETERS:
        report.error("tool-schema-key", f"{path}.{key}", "no such field; use parametersJsonSchema")
    if isinstance(schema.get("type"), list):
        report.error("tool-schema-type", f"{path}.type", "one type, not an array (use nullable)")
    if any(not isinstance(value, str) for value in array(schema.get("enum"))):
        report.error("tool-schema-enum", f"{path}.enum", "enum values must be strings")
    if str(schema.get("type", "")).lower() == "array" and "items" not in schema:
        report.error("tool-schema-items", path, "an array needs items")
    for name, part in mapping(schema.get("properties")).items():
        check_gemini_schema(report, part, f"{path}.properties.{name}")
    check_gemini_schema(report, schema.get("items"), f"{path}.items")
    for index, part in enumerate(array(schema.get("anyOf"))):
        check_gemini_schema(report, part, f"{path}.anyOf[{index}]")
