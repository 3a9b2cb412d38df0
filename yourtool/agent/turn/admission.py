"""Decide whether a tool call may run: validate, preview and approve it."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from functools import partial
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from yourtool.agent.turn.judgements import build_judgement, build_snapshot
from yourtool.agent.turn.tool_call import (
    AFTER_PLAN,
    BUG_MESSAGE,
    KEEP_PLANNING,
    UNANSWERED_PLAN,
    ToolCall,
    describe_edit,
    leave_plan_mode,
)
from yourtool.agent.turn.turn import Turn
from yourtool.agent.turn.uncommitted_work import find_discarded, is_work_of_user
from yourtool.effects import (
    Confirmation,
    Consequences,
    Decision,
    RuleDescription,
    Scope,
    ToolDefinition,
    TrustOffer,
    Verdict,
)
from yourtool.errors import ConfigError, ToolError, ToolFailure, UsageError
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.events.permissions import CallJudgement
from yourtool.events.tools import (
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolInputInvalid,
)
from yourtool.ids import new_id
from yourtool.interrupt import Interrupted
from yourtool.masking import Mask
from yourtool.messages.blocks import ToolUseBlock, canonical_json
from yourtool.messages.message import now
from yourtool.permissions.examples import build_examples
from yourtool.permissions.gate import (
    CallSubjects,
    GateDecision,
    JudgedCall,
    Policy,
    build_judged_call,
    judge,
)
from yourtool.permissions.rules import Rule
from yourtool.tools import expanded_targets
from yourtool.tools.tool_names import describe_unknown_tool
from yourtool.tools.toolset import Tool, resolve_subjects

_log = logging.getLogger(__name__)

OUTSIDE = "outside the sandbox, with all your rights"
"""Where a call runs that the user allowed after it failed in the sandbox."""
DENY = Decision(verdict=Verdict.DENY)
_MAX_SUMMARY_CHARACTERS = 200
"""Characters of the arguments stored in the event; the approval prompt shows all of them."""


async def admit(call: ToolCall, turn: Turn) -> AsyncGenerator[Event, None]:
    """Validate and approve a call; sets its `refusal` if it must not run.

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
        async with aclosing(_decide(call, call.tool, turn)) as events:
            async for event in events:
                yield event
    except ToolError as error:
        call.refusal = error
        if error.failure is ToolFailure.VALIDATION_ERROR:
            problems = (await call.load_mask(turn)).text(str(error)).splitlines()
            yield await turn.record(
                ToolInputInvalid(
                    tool_use_id=block.id,
                    tool_name=block.name,
                    validation_errors=tuple(problems),
                ),
                parent=call.parent,
            )


async def offer_retry(call: ToolCall, blocked: str, turn: Turn) -> AsyncGenerator[Event, None]:
    """Ask whether a call that the sandbox blocked may run again outside of it.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    assert call.preview is not None, "a call that runs in a sandbox has a preview"
    call.preview = replace(call.preview, surroundings=OUTSIDE, protected=False, editable=None)
    subjects = await asyncio.to_thread(_parse, call, call.tool, turn) if call.tool else None
    decision = GateDecision("ask", f"it failed in the sandbox: {blocked}")
    confirmation = await _build_confirmation(call, turn, decision, subjects or CallSubjects(()))
    declined = "The user declined to run it outside the sandbox."
    async with aclosing(_request_approval(confirmation, call, turn, declined)) as events:
        async for event in events:
            yield event
    if call.answer is None or call.answer.verdict is not Verdict.ALLOW:
        raise ToolError(declined, ToolFailure.USER_DENIED)
    call.is_outside_sandbox = True


async def offer_without_copy(
    call: ToolCall, problem: str, turn: Turn
) -> AsyncGenerator[Event, None]:
    """Ask whether a call may run although no safety copy of what it discards could be made.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    assert call.preview is not None, "a command has a preview"
    call.preview = replace(call.preview, editable=None)
    subjects = await asyncio.to_thread(_parse, call, call.tool, turn) if call.tool else None
    reason = f"no safety copy of what it discards could be made: {problem}"
    decision = GateDecision("ask", reason)
    confirmation = await _build_confirmation(call, turn, decision, subjects or CallSubjects(()))
    async with aclosing(_request_approval(confirmation, call, turn)) as events:
        async for event in events:
            yield event
    if call.answer is None or call.answer.verdict is not Verdict.ALLOW:
        raise ToolError("The user declined to run it without a copy.", ToolFailure.USER_DENIED)


