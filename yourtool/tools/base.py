"""Tools from typed async functions.

The argument Struct provides the JSON Schema and validation, the docstring is the description for
the model, and the return value is text or a `ToolOutput`. Tools are independent of approvals,
sessions, events and widgets.
"""

import ast
import asyncio
import inspect
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct, field

from yourtool.effects import (
    Preview,
    SideEffects,
    Subject,
    SubjectKind,
    ToolDefinition,
    ToolHints,
    ToolKind,
    UnsavedText,
)
from yourtool.errors import ToolError, ToolFailure, ToolRegistrationError
from yourtool.events.guidance import MemoryUpdated, SkillLoaded
from yourtool.foundation.masking import Mask
from yourtool.foundation.text import storable, storable_json
from yourtool.messages.blocks import ImageBlock, TextBlock
from yourtool.tools import schema, validation
from yourtool.tools.adjusted_arguments import AdjustedArguments, adjust_arguments
from yourtool.tools.background import AskInput, ProcessTable
from yourtool.tools.changes.journal import ChangeJournal, NoJournal
from yourtool.tools.processes.environments import Environments
from yourtool.tools.workspace.file_reads import FileReads
from yourtool.tools.workspace.workspace import Workspace

if TYPE_CHECKING:
    from yourtool.tools.sandbox.sandbox import Sandbox

A = TypeVar("A", bound="Args")
P = ParamSpec("P")
T = TypeVar("T")

