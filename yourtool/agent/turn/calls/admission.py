"""Admission of tool calls."""

import asyncio
import logging
import os
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from yourtool.agent.turn.calls.approval_facts import (
    build_requested_fact,
    build_resolved_fact,
    describe_unattended,
    take_needed,
)
from yourtool.agent.turn.calls.call_judging import judge_call
from yourtool.agent.turn.calls.network_answers import build_offer, take_answer
from yourtool.agent.turn.calls.tool_call import (
    AFTER_PLAN,
    KEEP_PLANNING,
    UNANSWERED_PLAN,
    CallArguments,
    DecidedCall,
    RunningCall,
    ToolCall,
    describe_changes,
    leave_plan_mode,
    load_mask,
)
from yourtool.agent.turn.calls.tool_hooks import notifying
from yourtool.agent.turn.hook_events import take_warnings
from yourtool.agent.turn.turn import Turn
from yourtool.effects import (
    OUTSIDE_SANDBOX,
    Confirmation,
    Consequences,
    Decision,
    NetworkAnswer,
    Preview,
    RuleDescription,
    SandboxOffer,
    Scope,
    ToolDefinition,
    TrustOffer,
    Verdict,
)
from yourtool.errors import ConfigError, ToolError, ToolFailure, UsageError, YourtoolError
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolInputInvalid
from yourtool.ids import new_id
from yourtool.interrupt import Interrupted
from yourtool.messages.blocks import ToolUseBlock
from yourtool.messages.message import now
from yourtool.permissions.examples import build_examples
from yourtool.permissions.judging import CallSubjects, GateDecision
from yourtool.permissions.rules import Rule
from yourtool.settings.config import Mode
from yourtool.tools.base import Block
from yourtool.tools.commands import expanded_targets
from yourtool.tools.tool_names import describe_unknown_tool
from yourtool.tools.toolset import Tool, resolve_subjects

_log = logging.getLogger(__name__)

DENY = Decision(verdict=Verdict.DENY)
EDITS_ACCEPTED = "Edits need no approval in this session: the mode is accept edits now."


async def admit(call: ToolCall, turn: Turn) -> DecidedCall:
    """Return a call that may run.

    Raises:
        ToolError: it must not run.
        Interrupted: the turn was stopped before the user answered.
    """
    block = call.block
    try:
        tool = _find_tool(block, turn)
        if turn.reply.answered_plan:
            raise ToolError(AFTER_PLAN, ToolFailure.CANCELLED)
        if (broken := turn.reply.input_errors.get(block.id)) is not None:
            cut = " The reply hit the output limit." if broken.truncated else ""
            raise ToolError(
                f"The arguments of `{block.name}` were not a complete JSON object:"
                f" {broken.error}.{cut} Call it again with complete arguments.",
                ToolFailure.VALIDATION_ERROR,
            )
        decided = await _decide(call, tool, turn)
    except ToolError as error:
        if error.failure is ToolFailure.VALIDATION_ERROR:
            problems = (await load_mask(turn)).text(str(error)).splitlines()
            await turn.record(
                ToolInputInvalid(
                    tool_use_id=block.id,
                    tool_name=block.name,
                    validation_errors=tuple(problems),
                ),
                parent=call.parent,
            )
        raise
    call.report.note(*describe_changes(decided))
    return decided


async def offer_retry(running: RunningCall, block: Block, turn: Turn) -> RunningCall:
    """Ask whether a call that the sandbox blocked may run again; return its second run.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    shown = running.decided.preview
    assert shown is not None, "a call that runs in a sandbox has a preview"
    shown = replace(
        shown,
        surroundings=OUTSIDE_SANDBOX,
        is_outside=True,
        has_network=False,
        leaving="",
        protected=False,
        editable=None,
        network=build_offer(block),
    )
    asked = await _renew(running.decided, f"it failed in the sandbox: {block.cause}", shown, turn)
    declined = "The user declined to run it outside the sandbox."
    answer, shown = await _request_again(asked, declined, turn)
    return replace(
        running,
        decided=replace(running.decided, preview=shown),
        is_outside_sandbox=answer.network is not NetworkAnswer.HOSTS,
    )


async def request_change(preview: Preview, named: str, decided: DecidedCall, turn: Turn) -> None:
    """Ask whether a change may be made that a command made and that was taken back.

    `named`: the places, and why each needs an answer.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    asked = replace(
        decided,
        parsed=replace(decided.parsed, subjects=CallSubjects(())),
        decision=GateDecision("ask", f"the command changed protected places: {named}"),
        preview=preview,
    )
    await _request_again(asked, "The user declined to change the protected places.", turn)


