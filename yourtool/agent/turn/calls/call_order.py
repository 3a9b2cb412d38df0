"""Order of the calls of one reply."""

import posixpath
from collections.abc import Sequence

from yourtool.agent.turn.calls.tool_call import DecidedCall
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.messages.blocks import ToolUseBlock

MOST_TOGETHER = 20
"""Calls that are judged before the first of them runs; each can be an open question with hooks."""


def runs_beside_others(decided: DecidedCall) -> bool:
    """Return whether a call changes nothing here, or a worker does its work."""
    effects = decided.parsed.tool.definition.side_effects
    if effects in (SideEffects.WRITE, SideEffects.EXECUTE):
        return decided.call.delegates or decided.decision.only_reads
    return True


def count_independent(calls: Sequence[tuple[ToolUseBlock, ToolDefinition | None]]) -> int:
    """Return the number of first calls whose previews do not depend on each other, at least 1.

    The preview of a change to a file is wrong if a command or another change to this file runs
    afterwards. The approval mode may be another one after a plan.
    """
    changed, has_command = set[str](), False
    for at, (block, tool) in enumerate(calls[:MOST_TOGETHER]):
        if tool is None:
            continue
        if tool.ends_planning:
            return max(1, at)
        if tool.side_effects is SideEffects.WRITE:
            path = block.input.get("path")
            name = posixpath.normpath(path) if isinstance(path, str) else ""
            if has_command or "" in changed or name in changed or (changed and not name):
                return at
            changed.add(name)
        has_command = has_command or tool.side_effects is SideEffects.EXECUTE
    return min(len(calls), MOST_TOGETHER)
