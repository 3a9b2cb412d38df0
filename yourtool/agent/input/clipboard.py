"""Content of the clipboard."""

import os

from yourtool.agent.input.attachments import MAX_FILE_BYTES, Attachment, attachment_from_bytes
from yourtool.agent.input.clipboard_tools import ClipboardTooLargeError, can_read, read_clipboard
from yourtool.errors import UsageError
from yourtool.foundation.text import storable

_MAX_TEXT_BYTES = 4 * 2**20
_IMAGE_PROGRAMS = (
    "Reading images from the clipboard needs `wl-paste` (wl-clipboard) or `xclip` and a desktop, on"
    " macOS `pngpaste` or `osascript`, under WSL `powershell.exe`."
)
_REMOTE = "The clipboard of your machine cannot be read over SSH."
_ALTERNATIVES = (
    "Text can be pasted with the key of the terminal, and `/attach FILE` attaches files."
)


def read_clipboard_content() -> Attachment | str:
    """Return the image in the clipboard as an attachment, or else the text; blocks.

    Raises:
        UsageError: the clipboard is empty, cannot be read, or has too much in it.
    """
    environ = os.environ
    try:
        if image := read_clipboard("image", environ, MAX_FILE_BYTES):
            return attachment_from_bytes(image, "clipboard")
        if text := read_clipboard("text", environ, _MAX_TEXT_BYTES):
            return storable(text.decode("utf-8", "replace"))
    except ClipboardTooLargeError as error:
        raise UsageError(
            "The content of the clipboard is too large: images may have 64 MiB, text 4 MiB."
        ) from error
    if can_read("image", environ):
        raise UsageError("There is no image and no text in the clipboard.")
    is_remote = bool(environ.get("SSH_CONNECTION"))
    raise UsageError(f"{_REMOTE if is_remote else _IMAGE_PROGRAMS} {_ALTERNATIVES}")
