"""Pictures in the clipboard, which a terminal cannot paste: asked for by the platform's tools."""

import os
import subprocess

from yourtool.errors import UsageError

_SECONDS = 5
_TOOLS = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
    ("HOME", ("pngpaste", "-")),
)
"""The variable that says where a tool works, and how it writes a picture to standard output."""
_INHERITED = ("PATH", "HOME", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DISPLAY", "XAUTHORITY")


def clipboard_picture() -> bytes:
    """Return the picture in the clipboard; blocks until a tool has answered.

    Raises:
        UsageError: there is no picture in it, or no tool that could tell.
    """
    environment = {key: os.environ[key] for key in _INHERITED if key in os.environ}
    asked = False
    for variable, command in _TOOLS:
        if variable not in environment:
            continue
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=_SECONDS, env=environment, check=False
            )
        except FileNotFoundError:
            continue
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"`{command[0]}` did not give the clipboard's picture") from error
        asked = True
        if done.returncode == 0 and done.stdout:
            return done.stdout
    if asked:
        raise UsageError(
            "There is no picture in the clipboard; `/attach FILE` takes one from disk."
        )
    raise UsageError(
        "The clipboard's pictures need `wl-paste` (wl-clipboard) or `xclip`, on macOS `pngpaste`;"
        " `/attach FILE` takes one from disk."
    )
