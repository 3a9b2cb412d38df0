"""Files and pictures for the next prompt: named, pasted, or taken from the clipboard."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from yourtool.errors import UsageError
from yourtool.tui.dropped_paths import unquoted
from yourtool.tui.screens.sessions import opened
from yourtool.tui.screens.turn_screen import TurnScreen

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.attachments import Attachment
    from yourtool.agent.runtime import Runtime


async def attach_file(chat: TurnScreen, argument: str) -> None:
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
            await _read(chat, lambda what=each: runtime.attach(what))
        except UsageError as error:
            chat.note("error", str(error))


async def tell_untaken(chat: TurnScreen, came: "Sequence[Attachment]" = ()) -> None:
    """Warn of what the model of the next prompt cannot take of what goes with it.

    `came`: what was added just now; empty: all that waits is looked at anew.
    """
    session, waiting = chat.session, chat.attached.waiting
    if session is None or not waiting:
        return
    await session.learn()
    untaken: dict[str, list[str]] = {}
    for each in came or waiting:
        if (why := session.objection(each.block)) is not None:
            untaken.setdefault(why, []).append(each.name)
    if not untaken and (why := session.objection(*(each.block for each in waiting))):
        untaken[why] = [each.name for each in waiting]
    for why, names in untaken.items():
        way_out = "Choose another model with `/model`, or `/attach -` leaves out what waits."
        chat.note("warning", f"{', '.join(names)}: {why}. {way_out}")


async def _take(chat: TurnScreen, read: "Callable[[], Attachment]") -> None:
    await tell_untaken(chat, (await _read(chat, read),))


async def _read(chat: TurnScreen, read: "Callable[[], Attachment]") -> "Attachment":
    attachment = await asyncio.to_thread(read)
    chat.attached.add(attachment)
    if attachment.remark:
        chat.note("warning", attachment.remark)
    return attachment
