"""What the sandbox adds to the time of a command, without and with the bridge to the network.

Each round runs `true` alone and then in a full sandbox, in a repository of git. The figure is the
median of their differences, so that a busy machine slows both. Prints JSON; times are milliseconds.
"""

import asyncio
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from yourtool.masking import Mask
from yourtool.sandbox_config import SandboxConfig
from yourtool.tools.base import ToolContext
from yourtool.tools.sandbox.confinement import SandboxLevel
from yourtool.tools.sandbox.sandbox import Sandbox, Sandboxes
from yourtool.tools.shell import Shell, shell
from yourtool.tools.workspace import FileReads, Workspace


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
    workspace, plain, boxed = Workspace(root), list[float](), list[float]()
    for _ in range(rounds):
        plain.append(await _run(workspace, None))
        boxed.append(await _run(workspace, sandbox))
    added = [with_it - without for with_it, without in zip(boxed, plain, strict=True)]
    medians = {"plain": plain, "sandboxed": boxed, "overhead": added}
    return {f"{name}_ms": round(statistics.median(each), 1) for name, each in medians.items()}


async def _run(workspace: Workspace, sandbox: Sandbox | None) -> float:
    """Return the milliseconds of a call of the tool."""
    context = ToolContext(
        workspace=workspace,
        tool_use_id="tu_01",
        spill=workspace.root,
        emit=lambda _: None,
        reads=FileReads(),
        mask=Mask(),
        sandbox=sandbox,
    )
    started = time.perf_counter()
    output = await shell.run(Shell(command="true"), context)
    assert output.success, "the command does nothing"
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    print(json.dumps(measure()))
