"""A process of its own that matches a regular expression, so that it can be killed.

No pattern can be trusted to finish, and nothing can interrupt one. This file is run by path, with
an isolated interpreter, and needs nothing but the standard library. It reads frames of a decimal
length, a newline and that many bytes: first the pattern with its flags in front (`i` or `-`), then
one frame for each file. It answers each file with a line of JSON: `[[line, text], …]`.
"""

import json
import re
import sys
from typing import BinaryIO

SNIPPET = 300
"""Most characters of a line that are sent back."""


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer frames until there are no more."""
    head = _frame(source) or b"-"
    flags = re.IGNORECASE if head[:1] == b"i" else re.NOFLAG
    pattern = re.compile(head[1:].decode("utf-8", "surrogatepass"), flags)
    while (frame := _frame(source)) is not None:
        lines = frame.decode("utf-8", "replace").split("\n")
        found = [
            (number, _snippet(line, match.start()))
            for number, line in enumerate(lines, 1)
            if (match := pattern.search(line.removesuffix("\r")))
        ]
        sink.write(json.dumps(found).encode() + b"\n")
        sink.flush()


def _snippet(line: str, start: int) -> str:
    first = max(0, start - SNIPPET // 3) if len(line) > SNIPPET else 0
    text = line[first : first + SNIPPET].strip("\r")
    return ("…" if first else "") + text + ("…" if first + SNIPPET < len(line) else "")


def _frame(source: BinaryIO) -> bytes | None:
    length = source.readline()
    return source.read(int(length)) if length else None


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
