"""A hostile process: replaces names of a workspace with links to a directory outside, and back.

Arguments: the workspace and the directory outside.
"""

import itertools
import sys
from contextlib import suppress
from pathlib import Path

NAMES = ("AGENTS.md", ".vscode", ".github", ".husky", ".git/hooks", ".git/info", ".git/config")


def swap(workspace, outside):
    """Swap until the process is ended."""
    for number in itertools.count():
        name = NAMES[number % len(NAMES)]
        place, other = workspace / name, workspace / f"swapped-{number % 3}"
        with suppress(OSError):
            place.rename(other)
        with suppress(OSError):
            place.symlink_to(outside / name.replace("/", "-"))
        if number % 2:
            with suppress(OSError):
                place.unlink()
            with suppress(OSError):
                other.rename(place)
        if not number:
            sys.stdout.write("ready\n")
            sys.stdout.flush()


if __name__ == "__main__":
    swap(Path(sys.argv[1]), Path(sys.argv[2]))
