"""Sandbox of macOS.

The last matching rule of a profile decides, so the denials of protected and hidden places come
last. A profile has no network namespace: all of the network is denied.
"""

import json
import os
import sys
from pathlib import Path

from yourtool.tools.sandbox.layout import Layout

_PROGRAM = "/usr/bin/sandbox-exec"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper")


def find_seatbelt() -> str | None:
    """Return the path of `sandbox-exec`, or None."""
    return _PROGRAM if sys.platform == "darwin" and os.access(_PROGRAM, os.X_OK) else None


def build_arguments(program: str, layout: Layout, temporary: Path) -> list[str]:
    """Return the start of the command line; the command with its arguments follows."""
    return [program, "-p", build_profile(layout, temporary)]


def build_profile(layout: Layout, temporary: Path) -> str:
    """Return the profile of a command."""
    writable = (layout.workspace, temporary, *layout.writable)
    protected = layout.sealed
    pinned = [*protected, *layout.pinned]
    rules = [
        "(version 1)",
        "(allow default)",
        "(deny network*)",
        "(deny file-write*)",
        *(f"(allow file-write* {_below(path)})" for path in writable),
        *(f"(allow file-write* (literal {_quote(path)}))" for path in _DEVICES),
        *(f"(deny file-write* {_below(path)})" for path in protected),
        *(f"(deny file-write-unlink (literal {_quote(path)}))" for path in pinned),
        *(f"(deny file-read* file-write* {_below(path)})" for path in layout.hidden),
        *(f"(allow file-read* {_below(path)})" for path in layout.readable),
    ]
    return "\n".join(rules) + "\n"


def _below(path: object) -> str:
    return f"(subpath {_quote(path)})"


def _quote(path: object) -> str:
    """Return a path as a string of the profile language."""
    return json.dumps(str(path), ensure_ascii=False)
