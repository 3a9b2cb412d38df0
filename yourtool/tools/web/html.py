"""HTML conversion in separate processes."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal

from yourtool.errors import ToolError
from yourtool.tools.processes.process_group import Processes

TIMEOUT_SECONDS = 10.0
"""Timeout of each of the two conversions."""

_POLL = 0.05
_READER = Path(__file__).with_name("html_script.py")
_INHERITED = ("PATH", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT")


def html_to_markdown(
    page: str, max_length: int, cancelled: threading.Event, seconds: float = TIMEOUT_SECONDS
) -> tuple[str, bool]:
    """Return Markdown, or plain text if that fails, and whether it is Markdown; blocking.

    The text is truncated to `max_length` characters.

    Raises:
        ToolError: both conversions failed.
    """
    content = page.encode("utf-8", "replace")
    if (text := _convert(content, "markdown", max_length, cancelled, seconds)) is not None:
        return text, True
    if (text := _convert(content, "text", max_length, cancelled, TIMEOUT_SECONDS)) is not None:
        return text, False
    raise ToolError("the HTML of the page could not be converted; continue without it")


def _convert(
    content: bytes,
    output_format: Literal["markdown", "text"],
    max_length: int,
    cancelled: threading.Event,
    seconds: float,
) -> str | None:
    processes = Processes()
    deadline = time.monotonic() + seconds
    try:
        # A file, since `communicate` loses the rest of its input on a timeout.
        with TemporaryFile() as source:
            source.write(content)
            source.seek(0)
            process = processes.start(
                [sys.executable, "-I", str(_READER), output_format, str(max_length)],
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
