"""Facts of an approval."""

from collections.abc import Sequence

from msgspec import UNSET

from yourtool.effects import Confirmation, Decision, Subject, ToolDefinition, Verdict
from yourtool.events.tools import ToolConfirmationRequested, ToolConfirmationResolved
from yourtool.foundation.masking import Mask
from yourtool.messages.blocks import canonical_json
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict
from yourtool.settings.config import Mode

_MAX_SUMMARY_CHARACTERS = 200
"""Characters of the arguments stored in the event; the approval prompt shows all of them."""


def build_requested_fact(
    confirmation: Confirmation, tool_use_id: str, mask: Mask
) -> ToolConfirmationRequested:
    """Return the fact that the user is asked; `mask` hides keys in it."""
    preview, rules = confirmation.preview, tuple(map(mask.text, confirmation.rules))
    command = preview.body if preview and preview.kind == "command" else None
    arguments = canonical_json(confirmation.input).decode()
    return ToolConfirmationRequested(
        tool_use_id=tool_use_id,
        tool_name=confirmation.title,
        side_effects=confirmation.side_effects,
        confirmation_request_id=confirmation.id,
        input_summary=mask.slice(arguments, 0, _MAX_SUMMARY_CHARACTERS),
        projected_modifications=tuple(map(mask.text, preview.paths)) if preview else (),
        command_summary=None if command is None else mask.text(command),
        rule=rules[0] if rules else None,
        rules=rules or UNSET,
        expires_at=confirmation.expires_at,
    )


def build_resolved_fact(
    confirmation: Confirmation, tool_use_id: str, decision: Decision | None
) -> ToolConfirmationResolved:
    """Return the fact that the user answered; `decision` None: the turn was stopped."""
    allowed = decision is not None and decision.verdict is Verdict.ALLOW
    return ToolConfirmationResolved(
        tool_use_id=tool_use_id,
        confirmation_request_id=confirmation.id,
        decision="cancelled" if decision is None else decision.verdict.value,
        scope=decision.scope.value if decision is not None and allowed else None,
        plan=decision.plan or UNSET if decision is not None and allowed else UNSET,
    )


def take_needed(
    rules: Sequence[str], tool: ToolDefinition, subject: Subject, granted: RuleSet
) -> tuple[str, ...]:
    """Return the first of the proposed rules that cover a call; those after them cover others.

    Blocks on the file system.
    """
    parsed = [Rule.parse(each, {tool.name: tool.subject_kind}) for each in rules]
    for count in range(1, len(rules)):
        found = RuleSet(allow=(*granted.allow, *parsed[:count]))
        if found.verdict(tool.name, subject) is RuleVerdict.ALLOW:
            return tuple(rules[:count])
    return tuple(rules)


def describe_unattended(confirmation: Confirmation, reason: str, mode: Mode) -> str:
    """Return the message for a model whose call no user can approve.

    `reason`: why the call needs an approval, a clause.
    """
    options = " ".join(f"--allow '{rule}'" for rule in confirmation.rules)
    ways = [f"`{options}`"] if options else []
    if ways and mode is not Mode.AUTO:
        ways.append("another `--mode`")
    allowing = f" The user can allow it next time with {' or '.join(ways)}." if ways else ""
    return (
        f"`{confirmation.title}` was not run: it needs an approval in the mode `{mode.value}`"
        f" ({confirmation.reason or reason}), and no user is present to give one. Do without it,"
        f" or say in your answer what you could not do.{allowing}"
    )
