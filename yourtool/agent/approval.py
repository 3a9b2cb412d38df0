"""Ask the user about one call, write the question and the answer down, and obey."""

import asyncio
from collections.abc import AsyncGenerator

from yourtool.agent.turn import Turn
from yourtool.deltas import Notice
from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.errors import ConfigError, ToolError, ToolFailure
from yourtool.events import ToolConfirmationRequested, ToolConfirmationResolved
from yourtool.interrupt import Interrupted
from yourtool.masking import Mask
from yourtool.messages import canonical_json

_SUMMARY = 200
"""Characters of the arguments kept in the event; the question itself shows them whole."""


async def ask(
    question: Confirmation, tool_use_id: str, turn: Turn, parent: str
) -> AsyncGenerator[ToolConfirmationRequested | ToolConfirmationResolved | Notice | str, None]:
    """Put the question and return normally if the call may run.

    A `str` among the events is a note of the user for the model.

    Raises:
        ToolError: the user did not allow it, or nobody answered.
        Interrupted: the turn was stopped while the question stood.
    """
    mask = await asyncio.to_thread(turn.around.mask)
    requested = await turn.record(_requested(question, tool_use_id, mask), parent=parent)
    yield requested
    try:
        decision = await _answer(question, turn)
    except Interrupted:
        yield await turn.record(_resolved(question, tool_use_id, None), parent=requested.id)
        raise
    yield await turn.record(_resolved(question, tool_use_id, decision), parent=requested.id)
    _obey(decision, question.title)
    if question.rule is not None and decision.scope is not Scope.ONCE:
        try:
            turn.around.gate.grant(question.rule, always=decision.scope is Scope.ALWAYS)
        except ConfigError as error:
            yield Notice(level="warning", text=f"Allowed for this session only: {error}")
    if decision.note:
        yield f"Note from the user: {decision.note}"


async def _answer(question: Confirmation, turn: Turn) -> Decision:
    seconds = (
        turn.around.budget.limits.confirmation_timeout_seconds if question.expires_at else None
    )
    try:
        async with asyncio.timeout(seconds):
            return await turn.interrupt.guard(turn.around.confirm(question))
    except TimeoutError:
        return Decision(verdict=Verdict.TIMEOUT)


def _obey(decision: Decision, name: str) -> None:
    if decision.verdict is Verdict.TIMEOUT:
        raise ToolError(
            f"Nobody answered whether `{name}` may run, so it did not.",
            ToolFailure.CONFIRMATION_TIMEOUT,
        )
    if decision.verdict is Verdict.DENY:
        why = f" They said: {decision.note}" if decision.note else ""
        raise ToolError(
            f"The user did not allow this call of `{name}`; nothing was changed.{why}",
            ToolFailure.USER_DENIED,
        )


def _requested(question: Confirmation, tool_use_id: str, mask: Mask) -> ToolConfirmationRequested:
    preview, rule = question.preview, question.rule
    command = preview.body if preview and preview.kind == "command" else None
    arguments = canonical_json(question.input).decode()
    return ToolConfirmationRequested(
        tool_use_id=tool_use_id,
        tool_name=question.title,
        side_effects=question.side_effects,
        confirmation_request_id=question.id,
        input_summary=mask.slice(arguments, 0, _SUMMARY),
        projected_modifications=tuple(map(mask.text, preview.paths)) if preview else (),
        command_summary=None if command is None else mask.text(command),
        rule=None if rule is None else mask.text(rule),
        expires_at=question.expires_at,
    )


def _resolved(
    question: Confirmation, tool_use_id: str, decision: Decision | None
) -> ToolConfirmationResolved:
    allowed = decision is not None and decision.verdict is Verdict.ALLOW
    return ToolConfirmationResolved(
        tool_use_id=tool_use_id,
        confirmation_request_id=question.id,
        decision="cancelled" if decision is None else decision.verdict.value,
        scope=decision.scope.value if decision is not None and allowed else None,
    )