async def _decide(call: ToolCall, tool: Tool, turn: Turn) -> AsyncGenerator[Event, None]:
    """Return normally if the call may run; a call that the user changed is shown again.

    Raises:
        ToolError: the call must not run.
    """
    while True:
        subjects = await _parse_and_preview(call, tool, turn)
        policy = turn.env.gate.policy
        call.lost_work = await find_discarded(subjects, turn)
        loses_work = turn.env.interactive and await is_work_of_user(call.lost_work, turn)
        judged = build_judged_call(tool.definition, subjects, call.preview, loses_work=loses_work)
        mask = await call.load_mask(turn)
        decision, judgement = await turn.interrupt.guard(
            asyncio.to_thread(_judge, policy, judged, mask)
        )
        if judgement.policy != turn.state.policy:
            yield await turn.record(build_snapshot(policy, judgement.policy), parent=call.parent)
        call.judgement = judgement
        if decision.verdict == "deny":
            raise ToolError(decision.reason, ToolFailure.USER_DENIED)
        if decision.verdict == "allow" and call.edited_input is None:
            call.command = decision.command
            if tool.definition.ends_planning:
                call.preview = None  # there was no plan to approve
            return
        if tool.definition.ends_planning and not turn.env.interactive:
            call.ends_turn = True
            raise ToolError(UNANSWERED_PLAN, ToolFailure.CANCELLED)
        call.command = None  # what the user allows runs as it was shown
        confirmation = await _build_confirmation(call, turn, decision, subjects)
        if decision.is_free_if_trusted and turn.env.interactive:
            offer = await asyncio.to_thread(turn.find_trust_offer)
            confirmation = replace(confirmation, trust=offer)
        declined = KEEP_PLANNING if confirmation.kind == "plan" else ""
        async with aclosing(_request_approval(confirmation, call, turn, declined)) as events:
            async for event in events:
                yield event
        if call.answer is None or call.answer.verdict is not Verdict.EDIT:
            break
        call.edited_input = call.answer.edited_input
    if call.edited_input is not None:
        call.notes += (describe_edit(call, await call.load_mask(turn)),)


def _judge(policy: Policy, judged: JudgedCall, mask: Mask) -> tuple[GateDecision, CallJudgement]:
    """Return the decision about a call, and its stored form; runs in a thread."""
    decision = judge(policy, judged)
    return decision, build_judgement(judged, decision, policy.get_digest(), mask)


async def _parse_and_preview(call: ToolCall, tool: Tool, turn: Turn) -> CallSubjects:
    """Parse the arguments, set the preview, and return the subjects for the permission rules.

    Raises:
        ToolError: the arguments are invalid, or the tool has a bug.
    """
    try:
        subjects = await turn.interrupt.guard(asyncio.to_thread(_parse, call, tool, turn))
        context = await call.build_context(turn)
        call.preview = await turn.interrupt.guard(tool.preview(call.args, context))
    except (ToolError, Interrupted):
        raise
    except Exception as error:
        _log.exception("tool %s failed before it ran", call.block.name)
        raise ToolError(BUG_MESSAGE.format(call.block.name)) from error
    return subjects


def _parse(call: ToolCall, tool: Tool, turn: Turn) -> CallSubjects:
    """Set the arguments and the mask of a call, and return its subjects; runs in a thread."""
    adjusted = tool.adjust(call.input)
    call.args = tool.parse(adjusted.values)
    call.adjusted_input = adjusted.values
    call.notes += tuple(note for note in adjusted.notes if note not in call.notes)
    subjects = resolve_subjects(tool, call.args, turn.env.workspace)
    call.mask = turn.env.mask()
    return subjects


async def _build_confirmation(
    call: ToolCall, turn: Turn, decision: GateDecision, subjects: CallSubjects
) -> Confirmation:
    assert call.tool is not None, "only a known tool needs approval"
    limit = timedelta(seconds=turn.env.limits.confirmation_timeout_seconds)
    subject = subjects.items[0] if len(subjects.items) == 1 else None
    consequences = Consequences()
    if subject is not None and subject.kind == "command" and turn.env.interactive:
        finding = expanded_targets.find_consequences(subject.text, Path(subject.directory))
        consequences = await turn.interrupt.guard(finding)
        if call.lost_work is not None:
            consequences = call.lost_work.describe().join(consequences)
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
        following=call.following,
        preview=call.preview,
        consequences=consequences,
        rules=decision.proposed_rules,
        no_rule_reason=decision.no_rule_reason,
        reason=decision.reason,
        expires_at=None if turn.env.interactive else now() + limit,
    )


def _describe_rule(tool: ToolDefinition, text: str) -> RuleDescription:
    """Return examples of what a rule for a tool covers, or why it is not one."""
    try:
        rule = Rule.parse(text, {tool.name: tool.subject_kind})
    except UsageError as error:
        return RuleDescription(problem=str(error))
    if rule.tool != tool.name:
        return RuleDescription(problem=f"`{text}` is not a rule for `{tool.name}`")
    examples = build_examples(rule, tool.subject_kind)
    return RuleDescription(covered=examples.match, others=examples.not_match)


