"""Available tools of a turn."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from yourtool.effects import Preview, SideEffects, Subject, SubjectKind, ToolDefinition
from yourtool.models import EDIT_TOOLS, Model
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import SANDBOX_RULES
from yourtool.providers.estimate import estimate_tokens
from yourtool.tools.adjusted_arguments import AdjustedArguments
from yourtool.tools.base import StructTool, ToolContext, ToolOutput
from yourtool.tools.schema import omit_checked
from yourtool.tools.tool_search import FIND_TOOLS, SEARCH_AT
from yourtool.tools.workspace.meant_paths import correct_arguments
from yourtool.tools.workspace.workspace import Workspace

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_MAX_SHOWN = 64
"""Characters of an invalid name in a message."""


class Tool(Protocol):
    """A definition and what a call does; stateless, so calls can run in parallel."""

    definition: ToolDefinition
    timeout_seconds: float
    has_preview: bool
    """Whether `preview` can return one."""

    def adjust(self, arguments: dict[str, Any]) -> AdjustedArguments:
        """Return the model's arguments in the form that `parse` accepts, if their meaning is clear.

        Never raises; what is not clear is unchanged.
        """
        ...

    def parse(self, arguments: dict[str, Any]) -> Any:
        """Return the model's arguments in the form that the other methods take; can block.

        Raises:
            ToolError: they are invalid; the message lists what the model has to correct.
        """
        ...

    def subjects(self, args: Any) -> tuple[Subject, ...]:
        """Return what the call is about, at least one subject; paths as the model wrote them.

        Raises:
            ToolError: the arguments contain no valid command or host.
        """
        ...

    async def preview(self, args: Any, context: ToolContext) -> Preview | None:
        """Return a preview of what `run` would do; None if the tool has none.

        Raises:
            ToolError: the call cannot succeed, so no approval is needed.
        """
        ...

    async def run(self, args: Any, context: ToolContext) -> ToolOutput:
        """Run the tool.

        Raises:
            ToolError: the call failed; the message includes the next step for the model.
        """
        ...


class Toolset(Protocol):
    """A source of tools, which can change between turns."""

    def current(self) -> "Toolbox":
        """Return the present tools without waiting; each turn asks once, when it starts.

        After an exception, the turn continues without the tools of this source.
        """
        ...


class Toolbox:
    """Tools by name; as a source, tools that never change.

    Tools with an invalid name are omitted; of tools with the same name, the first is used.
    """

    def __init__(self, tools: Iterable[Tool], problems: Iterable[str] = ()) -> None:
        """`problems`: which tools are missing and why, for the user."""
        self._tools: dict[str, Tool] = {}
        found = list(problems)
        for tool in tools:
            name = tool.definition.name
            if not _NAME.fullmatch(name):
                found.append(
                    f"The tool {name[:_MAX_SHOWN]!r} cannot be called: a name has up to 64 letters,"
                    " digits, `_` and `-`, and starts with a letter."
                )
            elif name in self._tools:
                found.append(f"Two tools are named `{name}`; only the first can be called.")
            else:
                self._tools[name] = tool
        self.problems = tuple(found)
        self.definitions = tuple(tool.definition for tool in self)
        self._short = {each.name: _shorten(each) for each in self.definitions}

    def current(self) -> "Toolbox":
        """Return the toolbox itself."""
        return self

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool | None:
        """Return the tool with this name, or None."""
        return self._tools.get(name)

    def offered_to(
        self, model: Model, found: Sequence[str] = (), search_at: int = SEARCH_AT
    ) -> tuple[ToolDefinition, ...]:
        """Return the definitions that a model gets, without limits that calls are checked for.

        Of the tools that change parts of files, it gets its own one. Of those that can be searched,
        it gets `find_tools` and what it has `found` if all of them would take more than `search_at`
        percent of its window. Calls of the others run, too: a model can repeat a call that another
        one made in the same session.
        """
        unsearched = self._find_unsearched(model, search_at)
        hidden = set(unsearched)
        if model.edit_tool in self._tools:
            hidden |= {each for each in EDIT_TOOLS if each != model.edit_tool}
        first = (name for name in self._short if name not in hidden)
        last = (name for name in dict.fromkeys(found) if name in unsearched)
        return tuple(self._short[name] for name in (*first, *last))

    def _find_unsearched(self, model: Model, search_at: int) -> set[str]:
        """Return the tools that a model has to search, or else the tool that searches."""
        tools = [each for each in self._short.values() if each.is_searchable]
        window = model.capabilities.max_context_tokens
        if FIND_TOOLS not in self._tools:
            return set()
        if estimate_tokens((), tools, model.id) * 100 <= search_at * window:
            return {FIND_TOOLS}
        return {each.name for each in tools}

    @property
    def subject_kinds(self) -> Mapping[str, SubjectKind]:
        """What the calls of each tool are about, by its name, and rules about no tool."""
        found = dict[str, SubjectKind](SANDBOX_RULES)
        found.update((each.name, each.subject_kind) for each in self.definitions)
        return found


def _shorten(definition: ToolDefinition) -> ToolDefinition:
    return replace(definition, input_schema=omit_checked(definition.input_schema))


class JoinedToolset:
    """The tools of several toolsets; of tools with the same name, the first is used."""

    def __init__(self, *toolsets: Toolset) -> None:
        self._toolsets = toolsets

    def current(self) -> Toolbox:
        """Return the present tools of all toolsets that have no error."""
        toolboxes = [_get_toolbox(each) for each in self._toolsets]
        problems = [problem for each in toolboxes for problem in each.problems]
        return Toolbox((tool for each in toolboxes for tool in each), problems)


class ToolSnapshot:
    """The tools of a session; they change only when a turn starts."""

    def __init__(self, toolset: Toolset) -> None:
        self._toolset = toolset
        self.toolbox = _get_toolbox(toolset)

    def join(self, toolset: Toolset) -> None:
        """Add a toolset, from the next turn on."""
        self._toolset = JoinedToolset(self._toolset, toolset)

    def renew(self) -> Toolbox:
        """Ask the toolset for the tools of a new turn, and return them."""
        self.toolbox = _get_toolbox(self._toolset)
        return self.toolbox


def _get_toolbox(toolset: Toolset) -> Toolbox:
    """Return the present tools of a toolset, or none and a problem after an exception."""
    try:
        return toolset.current()
    except Exception as error:  # noqa: BLE001 - code of others
        reason = str(error) or type(error).__name__
        return Toolbox((), (f"Some tools are not available in this turn: {reason}",))


def correct_paths(
    tool: Tool, adjusted: AdjustedArguments, workspace: Workspace
) -> AdjustedArguments:
    """Return the arguments of a file tool with the paths of the files that they mean; blocking."""
    definition = tool.definition
    if not isinstance(tool, StructTool) or definition.subject_kind != "path":
        return adjusted
    is_edit = definition.name in EDIT_TOOLS
    may_create = definition.side_effects is SideEffects.WRITE and not is_edit
    values, notes = correct_arguments(adjusted.values, workspace, may_create=may_create)
    return AdjustedArguments(values, (*adjusted.notes, *notes))


def resolve_subjects(tool: Tool, args: Any, workspace: Workspace) -> CallSubjects:
    """Return the subjects of a call with real paths; blocks on the file system.

    Raises:
        ToolError: a path leads outside the workspace (`permission_denied`), or is invalid.
    """
    is_write = tool.definition.side_effects is SideEffects.WRITE
    resolved, credential_files = list[Subject](), list[str]()
    for subject in tool.subjects(args):
        match subject.kind:
            case "path":
                located, is_credential_file = workspace.examine(subject.text, writing=is_write)
                resolved.append(replace(subject, text=located))
                credential_files += [subject.text] * is_credential_file
            case "command":
                resolved.append(replace(subject, directory=os.path.realpath(workspace.root)))
            case _:
                resolved.append(subject)
    return CallSubjects(tuple(resolved), tuple(credential_files))
