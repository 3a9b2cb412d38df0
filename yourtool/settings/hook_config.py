"""Settings of hooks.

Hooks are commands of the user or a project that run at events of a session.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from yourtool.foundation.patterns import compile_pattern

HookEvent: TypeAlias = Literal[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Notification",
    "RouteDecided",
    "ModelSwap",
]
"""The names of Claude Code, Codex and Gemini CLI; the last two are ours."""

MAX_SECONDS = 600
EVERYTHING = ("", "*")
"""The matchers that are no patterns."""


class HookConfig(Struct, frozen=True):
    """One hook."""

    event: Annotated[
        HookEvent,
        Meta(description="When it runs; `docs/hooks.md` lists events.", examples=["PreToolUse"]),
    ]
    command: Annotated[
        str,
        Meta(
            min_length=1,
            description="The command, which gets a JSON object as its input.",
            examples=["~/.yourtool/hooks/guard.py"],
        ),
    ]
    matcher: Annotated[
        str,
        Meta(
            description="RE2 pattern of the tools, or of what the event is about; empty: all.",
            examples=["Bash|Edit"],
        ),
    ] = ""
    timeout: Annotated[
        float, Meta(gt=0, le=MAX_SECONDS, description="Seconds until it is stopped.")
    ] = 60

    def __post_init__(self) -> None:
        """Reject a matcher that is no pattern."""
        if self.matcher not in EVERYTHING:
            compile_pattern(self.matcher)
