"""The programs that read and write the clipboard of the desktop. All functions block."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping

from msgspec import Struct

_COPY_SECONDS = 2
_MACOS_VARIABLE = "__CF_USER_TEXT_ENCODING"
"""Set for every program by macOS."""
_INHERITED_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TMUX",
    "TMUX_PANE",
    "TMUX_TMPDIR",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "XAUTHORITY",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
)


class ClipboardTool(Struct, frozen=True):
    """A program and its commands."""

    variable: str
    """An environment variable that is set where the program works."""
    copy: tuple[str, ...]
    """Copies the text on its standard input."""
    encoding: str = "utf-8"
    """The encoding of the copied text."""


_TOOLS = (
    ClipboardTool("WAYLAND_DISPLAY", ("wl-copy",)),
    ClipboardTool("DISPLAY", ("xclip", "-selection", "clipboard")),
    ClipboardTool("DISPLAY", ("xsel", "--clipboard", "--input")),
    ClipboardTool(_MACOS_VARIABLE, ("pbcopy",)),
    ClipboardTool("WSL_DISTRO_NAME", ("clip.exe",), encoding="utf-16-le"),
)
"""In the order in which they are tried."""


def copy_with_tool(text: str, environ: Mapping[str, str]) -> str | None:
    """Copy a text to the clipboard of the desktop; return the name of the program that did it."""
    for tool in _iter_tools(environ):
        if run_with_input(tool.copy, text.encode(tool.encoding), environ):
            return tool.copy[0]
    return None


def run_with_input(command: tuple[str, ...], data: bytes, environ: Mapping[str, str]) -> bool:
    """Return whether a command accepted the data on its standard input.

    Some programs leave a process that serves the clipboard. It must outlive this program, and would
    keep a pipe for the output open.
    """
    try:
        done = subprocess.run(
            command,
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_COPY_SECONDS,
            env=get_tool_environment(environ),
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def get_tool_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the programs, which has no keys.

    Without a locale, `pbcopy` expects an encoding other than UTF-8.
    """
    inherited = {key: environ[key] for key in _INHERITED_VARIABLES if key in environ}
    return {"LC_CTYPE": "UTF-8", **inherited} if _MACOS_VARIABLE in environ else inherited


def _iter_tools(environ: Mapping[str, str]) -> Iterator[ClipboardTool]:
    for tool in _TOOLS:
        if environ.get(tool.variable) and shutil.which(tool.copy[0], path=environ.get("PATH")):
            yield tool
