"""Request the user's approval for one call, record it, and apply the decision."""

import asyncio
from collections.abc import AsyncGenerator

from yourtool.agent.turn.turn import Turn
from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.errors import ConfigError, ToolError, ToolFailure
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolConfirmationRequested, ToolConfirmationResolved
from yourtool.interrupt import Interrupted
from yourtool.masking import Mask
from yourtool.messages.blocks import canonical_json

_MAX_SUMMARY_CHARACTERS = 200
"""Characters of the arguments stored in the event; the approval prompt shows all of them."""


async def request_approval(
    confirmation: Confirmation, tool_use_id: str, turn: Turn, parent: str
) -> AsyncGenerator[ToolConfirmationRequested | ToolConfirmationResolved | Notice | str, None]:
    """Request approval and return normally if the call may run.

    A `str` among the events is a note from the user to the model.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    mask = await asyncio.to_thread(turn.env.mask)
    fact = await asyncio.to_thread(_build_requested_fact, confirmation, tool_use_id, mask)
    requested = await turn.record(fact, parent=parent)
    yield requested
    try:
        decision = await _wait_for_decision(confirmation, turn)
    except Interrupted:
        yield await turn.record(
            _build_resolved_fact(confirmation, tool_use_id, None), parent=requested.id
        )
        raise
    yield await turn.record(
        _build_resolved_fact(confirmation, tool_use_id, decision), parent=requested.id
    )
    _raise_unless_allowed(decision, confirmation.title)
    if confirmation.rule is not None and decision.scope is not Scope.ONCE:
        try:
            turn.env.gate.grant(confirmation.rule, always=decision.scope is Scope.ALWAYS)
        except ConfigError as error:
            yield Notice(level="warning", text=f"Allowed for this session only: {error}")
    if decision.note:
        yield f"Note from the user: {decision.note}"


async def _wait_for_decision(confirmation: Confirmation, turn: Turn) -> Decision:
    seconds = turn.env.limits.confirmation_timeout_seconds if confirmation.expires_at else None
    try:
        async with asyncio.timeout(seconds):
            return await turn.interrupt.guard(turn.env.confirm(confirmation))
    except TimeoutError:
        return Decision(verdict=Verdict.TIMEOUT)


def _raise_unless_allowed(decision: Decision, name: str) -> None:
    if decision.verdict is Verdict.TIMEOUT:
        raise ToolError(
            f"The approval request for `{name}` timed out, so it did not run.",
            ToolFailure.CONFIRMATION_TIMEOUT,
        )
    if decision.verdict is Verdict.DENY:
        note = f" Their note: {decision.note}" if decision.note else ""
        raise ToolError(
            f"The user declined this call of `{name}`; nothing was changed.{note}",
            ToolFailure.USER_DENIED,
        )


def _build_requested_fact(
    confirmation: Confirmation, tool_use_id: str, mask: Mask
) -> ToolConfirmationRequested:
    preview, rule = confirmation.preview, confirmation.rule
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
        rule=None if rule is None else mask.text(rule),
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
    )
