"""Tools with an external JSON Schema.

The schema is not trusted: arguments are validated against its resolved form, which contains no
regular expressions and no references, and the work is limited.
"""

from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from yourtool.effects import Preview, Subject, ToolDefinition
from yourtool.foundation.json_schema import resolve_schema
from yourtool.tools.adjusted_arguments import AdjustedArguments
from yourtool.tools.base import (
    MAX_PROBLEMS,
    ToolContext,
    ToolOutput,
    build_arguments_error,
    storable_output,
    timeout_seconds,
)
from yourtool.tools.validation import iter_problems

MAX_CHECKS = 250_000
"""Maximum values in the schema times values in the arguments, for a few seconds of work."""

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
        problems = iter_problems(self._schema, arguments)
        return list(dict.fromkeys(islice(problems, MAX_PROBLEMS + 1)))


def _count_values(value: Any) -> int:
    """Return the number of JSON values in a value, itself included."""
    if isinstance(value, dict):
        return 1 + sum(map(_count_values, cast("dict[str, Any]", value).values()))
    if isinstance(value, list):
        return 1 + sum(map(_count_values, cast("list[Any]", value)))
    return 1
