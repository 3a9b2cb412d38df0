"""What a tool is: a typed async function that declares the most it can do.

The argument Struct is schema and validator, the docstring is what the model reads, and the value
is text or a `ToolOutput`. A tool knows nothing of consent, sessions, events or widgets.
"""

import asyncio
import inspect
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct, field

from yourtool.effects import Preview, SideEffects, ToolDefinition, ToolHints, ToolKind
from yourtool.errors import ToolError, ToolFailure, ToolRegistrationError
from yourtool.masking import Mask
from yourtool.messages import ImageBlock, TextBlock
from yourtool.text import storable, storable_json
from yourtool.tools import schema
from yourtool.tools.workspace import FileReads, Workspace

A = TypeVar("A", bound="Args")
P = ParamSpec("P")
T = TypeVar("T")

_SLOW = (SideEffects.EXECUTE, SideEffects.NETWORK)
MOST_PROBLEMS = 50
"""Of the arguments of one call, that are listed."""
DETAILS_LIMIT = 256_000
"""Bytes of JSON that a result may bring along for the screen."""
_LONGEST_DETAIL = 40_000
"""Characters of one text in details that are too long."""
_KINDS: Mapping[SideEffects, ToolKind] = {
    SideEffects.NONE: "",
    SideEffects.READ: "read",
    SideEffects.WRITE: "edit",
    SideEffects.EXECUTE: "execute",
    SideEffects.NETWORK: "web",
}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a tool; fields named `path`, at any depth, are paths of the workspace."""


class ToolOutput(Struct, frozen=True):
    """What a tool answers when plain text does not say it all."""

    content: tuple[TextBlock | ImageBlock, ...]
    success: bool = True
    details: dict[str, Any] | None = None
    """For the screen only, at most `DETAILS_LIMIT`; never sent to a model."""
    files_modified: tuple[str, ...] = ()
    command_executed: str | None = None
    terminate: bool = False
    """A hint that nothing need be said after this; holds if all calls of the reply agree."""


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a call may use."""

    workspace: Workspace
    """Its readable directories include `spill`, so that the model can read what was spilled."""
    tool_use_id: str
    spill: Path
    """An existing directory of mode 0700 for outputs too long to send."""
    mask: Mask
    """Replaces keys in what is written to `spill`; finds them in what might leave the machine."""
    emit: Callable[[str], None]
    """Shows live output; called on the event loop, never from a thread."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when the call is to stop; polled by work that runs in a thread."""
    reads: FileReads = field(default_factory=FileReads)
    """Shared by all calls of a session."""
    approved: Preview | None = None
    """What the user agreed to; the tool does that or nothing."""
    image_limit: int = 0
    """Bytes of the largest image that the model takes; 0: it takes none."""

    async def blocking(
        self,
        work: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run blocking work in a thread.

        When the call is cancelled, `cancelled` is set, the work is waited for, and only then is
        the cancellation raised: a file is written or it is not.
        """
        task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self.cancelled.set()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # the cancellation is what the caller hears of
            raise


Run: TypeAlias = Callable[[A, ToolContext], Awaitable[str | ToolOutput]]
Previewer: TypeAlias = Callable[[A, ToolContext], Awaitable[Preview | None]]
Subject: TypeAlias = Callable[[A], str]


class Tool:
    """A registered function; holds no state, so calls may run side by side."""

    def __init__(
        self,
        definition: ToolDefinition,
        arguments: type[Args],
        run: Run[Any],
        previewer: Previewer[Any] | None = None,
        subject: Subject[Any] | None = None,
    ) -> None:
        self.definition = definition
        self.timeout_seconds = 600.0 if definition.side_effects in _SLOW else 60.0
        self._arguments = arguments
        self._run = run
        self._previewer = previewer
        self._subject = subject

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        return self.definition.name

    def parse(self, arguments: dict[str, Any]) -> Args:
        """Turn the model's arguments into the tool's own.

        Raises:
            ToolError: they do not fit the schema; the text lists `path: problem`, the first ones of
            very many.
        """
        if not (problems := schema.validate_arguments(self.definition.input_schema, arguments)):
            try:
                return msgspec.convert(arguments, self._arguments)
            except msgspec.ValidationError as error:
                problems = [str(error)]
        listed = "\n".join(f"- {problem}" for problem in problems[:MOST_PROBLEMS])
        if (more := len(problems) - MOST_PROBLEMS) > 0:
            listed += f"\n- and {more:,} more"
        raise ToolError(
            f"`{self.name}` was not run, because its arguments are not valid:\n{listed}\n"
            "Correct them and call it again.",
            ToolFailure.VALIDATION_ERROR,
        )

    def paths(self, args: Args) -> tuple[str, ...]:
        """Return every path among the arguments, as the model wrote it."""
        return tuple(_paths(args))

    def subject(self, args: Args) -> str | None:
        """Return what rules compare where it is no path, such as a command or a host; else None.

        Raises:
            ToolError: the arguments name none.
        """
        return self._subject(args) if self._subject else None

    def confine(self, args: Args, workspace: Workspace) -> None:
        """Refuse arguments whose paths leave the workspace; blocking, so run it in a thread.

        Raises:
            ToolError: `permission_denied`, or a path that cannot be one.
        """
        for path in self.paths(args):
            workspace.check(path, writing=self.definition.side_effects is SideEffects.WRITE)

    async def preview(self, args: Args, context: ToolContext) -> Preview | None:
        """Say what `run` would do, without doing it; None when there is nothing to show.

        Raises:
            ToolError: the call cannot succeed, so nobody need be asked about it.
        """
        return await self._previewer(args, context) if self._previewer else None

    async def run(self, args: Args, context: ToolContext) -> ToolOutput:
        """Do the work.

        Raises:
            ToolError: it could not be done; the text tells the model what to do next.
        """
        output = await self._run(args, context)
        if not isinstance(output, ToolOutput):
            return ToolOutput((TextBlock(storable(output)),))
        command = output.command_executed
        return msgspec.structs.replace(
            output,
            content=tuple(
                TextBlock(storable(block.text)) if isinstance(block, TextBlock) else block
                for block in output.content
            ),
            details=_capped(output.details, context.mask),
            files_modified=tuple(map(storable, output.files_modified)),
            command_executed=None if command is None else storable(command),
        )


def tool(
    effects: SideEffects,
    *,
    preview: Previewer[A] | None = None,
    subject: Subject[A] | None = None,
    hints: ToolHints | None = None,
) -> Callable[[Run[A]], Tool]:
    """Make a tool of `async def name(args: SomeArgs, context: ToolContext)`.

    `effects` is the most that a call could do, and not what it usually does. `subject` gives what
    permission rules compare, where that is not a path. `hints` are for front ends; without any, the
    effects tell the kind.
    """

    def decorate(function: Run[A]) -> Tool:
        arguments = cast("type[Args]", inspect.signature(function).parameters["args"].annotation)
        definition = ToolDefinition(
            name=function.__name__,
            description=inspect.getdoc(function) or "",
            input_schema=schema.derive(arguments),
            side_effects=effects,
            hints=hints or ToolHints(kind=_KINDS[effects]),
        )
        return Tool(definition, arguments, function, preview, subject)

    return decorate


class Toolbox:
    """The tools of a session, by name.

    Raises:
        ToolRegistrationError: a name is taken or malformed, a description is missing, or a schema
            uses what some provider refuses.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for item in tools:
            self._register(item)
        self.definitions = tuple(item.definition for item in self._tools.values())

    def get(self, name: str) -> Tool | None:
        """Return the tool a model named, if there is one."""
        return self._tools.get(name)

    def _register(self, item: Tool) -> None:
        name = item.name
        if not _NAME.fullmatch(name):
            raise ToolRegistrationError(f"`{name}` cannot name a tool: use snake_case")
        if name in self._tools:
            raise ToolRegistrationError(f"two tools are named `{name}`: rename one of them")
        if not item.definition.description:
            raise ToolRegistrationError(f"`{name}` needs a description: a model reads it")
        if problems := schema.check(item.definition.input_schema):
            raise ToolRegistrationError(
                f"the schema of `{name}` cannot be given to every provider: {'; '.join(problems)}"
            )
        self._tools[name] = item


def _capped(details: dict[str, Any] | None, mask: Mask) -> dict[str, Any] | None:
    """Return details as they can be stored; what is too long is cut, and says so."""
    if details is None:
        return None
    try:
        kept = storable_json(details)
        if len(msgspec.json.encode(kept)) <= DETAILS_LIMIT:
            return kept
    except (ValueError, TypeError) as error:  # nested too deeply, or not JSON
        return {"omitted": str(error)}
    kept = {name: _shortened(value, mask) for name, value in kept.items()}
    if (size := len(msgspec.json.encode(kept))) <= DETAILS_LIMIT:
        return kept
    return {"omitted": f"{size:,} bytes"}


def _shortened(value: Any, mask: Mask) -> Any:
    if not isinstance(value, str) or len(value) <= _LONGEST_DETAIL:
        return value
    end = value.rfind("\n", 1, _LONGEST_DETAIL)
    size = end if end > 0 else _LONGEST_DETAIL
    return f"{mask.slice(value, 0, size)}\n… {len(value) - size:,} more characters"


def _paths(value: object) -> Iterator[str]:
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            part: object = getattr(value, name)
            if name == "path" and isinstance(part, str):
                yield part
            else:
                yield from _paths(part)
    elif isinstance(value, tuple | list):
        for item in cast("tuple[object, ...]", value):
            yield from _paths(item)