_SLOW = (SideEffects.EXECUTE, SideEffects.NETWORK)
MAX_PROBLEMS = 50
"""Problems listed for the arguments of one call."""
DETAILS_LIMIT = 256_000
"""Maximum JSON size of a result's details, in bytes."""
_MAX_DETAIL_LENGTH = 40_000
"""Characters to which a string is truncated when the details are too large."""
_KINDS: Mapping[SideEffects, ToolKind] = {
    SideEffects.NONE: "",
    SideEffects.READ: "read",
    SideEffects.WRITE: "edit",
    SideEffects.EXECUTE: "execute",
    SideEffects.NETWORK: "web",
}


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of arguments; fields named `path`, at any depth, are workspace paths."""

    def workspace_paths(self) -> Iterable[str]:
        """Return the workspace paths of a call, as the model wrote them."""
        return _iter_paths(self)


class Block(Struct, frozen=True):
    """What the sandbox refused a command, perhaps."""

    cause: str
    hosts: tuple[str, ...] = ()
    """Those that the sandbox refused."""
    are_private: bool = False
    """Whether these hosts have private addresses, which the sandbox never reaches."""
    line: str = ""
    """The line of the output that it was guessed from."""
    is_certain: bool = True
    """Whether the sandbox saw it."""
    remedy: str = ""
    """What to do instead; empty: the user is asked if it is certain."""


class ToolOutput(Struct, frozen=True):
    """The result of a tool that needs more than plain text."""

    content: tuple[TextBlock | ImageBlock, ...]
    success: bool = True
    details: dict[str, Any] | None = None
    """For the interface only, at most `DETAILS_LIMIT`; never sent to a model."""
    files_modified: tuple[str, ...] = ()
    command_executed: str | None = None
    blocked: Block | None = None
    """What the sandbox refused."""
    facts: tuple[SkillLoaded | MemoryUpdated, ...] = ()
    """What the call did besides its result, to be stored before it."""
    terminate: bool = False
    """A hint to end the turn without another request; effective if all calls of a reply set it."""


def build_reading(text: str, amount: str, note_lines: int = 0) -> ToolOutput:
    """Return what was read; `amount`, such as `12 lines`, is shown instead of it.

    `note_lines`: the number of last lines that are for the model only, as for other tools.
    """
    return ToolOutput((TextBlock(text),), details={"amount": amount, "note_lines": note_lines})


class AskText(Protocol):
    """Asks the user, with a title of one line, details and perhaps answers to choose from."""

    def __call__(
        self, title: str, details: str, choices: tuple[str, ...] = ()
    ) -> Awaitable[str | None]:
        """Return the answer; None if the user declines."""
        ...


class Delegator(Protocol):
    """Runs the tasks that a call delegates."""

    async def run(self, args: Any, context: "ToolContext") -> ToolOutput:
        """Run a task, given as the arguments of `delegate`, and return the worker's report.

        Raises:
            ToolError: the worker ended without a report.
        """
        ...


class ToolContext(Struct, frozen=True, kw_only=True):
    """The resources available to a tool call."""

    workspace: Workspace
    """Its readable directories include `spill`, so that the model can read spilled output."""
    tool_use_id: str
    spill: Path
    """An existing directory with mode 0700 for outputs that are too long to send."""
    mask: Mask
    """Masks API keys in spilled output, and detects them in data that might leave the machine."""
    emit: Callable[[str], None]
    """Displays live output; must be called on the event loop."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when the call is cancelled; polled by functions that run in a thread."""
    reads: FileReads = field(default_factory=FileReads)
    """Shared by all calls of a session."""
    unsaved: UnsavedText | None = None
    """Read before a file on the disk, which may be older than what an editor shows."""
    journal: ChangeJournal = field(default_factory=NoJournal)
    approved: Preview | None = None
    """The preview that the user approved; the tool does exactly that or fails."""
    command: str | None = None
    """What a tool for commands runs in place of its argument: the same, as it was understood."""
    only_reads: bool = False
    """Whether it only reads and needed no approval, so that it gets few variables."""
    environments: Environments = Environments()
    """Builds the variables of commands."""
    sandbox: "Sandbox | None" = None
    """Encloses commands; None: they run without a sandbox."""
    processes: ProcessTable = field(default_factory=ProcessTable)
    """The running commands of the session."""
    ask_input: AskInput | None = None
    """Asks the user what a command gets that waits for input; None: no user is present."""
    ask_text: AskText | None = None
    """Asks the user for a text, with a title and details; None: no user is present."""
    delegator: "Delegator | None" = None
    """Starts workers; None: the session cannot delegate."""
    image_limit: int = 0
    """Maximum image size in bytes for the current model; 0: the model accepts no images."""

    async def run_in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking function in a thread.

        On cancellation, sets `cancelled` and waits for the function before raising, so that a file
        is written completely or not at all.
        """
        task = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self.cancelled.set()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # mark as retrieved; the caller gets the cancellation
            raise


Run: TypeAlias = Callable[[A, ToolContext], Awaitable[str | ToolOutput]]
Previewer: TypeAlias = Callable[[A, ToolContext], Awaitable[Preview | None]]
SubjectText: TypeAlias = Callable[[A], str]


class StructTool:
    """A tool function with its definition; stateless, so calls can run in parallel."""

    def __init__(
        self,
        definition: ToolDefinition,
        arguments: type[Args],
        run: Run[Any],
        previewer: Previewer[Any] | None = None,
        subject_text: SubjectText[Any] | None = None,
    ) -> None:
        self.definition = definition
        self.timeout_seconds = timeout_seconds(definition.side_effects)
        self._arguments = arguments
        self._run = run
        self._previewer = previewer
        self.has_preview = previewer is not None
        self._subject_text = subject_text

    def adjust(self, arguments: dict[str, Any]) -> AdjustedArguments:
        """Return the model's arguments in the form of the schema, where the meaning is clear."""
        return adjust_arguments(self.definition.input_schema, arguments)

    def parse(self, arguments: dict[str, Any]) -> Args:
        """Validate the model's arguments and convert them to the tool's Struct.

        Raises:
            ToolError: they do not match the schema; the message lists up to `MAX_PROBLEMS` lines
                of `path: problem`.
        """
        try:
            return msgspec.convert(arguments, self._arguments)
        except msgspec.ValidationError as error:
            problems = list(validation.iter_problems(self.definition.input_schema, arguments))
            name = self.definition.name
            raise build_arguments_error(name, problems or [str(error)]) from error

    def subjects(self, args: Args) -> tuple[Subject, ...]:
        """Return what the call is about: its command or host, or else its paths.

        Raises:
            ToolError: the arguments contain no valid command or host.
        """
        if self._subject_text is not None:
            return (Subject(self.definition.subject_kind, self._subject_text(args)),)
        paths = tuple(Subject("path", path) for path in args.workspace_paths())
        return paths or (Subject("opaque"),)

    async def preview(self, args: Args, context: ToolContext) -> Preview | None:
        """Return a preview of what `run` would do; None if the tool has none.

        Raises:
            ToolError: the call cannot succeed, so no approval is needed.
        """
        return await self._previewer(args, context) if self._previewer else None

    async def run(self, args: Args, context: ToolContext) -> ToolOutput:
        """Run the tool.

        Raises:
            ToolError: the call failed; the message includes the next step for the model.
        """
        return storable_output(await self._run(args, context), context.mask)


def timeout_seconds(effects: SideEffects) -> float:
    """Return how long a call of a tool with these side effects may take."""
    return 600.0 if effects in _SLOW else 60.0


def build_arguments_error(name: str, problems: Sequence[str]) -> ToolError:
    """Return the error for a call with invalid arguments, with up to `MAX_PROBLEMS` of them."""
    lines = "\n".join(f"- {problem}" for problem in problems[:MAX_PROBLEMS])
    if (more := len(problems) - MAX_PROBLEMS) > 0:
        lines += f"\n- and {more:,} more"
    return ToolError(
        f"`{name}` was not run, because its arguments are invalid:\n{lines}\n"
        "Correct them and call it again.",
        ToolFailure.VALIDATION_ERROR,
    )


