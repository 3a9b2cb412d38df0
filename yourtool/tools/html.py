"""Converts HTML in processes of their own, so that no page can stop the program."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal

from yourtool.errors import ToolError
from yourtool.tools.killable import Processes

SECONDS = 10.0
"""How long each of the two conversions may take."""

_POLL = 0.05
_READER = Path(__file__).with_name("html_reader.py")
_INHERITED = ("PATH", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT")


def html_to_markdown(
    page: str, most: int, cancelled: threading.Event, seconds: float = SECONDS
) -> tuple[str, bool]:
    """Return `most` characters of Markdown, or of plain text where that fails; blocking.

    Also whether it is Markdown.

    Raises:
        ToolError: not even the plain text could be had.
    """
    content = page.encode("utf-8", "replace")
    if (text := _read(content, "markdown", most, cancelled, seconds)) is not None:
        return text, True
    if (text := _read(content, "text", most, cancelled, SECONDS)) is not None:
        return text, False
    raise ToolError("the page's HTML could not be read; continue without it")


def _read(
    content: bytes,
    form: Literal["markdown", "text"],
    most: int,
    cancelled: threading.Event,
    seconds: float,
) -> str | None:
    processes = Processes()
    deadline = time.monotonic() + seconds
    try:
        # A file, since `communicate` forgets the rest of its input when it times out.
        with TemporaryFile() as source:
            source.write(content)
            source.seek(0)
            process = processes.start(
                [sys.executable, "-I", str(_READER), form, str(most)],
                stdin=source,
                env={key: os.environ[key] for key in _INHERITED if key in os.environ},
            )
        while not cancelled.is_set() and time.monotonic() < deadline:
            try:
                output, _ = process.communicate(timeout=_POLL)
            except subprocess.TimeoutExpired:
                continue
            return None if process.returncode else output.decode()
    except OSError:
        return None
    finally:
        processes.close()
    return None
