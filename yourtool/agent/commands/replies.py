"""`/retry`, `/continue` and `/copy`: the last reply of the model."""

from typing import TYPE_CHECKING

from yourtool.agent.commands.base import CommandResults, CopyText, SlashCommand, StartTurn
from yourtool.errors import UsageError
from yourtool.messages.message import Role

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_CONTINUE_PROMPT = "Continue exactly where you stopped, without repeating anything."


async def retry_turn(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/retry`: run the last turn again."""
    yield StartTurn(session.retry())


async def continue_reply(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/continue`: continue a reply that hit the output limit."""
    yield StartTurn(session.send(_CONTINUE_PROMPT))


async def copy_reply(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/copy`: copy the source text of a reply, counted from the last."""
    if argument and not (argument.isdecimal() and int(argument)):
        raise UsageError("`/copy` takes a number: 1 is the last reply, 2 the one before.")
    replies = [
        each.text for each in session.state.messages if each.role is Role.ASSISTANT and each.text
    ]
    number = int(argument or 1)
    if number > len(replies):
        raise UsageError(f"The session has only {len(replies)} replies.")
    yield CopyText(replies[-number])


COMMANDS = (
    SlashCommand(name="retry", run=retry_turn, summary="retry the last turn", during_turn=False),
    SlashCommand(
        name="continue",
        run=continue_reply,
        summary="continue a reply that hit the output limit",
        during_turn=False,
    ),
)
COPY = SlashCommand(
    name="copy",
    run=copy_reply,
    argument="[N]",
    summary="copy the last reply, or the Nth from the end",
)