def tool(
    effects: SideEffects,
    *,
    preview: Previewer[A] | None = None,
    command: SubjectText[A] | None = None,
    host: SubjectText[A] | None = None,
    hints: ToolHints | None = None,
    records_changes: bool = False,
) -> Callable[[Run[A]], StructTool]:
    """Build a tool from `async def name(args: SomeArgs, context: ToolContext)`.

    `effects` is the strongest effect that a call can have. `command` or `host` returns what a call
    is about, if that is not the paths in its arguments. `records_changes`: the calls use
    `ToolContext.journal`. `hints` are for front ends; the default kind depends on `effects`.

    Raises:
        ToolRegistrationError: the schema has a keyword that some provider rejects, or the function
            has no docstring.
    """

    def decorate(function: Run[A]) -> StructTool:
        arguments = cast("type[Args]", inspect.get_annotations(function)["args"])
        input_schema = schema.derive_schema(arguments)
        if problems := schema.subset_problems(input_schema):
            raise ToolRegistrationError(
                f"the schema of `{function.__name__}` is not accepted by every provider:"
                f" {'; '.join(problems)}"
            )
        if not (description := _get_docstring(function)):
            raise ToolRegistrationError(
                f"`{function.__name__}` has no description: add a docstring"
            )
        definition = ToolDefinition(
            name=function.__name__,
            description=description,
            input_schema=input_schema,
            side_effects=effects,
            subject_kind="command" if command else "host" if host else _find_kind(input_schema),
            records_changes=records_changes,
            hints=hints or ToolHints(kind=_KINDS[effects]),
        )
        return StructTool(definition, arguments, function, preview, command or host)

    return decorate


def _get_docstring(function: Callable[..., Any]) -> str | None:
    """Return the docstring of a function, from its source if `python -OO` has removed it."""
    if sys.flags.optimize < 2:
        return inspect.getdoc(function)
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    return ast.get_docstring(cast("ast.AsyncFunctionDef", definition))


def storable_output(output: str | ToolOutput, mask: Mask) -> ToolOutput:
    """Return the result of a tool in a form that can be stored, with its details limited."""
    if not isinstance(output, ToolOutput):
        return ToolOutput((TextBlock(storable(output)),))
    command = output.command_executed
    return msgspec.structs.replace(
        output,
        content=tuple(
            TextBlock(storable(block.text)) if isinstance(block, TextBlock) else block
            for block in output.content
        ),
        details=_limit_details(output.details, mask),
        files_modified=tuple(map(storable, output.files_modified)),
        command_executed=None if command is None else storable(command),
    )


def _limit_details(details: dict[str, Any] | None, mask: Mask) -> dict[str, Any] | None:
    """Return the details in storable form, truncated with a note if they are too large."""
    if details is None:
        return None
    try:
        stored = storable_json(details)
        if len(msgspec.json.encode(stored)) <= DETAILS_LIMIT:
            return stored
    except (ValueError, TypeError) as error:  # nested too deeply, or not JSON
        return {"omitted": str(error)}
    stored = {name: _truncate(value, mask) for name, value in stored.items()}
    if (size := len(msgspec.json.encode(stored))) <= DETAILS_LIMIT:
        return stored
    return {"omitted": f"{size:,} bytes"}


def _truncate(value: Any, mask: Mask) -> Any:
    if not isinstance(value, str) or len(value) <= _MAX_DETAIL_LENGTH:
        return value
    size = max(value.rfind("\n", 1, _MAX_DETAIL_LENGTH), 0) or _MAX_DETAIL_LENGTH
    return f"{mask.slice(value, 0, size)}\n… {len(value) - size:,} more characters"


def _find_kind(input_schema: dict[str, Any]) -> SubjectKind:
    return "path" if _has_path(input_schema) else "opaque"


def _has_path(value: object) -> bool:
    """Return whether a schema has a property named `path` at any depth, as in `_iter_paths`."""
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return "path" in parts.get("properties", ()) or any(map(_has_path, parts.values()))
    return isinstance(value, list) and any(map(_has_path, cast("list[Any]", value)))


def _iter_paths(value: object) -> Iterator[str]:
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            part: object = getattr(value, name)
            if name == "path" and isinstance(part, str):
                yield part
            else:
                yield from _iter_paths(part)
    elif isinstance(value, tuple | list):
        for item in cast("tuple[object, ...]", value):
            yield from _iter_paths(item)
