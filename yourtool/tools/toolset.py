"""The tools that a model can call during a turn, and where they come from."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from yourtool.effects import Preview, SideEffects, Subject, SubjectKind, ToolDefinition
from yourtool.errors import ToolRegistrationError
from yourtool.permissions.gate import Subjects
from yourtool.tools.base import ToolContext, ToolOutput
from yourtool.tools.workspace import Workspace

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class Tool(Protocol):
    """A definition and what a call does; stateless, so calls can run in parallel."""

    definition: ToolDefinition
    timeout_seconds: float

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
        """Return the present tools; each turn asks once and uses them until it ends."""
        ...


class Toolbox:
    """Tools by name; as a source, tools that never change.

    Raises:
        ToolRegistrationError: a name is duplicate or malformed, or a description is missing.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self._register(tool)
        self.definitions = tuple(tool.definition for tool in self._tools.values())

    def current(self) -> "Toolbox":
        """Return the toolbox itself."""
        return self

    def get(self, name: str) -> Tool | None:
        """Return the tool with this name, or None."""
        return self._tools.get(name)

    @property
    def subject_kinds(self) -> Mapping[str, SubjectKind]:
        """What the calls of each tool are about, by its name."""
        return {each.name: each.subject_kind for each in self.definitions}

    def _register(self, tool: Tool) -> None:
        name = tool.definition.name
        if not _NAME.fullmatch(name):
            raise ToolRegistrationError(
                f"`{name}` is not a valid tool name: use up to 64 letters, digits, `_` and `-`,"
                " and start with a letter"
            )
        if name in self._tools:
            raise ToolRegistrationError(f"two tools are named `{name}`: rename one of them")
        if not tool.definition.description:
            raise ToolRegistrationError(f"`{name}` has no description: add a docstring")
        self._tools[name] = tool


def resolve_subjects(tool: Tool, args: Any, workspace: Workspace) -> Subjects:
    """Return the subjects of a call with real paths; blocks on the file system.

    Raises:
        ToolError: a path leads outside the workspace (`permission_denied`), or is invalid.
    """
    is_write = tool.definition.side_effects is SideEffects.WRITE
    subjects = tool.subjects(args)
    paths = [each.text for each in subjects if each.kind == "path"]
    for path in paths:
        workspace.check(path, writing=is_write)
    return Subjects(
        tuple(
            Subject("path", workspace.locate(each.text)) if each.kind == "path" else each
            for each in subjects
        ),
        tuple(filter(workspace.is_credential_file, paths)),
    )
