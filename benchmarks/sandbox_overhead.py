"""Overhead of the sandbox for a command, without and with the proxy.

Each round runs `true` alone, then in a full sandbox, in a repository of git, and then in an empty
sandbox of bubblewrap. The figure is the median of the differences between the first two, so that a
busy machine slows both. `cpu_ratio` does not depend on the machine: the CPU time that the sandbox
adds, as a multiple of that of the empty one. Prints JSON; times are milliseconds.
"""

import asyncio
import json
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.foundation.masking import Mask
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.base import ToolContext
from yourtool.tools.commands.shell import Shell, shell
from yourtool.tools.sandbox.bubblewrap import find_bubblewrap
from yourtool.tools.sandbox.sandbox import Sandbox
from yourtool.tools.sandbox.sandboxes import Sandboxes
from yourtool.tools.workspace.file_reads import FileReads
from yourtool.tools.workspace.workspace import Workspace

_EMPTY = ("--unshare-all", "--ro-bind", "/", "/", "--", "true")
"""Arguments of bubblewrap for a sandbox without protected or hidden places."""


class _Cost(Struct, frozen=True):
    """The time of a command and the CPU time of its processes, in milliseconds."""

    elapsed: float
    cpu: float


class _Stopwatch:
    """Measures what has been spent since it was made."""

    def __init__(self) -> None:
        self._started, self._cpu = time.perf_counter(), _get_cpu_seconds()

    def read(self) -> _Cost:
        elapsed = time.perf_counter() - self._started
        return _Cost(elapsed * 1000, (_get_cpu_seconds() - self._cpu) * 1000)


def _get_cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(rounds: int = 25) -> dict[str, Any]:
    """Return the times of both, or why there is no full sandbox here."""
    # Not in `/tmp`, which the sandbox replaces.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        root = Path(directory).resolve()
        subprocess.run(["git", "init", "-q", directory], check=True)
        return {
            "without_bridge": asyncio.run(_measure(root, (), rounds)),
            "with_bridge": asyncio.run(_measure(root, ("example.org",), rounds)),
        }


async def _measure(root: Path, hosts: tuple[str, ...], rounds: int) -> dict[str, Any]:
    sandbox = Sandboxes(SandboxConfig(enabled=True, hosts=hosts)).build(root)
    measured = await sandbox.measure()
    if measured.level is not SandboxLevel.FULL:
        return {"missing": measured.reasons[0]}
    workspace, program = Workspace(root), find_bubblewrap() or "bwrap"
    plain, boxed, empty = list[_Cost](), list[_Cost](), list[_Cost]()
    for _ in range(rounds):
        plain.append(await _run(workspace, None))
        boxed.append(await _run(workspace, sandbox))
        stopwatch = _Stopwatch()
        await asyncio.to_thread(subprocess.run, (program, *_EMPTY), check=True)
        empty.append(stopwatch.read())
    added = [each.elapsed - alone.elapsed for each, alone in zip(boxed, plain, strict=True)]
    added_cpu = [each.cpu - alone.cpu for each, alone in zip(boxed, plain, strict=True)]
    median = statistics.median
    return {
        "plain_ms": round(median(each.elapsed for each in plain), 1),
        "sandboxed_ms": round(median(each.elapsed for each in boxed), 1),
        "overhead_ms": round(median(added), 1),
        "cpu_ratio": round(median(added_cpu) / median(each.cpu for each in empty), 1),
    }


async def _run(workspace: Workspace, sandbox: Sandbox | None) -> _Cost:
    """Return the cost of a call of the tool."""
    context = ToolContext(
        workspace=workspace,
        tool_use_id="tu_01",
        spill=workspace.root,
        emit=lambda _: None,
        reads=FileReads(),
        mask=Mask(),
        sandbox=sandbox,
    )
    stopwatch = _Stopwatch()
    output = await shell.run(Shell(command="true"), context)
    cost = stopwatch.read()
    assert output.success, "the command does nothing"
    return cost


if __name__ == "__main__":
    print(json.dumps(measure()))
