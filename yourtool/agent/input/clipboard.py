"""Images in the clipboard, read with the platform's tools: a terminal cannot paste them."""

import os
import subprocess

from yourtool.agent.input.attachments import Attachment, attachment_from_bytes
from yourtool.errors import UsageError

_TIMEOUT_SECONDS = 5
_TOOLS = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
    ("HOME", ("pngpaste", "-")),
)
"""A variable that is set where a tool works, and its command that writes an image to stdout."""
_INHERITED_VARIABLES = (
    "PATH",
    "HOME",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "XAUTHORITY",
)


def attach_clipboard() -> Attachment:
    """Return the image in the clipboard as an attachment; blocks.

    Raises:
        UsageError: the clipboard contains no image, or cannot be read.
    """
    return attachment_from_bytes(read_clipboard_image(), "clipboard")


def read_clipboard_image() -> bytes:
    """Return the image in the clipboard; blocks until a tool has finished.

    Raises:
        UsageError: the clipboard contains no image, or no tool is installed.
    """
    environment = {key: os.environ[key] for key in _INHERITED_VARIABLES if key in os.environ}
    has_tool = False
    for variable, command in _TOOLS:
        if variable not in environment:
            continue
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=_TIMEOUT_SECONDS, env=environment, check=False
            )
        except FileNotFoundError:
            continue
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"`{command[0]}` could not read the clipboard") from error
        has_tool = True
        if done.returncode == 0 and done.stdout:
            return done.stdout
    if has_tool:
        raise UsageError(
            "There is no image in the clipboard; `/attach FILE` attaches one from disk."
        )
    raise UsageError(
        "Images in the clipboard need `wl-paste` (wl-clipboard) or `xclip`, on macOS `pngpaste`;"
        " `/attach FILE` attaches one from disk."
    )
