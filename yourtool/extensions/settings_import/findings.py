"""Settings of other agents in our terms."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct, field

from yourtool.permissions.rule_file import RuleEffect
from yourtool.settings.hook_config import HookConfig
from yourtool.settings.tables import is_table

Kind: TypeAlias = Literal[
    "instructions", "command", "skill", "hook", "server", "rule", "setting", "file"
]


class TextFile(Struct, frozen=True):
    """A file to write, unless there is one of its name."""

    kind: Kind
    name: str
    target: str
    """Relative to the directory of the user's settings, or to the project."""
    content: bytes
    place: str
    """The file it comes from."""


class Hook(Struct, frozen=True):
    """A hook in our form."""

    hook: HookConfig
    place: str


class Server(Struct, frozen=True):
    """An MCP server in the form of `mcp.json`."""

    name: str
    entry: Mapping[str, Any]
    place: str


class ForeignRule(Struct, frozen=True):
    """A permission rule of another agent, not yet judged."""

    effect: RuleEffect
    tool: str
    """The name of a tool of Claude Code, Codex, Gemini CLI or opencode."""
    spec: str | None
    """Which calls of the tool, in the syntax of Claude Code; None: all."""
    text: str
    """As the file has it."""
    place: str


class Omission(Struct, frozen=True):
    """Something that is not taken over."""

    kind: Kind
    name: str
    place: str
    reason: str
    """A clause."""


class Findings(Struct):
    """All that one agent has for one scope: the user or a project."""

    peer: str
    is_project: bool
    texts: list[TextFile] = field(default_factory=list[TextFile])
    hooks: list[Hook] = field(default_factory=list[Hook])
    servers: list[Server] = field(default_factory=list[Server])
    rules: list[ForeignRule] = field(default_factory=list[ForeignRule])
    used_already: list[tuple[Kind, str]] = field(default_factory=list[tuple[Kind, str]])
    """What this program reads where it is: the kind and the place."""
    omissions: list[Omission] = field(default_factory=list[Omission])

    def omit(self, kind: Kind, name: str, place: str, reason: str) -> None:
        """Add something that is not taken over."""
        self.omissions.append(Omission(kind, name, place, reason))


def as_table(value: Any) -> dict[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return dict(value) if is_table(value) else {}


def as_list(value: Any) -> list[Any]:
    """Return a value if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []
