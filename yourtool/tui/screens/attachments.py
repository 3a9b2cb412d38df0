"""Attachments for the next prompt: files, URLs and images from the clipboard."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from yourtool.errors import UsageError
from yourtool.tui.path_parsing import unquote_path
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.sessions import require_session

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.input.attachments import Attachment
    from yourtool.agent.runtime import Runtime


async def attach_file(chat: ChatScreen, argument: str) -> None:
    """`/attach`: attach a file or a URL, `-` removes all, no argument lists them."""
    if argument == "-":
        chat.attachments.clear()
    elif argument:
        runtime, session = require_session(chat)
        await _attach(chat, lambda: runtime.attach(unquote_path(argument), session.workspace))
    else:
        names = ", ".join(chat.attachments.names)
        chat.note("info", f"Attached to the next prompt: {names or 'nothing'}.")


async def attach_clipboard(chat: ChatScreen, _argument: str) -> None:
    """`/paste`: attach the image in the clipboard."""
    runtime, _ = require_session(chat)
    await _attach(chat, runtime.attach_clipboard)


async def attach_from_options(chat: ChatScreen, runtime: "Runtime") -> None:
    """Attach the files of `--attach` to the first prompt; show errors in the transcript."""
    for each in runtime.options.attachments:
        try:
            await _read(chat, lambda what=each: runtime.attach(what))
        except UsageError as error:
            chat.note("error", str(error))


async def warn_unsupported(chat: ChatScreen, added: "Sequence[Attachment]" = ()) -> None:
    """Warn about attachments that the model of the next prompt does not support.

    Checks the attachments in `added`, or all pending ones if it is empty.
    """
    session, pending = chat.session, chat.attachments.pending
    if session is None or not pending:
        return
    await session.load_model_description()
    unsupported: dict[str, list[str]] = {}
    for each in added or pending:
        if (reason := session.find_rejection(each.block)) is not None:
            unsupported.setdefault(reason, []).append(each.name)
    if not unsupported and (reason := session.find_rejection(*(each.block for each in pending))):
        unsupported[reason] = [each.name for each in pending]
    for reason, names in unsupported.items():
        advice = "Switch models with `/model`, or remove attachments with `/attach -`."
        chat.note("warning", f"{', '.join(names)}: {reason}. {advice}")


async def _attach(chat: ChatScreen, read: "Callable[[], Attachment]") -> None:
    await warn_unsupported(chat, (await _read(chat, read),))


async def _read(chat: ChatScreen, read: "Callable[[], Attachment]") -> "Attachment":
    attachment = await asyncio.to_thread(read)
    chat.attachments.add(attachment)
    if attachment.notice:
        chat.note("warning", attachment.notice)
    return attachment
