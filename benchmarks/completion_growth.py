"""The time of completing `@` and a word, by the number of files in the workspace.

Prints one JSON object with milliseconds of CPU for each letter of a word.
"""

import json
import time
from collections.abc import Sequence

from yourtool.tui.completer import Completer

SIZES = (1_000, 10_000, 100_000)
WORD = "transcript"
DIRECTORIES = ("src/app", "src/library/parts", "tests/unit", "docs/guide")
NAMES = ("transcript", "provider", "session", "index")


def measure(sizes: Sequence[int] = SIZES) -> dict[str, float]:
    """Return the slowest of the letters for each number of files."""
    return {str(size): _measured(size) for size in sizes}


def _measured(size: int) -> float:
    completer = Completer()
    completer.files = [
        f"{DIRECTORIES[number % 4]}/module{number // 100}/{NAMES[number // 4 % 4]}_{number}.py"
        for number in range(size)
    ]
    taken = list[float]()
    for end in range(1, len(WORD) + 1):
        started = time.process_time()
        completer.suggest(f"look at @{WORD[:end]}")
        taken.append(1_000 * (time.process_time() - started))
    return round(max(taken), 1)


if __name__ == "__main__":
    print(json.dumps({"completion_growth": measure()}))
