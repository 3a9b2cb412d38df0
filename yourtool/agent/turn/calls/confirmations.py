"""Approval requests for calls."""

import asyncio
import os
from datetime import timedelta
from functools import partial
from pathlib import Path

from yourtool.agent.turn.calls.approval_facts import take_needed
from yourtool.agent.turn.calls.tool_call import DecidedCall
from yourtool.agent.turn.turn import Turn
from yourtool.effects import Confirmation, Consequences, RuleDescription, ToolDefinition
from yourtool.errors import UsageError
from yourtool.ids import new_id
from yourtool.messages.message import now
from yourtool.permissions.examples import build_examples
from yourtool.permissions.rules import Rule
from yourtool.tools.commands import expanded_targets


async def build_confirmation(decided: DecidedCall, turn: Turn) -> Confirmation:
    """Return the request about a call, with its consequences and the rules on offer."""
    parsed, decision, shown = decided.parsed, decided.decision, decided.preview
    limit = timedelta(seconds=turn.env.spending.limits.confirmation_timeout_seconds)
    subject = parsed.subjects.items[0] if len(parsed.subjects.items) == 1 else None
    consequences, definition = Consequences(), parsed.tool.definition
    if subject is not None and subject.kind == "command" and turn.env.user.interactive:
        environment = turn.env.place.environments.build_for_model(os.environ)
        finding = expanded_targets.find_consequences(
            subject.text, Path(subject.directory), environment
        )
        consequences = await turn.interrupt.guard(finding)
        if decided.lost_work is not None:
            consequences = decided.lost_work.describe().join(consequences)
    if shown is not None and (missing := shown.missing_sandbox):
        consequences = Consequences((f"no sandbox: {missing}",)).join(consequences)
    rules = decision.proposed_rules
    if subject is not None and not turn.env.user.interactive:
        granted = turn.env.gate.policy.rules
        rules = await asyncio.to_thread(take_needed, rules, definition, subject, granted)
    return Confirmation(
        id=new_id(),
        kind="plan" if definition.ends_planning else "tool",
        title=decided.call.block.name,
        tool_use_id=decided.call.block.id,
        side_effects=definition.side_effects,
        subject=subject,
        input=parsed.adjusted,
        describe_rule=partial(_describe_rule, definition),
        is_edited=parsed.given.is_edited,
        changed_by_hook=parsed.given.hook,
        following=decided.call.following,
        preview=shown,
        network=shown and shown.network,
        consequences=consequences,
        rules=rules,
        wider_rules=decision.wider_rules,
        exact_rules=decision.exact_rules,
        no_rule_reason=decision.no_rule_reason,
        reason="" if decision.is_evident else decision.reason,
        expires_at=None if turn.env.user.interactive else now() + limit,
    )


def _describe_rule(tool: ToolDefinition, text: str) -> RuleDescription:
    """Return examples of what a rule for a tool covers, or why it is not one."""
    try:
        rule = Rule.parse(text, {tool.name: tool.subject_kind})
    except UsageError as error:
        return RuleDescription(problem=str(error))
    if not rule.covers_tool(tool.name):
        return RuleDescription(problem=f"`{text}` is not a rule for `{tool.name}`")
    examples = build_examples(rule, tool.subject_kind)
    return RuleDescription(covered=examples.match, others=examples.not_match)
