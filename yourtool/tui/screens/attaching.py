"""Files and pictures for the next prompt: named, pasted, or taken from the clipboard."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from yourtool.errors import UsageError
from yourtool.tui.attached import Attached
from yourtool.tui.dropped import unquoted

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.attachments import Attachment
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session import Session


class Chat(Protocol):
    """What is needed of the screen."""

    runtime: "Runtime | None"
    session: "Session | None"
    attached: Attached

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Say something that is not part of the conversation."""
        ...


async def attach(chat: Chat, argument: str) -> None:
    """`/attach`: a file or an address, `-`, or what goes with the next prompt."""
    if argument == "-":
        chat.attached.clear()
    elif argument:
        runtime, base = _open(chat), chat.session.workspace if chat.session else Path()
        await _take(chat, lambda: runtime.attach(unquoted(argument), base))
    else:
        names = ", ".join(chat.attached.names)
        chat.note("info", f"Goes with the next prompt: {names or 'nothing'}.")


async def attach_clipboard(chat: Chat, _argument: str) -> None:
    """`/paste`: the picture in the clipboard."""
    await _take(chat, _open(chat).attach_clipboard)


async def attach_files(chat: Chat, runtime: "Runtime") -> None:
    """Let what `--attach` named go with the first prompt; a file that cannot is told."""
    for each in runtime.options.attachments:
        try:
            await _take(chat, lambda what=each: runtime.attach(what))
        except UsageError as error:
            chat.note("error", str(error))


async def _take(chat: Chat, read: "Callable[[], Attachment]") -> None:
    attachment = await asyncio.to_thread(read)
    chat.attached.add(attachment)
    if attachment.remark:
        chat.note("warning", attachment.remark)
    if chat.session is not None and (why := await chat.session.objection(attachment.block)):
        chat.note(
            "warning",
            f"{why}. Choose a model that does with `/model`, or `/attach -` leaves it out.",
        )


def _open(chat: Chat) -> "Runtime":
    if chat.runtime is None:
        raise UsageError("There is no session yet.")
    return chat.runtime
