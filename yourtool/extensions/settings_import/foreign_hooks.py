"""Translation of foreign hooks.

Claude Code, Codex and Gemini CLI share one shape of hooks. {"hooks": {"PreToolUse": [{"matcher":
"Bash", "hooks": [{"type": "command", "command": "x"}]}]}} See https://code.claude.com/docs/en/hooks
and https://geminicli.com/docs/hooks.
"""

import re
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from yourtool.extensions.settings_import.findings import Findings, Hook, as_list
from yourtool.settings.hook_config import EVERYTHING, MAX_SECONDS, HookConfig, HookEvent
from yourtool.settings.tables import is_table
from yourtool.tools.aliases import find_own_names

_EVENTS: Mapping[str, str] = {
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "PreCompress": "PreCompact",
    **{each: each for each in get_args(HookEvent)},
}
"""Events by their names in Gemini CLI, and by ours, which are those of Claude Code."""
_TOOL_EVENTS = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"})
_WORDS = re.compile(r"[\w-]+(?:\|[\w-]+)*")
_FIELDS = frozenset({"type", "command", "timeout", "name", "description", "statusMessage"})
_MILLISECONDS = 1000
_MAX_HOOKS = 100


def add_hooks(findings: Findings, table: Any, place: str, *, in_milliseconds: bool = False) -> None:
    """Add the hooks of a table of events, and what of it has no place here."""
    if table is None:
        return
    if not is_table(table):
        findings.omit("hook", "hooks", place, "it is no object of events")
        return
    for event, groups in table.items():
        for group in as_list(groups):
            if not is_table(group):
                findings.omit("hook", event, place, "it is no object with `hooks`")
                continue
            own = _EVENTS.get(event)
            for entry in as_list(group.get("hooks")):
                if own is None:
                    findings.omit("hook", event, place, f"there is no event `{event}` here")
                    break
                if len(findings.hooks) >= _MAX_HOOKS:
                    findings.omit("hook", event, place, f"there are over {_MAX_HOOKS} hooks")
                    return
                _add_hook(findings, own, group.get("matcher"), entry, place, in_milliseconds)


def _add_hook(
    findings: Findings, event: str, matcher: Any, entry: Any, place: str, in_milliseconds: bool
) -> None:
    if not is_table(entry) or not isinstance(entry.get("command"), str):
        findings.omit("hook", event, place, "it has no `command`")
        return
    kind = entry.get("type", "command")
    if kind != "command":
        findings.omit("hook", event, place, f"a hook of type `{kind}` is not a command")
        return
    if others := sorted(name for name, value in entry.items() if value and name not in _FIELDS):
        findings.omit("hook", event, place, f"hooks here have no `{others[0]}`")
        return
    seconds = entry.get("timeout", 60)
    if isinstance(seconds, int | float) and in_milliseconds and "timeout" in entry:
        seconds = min(seconds, MAX_SECONDS * _MILLISECONDS) / _MILLISECONDS
    fields = {
        "event": event,
        "command": entry["command"],
        "matcher": _to_own_matcher(event, matcher or ""),
        "timeout": min(seconds, MAX_SECONDS) if isinstance(seconds, int | float) else seconds,
    }
    try:
        hook = msgspec.convert(fields, HookConfig)
    except ValueError as error:  # also a `ValidationError`
        findings.omit("hook", event, place, str(error))
    else:
        findings.hooks.append(Hook(hook, place))


def _to_own_matcher(event: str, matcher: Any) -> Any:
    """Return a matcher with our names of tools; a pattern stays, because it can match all names."""
    if event not in _TOOL_EVENTS or not isinstance(matcher, str) or matcher in EVERYTHING:
        return matcher
    if not _WORDS.fullmatch(matcher):
        return matcher
    names = (find_own_names(each) or (each,) for each in matcher.split("|"))
    return "|".join(dict.fromkeys(name for own in names for name in own))