async def offer_without_copy(decided: DecidedCall, problem: str, turn: Turn) -> DecidedCall:
    """Ask whether a call may run although no safety copy of what it discards could be made.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    assert decided.preview is not None, "a command has a preview"
    reason = f"no safety copy of what it discards could be made: {problem}"
    asked = await _renew(decided, reason, replace(decided.preview, editable=None), turn)
    declined = "The user declined to run it without a copy."
    _, shown = await _request_again(asked, declined, turn)
    return replace(decided, preview=shown)


async def _renew(decided: DecidedCall, reason: str, shown: Preview, turn: Turn) -> DecidedCall:
    """Return a call about which the user is asked again, with its subjects as they are now."""
    parsed = decided.parsed
    around = parsed.tool, parsed.args, turn.env.place.workspace
    subjects = await asyncio.to_thread(resolve_subjects, *around)
    return replace(
        decided,
        parsed=replace(parsed, subjects=subjects),
        decision=GateDecision("ask", reason),
        preview=shown,
    )


async def _request_again(
    asked: DecidedCall, declined: str, turn: Turn
) -> tuple[Decision, Preview | None]:
    """Request an approval of a call that was allowed; return the answer and what runs with it."""
    confirmation = await _build_confirmation(asked, turn)
    answer, shown = await _request_approval(confirmation, asked, turn, declined)
    if answer.verdict is not Verdict.ALLOW:
        raise ToolError(declined, ToolFailure.USER_DENIED)
    return answer, shown


async def _decide(call: ToolCall, tool: Tool, turn: Turn) -> DecidedCall:
    """Return a call that may run; one that the user changed is shown again.

    Raises:
        ToolError: the call must not run.
    """
    given, has_user = CallArguments(call.block.input), turn.env.user.interactive
    while True:
        decided = await judge_call(call, tool, given, turn)
        decision = decided.decision
        if decision.verdict == "deny":
            raise ToolError(decision.reason, ToolFailure.USER_DENIED)
        if decided.runs_unasked:  # without a plan to approve
            return replace(decided, preview=None) if tool.definition.ends_planning else decided
        if tool.definition.ends_planning and not has_user:
            call.report.ends_turn = True
            raise ToolError(UNANSWERED_PLAN, ToolFailure.CANCELLED)
        confirmation = await _build_confirmation(decided, turn)
        confirmation = replace(confirmation, offers_edits=decision.is_free_with_edits and has_user)
        if decision.is_free_if_trusted and has_user:
            offer = await asyncio.to_thread(turn.project.find_trust)
            confirmation = replace(confirmation, trust=offer)
        if decision.is_free_if_contained and has_user:
            sandbox = await asyncio.to_thread(turn.project.find_sandbox)
            confirmation = replace(confirmation, sandbox=sandbox)
        declined = KEEP_PLANNING if confirmation.kind == "plan" else ""
        answer, shown = await _request_approval(confirmation, decided, turn, declined)
        if answer.verdict is not Verdict.EDIT:
            return replace(decided, preview=shown)
        edited = answer.edited_input
        given = CallArguments(edited or call.block.input, is_edited=edited is not None)


async def _build_confirmation(decided: DecidedCall, turn: Turn) -> Confirmation:
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


def _find_tool(block: ToolUseBlock, turn: Turn) -> Tool:
    if (tool := turn.means.toolbox.get(block.name)) is None:
        problem = describe_unknown_tool(block.name, turn.get_tools())
        raise ToolError(problem, ToolFailure.NOT_FOUND)
    return tool


async def _request_approval(
    confirmation: Confirmation, decided: DecidedCall, turn: Turn, declined: str
) -> tuple[Decision, Preview | None]:
    """Request an approval; return the answer, and the preview of what runs with it.

    `declined`: the start of the message if the user declines; empty: nothing was changed.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    call, mask = decided.call, await load_mask(turn)
    tool_use_id = call.block.id
    fact = await asyncio.to_thread(build_requested_fact, confirmation, tool_use_id, mask)
    fact = replace(fact, judgement=call.report.take_judgement())
    requested = await turn.record(fact, parent=call.parent)
    try:
        decision = DENY if turn.reply.denies_rest else await _wait_for_decision(confirmation, turn)
    except Interrupted:
        await turn.record(build_resolved_fact(confirmation, tool_use_id, None), parent=requested.id)
        raise
    await turn.emit(*take_warnings(turn.env.hooks))
    turn.reply.answered_plan = confirmation.kind == "plan" and decision.verdict is not Verdict.EDIT
    if turn.reply.answered_plan and decision.verdict is Verdict.ALLOW:
        leave_plan_mode(call.report, decision.plan, turn)
    await turn.record(build_resolved_fact(confirmation, tool_use_id, decision), parent=requested.id)
    turn.reply.denies_rest = turn.reply.denies_rest or decision.denies_rest
    if not turn.env.user.interactive:
        declined = describe_unattended(confirmation, decided.decision.reason, turn.env.gate.mode)
    _raise_if_denied(decision, confirmation.title, declined, has_user=turn.env.user.interactive)
    if confirmation.rules and decision.scope is not Scope.ONCE:
        try:
            always = decision.scope is Scope.ALWAYS
            rules = decision.rules or confirmation.rules
            await asyncio.to_thread(turn.env.gate.grant, rules, always=always)
        except ConfigError as error:
            text = f"Allowed for this session only: {error}"
            await turn.emit(Notice(level="warning", text=text))
    shown = await take_answer(decision, confirmation, call, turn)
    if decision.accepts_edits and confirmation.offers_edits:
        turn.env.gate.mode = Mode.ACCEPT_EDITS
        await turn.emit(Notice(level="info", text=EDITS_ACCEPTED))
    if decision.trusts_folder and confirmation.trust is not None:
        await turn.emit(*await _trust_folder(confirmation.trust, turn))
    if decision.allows_contained and confirmation.sandbox is not None:
        await turn.emit(await _allow_contained(confirmation.sandbox, turn))
    if decision.note:
        call.report.note(f"Note from the user: {decision.note}")
    return decision, shown


