"""Admission of tool calls."""

import asyncio
import logging
import os
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from yourtool.agent.turn.calls.approval_facts import (
    build_requested_fact,
    build_resolved_fact,
    describe_unattended,
    take_needed,
)
from yourtool.agent.turn.calls.call_judging import judge_call, parse_call
from yourtool.agent.turn.calls.network_answers import build_offer, take_answer
from yourtool.agent.turn.calls.tool_call import (
    AFTER_PLAN,
    KEEP_PLANNING,
    UNANSWERED_PLAN,
    ToolCall,
    describe_edit,
    describe_hooked_input,
    leave_plan_mode,
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
from yourtool.tools.toolset import Tool

_log = logging.getLogger(__name__)

DENY = Decision(verdict=Verdict.DENY)
EDITS_ACCEPTED = "Edits need no approval in this session: the mode is accept edits now."


async def admit(call: ToolCall, turn: Turn) -> ToolError | None:
    """Validate and approve a call; return why it must not run, or None.

    Raises:
        Interrupted: the turn was stopped before the user answered.
    """
    block = call.block
    try:
        call.tool = _find_tool(block, turn)
        if turn.answered_plan:
            raise ToolError(AFTER_PLAN, ToolFailure.CANCELLED)
        if (broken := turn.input_errors.get(block.id)) is not None:
            cut = " The reply hit the output limit." if broken.truncated else ""
            raise ToolError(
                f"The arguments of `{block.name}` were not a complete JSON object:"
                f" {broken.error}.{cut} Call it again with complete arguments.",
                ToolFailure.VALIDATION_ERROR,
            )
        await _decide(call, call.tool, turn)
    except ToolError as error:
        if error.failure is ToolFailure.VALIDATION_ERROR:
            problems = (await call.load_mask(turn)).text(str(error)).splitlines()
            await turn.record(
                ToolInputInvalid(
                    tool_use_id=block.id,
                    tool_name=block.name,
                    validation_errors=tuple(problems),
                ),
                parent=call.parent,
            )
        return error
    return None


async def offer_retry(call: ToolCall, block: Block, turn: Turn) -> None:
    """Ask whether a call that the sandbox blocked may run again outside of it.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    assert call.preview is not None, "a call that runs in a sandbox has a preview"
    call.preview = replace(
        call.preview,
        surroundings=OUTSIDE_SANDBOX,
        is_outside=True,
        has_network=False,
        leaving="",
        protected=False,
        editable=None,
        network=build_offer(block),
    )
    subjects = await asyncio.to_thread(parse_call, call, call.tool, turn) if call.tool else None
    decision = GateDecision("ask", f"it failed in the sandbox: {block.cause}")
    confirmation = await _build_confirmation(call, turn, decision, subjects or CallSubjects(()))
    declined = "The user declined to run it outside the sandbox."
    answer = await _request_approval(confirmation, call, turn, declined)
    if answer.verdict is not Verdict.ALLOW:
        raise ToolError(declined, ToolFailure.USER_DENIED)
    call.runs_again = True
    call.is_outside_sandbox = answer.network is not NetworkAnswer.HOSTS


async def request_change(preview: Preview, named: str, call: ToolCall, turn: Turn) -> None:
    """Ask whether a change may be made that a command made and that was taken back.

    `named`: the places, and why each needs an answer.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    decision = GateDecision("ask", f"the command changed protected places: {named}")
    shown, call.preview = call.preview, preview
    confirmation = await _build_confirmation(call, turn, decision, CallSubjects(()))
    call.preview = shown
    declined = "The user declined to change the protected places."
    answer = await _request_approval(confirmation, call, turn, declined)
    if answer.verdict is not Verdict.ALLOW:
        raise ToolError(declined, ToolFailure.USER_DENIED)


async def offer_without_copy(call: ToolCall, problem: str, turn: Turn) -> None:
    """Ask whether a call may run although no safety copy of what it discards could be made.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    assert call.preview is not None, "a command has a preview"
    call.preview = replace(call.preview, editable=None)
    subjects = await asyncio.to_thread(parse_call, call, call.tool, turn) if call.tool else None
    reason = f"no safety copy of what it discards could be made: {problem}"
    decision = GateDecision("ask", reason)
    confirmation = await _build_confirmation(call, turn, decision, subjects or CallSubjects(()))
    answer = await _request_approval(confirmation, call, turn)
    if answer.verdict is not Verdict.ALLOW:
        raise ToolError("The user declined to run it without a copy.", ToolFailure.USER_DENIED)


async def _decide(call: ToolCall, tool: Tool, turn: Turn) -> None:
    """Return normally if the call may run; a call that the user changed is shown again.

    Raises:
        ToolError: the call must not run.
    """
    while True:
        await judge_call(call, tool, turn)
        decision = call.decision
        if decision.verdict == "deny":
            raise ToolError(decision.reason, ToolFailure.USER_DENIED)
        if decision.verdict == "allow" and call.edited_input is None:
            call.command, call.only_reads = decision.command, decision.only_reads
            if tool.definition.ends_planning:
                call.preview = None  # there was no plan to approve
            break
        if tool.definition.ends_planning and not turn.env.interactive:
            call.ends_turn = True
            raise ToolError(UNANSWERED_PLAN, ToolFailure.CANCELLED)
        call.command, call.only_reads = None, False  # what the user allows runs as it was shown
        confirmation = await _build_confirmation(call, turn, decision, call.subjects)
        offers_edits = decision.is_free_with_edits and turn.env.interactive
        confirmation = replace(confirmation, offers_edits=offers_edits)
        if decision.is_free_if_trusted and turn.env.interactive:
            offer = await asyncio.to_thread(turn.find_trust_offer)
            confirmation = replace(confirmation, trust=offer)
        if decision.is_free_if_contained and turn.env.interactive:
            sandbox = await asyncio.to_thread(turn.find_sandbox_offer)
            confirmation = replace(confirmation, sandbox=sandbox)
        declined = KEEP_PLANNING if confirmation.kind == "plan" else ""
        answer = await _request_approval(confirmation, call, turn, declined)
        if answer.verdict is not Verdict.EDIT:
            break
        call.edit(answer.edited_input)
    if call.edited_input is not None:
        call.notes += (describe_edit(call, await call.load_mask(turn)),)
    if call.hooked_input is not None:
        call.notes += (describe_hooked_input(call, await call.load_mask(turn)),)


async def _build_confirmation(
    call: ToolCall, turn: Turn, decision: GateDecision, subjects: CallSubjects
) -> Confirmation:
    assert call.tool is not None, "only a known tool needs approval"
    limit = timedelta(seconds=turn.env.limits.confirmation_timeout_seconds)
    subject = subjects.items[0] if len(subjects.items) == 1 else None
    consequences = Consequences()
    if subject is not None and subject.kind == "command" and turn.env.interactive:
        environment = turn.env.environments.build_for_model(os.environ)
        finding = expanded_targets.find_consequences(
            subject.text, Path(subject.directory), environment
        )
        consequences = await turn.interrupt.guard(finding)
        if call.lost_work is not None:
            consequences = call.lost_work.describe().join(consequences)
    if call.preview is not None and (missing := call.preview.missing_sandbox):
        consequences = Consequences((f"no sandbox: {missing}",)).join(consequences)
    rules = decision.proposed_rules
    if subject is not None and not turn.env.interactive:
        definition, granted = call.tool.definition, turn.env.gate.policy.rules
        rules = await asyncio.to_thread(take_needed, rules, definition, subject, granted)
    return Confirmation(
        id=new_id(),
        kind="plan" if call.tool.definition.ends_planning else "tool",
        title=call.block.name,
        tool_use_id=call.block.id,
        side_effects=call.tool.definition.side_effects,
        subject=subject,
        input=call.adjusted_input,
        describe_rule=partial(_describe_rule, call.tool.definition),
        is_edited=call.edited_input is not None,
        changed_by_hook=call.changed_by_hook,
        following=call.following,
        preview=call.preview,
        network=call.preview and call.preview.network,
        consequences=consequences,
        rules=rules,
        wider_rules=decision.wider_rules,
        exact_rules=decision.exact_rules,
        no_rule_reason=decision.no_rule_reason,
        reason="" if decision.is_evident else decision.reason,
        expires_at=None if turn.env.interactive else now() + limit,
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
    if (tool := turn.toolbox.get(block.name)) is None:
        problem = describe_unknown_tool(block.name, turn.get_tools())
        raise ToolError(problem, ToolFailure.NOT_FOUND)
    return tool


async def _request_approval(
    confirmation: Confirmation, call: ToolCall, turn: Turn, declined: str = ""
) -> Decision:
    """Request an approval, set and return the answer, and add the user's note to the call.

    `declined`: the start of the message if the user declines, if the call has run before.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    tool_use_id, mask = call.block.id, await asyncio.to_thread(turn.env.mask)
    fact = await asyncio.to_thread(build_requested_fact, confirmation, tool_use_id, mask)
    fact, call.judgement = replace(fact, judgement=call.judgement), UNSET
    requested = await turn.record(fact, parent=call.parent)
    try:
        decision = DENY if turn.denies_rest else await _wait_for_decision(confirmation, turn)
    except Interrupted:
        await turn.record(build_resolved_fact(confirmation, tool_use_id, None), parent=requested.id)
        raise
    await turn.emit(*take_warnings(turn.env.hooks))
    turn.answered_plan = confirmation.kind == "plan" and decision.verdict is not Verdict.EDIT
    if turn.answered_plan and decision.verdict is Verdict.ALLOW:
        leave_plan_mode(call, decision.plan, turn)
    await turn.record(build_resolved_fact(confirmation, tool_use_id, decision), parent=requested.id)
    call.answer, turn.denies_rest = decision, turn.denies_rest or decision.denies_rest
    if not turn.env.interactive:
        declined = describe_unattended(confirmation, call.decision.reason, turn.env.gate.mode)
    _raise_if_denied(decision, confirmation.title, declined, has_user=turn.env.interactive)
    if confirmation.rules and decision.scope is not Scope.ONCE:
        try:
            always = decision.scope is Scope.ALWAYS
            rules = decision.rules or confirmation.rules
            await asyncio.to_thread(turn.env.gate.grant, rules, always=always)
        except ConfigError as error:
            text = f"Allowed for this session only: {error}"
            await turn.emit(Notice(level="warning", text=text))
    if (notice := await take_answer(decision, confirmation.network, call, turn)) is not None:
        await turn.emit(notice)
    if decision.accepts_edits and confirmation.offers_edits:
        turn.env.gate.mode = Mode.ACCEPT_EDITS
        await turn.emit(Notice(level="info", text=EDITS_ACCEPTED))
    if decision.trusts_folder and confirmation.trust is not None:
        await turn.emit(*await _trust_folder(confirmation.trust, turn))
    if decision.allows_contained and confirmation.sandbox is not None:
        await turn.emit(await _allow_contained(confirmation.sandbox, turn))
    if decision.note:
        call.notes += (f"Note from the user: {decision.note}",)
    return decision


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
    seconds = turn.env.limits.confirmation_timeout_seconds if confirmation.expires_at else None
    await turn.channel.wait_shown()
    try:
        async with notifying(confirmation, turn), asyncio.timeout(seconds):
            return await turn.interrupt.guard(turn.env.confirm(confirmation))
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
