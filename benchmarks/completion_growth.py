"""The time of completing `@` and a word, by the number of files in the workspace.

Prints one JSON object: milliseconds of CPU for the slowest letter of a word, and the longest time
in which no other key was handled meanwhile.
"""

import asyncio
import json
import time
from collections.abc import Sequence

from yourtool.tui.input.completer import Completer

SIZES = (1_000, 10_000, 100_000)
WORD = "transcript"
DIRECTORIES = ("src/app", "src/library/parts", "tests/unit", "docs/guide")
NAMES = ("transcript", "provider", "session", "index")


def measure(sizes: Sequence[int] = SIZES) -> dict[str, dict[str, float]]:
    """Return the figures for each number of files."""
    return {str(size): asyncio.run(_measured(size)) for size in sizes}


async def _measured(size: int) -> dict[str, float]:
    completer = Completer()
    completer.files = [
        f"{DIRECTORIES[number % 4]}/module{number // 100}/{NAMES[number // 4 % 4]}_{number}.py"
        for number in range(size)
    ]
    letters, slices = [0.0], [0.0]
    for end in range(1, len(WORD) + 1):
        before, own = f"look at @{WORD[:end]}", list[float]()
        if completer.needs_search(before):
            searching = asyncio.ensure_future(completer.search_files(before))
            while not searching.done():
                since = time.thread_time()
                await asyncio.sleep(0)
                own.append(time.thread_time() - since)
        since = time.thread_time()
        completer.suggest(before)
        slices += [*own, time.thread_time() - since]
        letters.append(sum(part for part in own if part > 0.001) + slices[-1])
    return {
        "cpu_ms": round(1_000 * max(letters), 1),
        "blocked_ms": round(1_000 * max(slices), 1),
    }


if __name__ == "__main__":
    print(json.dumps({"completion_growth": measure()}))
