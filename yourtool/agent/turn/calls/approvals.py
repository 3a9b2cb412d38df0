"""Approvals of calls.

The questions of one reply are open at the same time. An answer can also settle others: rules that
it adds allow them, or it denies the rest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from yourtool.agent.turn.calls.approval_facts import (
    build_requested_fact,
    build_resolved_fact,
    describe_unattended,
)
from yourtool.agent.turn.calls.call_judging import judge_again
from yourtool.agent.turn.calls.network_answers import take_answer
from yourtool.agent.turn.calls.tool_call import DecidedCall, ToolCall, leave_plan_mode, load_mask
from yourtool.agent.turn.calls.tool_hooks import notifying
from yourtool.agent.turn.hook_events import take_warnings
from yourtool.agent.turn.turn import Turn
from yourtool.effects import (
    Confirmation,
    Decision,
    Preview,
    SandboxOffer,
    Scope,
    TrustOffer,
    Verdict,
)
from yourtool.errors import ConfigError, ToolError, ToolFailure, YourtoolError
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolConfirmationRequested
from yourtool.interrupt import Interrupted
from yourtool.settings.config import Mode

ALLOW, DENY = Decision(verdict=Verdict.ALLOW), Decision(verdict=Verdict.DENY)
EDITS_ACCEPTED = "Edits need no approval in this session: the mode is accept edits now."


async def request_approval(
    confirmation: Confirmation, decided: DecidedCall, turn: Turn, declined: str
) -> tuple[Decision, DecidedCall]:
    """Record a request and wait for its approval, as `wait_for_approval`."""
    requested = await record_request(confirmation, decided, turn)
    return await wait_for_approval(requested, confirmation, decided, turn, declined)


async def record_request(
    confirmation: Confirmation, decided: DecidedCall, turn: Turn
) -> ToolConfirmationRequested:
    """Record that the user is asked."""
    call, mask = decided.call, await load_mask(turn)
    fact = await asyncio.to_thread(build_requested_fact, confirmation, call.block.id, mask)
    fact = replace(fact, judgement=call.report.take_judgement())
    return await turn.record(fact, parent=call.parent)


async def wait_for_approval(
    requested: ToolConfirmationRequested,
    confirmation: Confirmation,
    decided: DecidedCall,
    turn: Turn,
    declined: str,
) -> tuple[Decision, DecidedCall]:
    """Wait for the answer to a request; return it, and the call that may run with it.

    `declined`: the start of the message if the user declines; empty: nothing was changed.

    Raises:
        ToolError: the user declined, or the request timed out.
        Interrupted: the turn was stopped before the user answered.
    """
    call, tool_use_id = decided.call, decided.call.block.id
    withdrawn = build_resolved_fact(confirmation, tool_use_id, None)
    decision: Decision | DecidedCall = DENY
    try:
        if not turn.reply.denies_rest:
            decision = await _wait_for_answer(confirmation, decided, turn)
    except Interrupted:
        await turn.record(withdrawn, parent=requested.id)
        raise
    if isinstance(decision, DecidedCall):
        await turn.record(withdrawn, parent=requested.id)
        return ALLOW, decision
    await turn.emit(*take_warnings(turn.env.hooks))
    turn.reply.answered_plan = confirmation.kind == "plan" and decision.verdict is not Verdict.EDIT
    if turn.reply.answered_plan and decision.verdict is Verdict.ALLOW:
        leave_plan_mode(call.report, decision.plan, turn)
    await turn.record(build_resolved_fact(confirmation, tool_use_id, decision), parent=requested.id)
    if decision.denies_rest:
        turn.reply.denies_rest = True
        for each in turn.reply.open_questions:
            each.answer(decision)
    if not turn.env.user.interactive:
        declined = describe_unattended(confirmation, decided.decision.reason, turn.env.gate.mode)
    _raise_if_denied(decision, confirmation.title, declined, has_user=turn.env.user.interactive)
    policy = turn.env.gate.policy
    shown = await _take_lasting(decision, confirmation, call, turn)
    if turn.env.gate.policy != policy:
        async with turn.reply.judging:
            for each in tuple(turn.reply.open_questions):
                await each.judge_again()
    if decision.note:
        call.report.note(f"Note from the user: {decision.note}")
    return decision, replace(decided, preview=shown)


async def _take_lasting(
    decision: Decision, confirmation: Confirmation, call: ToolCall, turn: Turn
) -> Preview | None:
    """Store what an answer allows from now on; return the preview of what runs with it."""
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
    return shown


async def _wait_for_answer(
    confirmation: Confirmation, decided: DecidedCall, turn: Turn
) -> Decision | DecidedCall:
    """Return the answer of the user, or the call as the answer to another question allows it."""
    limits = turn.env.spending.limits
    seconds = limits.confirmation_timeout_seconds if confirmation.expires_at else None
    question = _OpenQuestion(decided, turn)
    turn.reply.open_questions.append(question)  # before any wait, in which another is answered
    try:
        await turn.channel.wait_shown()
        async with notifying(confirmation, turn), asyncio.timeout(seconds):
            asking = question.wait(partial(turn.env.user.confirm, confirmation))
            return await turn.interrupt.guard(asking)
    except TimeoutError:
        return Decision(verdict=Verdict.TIMEOUT)
    finally:
        turn.reply.open_questions.remove(question)


class _OpenQuestion:
    """A question that the answer to another one can settle."""

    def __init__(self, decided: DecidedCall, turn: Turn) -> None:
        self._decided, self._turn = decided, turn
        self._outcome = asyncio.get_running_loop().create_future()

    async def judge_again(self) -> None:
        """Withdraw the question if its call needs no approval any more."""
        with suppress(ToolError):  # the question stays
            if (again := await judge_again(self._decided, self._turn)).runs_unasked:
                self._settle(again)

    def answer(self, decision: Decision) -> None:
        """Withdraw the question, with an answer to another one that holds for it, too."""
        self._settle(decision)

    def _settle(self, outcome: Decision | DecidedCall) -> None:
        if not self._outcome.done():
            self._outcome.set_result(outcome)

    async def wait(self, ask: Callable[[], Awaitable[Decision]]) -> Decision | DecidedCall:
        """Return the answer of the user, or the outcome of another question, if it is first."""
        asking = asyncio.ensure_future(ask())
        try:
            await asyncio.wait((asking, self._outcome), return_when=asyncio.FIRST_COMPLETED)
            return await asking if asking.done() else self._outcome.result()
        finally:
            asking.cancel()
            await asyncio.wait((asking,))


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
