"""The cost of importing the parts of the program, each in a new interpreter."""

import json
import os
import statistics
import subprocess
import sys

GROUPS = {
    "nothing": "",
    "smallest app": "benchmarks.limit",
    "supervisor": "yourtool.__main__",
    "command line": "yourtool.cli",
    "first paint": "yourtool.cli, yourtool.tui.app",
    "headless": "yourtool.cli, yourtool.headless",
    "core": "yourtool.agent.runtime",
    "SDK anthropic": "anthropic",
    "SDK openai": "openai",
}
_PROGRAM = """
import sys, time
began = time.process_time()
{imports}
spent = time.process_time() - began
pages = int(open("/proc/self/statm").read().split()[1])
print([spent * 1000, len(sys.modules), pages * {page} / 2**20])
"""


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Return median CPU milliseconds, number of modules and MiB of each group."""
    found: dict[str, list[list[float]]] = {name: [] for name in GROUPS}
    for _ in range(rounds):
        for name, modules in GROUPS.items():
            found[name].append(_once(f"import {modules}" if modules else ""))
    return {
        name: {
            "cpu_ms": round(statistics.median(run[0] for run in runs), 1),
            "modules": runs[0][1],
            "memory_mib": round(runs[0][2], 1),
        }
        for name, runs in found.items()
    }


def _once(imports: str) -> list[float]:
    command = [
        sys.executable,
        "-c",
        _PROGRAM.format(imports=imports, page=os.sysconf("SC_PAGE_SIZE")),
    ]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
