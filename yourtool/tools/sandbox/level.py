"""Measured levels of single commands.

The full sandbox of Linux is inspected whenever it is made (`runner/`); these are measured
once per process, because they are made for each command.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.sandbox import confinement, layout, probes

if TYPE_CHECKING:
    from yourtool.tools.sandbox.confinement import Means
    from yourtool.tools.sandbox.probes import Finished, Fixture, ProbeResult


class Measurement(Struct, frozen=True):
    """The level that commands have now, and why none is stronger."""

    level: SandboxLevel
    reasons: tuple[str, ...] = ()
    is_final: bool = True
    """Whether trying again cannot change it: something is missing, or it is switched off."""


class LevelMeter:
    """Finds what this machine has, and measures each level at most once; thread-safe."""

    def __init__(
        self,
        config: SandboxConfig,
        own: Sequence[Path] = (),
        find: "Callable[[], Means] | None" = None,
    ) -> None:
        """`own`: the program's directories; `find` replaces `find_means`."""
        self._config = config
        self._own = tuple(own)
        self._find = find
        self._lock = threading.Lock()
        self._found = dict[SandboxLevel, str | None]()

    def find_means(self) -> "Means":
        return (self._find or confinement.find_means)()

    def find_missing(self, level: SandboxLevel) -> str | None:
        """Return what this machine lacks for a level, or None; a few looks at files."""
        return confinement.find_missing(level, self.find_means())

    def measure(self) -> Measurement:
        """Return the strongest level of those that are chosen; blocks for a moment at first."""
        reasons = list[str]()
        if sys.platform == "darwin":
            if (reason := self._measure(SandboxLevel.FULL)) is None:
                return Measurement(SandboxLevel.FULL)
            reasons.append(f"full: {reason}")
        if self._config.uses_landlock:
            if (reason := self._measure(SandboxLevel.LANDLOCK)) is None:
                return Measurement(SandboxLevel.LANDLOCK)
            reasons.append(f"landlock: {reason}")
        return Measurement(SandboxLevel.NONE, tuple(reasons))

    def _measure(self, level: SandboxLevel) -> str | None:
        with self._lock:
            if level not in self._found:
                self._found[level] = self._try(level, self.find_means())
            return self._found[level]

    def _try(self, level: SandboxLevel, means: "Means") -> str | None:
        if (missing := confinement.find_missing(level, means)) is not None:
            return missing
        result = probe_level(level, means, layout.find_hidden(self._own))
        if result.problem is not None:
            return f"it does not work here: {result.problem}"
        leaks = sorted(probes.find_broken_claims(level, result))
        return f"it does not prevent: {', '.join(leaks)}" if leaks else None


def probe_level(
    level: SandboxLevel, means: "Means", hidden: tuple[Path, ...] = ()
) -> "ProbeResult":
    """Run the probes at a level without an enclosure; `none` runs them without a sandbox."""
    readable = confinement.find_interpreter()
    with probes.build_fixture(hidden, readable) as fixture, ExitStack() as stack:

        def run(arguments: list[str]) -> "Finished":
            command = build_command(arguments, fixture)
            if level is not SandboxLevel.NONE:
                command = confinement.confine(
                    command, fixture.layout, fixture.temporary, level, means, stack
                )
            return probes.run_directly(command)

        return probes.run_probes(fixture, run)


def build_command(arguments: list[str], fixture: "Fixture") -> ShellCommand:
    """Return the command that runs the probes of a fixture."""
    environment = {"PATH": os.defpath, "TMPDIR": str(fixture.temporary)}
    return ShellCommand(tuple(arguments), fixture.layout.workspace, environment)


def describe_level(level: SandboxLevel, hosts: Sequence[str]) -> str:
    """Return what encloses a command, for approval prompts; empty if nothing does."""
    network = f"network: {', '.join(hosts)}" if hosts else "no network"
    match level:
        case SandboxLevel.FULL:
            return f"full sandbox; {network}"
        case SandboxLevel.PARTIAL:
            return f"partial sandbox: your home directory is the workspace; {network}"
        case SandboxLevel.LANDLOCK:
            return "Landlock sandbox; no network"
        case _:
            return ""
