"""Commands `/retry`, `/continue` and `/copy`."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    Choose,
    CommandResults,
    CopyText,
    SlashCommand,
    StartTurn,
)
from yourtool.agent.commands.code_blocks import find_code_blocks
from yourtool.errors import UsageError
from yourtool.messages.message import Role

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_CONTINUE_PROMPT = "Continue exactly where you stopped, without repeating anything."
_LIST = "list"
"""The argument of `/copy` that shows a list."""
_LISTED_REPLIES = 20
_SEARCHED_CHARACTERS = 200_000
"""Characters of a reply that are searched for code blocks."""
_TITLE_CHARACTERS = 200


async def retry_turn(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/retry`: run the last turn again."""
    yield StartTurn(session.retry())


async def continue_reply(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/continue`: continue a reply that hit the output limit."""
    yield StartTurn(session.send(_CONTINUE_PROMPT))


async def copy_reply(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/copy`: copy the source text of a reply, counted from the last, or choose what to copy."""
    if argument not in ("", _LIST) and not (argument.isdecimal() and int(argument)):
        raise UsageError(
            f"`/copy` takes a number, where 1 is the last reply, or `{_LIST}` to choose a reply or"
            " a code block."
        )
    replies = [
        each.text for each in session.state.messages if each.role is Role.ASSISTANT and each.text
    ]
    if not replies:
        raise UsageError("There is no reply to copy yet.")
    if argument == _LIST:
        yield await _choose_text(replies[: -_LISTED_REPLIES - 1 : -1])
        return
    number = int(argument or 1)
    if number > len(replies):
        raise UsageError(f"The session has only {len(replies)} replies.")
    yield CopyText(replies[-number])


async def _choose_text(replies: Sequence[str]) -> Choose:
    """Return the choice between replies, latest first, each followed by its code blocks."""
    texts = list[str]()
    choices = list[Choice]()
    for number, reply in enumerate(replies, 1):
        texts.append(reply)
        choices.append(_build_choice(len(texts), f"reply {number}", reply))
        for block in await asyncio.to_thread(find_code_blocks, reply[:_SEARCHED_CHARACTERS]):
            texts.append(block.text)
            choices.append(_build_choice(len(texts), block.language or "code", block.text, "  "))

    async def copy_chosen(value: str) -> CommandResults:
        yield CopyText(texts[int(value) - 1])

    return Choose("Copy", tuple(choices), copy_chosen, "Enter copies · Esc closes")


def _build_choice(number: int, kind: str, text: str, indent: str = "") -> Choice:
    """Return a row with the first line of a text, and what and how long the text is."""
    first = text.lstrip()[:_TITLE_CHARACTERS].partition("\n")[0]
    lines = text.count("\n") + (not text.endswith("\n"))
    size = f"{lines:,} {'line' if lines == 1 else 'lines'}, {len(text):,} characters"
    return Choice(str(number), f"{indent}{first}", f"{indent}{kind} · {size}")


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
    argument=f"[N | {_LIST}]",
    keywords=((_LIST, "choose one of the last replies or a code block in them"),),
    summary="copy the last reply, or the Nth from the end; `list` shows replies and code blocks",
)
