"""Facts about hooks."""

from typing import ClassVar, Literal, TypeAlias

from yourtool.events.facts import Fact, Sensitivity

HookVerdict: TypeAlias = Literal["none", "allow", "ask", "deny", "block", "stop", "failed"]
"""What a hook decided: about a call, about a prompt or the end of a turn, or nothing.

`failed`: it could not run, was stopped, or printed what is not understood; it decided nothing.
"""


class HookRan(Fact, frozen=True, kw_only=True, tag="hook.ran"):
    """A hook ran."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    event: str
    hook: str
    """The first characters of the command."""
    command_hash: str
    """The SHA-256 of the command."""
    source: Literal["user", "project"]
    exit_code: int | None
    """Negative for a signal; None if it was stopped or could not start."""
    latency_ms: int
    verdict: HookVerdict
    reason: str = ""
    tool_use_id: str | None = None
    """The call that it was about, if it was about one."""
