"""The time of `grep` over a growing number of files, compared with ripgrep if installed.

Prints one JSON object; the goal is at most three times as long as ripgrep for the most files.
"""

import asyncio
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from yourtool.foundation.masking import Mask
from yourtool.tools.base import ToolContext
from yourtool.tools.search.search import Grep, search
from yourtool.tools.workspace.workspace import Workspace

SIZES = (1_000, 10_000, 100_000)
PATTERN = "needle_in_haystack"
TEXT = "def function(value):  # some words\n    return value + 1\n\n" * 12
ROUNDS = 3


def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, dict[str, float]]:
    """Return seconds for each number of files, the best of several rounds."""
    return {str(size): _measured(size) for size in sizes}


def _measured(size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number in range(size):
            directory = root / f"a{number // 1_000}" / f"b{number // 50 % 20}"
            if number % 50 == 0:
                directory.mkdir(parents=True, exist_ok=True)
            text = TEXT + PATTERN if number % 1_000 == 7 else TEXT
            (directory / f"file{number}.py").write_text(text)
        found = {"built_in_s": _best(lambda: _built_in(root))}
        if (program := shutil.which("rg")) is not None:
            command = (program, "--no-config", "--count", "-e", PATTERN, "--", folder)
            found["ripgrep_s"] = _best(
                lambda: subprocess.run(command, capture_output=True, check=True)
            )
            found["ratio"] = round(found["built_in_s"] / found["ripgrep_s"], 2)
    return found


def _built_in(root: Path) -> None:
    context = ToolContext(
        workspace=Workspace(root),
        tool_use_id="tu_01",
        spill=root,
        mask=Mask(),
        emit=lambda _: None,
    )
    asyncio.run(search(Grep(pattern=PATTERN), context, seconds=600))


def _best(work: Callable[[], object]) -> float:
    taken = list[float]()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return round(min(taken), 3)


if __name__ == "__main__":
    print(json.dumps({"search_growth": measure()}))
