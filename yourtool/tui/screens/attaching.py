"""Files and pictures for the next prompt: named, pasted, or taken from the clipboard."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from yourtool.errors import UsageError
from yourtool.tui.dropped import unquoted
from yourtool.tui.screens.sessions import opened
from yourtool.tui.screens.turns import TurnScreen

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.attachments import Attachment
    from yourtool.agent.runtime import Runtime


async def attach(chat: TurnScreen, argument: str) -> None:
    """`/attach`: a file or an address, `-`, or what goes with the next prompt."""
    if argument == "-":
        chat.attached.clear()
    elif argument:
        runtime, session = opened(chat)
        await _take(chat, lambda: runtime.attach(unquoted(argument), session.workspace))
    else:
        names = ", ".join(chat.attached.names)
        chat.note("info", f"Goes with the next prompt: {names or 'nothing'}.")


async def attach_clipboard(chat: TurnScreen, _argument: str) -> None:
    """`/paste`: the picture in the clipboard."""
    runtime, _ = opened(chat)
    await _take(chat, runtime.attach_clipboard)


async def attach_files(chat: TurnScreen, runtime: "Runtime") -> None:
    """Let what `--attach` named go with the first prompt; a file that cannot is told."""
    for each in runtime.options.attachments:
        try:
            await _take(chat, lambda what=each: runtime.attach(what))
        except UsageError as error:
            chat.note("error", str(error))


async def _take(chat: TurnScreen, read: "Callable[[], Attachment]") -> None:
    attachment = await asyncio.to_thread(read)
    chat.attached.add(attachment)
    if attachment.remark:
        chat.note("warning", attachment.remark)
    if chat.session is not None and (why := await chat.session.objection(attachment.block)):
        chat.note(
            "warning",
            f"{why}. Choose a model that does with `/model`, or `/attach -` leaves it out.",
        )
