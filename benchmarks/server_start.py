"""What five MCP servers that do not work add to the start of the interface.

One does not exist, one ends at once, one prints garbage for ever, one is silent, and one is an
address without a server. Each round starts the interface without and with them; the figure is
the median of the ratios. Prints JSON; times are seconds.
"""

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.programs import Program
from benchmarks.provider import Provider

SERVERS = {
    "missing": {"command": "no-such-program"},
    "dead": {"command": "false"},
    "garbage": {"command": "yes", "args": ["this is no message"]},
    "silent": {"command": "sleep", "args": ["600"]},
    "refused": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
}


def measure(rounds: int = 15) -> dict[str, Any]:
    """Return the time until the first echoed letter, without and with the servers."""
    with Provider() as provider, tempfile.TemporaryDirectory() as directory:
        plain, loaded = (
            Program(name, "yourtool", provider, Path(directory)) for name in ("plain", "loaded")
        )
        settings = Path(directory, "loaded", "home", "yourtool", "mcp.json")
        settings.write_text(json.dumps({"mcpServers": SERVERS}))
        for program in (plain, loaded):  # the first start creates the directories
            _start(program)
        found = dict[str, list[float]]()
        for number in range(rounds):
            order = (plain, loaded) if number % 2 else (loaded, plain)
            figures = {each.name: _start(each) for each in order}
            for name in ("paint_s", "usable_s"):
                found.setdefault(f"plain_{name}", []).append(figures["plain"][name])
                found.setdefault(f"loaded_{name}", []).append(figures["loaded"][name])
                ratio = figures["loaded"][name] / figures["plain"][name]
                found.setdefault(f"{name.removesuffix('_s')}_ratio", []).append(ratio)
    return {name: round(statistics.median(values), 3) for name, values in found.items()}


def _start(program: Program) -> dict[str, float]:
    terminal, figures = program.start()
    terminal.close()
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