def _find_tool(block: ToolUseBlock, turn: Turn) -> Tool:
    if (tool := turn.toolbox.get(block.name)) is None:
        problem = describe_unknown_tool(block.name, turn.toolbox.offered_to(turn.model))
        raise ToolError(problem, ToolFailure.NOT_FOUND)
    return tool


async def _request_approval(
    confirmation: Confirmation, call: ToolCall, turn: Turn, declined: str = ""
) -> AsyncGenerator[Event, None]:
    """Request an approval, set the answer of the call, and add the user's note to it.

    `declined`: the start of the message if the user declines, if the call has run before.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    tool_use_id, mask = call.block.id, await asyncio.to_thread(turn.env.mask)
    fact = await asyncio.to_thread(_build_requested_fact, confirmation, tool_use_id, mask)
    fact, call.judgement = replace(fact, judgement=call.judgement), UNSET
    requested = await turn.record(fact, parent=call.parent)
    yield requested
    try:
        decision = DENY if turn.denies_rest else await _wait_for_decision(confirmation, turn)
    except Interrupted:
        yield await turn.record(
            _build_resolved_fact(confirmation, tool_use_id, None), parent=requested.id
        )
        raise
    turn.answered_plan = confirmation.kind == "plan" and decision.verdict is not Verdict.EDIT
    if turn.answered_plan and decision.verdict is Verdict.ALLOW:
        leave_plan_mode(call, decision.plan, turn)
    yield await turn.record(
        _build_resolved_fact(confirmation, tool_use_id, decision), parent=requested.id
    )
    call.answer, turn.denies_rest = decision, turn.denies_rest or decision.denies_rest
    _raise_if_denied(decision, confirmation.title, declined)
    if confirmation.rules and decision.scope is not Scope.ONCE:
        try:
            always = decision.scope is Scope.ALWAYS
            rules = decision.rules or confirmation.rules
            await asyncio.to_thread(turn.env.gate.grant, rules, always=always)
        except ConfigError as error:
            yield Notice(level="warning", text=f"Allowed for this session only: {error}")
    if decision.trusts_folder and confirmation.trust is not None:
        yield await _trust_folder(confirmation.trust, turn)
    if decision.note:
        call.notes += (f"Note from the user: {decision.note}",)


async def _trust_folder(offer: TrustOffer, turn: Turn) -> Notice:
    """Trust a folder from now on, and return the message for the user."""
    try:
        turn.env.gate.is_trusted = await asyncio.to_thread(offer.accept)
    except ConfigError as error:
        return Notice(level="warning", text=f"Allowed once; the trust is not stored: {error}")
    if not turn.env.gate.is_trusted:
        return Notice(level="warning", text="Allowed once; the files of the folder have changed.")
    return Notice(level="info", text=f"Trusted {offer.folder}.")


async def _wait_for_decision(confirmation: Confirmation, turn: Turn) -> Decision:
    seconds = turn.env.limits.confirmation_timeout_seconds if confirmation.expires_at else None
    try:
        async with asyncio.timeout(seconds):
            return await turn.interrupt.guard(turn.env.confirm(confirmation))
    except TimeoutError:
        return Decision(verdict=Verdict.TIMEOUT)


def _raise_if_denied(decision: Decision, name: str, declined: str) -> None:
    if decision.verdict is Verdict.TIMEOUT:
        raise ToolError(
            f"The approval request for `{name}` timed out, so it did not run.",
            ToolFailure.CONFIRMATION_TIMEOUT,
        )
    if decision.verdict is Verdict.DENY:
        note = f" Their note: {decision.note}" if decision.note else ""
        raise ToolError(
            f"{declined or f'The user declined this call of `{name}`; nothing was changed.'}{note}",
            ToolFailure.USER_DENIED,
        )


def _build_requested_fact(
    confirmation: Confirmation, tool_use_id: str, mask: Mask
) -> ToolConfirmationRequested:
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


def _build_resolved_fact(
    confirmation: Confirmation, tool_use_id: str, decision: Decision | None
) -> ToolConfirmationResolved:
    allowed = decision is not None and decision.verdict is Verdict.ALLOW
    return ToolConfirmationResolved(
        tool_use_id=tool_use_id,
        confirmation_request_id=confirmation.id,
        decision="cancelled" if decision is None else decision.verdict.value,
        scope=decision.scope.value if decision is not None and allowed else None,
        plan=decision.plan or UNSET if decision is not None and allowed else UNSET,
    )
