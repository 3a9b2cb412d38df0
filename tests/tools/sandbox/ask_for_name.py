"""Ask for a name in a sandbox, and write what was noted; run as a program."""

import asyncio
import sys
import tempfile
from pathlib import Path

from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.processes.process import ShellCommand, run_process
from yourtool.tools.sandbox.level import LevelMeter
from yourtool.tools.sandbox.sandbox import Sandbox


class NoOutput:
    def feed(self, data):
        pass

    def close(self):
        pass


async def ask(workspace):
    config = SandboxConfig(enabled=True)
    sandbox = Sandbox(config, workspace, LevelMeter(config))
    if (await sandbox.measure()).level is SandboxLevel.NONE:
        return "no sandbox"
    command = ShellCommand(("getent", "hosts", "n.example"), workspace, {"PATH": "/usr/bin:/bin"})
    async with sandbox.enclose(command) as enclosed:
        await run_process(enclosed.command, NoOutput(), seconds=20)
        found = ", ".join(each.name for each in enclosed.find_refused())
    await sandbox.close()
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        sys.stdout.write(asyncio.run(ask(Path(made))))
