"""Command `/plan`.

It starts plan mode, and handles the plan that the model proposed or wrote.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourtool.agent.commands.base import (
    AnswerHandler,
    Choice,
    Choose,
    CommandResults,
    EditPrompt,
    SendPrompt,
    SettingChanged,
    SlashCommand,
    StartSession,
)
from yourtool.agent.commands.models import list_models
from yourtool.agent.turn.calls.tool_call import CHANGED_PLAN
from yourtool.effects import PlanAnswer
from yourtool.errors import UsageError
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, Role
from yourtool.settings.config import Mode
from yourtool.tools.guidance.plan_proposal import propose_plan

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

CARRY_OUT = "Carry out the plan."
_CARRY_OUT_TEXT = "Carry out this plan:\n\n{}"
_NO_MODEL = (
    "The plan was not sent. `/plan model` offers the models again, `/plan ask` carries it out."
)
_EDIT, _KEEP = "edit", "keep"
_ANSWERS = (
    (PlanAnswer.ASK.value, "Carry it out, and ask about each change"),
    (PlanAnswer.ACCEPT_EDITS.value, "Carry it out, and accept edits"),
    (PlanAnswer.MODEL.value, "Carry it out with another model"),
    (PlanAnswer.FRESH.value, "Carry it out in a new session, which has only the plan"),
    (_EDIT, "Edit it in the prompt, and send it"),
    (_KEEP, "Keep planning"),
)


async def continue_plan(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/plan`: switch to plan mode; in it, carry out the plan in one of several ways."""
    if not argument and session.mode is not Mode.PLAN:
        session.mode = Mode.PLAN
        yield SettingChanged("mode")
        return
    plan = find_plan(session.state.messages)
    match argument:
        case "":
            rows = tuple(Choice(value, title) for value, title in _ANSWERS)
            then = partial(continue_plan, session, runtime)
            yield Choose("How does the plan continue?", rows, then=then)
        case PlanAnswer.ASK | PlanAnswer.ACCEPT_EDITS:
            is_ask = argument == PlanAnswer.ASK
            session.mode = Mode.ASK if is_ask else Mode.ACCEPT_EDITS
            yield SettingChanged("mode")
            yield SendPrompt(CARRY_OUT)
        case PlanAnswer.MODEL:
            session.mode = Mode.ASK
            yield SettingChanged("mode")
            async for result in _send_after_choice(list_models(session, runtime, "")):
                yield result
        case PlanAnswer.FRESH:
            yield StartSession(session.model.id, Mode.ASK)
            yield SendPrompt(_CARRY_OUT_TEXT.format(plan))
        case "edit":
            session.mode = Mode.ASK
            yield SettingChanged("mode")
            yield EditPrompt(_CARRY_OUT_TEXT.format(plan))
        case "keep":
            pass
        case _:
            names = ", ".join(value for value, _ in _ANSWERS)
            raise UsageError(f"`/plan {argument}` is unknown; choose one of {names}.")


def find_plan(messages: Sequence[Message]) -> str:
    """Return the plan of the last turn: as the user changed it, as proposed, or the last reply.

    Raises:
        UsageError: there is none.
    """
    replies, name = list[str](), propose_plan.definition.name
    proposals = {call.id for each in messages for call in each.tool_uses if call.name == name}
    for message in reversed(messages):
        if message.is_prompt:
            break
        if message.result is not None and message.result.tool_use_id in proposals:
            for block in message.result.content:
                if isinstance(block, TextBlock) and block.text.startswith(CHANGED_PLAN):
                    return block.text.removeprefix(CHANGED_PLAN).strip()
        if message.role is Role.ASSISTANT:
            for call in message.tool_uses:
                proposed = call.input.get("plan")
                if call.name == name and isinstance(proposed, str):
                    return proposed.strip()
            replies.append(message.text.strip())
    if not (found := next(filter(None, replies), "")):
        raise UsageError("There is no plan: the model has not replied to the last prompt.")
    return found


def _choose_and_send(then: AnswerHandler, value: str) -> CommandResults:
    return _send_after_choice(then(value))


async def _send_after_choice(results: CommandResults) -> CommandResults:
    """Yield results; after the last choice of the user, let the model carry out the plan."""
    chosen = True
    async for result in results:
        if isinstance(result, Choose):
            chosen = False
            then = partial(_choose_and_send, result.then)
            yield replace(result, then=then, without_choice=_NO_MODEL)
        else:
            yield result
    if chosen:
        yield SendPrompt(CARRY_OUT)


COMMANDS = (
    SlashCommand(
        name="plan",
        run=continue_plan,
        argument="[HOW]",
        keywords=_ANSWERS,
        during_turn=False,
        summary="switch to plan mode; in it, choose how the plan is carried out",
    ),
)
