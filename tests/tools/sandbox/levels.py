"""Sandbox levels of this machine, for tests."""

import asyncio
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.processes.process import run_process
from yourtool.tools.sandbox import probes
from yourtool.tools.sandbox.confinement import Means, find_interpreter, find_means, find_missing
from yourtool.tools.sandbox.enclosure import EnclosureError, open_enclosure
from yourtool.tools.sandbox.layout import Layout
from yourtool.tools.sandbox.level import LevelMeter, build_command, probe_level
from yourtool.tools.sandbox.sandbox import Sandbox

WITHOUT_ANY = "bubblewrap (`bwrap`) is not installed; landlock: the test does not use it"
"""Why a sandbox of the level `none` encloses nothing."""


SYSTEM_PYTHON = f"python3.{sys.version_info.minor}"
"""The name of an interpreter that other users can start, and that has the same libraries."""
KEEPS_SIGNALS = 6
"""The version of Landlock that keeps the signals of a command in its call."""


def write_restricted(directory):
    """Write a `bwrap` in which nothing has a right, as with newer Ubuntu's AppArmor.

    Returns its path.
    """
    require(SandboxLevel.FULL)
    found = find_means()
    if found.landlock_abi < KEEPS_SIGNALS:
        pytest.skip("the kernel is older than Linux 6.12")
    program = directory / "bwrap"
    program.write_text(f"""#!/bin/bash
for each in "$@"; do
    [ "$each" = -- ] && words+=(--cap-drop ALL)
    words+=("$each")
done
exec {found.bubblewrap} "${{words[@]}}"
""")
    program.chmod(0o755)
    return program


@cache
def find_reason(level):
    """Return why a level does not work here, or None; blocks at first."""
    means = find_means()
    if missing := find_missing(level, means):
        return missing
    if level is not SandboxLevel.FULL:
        return probe_level(level, means).problem
    layout = Layout(workspace=Path(__file__).parent, private=(Path("/tmp"), Path("/run")))
    try:
        open_enclosure(means.bubblewrap, layout).close()
    except EnclosureError as error:
        return str(error)
    return None


def require(level):
    """Skip a test, with the reason, if a level does not work on this machine."""
    if (reason := find_reason(level)) is not None:
        pytest.skip(f"the level `{level}` of the sandbox is missing: {reason}")


class Text:
    """Keeps an output."""

    def __init__(self):
        self.text = ""

    def feed(self, data):
        self.text += data.decode("utf-8", "replace")

    def close(self):
        pass


async def run_enclosed(command):
    """Run a command in its enclosure."""
    output, errors = Text(), Text()
    done = await run_process(command, output, errors=errors, seconds=20)
    return probes.Finished(done.code, output.text, errors.text)


def probe_enclosure(means):
    """Run the probes in an enclosure, as a command; blocks."""
    with probes.build_fixture((), find_interpreter()) as fixture:
        opened = open_enclosure(means.bubblewrap, fixture.layout)

        def run(arguments):
            command = build_command(arguments, fixture)
            environment = {**command.environment, "TMPDIR": "/tmp"}
            command = replace(command, environment=environment, starter=opened)
            return asyncio.run(run_enclosed(command))

        try:
            return probes.run_probes(fixture, run)
        finally:
            opened.close()


class FixedMeter(LevelMeter):
    """A meter of a machine that has one level, which other tests measure."""

    def __init__(self, config, level):
        super().__init__(config)
        self._fixed = level
        found = find_means()
        self.means = Means(
            found.bubblewrap if level is SandboxLevel.FULL else None,
            found.seatbelt if level is SandboxLevel.FULL else None,
            found.landlock_abi if level is SandboxLevel.LANDLOCK else 0,
        )

    def find_means(self):
        return self.means

    def _try(self, level, means):
        return None if level is self._fixed else "the test does not use it"


def build_sandbox(root, level, *, own=(), readable=(), **settings):
    if level is not SandboxLevel.NONE:
        require(level)
    config = SandboxConfig(**{"enabled": True, "fallback": "landlock", **settings})
    return Sandbox(config, root, FixedMeter(config, level), own=own, readable=readable)


def close(sandbox):
    """End a sandbox in a test that has no event loop."""
    asyncio.run(sandbox.close())


def count_processes(name):
    """Return how many processes of the machine have command lines that start so."""
    done = subprocess.run(["pgrep", "-fc", f"^{name}"], stdout=subprocess.PIPE, check=False)
    return int(done.stdout)
