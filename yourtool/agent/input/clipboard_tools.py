"""Clipboard programs of the desktop."""

import base64
import binascii
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Literal, TypeAlias

from msgspec import Struct

_COPY_SECONDS = 2
_READ_SECONDS = 10
"""PowerShell alone needs seconds to start."""
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
_POWERSHELL = ("powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command")
_POWERSHELL_IMAGE = (
    "Add-Type -AssemblyName System.Windows.Forms, System.Drawing;"
    " $image = [Windows.Forms.Clipboard]::GetImage();"
    " if ($image) { $bytes = New-Object IO.MemoryStream;"
    " $image.Save($bytes, [Drawing.Imaging.ImageFormat]::Png);"
    " [Convert]::ToBase64String($bytes.ToArray()) }"
)
_POWERSHELL_TEXT = "[Console]::OutputEncoding = [Text.Encoding]::UTF8; Get-Clipboard -Raw"
_APPLESCRIPT_DATA = re.compile(r"«data PNGf([0-9A-Fa-f]+)»")

Content: TypeAlias = Literal["image", "text"]


class ClipboardTool(Struct, frozen=True, kw_only=True):
    """A program that reads or writes the clipboard, with its commands."""

    variable: str
    """An environment variable that is set where the program works."""
    copy: tuple[str, ...] = ()
    """Copies the text on its standard input."""
    encoding: str = "utf-8"
    """The encoding of the copied text."""
    read_image: tuple[str, ...] = ()
    """Writes an image in the clipboard to its standard output; fails without one."""
    image_form: Literal["bytes", "base64", "applescript"] = "bytes"
    read_text: tuple[str, ...] = ()


_TOOLS = (
    ClipboardTool(
        variable="WAYLAND_DISPLAY",
        copy=("wl-copy",),
        read_image=("wl-paste", "--no-newline", "--type", "image/png"),
        read_text=("wl-paste", "--no-newline", "--type", "text"),
    ),
    ClipboardTool(
        variable="DISPLAY",
        copy=("xclip", "-selection", "clipboard"),
        read_image=("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
        read_text=("xclip", "-selection", "clipboard", "-out"),
    ),
    ClipboardTool(
        variable="DISPLAY",
        copy=("xsel", "--clipboard", "--input"),
        read_text=("xsel", "--clipboard", "--output"),
    ),
    ClipboardTool(
        variable=_MACOS_VARIABLE,
        copy=("pbcopy",),
        read_image=("pngpaste", "-"),
        read_text=("pbpaste",),
    ),
    ClipboardTool(
        variable=_MACOS_VARIABLE,
        read_image=("osascript", "-e", "the clipboard as «class PNGf»"),
        image_form="applescript",
    ),
    ClipboardTool(variable="WSL_DISTRO_NAME", copy=("clip.exe",), encoding="utf-16-le"),
    ClipboardTool(
        variable="WSL_DISTRO_NAME",
        read_image=(*_POWERSHELL, _POWERSHELL_IMAGE),
        image_form="base64",
        read_text=(*_POWERSHELL, _POWERSHELL_TEXT),
    ),
)
"""In the order in which they are tried."""


class ClipboardTooLargeError(Exception):
    """The content of the clipboard is larger than the limit."""


def copy_with_tool(text: str, environ: Mapping[str, str]) -> str | None:
    """Copy a text to the clipboard of the desktop; return the name of the program that did it."""
    for tool in _TOOLS:
        is_usable = _is_usable(tool, tool.copy, environ)
        if is_usable and run_with_input(tool.copy, text.encode(tool.encoding), environ):
            return tool.copy[0]
    return None


def can_read(content: Content, environ: Mapping[str, str]) -> bool:
    """Whether a program is installed that reads this content of the clipboard."""
    return any(True for _ in _iter_readers(content, environ))


def read_clipboard(content: Content, environ: Mapping[str, str], limit: int) -> bytes:
    """Return the image or text (UTF-8) in the clipboard; empty without one.

    Raises:
        ClipboardTooLargeError: it has more than `limit` bytes.
    """
    for tool, command in _iter_readers(content, environ):
        form = tool.image_form if content == "image" else "bytes"
        if data := _decode(_run_with_output(command, environ, limit * 2 + 100), form):
            if len(data) > limit:
                raise ClipboardTooLargeError
            return data
    return b""


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


def _iter_readers(
    content: Content, environ: Mapping[str, str]
) -> Iterator[tuple[ClipboardTool, tuple[str, ...]]]:
    for tool in _TOOLS:
        command = tool.read_image if content == "image" else tool.read_text
        if _is_usable(tool, command, environ):
            yield tool, command


def _is_usable(tool: ClipboardTool, command: tuple[str, ...], environ: Mapping[str, str]) -> bool:
    if not command or not environ.get(tool.variable):
        return False
    return shutil.which(command[0], path=environ.get("PATH")) is not None


def _run_with_output(command: tuple[str, ...], environ: Mapping[str, str], limit: int) -> bytes:
    """Return at most `limit` bytes and one more of the output; empty if the command fails."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=get_tool_environment(environ),
            start_new_session=True,
        )
    except OSError:
        return b""
    assert process.stdout is not None, "it is a pipe"
    timeout = threading.Timer(_READ_SECONDS, _kill_group, (process.pid,))
    timeout.start()
    try:
        data = process.stdout.read(limit + 1)
        if len(data) > limit:
            _kill_group(process.pid)
            process.wait()
            return data
        return data if process.wait() == 0 else b""
    finally:
        timeout.cancel()
        process.stdout.close()


def _kill_group(process_id: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process_id, signal.SIGKILL)


def _decode(data: bytes, form: Literal["bytes", "base64", "applescript"]) -> bytes:
    """Return the content in the output of a program; empty without one."""
    if form == "bytes":
        return data
    if form == "base64":
        try:
            return base64.b64decode(b"".join(data.split()), validate=True)
        except binascii.Error:
            return b""
    found = _APPLESCRIPT_DATA.fullmatch(data.decode("utf-8", "replace").strip())
    return bytes.fromhex(found[1]) if found else b""
