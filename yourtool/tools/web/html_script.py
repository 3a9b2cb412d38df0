"""Script for HTML conversion.

Converting a hostile page can take unbounded time and memory, cannot be interrupted, and can abort
the process. `tools.html` therefore runs this file as a script. It does not import `yourtool`. It
writes at most LIMIT characters.
"""

import html
import resource
import sys
from contextlib import suppress

from html_to_markdown import ConversionOptions, convert

_MEMORY = 2**30
_CPU_SECONDS = 30
"""A last resort if the parent process is gone."""
_HIDDEN = ("script", "style")


def markdown(page: str) -> str:
    """Return the page as Markdown, without images."""
    options = ConversionOptions(extract_metadata=False, skip_images=True)
    return convert(page, options).content or ""


def plain_text(page: str) -> str:
    """Return the text between the tags, one line per piece; linear in time and memory."""
    first, *pieces = page.split("<")
    lines, hidden = [first], ""
    for piece in pieces:
        tag, end, text = piece.partition(">")
        name = tag[:20].lower().partition(" ")[0].strip()
        if hidden and name != f"/{hidden}":
            continue
        hidden = name if name in _HIDDEN else ""
        if not hidden:
            lines.append(text if end else f"<{piece}")
    return html.unescape("\n".join(line.strip() for line in lines if line.strip()))


def main() -> None:
    """Convert standard input to standard output."""
    limits = {
        resource.RLIMIT_AS: _MEMORY,
        resource.RLIMIT_CPU: _CPU_SECONDS,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        with suppress(ValueError, OSError):  # a lower limit is already set
            resource.setrlimit(kind, (most, most))
    convert_page = markdown if sys.argv[1] == "markdown" else plain_text
    text = convert_page(sys.stdin.buffer.read().decode())
    sys.stdout.buffer.write(text[: int(sys.argv[2])].encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
