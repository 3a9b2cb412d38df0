"""What tools may do to the world, and the one question the core asks about it."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from msgspec import Struct


class SideEffects(StrEnum):
    """The most a tool can do, by capability and not by typical use."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"

    @property
    def needs_consent(self) -> bool:
        """Whether a call is asked about unless a rule or a mode says otherwise."""
        return self not in (SideEffects.NONE, SideEffects.READ)


ToolKind: TypeAlias = Literal["", "read", "edit", "write", "execute", "web"]


class ToolHints(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a front end may show a tool; no model is told."""

    label: str = ""
    """Instead of the name; from outside where the tool is."""
    kind: ToolKind = ""
    icon: str = ""
    """One sign in front of the label."""


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """What a model is told about a tool."""

    name: str
    description: str
    input_schema: dict[str, Any]
    """The JSON Schema subset of `tools.schema`."""
    side_effects: SideEffects
    requires_workspace: bool = True
    hints: ToolHints = ToolHints()

    def __hash__(self) -> int:
        return hash(self.name)


class Preview(Struct, frozen=True, kw_only=True):
    """Exactly what a call would do, made before it is done and shown whole."""

    kind: Literal["command", "diff", "text"]
    body: str
    """The whole command, a unified diff, or words; not yet made printable."""
    paths: tuple[str, ...] = ()
    """Files that would change, relative to the workspace where they are inside it."""
    protected: bool = False
    """A place that always asks, whatever rules and modes say."""
    guard: str | None = None
    """SHA-256 of what the preview was made from; the tool refuses to run on anything else."""


class Confirmation(Struct, frozen=True, kw_only=True):
    """A question that only the user may answer."""

    id: str
    kind: Literal["tool", "limit"]
    """`limit`: a cap was reached; allowing means going on for as long again."""
    title: str
    """One line; for a tool its name, for a limit what was reached."""
    tool_use_id: str | None = None
    side_effects: SideEffects = SideEffects.NONE
    input: dict[str, Any] | None = None
    preview: Preview | None = None
    rule: str | None = None
    """What `session` and `always` would allow from now on; None: only `once` is offered."""
    reason: str = ""
    """Why this is asked in every mode, where that is so."""
    expires_at: datetime | None = None


class Verdict(StrEnum):
    """How a question ended."""

    ALLOW = "allow"
    DENY = "deny"
    TIMEOUT = "timeout"


class Scope(StrEnum):
    """How long an answer holds."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"


class Decision(Struct, frozen=True, kw_only=True):
    """The answer."""

    verdict: Verdict
    scope: Scope = Scope.ONCE
    note: str | None = None
    """Words for the model, such as why not."""


Confirm: TypeAlias = Callable[[Confirmation], Awaitable[Decision]]
"""Asks the user and waits; cancelled when the turn is."""
