"""Tools whose arguments are described by a JSON Schema from elsewhere, such as a server.

The schema is not trusted: arguments are validated against its resolved form, which contains no
regular expressions and no references, and the work is limited.
"""

from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import Any, TypeAlias, cast

from jsonschema import Draft202012Validator, ValidationError, validators
from msgspec.structs import replace

from yourtool.effects import Preview, Subject, ToolDefinition
from yourtool.json_schema import resolve_schema
from yourtool.tools.adjusted_arguments import AdjustedArguments
from yourtool.tools.base import (
    MAX_PROBLEMS,
    ToolContext,
    ToolOutput,
    build_arguments_error,
    storable_output,
    timeout_seconds,
)
from yourtool.tools.schema import format_input, format_value, json_type

MAX_CHECKS = 250_000
"""Maximum values in the schema times values in the arguments, for a few seconds of work."""

_KEYWORDS = (
    "type", "enum", "const", "properties", "additionalProperties", "items", "prefixItems",
    "allOf", "anyOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
)  # fmt: skip


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
"""A validator without regular expressions, references, formats and quadratic checks."""

RawRun: TypeAlias = Callable[[dict[str, Any], ToolContext], Awaitable[str | ToolOutput]]


class SchemaTool:
    """A tool that takes the arguments as the model wrote them, after validation."""

    has_preview = False

    def __init__(self, definition: ToolDefinition, run: RawRun) -> None:
        """`definition`: with a schema of any content, and `subject_kind` opaque.

        If it has no description, its name is used.
        """
        self.definition = replace(
            definition, description=definition.description.strip() or definition.name
        )
        self.timeout_seconds = timeout_seconds(definition.side_effects)
        self._run = run
        self._schema = resolve_schema(definition.input_schema).schema
        self._size = _count_values(self._schema)

    def adjust(self, arguments: dict[str, Any]) -> AdjustedArguments:
        """Return the arguments unchanged: what a server accepts is not known."""
        return AdjustedArguments(arguments)

    def parse(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Validate the model's arguments.

        Raises:
            ToolError: they do not match the schema.
        """
        if problems := self._problems(arguments):
            raise build_arguments_error(self.definition.name, problems)
        return arguments

    def subjects(self, args: dict[str, Any]) -> tuple[Subject, ...]:
        """Return an opaque subject: names in a foreign schema have no known meaning."""
        del args
        return (Subject("opaque"),)

    async def preview(self, args: dict[str, Any], context: ToolContext) -> Preview | None:
        """Return None; approval prompts show the arguments."""
        del args, context
        return None

    async def run(self, args: dict[str, Any], context: ToolContext) -> ToolOutput:
        """Run the tool.

        Raises:
            ToolError: the call failed; the message includes the next step for the model.
        """
        return storable_output(await self._run(args, context), context.mask)

    def _problems(self, arguments: dict[str, Any]) -> list[str]:
        most = MAX_CHECKS // self._size
        if (count := _count_values(arguments)) > most:
            return [f"$: has {count:,} values; at most {most:,} can be checked"]
        errors: Iterator[ValidationError] = _Validator(self._schema).iter_errors(arguments)
        problems = (line for error in errors for line in _describe(error))
        return list(dict.fromkeys(islice(problems, MAX_PROBLEMS + 1)))


def _count_values(value: Any) -> int:
    """Return the number of JSON values in a value, itself included."""
    if isinstance(value, dict):
        return 1 + sum(map(_count_values, cast("dict[str, Any]", value).values()))
    if isinstance(value, list):
        return 1 + sum(map(_count_values, cast("list[Any]", value)))
    return 1


def _describe(error: ValidationError) -> Iterator[str]:
    """Yield an error in the form of `tools.schema`, as `path: problem`."""
    value: Any = error.instance
    expected: Any = error.validator_value
    path = error.json_path
    match error.validator:
        case "type":
            yield f"{path}: expected {_type_names(expected)}, got {json_type(value)}"
        case "required":
            yield f"{path}.{error.message}: is required"
        case "additionalProperties":
            known = cast("dict[str, Any]", error.schema).get("properties", {})
            names = format_value(sorted(known))
            unknown = (name for name in value if name not in known)
            yield from (f"{path}.{name}: unknown field; use one of {names}" for name in unknown)
        case "enum" | "const":
            allowed = format_value([expected] if error.validator == "const" else expected)
            yield f"{path}: must be one of {allowed}, not {format_input(value)}"
        case "anyOf":
            parts = islice((line for each in error.context or () for line in _describe(each)), 5)
            yield f"{path}: matches no alternative ({'; '.join(parts)})"
        case keyword:
            yield f"{path}: does not match `{keyword}` {format_value(expected)}"


def _type_names(expected: str | list[str]) -> str:
    return expected if isinstance(expected, str) else " or ".join(expected)
