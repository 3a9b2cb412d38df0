"""Reply of a hook.

The form is that of Claude Code (https://code.claude.com/docs/en/hooks), which Codex and Gemini CLI
share: 0 is a success, 2 blocks, with the reason on standard error, and everything else is a failure
that decides nothing. Unknown fields are ignored; a known field with an invalid value is a failure.
"""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from yourtool.agent.hooks.execution import BLOCKED, HookRun
from yourtool.events.hooks import HookVerdict
from yourtool.foundation.text import storable
from yourtool.settings.hook_config import HookEvent

_MAX_REASON = 2_000
"""Characters of a reason."""
_MAX_CONTEXT = 10_000
"""Characters of the context that a hook adds."""
_WITH_TEXT = ("SessionStart", "SubagentStart", "UserPromptSubmit")
"""The events whose hooks add context with plain text."""
_ABOUT_CALLS = ("PreToolUse", "PermissionRequest")
_CANNOT_BLOCK = (
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "Notification",
    "RouteDecided",
    "ModelSwap",
)
"""The events that have happened, or that nothing can prevent."""

Permission: TypeAlias = Literal["allow", "ask", "deny", "defer"]


class _RequestDecision(Struct, frozen=True, rename="camel"):
    """The answer to `PermissionRequest`."""

    behavior: Literal["allow", "deny"]
    message: str = ""
    updated_input: dict[str, Any] | None = None


class _Specific(Struct, frozen=True, rename="camel"):
    """The fields of `hookSpecificOutput`."""

    permission_decision: Permission | None = None
    permission_decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None
    additional_context: str | None = None
    decision: _RequestDecision | None = None


class _Output(Struct, frozen=True, rename="camel"):
    """The JSON object that a hook prints."""

    continues: bool = msgspec.field(default=True, name="continue")
    stop_reason: str | None = None
    system_message: str | None = None
    decision: Literal["approve", "allow", "ask", "block", "deny"] | None = None
    reason: str | None = None
    hook_specific_output: _Specific | None = None


class HookReply(Struct, frozen=True, kw_only=True):
    """What one run of a hook decided."""

    verdict: HookVerdict = "none"
    reason: str = ""
    context: str = ""
    """For the model."""
    message: str = ""
    """For the user."""
    updated_input: dict[str, Any] | None = None
    """Other arguments for the call, with the names that the hook has for them."""


def parse_reply(event: HookEvent, run: HookRun) -> HookReply:
    """Return what a run of a hook for an event means."""
    if run.problem:
        return HookReply(verdict="failed", reason=run.problem)
    if run.exit_code == BLOCKED:
        reason = _cut(run.errors.strip(), _MAX_REASON) or "it gave no reason"
        if event in _CANNOT_BLOCK:
            return HookReply(message=reason)
        return HookReply(verdict="deny" if event in _ABOUT_CALLS else "block", reason=reason)
    if run.exit_code != 0:
        line = _cut(run.errors.strip().partition("\n")[0], _MAX_REASON)
        words = f"exit code {run.exit_code}{f': {line}' if line else ''}"
        return HookReply(verdict="failed", reason=words)
    text = run.output.strip()
    if not text.startswith("{"):
        return HookReply(context=_cut(text, _MAX_CONTEXT) if event in _WITH_TEXT else "")
    return _parse_object(event, text, run)


def _parse_object(event: HookEvent, text: str, run: HookRun) -> HookReply:
    try:
        output = msgspec.json.decode(text, type=_Output)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        limit = "; it printed more than is read" if run.is_cut else ""
        return HookReply(
            verdict="failed", reason=_cut(f"its JSON is invalid: {error}{limit}", _MAX_REASON)
        )
    specific = output.hook_specific_output or _Specific()
    requested = specific.decision
    verdict = _find_verdict(event, output, specific)
    reasons = (
        output.stop_reason if verdict == "stop" else None,
        specific.permission_decision_reason,
        requested.message if requested is not None else None,
        output.reason,
    )
    changed = requested.updated_input if requested is not None else None
    return HookReply(
        verdict=verdict,
        reason=_cut(next((each for each in reasons if each), ""), _MAX_REASON),
        context=_cut(specific.additional_context or "", _MAX_CONTEXT),
        message=_cut(output.system_message or "", _MAX_REASON),
        updated_input=specific.updated_input or changed,
    )


def _find_verdict(event: HookEvent, output: _Output, specific: _Specific) -> HookVerdict:
    if not output.continues:
        return "none" if event in _CANNOT_BLOCK else "stop"
    if event in _CANNOT_BLOCK:
        return "none"
    if event not in _ABOUT_CALLS:
        return "block" if output.decision in ("block", "deny") else "none"
    if specific.decision is not None:
        return specific.decision.behavior
    match specific.permission_decision or output.decision:
        case "allow" | "approve":
            return "allow"
        case "deny" | "block":
            return "deny"
        case "ask":
            return "ask"
        case _:
            return "none"


def _cut(text: str, size: int) -> str:
    text = storable(text)
    return text if len(text) <= size else f"{text[: size - 1]}…"