async def _trust_folder(offer: TrustOffer, turn: Turn) -> Sequence[Notice]:
    """Trust a folder from now on, start its servers, and return the messages for the user."""
    try:
        turn.env.gate.is_trusted = await asyncio.to_thread(offer.accept)
    except ConfigError as error:
        return [Notice(level="warning", text=f"Allowed once; the trust is not stored: {error}")]
    if not turn.env.gate.is_trusted:
        return [Notice(level="warning", text="Allowed once; the files of the folder have changed.")]
    trusted, renew = Notice(level="info", text=f"Trusted {offer.folder}."), turn.env.renew_servers
    try:
        return [trusted, *(await renew() if renew is not None else ())]
    except YourtoolError as error:  # a file of servers
        return [trusted, Notice(level="error", text=str(error))]


async def _allow_contained(offer: SandboxOffer, turn: Turn) -> Notice:
    """Allow what stays in the sandbox from now on, and return the message for the user."""
    try:
        await asyncio.to_thread(offer.accept)
    except ConfigError as error:
        return Notice(level="warning", text=f"Allowed once; the answer is not stored: {error}")
    turn.env.gate.allows_contained = True
    text = f"Commands that stay in the sandbox need no approval in {offer.folder} from now on."
    return Notice(level="info", text=text)


async def _wait_for_decision(confirmation: Confirmation, turn: Turn) -> Decision:
    limits = turn.env.spending.limits
    seconds = limits.confirmation_timeout_seconds if confirmation.expires_at else None
    await turn.channel.wait_shown()
    try:
        async with notifying(confirmation, turn), asyncio.timeout(seconds):
            return await turn.interrupt.guard(turn.env.user.confirm(confirmation))
    except TimeoutError:
        return Decision(verdict=Verdict.TIMEOUT)


def _raise_if_denied(decision: Decision, name: str, declined: str, *, has_user: bool) -> None:
    if decision.verdict is Verdict.TIMEOUT:
        raise ToolError(
            f"The approval request for `{name}` timed out, so it did not run.",
            ToolFailure.CONFIRMATION_TIMEOUT,
        )
    if decision.verdict is Verdict.CANCELLED:
        raise ToolError(
            f"The approval request for `{name}` got no answer, so it did not run.",
            ToolFailure.CANCELLED,
        )
    if decision.verdict is Verdict.DENY:
        note = f" Their note: {decision.note}" if decision.note and has_user else ""
        raise ToolError(
            f"{declined or f'The user declined this call of `{name}`; nothing was changed.'}{note}",
            ToolFailure.USER_DENIED,
        )
