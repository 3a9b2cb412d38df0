"""Attachments for the next prompt."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.parser import ShellLine, parse_input
from yourtool.agent.input import file_paths
from yourtool.errors import UsageError, YourtoolError
from yourtool.messages.blobs import store_media
from yourtool.messages.blocks import MediaBlock
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.sessions import require_session

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.input.attachments import Attachment
    from yourtool.agent.runtime import Runtime

_ADVICE = (
    "Switch models with `/model`, or remove it: `/attach -` above the prompt, Backspace a chip."
)


async def attach_file(chat: ChatScreen, argument: str) -> None:
    """`/attach`: attach a file or a URL, `-` removes all, no argument lists them."""
    if argument == "-":
        chat.attachments.clear()
    elif argument:
        runtime, session = require_session(chat)
        await _attach(
            chat, lambda: runtime.attach(file_paths.unquote_path(argument), session.workspace)
        )
    else:
        names = ", ".join(chat.attachments.names)
        chat.note("info", f"Attached to the next prompt: {names or 'nothing'}.")


async def paste_clipboard(chat: ChatScreen, _argument: str) -> None:
    """`/paste` and Ctrl+V: insert the image in the clipboard as a chip, or else the text.

    Without a program that reads the clipboard, insert the text that was copied here last.
    """
    copied = chat.app.clipboard
    runtime, _ = require_session(chat)
    try:
        content = await asyncio.to_thread(runtime.read_clipboard)
    except UsageError as error:
        if copied:
            chat.prompt.paste(copied)
        else:
            chat.warn(str(error))
        return
    if isinstance(content, str):
        chat.prompt.paste(content)
    else:
        await _insert_chip(chat, content)


async def attach_pasted(chat: ChatScreen, text: str | None) -> None:
    """Replace the paths of images in a pasted text by chips; None: paste the clipboard."""
    try:
        if text is None:
            await paste_clipboard(chat, "")
        elif chat.runtime is not None and not _has_command(chat):
            for found in await asyncio.to_thread(file_paths.find_media_paths, text):
                attachment = await asyncio.to_thread(chat.runtime.attach, found.path)
                await _insert_chip(chat, attachment, instead_of=found.source)
    except YourtoolError as error:
        chat.warn(str(error))
    except Exception as error:  # noqa: BLE001 - the top level of this front end, where faults end
        chat.report_exception(error)


async def attach_from_options(chat: ChatScreen, runtime: "Runtime") -> None:
    """Attach the files of `--attach` to the first prompt; show errors in the transcript."""
    for each in runtime.options.attachments:
        try:
            await _read(chat, lambda what=each: runtime.attach(what))
        except UsageError as error:
            chat.note("error", str(error))


async def warn_unsupported(chat: ChatScreen, added: "Sequence[Attachment]" = ()) -> None:
    """Warn about attachments that the model of the next prompt does not support.

    Checks the attachments in `added`, or all those of the next prompt if it is empty.
    """
    session = chat.session
    waiting = [(each.block, each.name) for each in chat.attachments.pending]
    waiting += [(each.block, each.chip) for each in chat.prompt.draft.visible_attachments]
    if session is None or not waiting:
        return
    await session.load_model_description()
    unsupported: dict[str, list[str]] = {}
    for block, name in [(each.block, each.name) for each in added] or waiting:
        if (reason := session.find_rejection(block)) is not None:
            unsupported.setdefault(reason, []).append(name)
    if not unsupported and (reason := session.find_rejection(*(block for block, _ in waiting))):
        unsupported[reason] = [name for _, name in waiting]
    for reason, names in unsupported.items():
        chat.note("warning", f"{', '.join(names)}: {reason}. {_ADVICE}")


async def _insert_chip(chat: ChatScreen, attachment: "Attachment", instead_of: str = "") -> None:
    """Store an attachment and insert its chip at the cursor, or instead of a text."""
    runtime, session = require_session(chat)
    block, name = attachment.block, attachment.name
    assert isinstance(block, MediaBlock), "texts have no chip"
    await session.load_model_description()
    reason = session.find_rejection(block)
    encoded = block.source.data
    size = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    (stored,) = await asyncio.to_thread(store_media, runtime.paths.blobs, (block,))
    chat.prompt.attach(stored, name, size, instead_of=instead_of)
    if attachment.notice:
        chat.note("warning", attachment.notice)
    if reason is not None:
        chat.note("warning", f"{name}: {reason}. {_ADVICE}")


def _has_command(chat: ChatScreen) -> bool:
    parsed = parse_input(chat.prompt.text, chat.runner.commands)
    return isinstance(parsed, ShellLine | Invocation)


async def _attach(chat: ChatScreen, read: "Callable[[], Attachment]") -> None:
    await warn_unsupported(chat, (await _read(chat, read),))


async def _read(chat: ChatScreen, read: "Callable[[], Attachment]") -> "Attachment":
    attachment = await asyncio.to_thread(read)
    chat.attachments.add(attachment)
    if attachment.notice:
        chat.note("warning", attachment.notice)
    return attachment
